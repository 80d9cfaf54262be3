"""The ADK plugin: a person plays the model of an agent that runs wherever it runs."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.genai import types
from pydantic import BaseModel

from rehearsal.address import resolve_address
from rehearsal.artifacts import describe_artifact
from rehearsal.client import Client
from rehearsal.compat import TELLS_RUN_ERRORS, first_answer, invocation_of, isolation_scope_of, watch_run
from rehearsal.errors import Cancelled, RehearsalError, ServerRefused, SessionEnded, SetupError
from rehearsal.link import Call, Link, Path, Run, Turn, describe_error, new_turn
from rehearsal.mcp import is_of_mcp, mcp_error
from rehearsal.outbox import Observation
from rehearsal.program import Program
from rehearsal.racing import Key, Race
from rehearsal.request import describe_content, describe_request, read_response
from rehearsal.values import json_bytes, jsonable, new_id
from rehearsal.wrapping import Run as ToolRun

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.tool_context import ToolContext

log = logging.getLogger("rehearsal")

ToldResult = tuple[types.FunctionResponse, Observation]
Artifact = tuple[str, int]

# The conversation and the calls around whatever runs here: an agent that is used as a tool has a session and
# an invocation of its own, and this is what ties it to the conversation that called it.
_around: ContextVar[tuple[Link, Path] | None] = ContextVar("rehearsal_around", default=None)

_REPORTED = "_rehearsal_reported"
# For so long a program that wants to end waits for the server.
_EXIT_SECONDS = 3.0


def current_session() -> str:
    """Gives the Rehearsal session of the tool call that is running here."""
    around = _around.get()
    return around[0].session if around is not None else ""


class RehearsalPlugin(BasePlugin):
    """Lets people play the model of an agent, and writes down everything else that happens.

    At each model call of a selected agent the run waits for a person's answer on the Rehearsal server, without
    any time limit. Tools, sub-agents, callbacks and state are the agent's own and run for real; what they do
    is recorded on the same session, as are the model turns of agents that are not selected.

    Args:
        server: The server's address, or several addresses of the same server. Without it `REHEARSAL_SERVER`,
            else http://127.0.0.1:4200.
        token: The server's token. Without it `REHEARSAL_TOKEN`, a `?token=` in the address, else the file
            `.rehearsal/token` in this folder or one above.
        agents: The names of the agents whose model is played by a person; all of them when not given.
        session: The id of the Rehearsal session to write to; a new one per ADK session when not given.
        description: What a new session is called.
        tool_errors: `raise` records a tool's exception and lets ADK go on as it would; `return` gives the
            model `{"error": {"type", "message"}}`, unless the agent's own callbacks give something else.
        complete: `after_run` completes the session when a run has ended, `never` leaves it open for more.
        eval_set_path: The EvalSet file that *Export* on the page appends completed sessions to while this
            program runs, relative to the folder in which the plugin is made; `APP.evalset.json` when not given.
        tool_threads: Whether synchronous tools run in a thread, one at a time, where people can cancel them. Give
            `False` for tools that have to run on the event loop's own thread; those cannot be cancelled.
        name: The plugin's name in ADK.
    """

    def __init__(
        self,
        server: str | Sequence[str] | None = None,
        *,
        token: str | None = None,
        agents: Sequence[str] | None = None,
        session: str | None = None,
        description: str | None = None,
        tool_errors: Literal["raise", "return"] = "raise",
        complete: Literal["never", "after_run"] = "never",
        eval_set_path: str | os.PathLike[str] | None = None,
        tool_threads: bool = True,
        name: str = "rehearsal",
    ) -> None:
        super().__init__(name=name)
        if isinstance(agents, str):
            raise TypeError(f"`agents` is a list of names: write agents=[{agents!r}]")
        if tool_errors not in ("raise", "return"):
            raise ValueError(f"tool_errors is 'raise' or 'return', not {tool_errors!r}")
        if complete not in ("never", "after_run"):
            raise ValueError(f"complete is 'never' or 'after_run', not {complete!r}")
        self._client = Client(resolve_address(server, token))
        self._agents = frozenset(agents) if agents is not None else None
        self._session = session
        self._description = description
        self._tool_errors = tool_errors
        self._complete = complete
        self._has_looked = self._agents is None
        self._links: dict[tuple[str, str, str], Link] = {}
        self._mutex = Lock()
        self._race = Race(current_session, self.tell_late, run=self._run_tool, threads=tool_threads)
        self._program = Program(self, self._client, eval_set_path)

    # The conversation.

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Records what the user said; results that the user gives (a confirmation) close their calls."""
        self._look_for_agents(invocation_context)
        link, path = self._begin(invocation_context)
        if not path:
            self._give_up_dead_runs(link)
        run = self._begin_run(link, invocation_context, path)
        if self._records_user_message(path):
            said = describe_content(user_message)
            link.tell("user_message", run.agent, path, content=said)
            if not path and await self._is_over(link, run):
                link = self._link_anew(invocation_context)
                link.runs[invocation_context.invocation_id] = run
                link.tell("user_message", run.agent, path, content=said)
        for part in user_message.parts or []:
            answer = part.function_response
            call = link.call(answer.id, invocation_context.invocation_id) if answer is not None else None
            if answer is not None and call is not None and call.open:
                call.ended = time.monotonic()
                link.tell_answer(call, json_bytes(answer.response or {}))
        return None

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Records the state that came with the message, and watches over the run where ADK does not."""
        link, path = self._begin(invocation_context)
        self._begin_run(link, invocation_context, path)
        for event in reversed(invocation_context.session.events):
            if event.author == "user" and event.invocation_id == invocation_context.invocation_id:
                self._tell_state(link, _agent_name(invocation_context), path, event.actions.state_delta)
                break
        if not TELLS_RUN_ERRORS:

            async def failed(error: Exception) -> None:
                await self.on_run_error_callback(invocation_context=invocation_context, error=error)

            watch_run(invocation_context, failed)
        return None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Records calls, results and state as the runtime has them."""
        if event.partial or event.author == "user":
            return None
        link, path, run = self._place(invocation_context, event)
        responses = event.get_function_responses()
        savers = _savers(link, event, responses)
        if not responses:
            self._tell_state(link, event.author, path, event.actions.state_delta)
        for asked in event.get_function_calls():
            self._tell_call(link, run, path, event, asked)
        await self._tell_artifacts(link, invocation_context, event.author, path, savers)
        if responses:
            await self._results_told(link, self._tell_results(link, path, event, responses))
        text = _final_text(event)
        if path == run.path and text is not None:
            run.final_text, run.final_author = text, event.author
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Records that the message is answered."""
        link, path = self._begin(invocation_context)
        run = link.runs.get(invocation_context.invocation_id)
        if run is None:
            return  # it was given up, and its end is told
        if isinstance(sys.exc_info()[1], GeneratorExit | asyncio.CancelledError):
            # Whoever asked stopped listening. ADK takes that for an end like any other.
            self._give_up(link, invocation_context.invocation_id)
        else:
            del link.runs[invocation_context.invocation_id]
            self._tell_answers(link, run)
            self._close_calls(link, invocation_context.invocation_id, failed=False)
            agent = run.final_author or run.agent
            link.tell("agent_ended", agent, path, output=run.final_text)
        try:
            await link.outbox.flush()
            if self._complete == "after_run" and not path:
                await self._complete_session(link)
        except SessionEnded as ended:
            log.warning("the session ended before its agent did: %s", ended)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Records that a run failed, with what it had done until then."""
        if not self._has_looked:
            return  # it was refused before it began
        link, path = self._begin(invocation_context)
        run = link.runs.pop(invocation_context.invocation_id, None)
        agent = run.agent if run is not None else _agent_name(invocation_context)
        if run is not None:
            self._tell_answers(link, run)
        # What a tool saved stays saved, whatever became of its run.
        for call in [call for call in link.calls.values() if call.invocation == invocation_context.invocation_id]:
            saved: dict[Artifact, Call | None] = dict.fromkeys(_artifacts(call.actions), call)
            await self._tell_artifacts(link, invocation_context, call.agent, call.path, saved)
        self._close_calls(link, invocation_context.invocation_id, failed=True)
        await self._tell_failure(link, agent, path, error)

    async def close(self) -> None:
        """Sends what is left. A plugin that is closed by an agent inside a tool stays open for the others."""
        if _around.get() is not None:
            return
        await self._finish()
        await self._program.leave()
        await self._client.close()

    def cancel_call(self, session: str, call_id: str) -> bool:
        """Cancels a call that runs or is about to, from any thread; tells whether there is one.

        The model is given an error of type `Cancelled`.
        """
        if self._race.cancel(session, call_id):
            return True
        if not self.awaits(session, call_id):
            return False
        self._race.forbid(session, call_id)
        log.info("the call %s is cancelled before it begins", call_id)
        return True

    def awaits(self, session: str, call_id: str) -> bool:
        """Tells whether a run of the session is at a call whose tool is not done."""
        link = self._known(session)
        call = link.calls.get(call_id) if link is not None else None
        if link is None or call is None:
            return False
        return call.open and call.ended is None and call.invocation in link.runs

    def tell_late(self, key: Key, work: asyncio.Future[Any]) -> None:
        """Records what a cancelled tool gave after all."""
        session, call_id = key
        link = self._known(session)
        call = link.calls.get(call_id) if link is not None else None
        if link is None or call is None or work.cancelled():
            return
        error = work.exception()
        if error is not None:
            link.tell_late(call, None, describe_error(error, self.name))
            return
        link.tell_late(call, _normalised(work.result()), None)

    # The model.

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Waits for a person's answer, or records the turn of an agent that plays its own model."""
        invocation = invocation_of(callback_context)
        link, path = self._begin(invocation)
        agent = callback_context.agent_name
        run = self._run(link, invocation, path)
        run.paths[invocation.branch] = path
        place = (agent, invocation.branch)
        self._tell_answer(link, run, place)
        # Calls that the agent's callback makes itself belong to no turn.
        run.turns.pop(place, None)
        if self._agents is not None and agent not in self._agents:
            # What the model is asked is known when it was asked: other callbacks may change it, or answer.
            run.turns[place] = Turn(new_turn(), path, llm_request)
            return None
        # An agent's own callbacks belong to the agent, not to the model that is played here. ADK leaves them
        # out once a plugin answers, so they are called in its stead.
        # The same holds for the plugins behind this one.
        plugins = invocation.plugin_manager.plugins
        behind = [each.before_model_callback for each in plugins[plugins.index(self) + 1 :]]
        given = await first_answer(
            [*behind, *_callbacks(invocation, "before_model")],
            callback_context=callback_context,
            llm_request=llm_request,
        )
        if given is not None:
            return cast("LlmResponse", given)
        turn = new_turn()
        run.turns[place] = Turn(turn, path)
        response = read_response(await link.ask(turn, agent, path, describe_request(llm_request)))
        # The other plugins come before the agent, as after a model that plays itself.
        others = [each.after_model_callback for each in invocation.plugin_manager.plugins if each is not self]
        altered = await first_answer(
            [*others, *_callbacks(invocation, "after_model")],
            callback_context=callback_context,
            llm_response=response,
        )
        return response if altered is None else cast("LlmResponse", altered)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Records what a model was asked that plays itself, and gathers what it answers."""
        turn = await self._record_turn(callback_context)
        if turn is not None and turn.parts is not None and not llm_response.partial:
            content = llm_response.content or types.Content(role="model", parts=[])
            turn.parts.extend(describe_content(content).get("parts") or [])
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Records what a model was asked that failed; what is answered in its stead comes as its answer."""
        await self._record_turn(callback_context)
        return None

    # The tools.

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Starts the clock of a call and marks the ground for agents that run inside it."""
        self._wrap(tool)
        invocation = invocation_of(tool_context)
        link, path = self._begin(invocation)
        call = self._call(link, invocation, path, tool, tool_context)
        call.started, call.ended = time.monotonic(), None
        call.open, call.error, call.returned = True, None, None
        call.invocation = invocation.invocation_id
        call.actions = tool_context.actions
        _around.set((link, (*call.path, call.call_id)))
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Stops the clock of a call."""
        link, call = self._ended_call(tool, tool_context)
        call.error = call.error or mcp_error(tool, result)
        if call.open:
            call.returned = None if is_of_mcp(call.error) else _normalised(result)
        elif call.invocation not in link.runs:
            # The run failed without waiting for this call, and what it gives now is not in ADK's record.
            call.error = mcp_error(tool, result)
            link.tell_result(call, None if call.error else _normalised(result), late=True)
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """Records an exception; with `tool_errors="return"` also gives it to the model."""
        link, call = self._ended_call(tool, tool_context)
        call.error = describe_error(error, self.name)
        is_cancelled = isinstance(cast("BaseException", error), asyncio.CancelledError)
        if is_cancelled or isinstance(error, Cancelled):
            self._give_up_inside(link, call)
        # What a person has cancelled is no error of the tool, and no reason to end the run.
        if is_cancelled or (self._tool_errors == "raise" and not isinstance(error, Cancelled)):
            return None
        given = await first_answer(
            _callbacks(invocation_of(tool_context), "on_tool_error"),
            tool=tool,
            args=tool_args,
            tool_context=tool_context,
            error=error,
        )
        if given is not None:
            return cast("dict[str, Any]", given)
        return {"error": {"type": call.error["type"], "message": call.error["message"]}}

    # What a host changes.

    def _records_user_message(self, path: Path) -> bool:
        """Whether the user's words are told by this plugin."""
        return True

    def _wrap(self, tool: BaseTool) -> None:
        """Sees to it that a tool can be cancelled, and that its wish to end the program is recorded."""
        self._race.wrap(tool)

    async def _results_told(self, link: Link, told: list[ToldResult]) -> None:
        """Has a say once the results of a turn are told, before the runtime goes on with them."""

    def _open_link(self, invocation: InvocationContext) -> Link:
        """Makes the link for a conversation that was not seen before."""
        opening: dict[str, Any] = {
            "agent": _agent_name(invocation),
            "state": jsonable(_lasting(invocation.session.state)),
            "keep_open": self._complete == "never",
        }
        if self._description is not None:
            opening["description"] = self._description
        play = partial(self._program.play, app_name=invocation.session.app_name)
        return Link(self._client, self._session or new_id(), opening, join=self._session is not None, opened=play)

    def _known(self, session: str) -> Link | None:
        with self._mutex:
            return next((link for link in self._links.values() if link.session == session), None)

    # Within.

    def _look_for_agents(self, invocation: InvocationContext) -> None:
        """Refuses names of agents that do not exist: their real models would answer, and nobody would be asked."""
        if self._has_looked:
            return
        known = _names_in(invocation.agent)
        missing = sorted((self._agents or frozenset()) - known)
        if missing:
            raise SetupError(
                f"`agents` names {', '.join(map(repr, missing))}, and there is no such agent\n\n"
                f"hint: there is {', '.join(sorted(known))}"
            )
        self._has_looked = True

    async def _record_turn(self, context: CallbackContext) -> Turn | None:
        """Puts the turn of a model that plays itself on the session, once."""
        invocation = invocation_of(context)
        link, path = self._begin(invocation)
        turns, place = self._run(link, invocation, path).turns, (context.agent_name, invocation.branch)
        turn = turns.get(place)
        if turn is not None and turn.request is not None:
            request, turn.request = describe_request(turn.request), None
            if await link.record_turn(turn.turn_id, context.agent_name, turn.path, request):
                turn.parts = []
            else:
                turns.pop(place, None)
        return turn

    def _tell_answer(self, link: Link, run: Run, place: tuple[str, str | None]) -> None:
        """Tells what a model that plays itself has answered; one that failed has answered nothing."""
        turn = run.turns.get(place)
        if turn is not None and turn.parts is not None:
            content: dict[str, Any] = {"role": "model", "parts": turn.parts}
            turn.parts = None
            link.tell("model_response", place[0], turn.path, turn_id=turn.turn_id, content=content)

    def _tell_answers(self, link: Link, run: Run) -> None:
        for place in list(run.turns):
            self._tell_answer(link, run, place)

    async def _run_tool(self, tool: BaseTool, run: ToolRun, args: dict[str, Any], tool_context: ToolContext) -> Any:
        try:
            return await run(args=args, tool_context=tool_context)
        except (SystemExit, KeyboardInterrupt) as wish:
            await self._tell_exit(tool, tool_context, wish)
            raise

    async def _tell_exit(self, tool: BaseTool, tool_context: ToolContext, error: BaseException) -> None:
        """Records what ends the event loop, and with it all that goes on: nothing can be sent later."""
        link, call = self._ended_call(tool, tool_context)
        call.error = describe_error(error, self.name)
        runs = [(invocation, link.runs.pop(invocation)) for invocation in list(link.runs)]
        for invocation, _ in runs:
            self._close_calls(link, invocation, failed=True)
        for run in [run for _, run in runs if not run.path]:
            link.tell("run_failed", run.agent, run.path, error=call.error)
        with suppress(RehearsalError, asyncio.TimeoutError):
            await asyncio.wait_for(link.outbox.flush(), _EXIT_SECONDS)

    async def _finish(self) -> None:
        with self._mutex:
            links = list(self._links.values())
        for link in links:
            try:
                await link.outbox.flush()
            except SessionEnded as ended:
                log.debug("a session takes no more: %s", ended)
            except RehearsalError as refused:
                log.warning("a session could not be written to its end: %s", refused)
            await link.farewells()

    def _begin(self, invocation: InvocationContext) -> tuple[Link, Path]:
        """Finds the session and the place in it for what happens in this task."""
        around = _around.get()
        link = around[0] if around is not None else self._link(invocation)
        path: Path = around[1] if around is not None else ()
        task = link.call(isolation_scope_of(invocation), invocation.invocation_id)
        if task is not None:
            path = (*task.path, task.call_id)
        return link, path

    def _place(self, invocation: InvocationContext, event: Event) -> tuple[Link, Path, Run]:
        """Finds the place of an event, which ADK may hand over outside the task that made it."""
        link, path = self._begin(invocation)
        run = self._run(link, invocation, path)
        task = link.call(getattr(event, "isolation_scope", None), invocation.invocation_id)
        if task is not None:
            return link, (*task.path, task.call_id), run
        return link, run.paths.get(event.branch, path), run

    def _link(self, invocation: InvocationContext) -> Link:
        session = invocation.session
        key = (session.app_name, session.user_id, session.id)
        with self._mutex:
            link = self._links.get(key)
            if link is None:
                link = self._links[key] = self._open_link(invocation)
            return link

    async def _is_over(self, link: Link, run: Run) -> bool:
        """Tells whether a session of ours was ended between its runs; one that the program named stays the one."""
        is_first, link.has_spoken = not link.has_spoken, True
        if is_first or self._session is not None or any(each is not run for each in link.runs.values()):
            return False
        await link.outbox.settle()
        return link.outbox.ended

    def _link_anew(self, invocation: InvocationContext) -> Link:
        """Goes on in a new session: the conversation is the program's, and does not end with a record of it."""
        session = invocation.session
        link = self._open_link(invocation)
        link.has_spoken = True
        with self._mutex:
            ended = self._links.get((session.app_name, session.user_id, session.id))
            self._links[session.app_name, session.user_id, session.id] = link
        log.info("session %s has ended; %s goes on in %s", ended and ended.session, session.id, link.session)
        return link

    def _run(self, link: Link, invocation: InvocationContext, path: Path) -> Run:
        # What still comes of a run that was given up belongs to none.
        return link.runs.get(invocation.invocation_id) or Run(_agent_name(invocation), path)

    def _begin_run(self, link: Link, invocation: InvocationContext, path: Path) -> Run:
        run = link.runs.get(invocation.invocation_id)
        if run is None:
            run = Run(_agent_name(invocation), path, asyncio.current_task())
            link.runs[invocation.invocation_id] = run
            if run.driver is not None:
                run.driver.add_done_callback(partial(self._driver_ended, link, invocation.invocation_id))
        return run

    def _driver_ended(self, link: Link, invocation: str, driver: asyncio.Task[Any]) -> None:
        """Gives up a run whose task was cancelled, which ADK tells no plugin."""
        if driver.cancelled():
            self._give_up(link, invocation)

    def _give_up_dead_runs(self, link: Link) -> None:
        """Gives up the runs that nobody drives any more: a program may stop listening without a word."""
        current = asyncio.current_task()
        for invocation, run in list(link.runs.items()):
            if run.driver is not None and (run.driver.done() or run.driver is current):
                self._give_up(link, invocation)

    def _give_up_inside(self, link: Link, around: Call) -> None:
        """Gives up what went on inside of a call that was cancelled, the innermost first."""
        inside = [(run.path, invocation) for invocation, run in link.runs.items() if around.call_id in run.path]
        for _, invocation in sorted(inside, key=lambda each: len(each[0]), reverse=True):
            self._give_up(link, invocation)
        self._cancel_calls(link, [call for call in link.calls.values() if around.call_id in call.path])

    def _give_up(self, link: Link, invocation: str) -> None:
        """Records the end of a run that does not come to it."""
        run = link.runs.pop(invocation, None)
        if run is None:
            return
        self._tell_answers(link, run)
        calls = [call for call in link.calls.values() if call.invocation == invocation]
        for call in calls:
            if call.open:
                self._give_up_inside(link, call)
        is_cut = self._cancel_calls(link, calls)
        if run.path or (run.final_text is not None and not is_cut):
            # Of an agent that is a tool, the call around it says what came of it.
            link.tell("agent_ended", run.final_author or run.agent, run.path, output=run.final_text)
        else:
            error = {"type": "Cancelled", "message": "the run was cancelled, or nobody listened to it any more"}
            link.tell("run_failed", run.agent, run.path, error=error)

    def _cancel_calls(self, link: Link, calls: list[Call]) -> bool:
        """Gives the calls that still wait for their tools their end; tells whether there were any."""
        waiting = [call for call in calls if call.open and not call.is_lasting]
        for call in waiting:
            if call.returned is None and (call.error is None or call.error["type"] == "CancelledError"):
                call.error = {"type": "Cancelled", "message": "the run ended before this call gave a result"}
            link.tell_result(call, call.returned)
        return bool(waiting)

    def _call(
        self, link: Link, invocation: InvocationContext, path: Path, tool: BaseTool, context: ToolContext
    ) -> Call:
        call = link.call(context.function_call_id, invocation.invocation_id)
        if call is None:
            call = link.add_call(
                context.function_call_id or "", tool.name, _agent_name(invocation), path, invocation.invocation_id
            )
        return call

    def _ended_call(self, tool: BaseTool, context: ToolContext) -> tuple[Link, Call]:
        invocation = invocation_of(context)
        link, path = self._begin(invocation)
        call = self._call(link, invocation, path, tool, context)
        call.ended = time.monotonic()
        call.actions = context.actions
        return link, call

    def _tell_call(self, link: Link, run: Run, path: Path, event: Event, asked: types.FunctionCall) -> None:
        call = link.call(asked.id, event.invocation_id)
        if call is None or call.told:
            call = link.add_call(asked.id or new_id(), asked.name or "", event.author, path, event.invocation_id)
        call.told, call.is_lasting = True, (asked.id or "") in (event.long_running_tool_ids or ())
        fields: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool, "args": asked.args or {}}
        turn = run.turns.get((event.author, event.branch))
        if turn is not None and turn.request is None:
            self._tell_answer(link, run, (event.author, event.branch))
            fields["turn_id"] = turn.turn_id
        link.tell("tool_call", event.author, path, **fields)

    def _tell_results(
        self, link: Link, path: Path, event: Event, responses: list[types.FunctionResponse]
    ) -> list[ToldResult]:
        """Records the results of one turn's calls, each with the state that it changed itself."""
        results: list[ToldResult] = []
        whole = _lasting(event.actions.state_delta)
        told: dict[str, Any] = {}
        for response in responses:
            call = link.call(response.id, event.invocation_id)
            if call is None:
                call = link.add_call(
                    response.id or new_id(), response.name or "", event.author, path, event.invocation_id
                )
            own = whole if len(responses) == 1 else _lasting(getattr(call.actions, "state_delta", None))
            told.update(own)
            call.ended = call.ended or time.monotonic()
            # The error is all there is to an MCP result that is one; an output would count as a recovery from it.
            output = None if is_of_mcp(call.error) else json_bytes(response.response or {})
            observation = link.tell_result(call, output, state_delta=jsonable(own))
            results.append((response, observation))
        # ADK merges what parallel calls wrote; where that differs from the last one's word, the merged counts.
        merged = {key: value for key, value in whole.items() if key not in told or told[key] != value}
        self._tell_state(link, event.author, path, merged)
        return results

    def _tell_state(self, link: Link, agent: str, path: Path, delta: dict[str, Any] | None) -> None:
        lasting = _lasting(delta)
        if lasting:
            link.tell("state_change", agent, path, state_delta=lasting)

    async def _tell_artifacts(
        self, link: Link, invocation: InvocationContext, agent: str, path: Path, saved: dict[Artifact, Call | None]
    ) -> None:
        """Records what was saved, once: what an agent saves that is a tool comes with its own events and the call's."""
        for (name, version), call in saved.items():
            if (name, version) in link.artifacts:
                continue
            link.artifacts.add((name, version))
            fields = await describe_artifact(invocation, name, version)
            if call is not None:
                fields["call_id"] = call.call_id
            link.tell("artifact_saved", agent, path, **fields)

    def _close_calls(self, link: Link, invocation: str, *, failed: bool) -> None:
        """Writes down the results that the runtime left out, when a run is over.

        After a failure that is what every call came to. After a run that ended well, a call without a result
        is one that runs on (a long-running tool) and stays open.
        """
        for call in list(link.calls.values()):
            if call.invocation == invocation and call.open and (failed or call.error is not None):
                if call.error is None and call.returned is None:
                    call.error = {
                        "type": "Unfinished",
                        "message": "the run failed before this call gave a result",
                    }
                link.tell_result(call, call.returned)

    async def _tell_failure(self, link: Link, agent: str, path: Path, error: BaseException) -> bool:
        """Records a failure once, however many times it is reported on its way up; tells whether it is recorded."""
        if getattr(error, _REPORTED, None) == (link.session, path):
            return True
        with suppress(AttributeError):
            setattr(error, _REPORTED, (link.session, path))
        link.tell("run_failed", agent, path, error=describe_error(error, self.name))
        try:
            await link.outbox.flush()
        except SessionEnded:
            return False
        except RehearsalError as refused:
            log.warning("the failure of a run could not be recorded: %s", refused)
            return False
        return True

    async def _complete_session(self, link: Link) -> None:
        try:
            await link.complete()
        except ServerRefused as refused:
            if refused.kind != "no_final_response":
                raise
            log.warning("the session stays open: %s", refused.detail)


def _agent_name(invocation: InvocationContext) -> str:
    return str(getattr(invocation.agent, "name", None) or invocation.session.app_name)


def _names_in(agent: Any) -> set[str]:
    """Gives the names of an agent and all that belong to it: sub-agents, agents that are tools, nodes of a graph.

    Whatever holds agents in its fields is looked into, since agents of other people's classes do that too.
    """
    names: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [getattr(agent, "root_agent", agent)]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict):
            waiting.extend(cast("dict[Any, Any]", each).values())
        elif isinstance(each, list | tuple | set | frozenset):
            waiting.extend(cast("list[Any]", each))
        elif isinstance(each, BaseModel) and not isinstance(each, BaseLlm):
            if isinstance(name := getattr(each, "name", None), str):
                names.add(name)
            waiting.extend(each.__dict__.values())
        elif isinstance(each, BaseTool):
            waiting.append(getattr(each, "agent", None))
    return names


def _callbacks(invocation: InvocationContext, kind: str) -> list[Any]:
    return list(getattr(invocation.agent, f"canonical_{kind}_callbacks", None) or [])


def _final_text(event: Event) -> str | None:
    """Gives the text of a final response, also of one that a tool made of its arguments."""
    if not event.is_final_response() or event.content is None:
        return None
    if event.get_function_calls() or event.get_function_responses():
        return None
    texts = [part.text for part in event.content.parts or [] if part.text and not part.thought]
    return "".join(texts) if texts else None


def _artifacts(actions: Any) -> list[Artifact]:
    return list(cast("dict[str, int]", getattr(actions, "artifact_delta", None) or {}).items())


def _savers(link: Link, event: Event, responses: list[types.FunctionResponse]) -> dict[Artifact, Call | None]:
    """Gives the artifacts that came with an event, each with the call that saved it."""
    savers: dict[Artifact, Call | None] = dict.fromkeys(_artifacts(event.actions))
    calls = [link.call(response.id, event.invocation_id) for response in responses]
    for artifact in savers:
        own = [call for call in calls if call is not None and artifact in _artifacts(call.actions)]
        savers[artifact] = own[0] if own else calls[0] if len(calls) == 1 else None
    return savers


def _lasting(state: Any) -> dict[str, Any]:
    """Leaves out the state that ADK does not keep either."""
    entries = cast("dict[str, Any]", dict(state or {}))
    return {key: value for key, value in entries.items() if not key.startswith("temp:")}


def _normalised(result: Any) -> bytes:
    return json_bytes(result if isinstance(result, dict) else {"result": result})
