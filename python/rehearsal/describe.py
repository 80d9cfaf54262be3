"""What an agent is, for the people who choose and play it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from google.adk.agents.invocation_context import InvocationContext, new_invocation_context_id
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext

from rehearsal.request import describe_tools
from rehearsal.schema import any_schema_to_json_schema

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool

    from rehearsal.compat import Root


@dataclass
class Description:
    """An agent as people are told of it.

    Attributes:
        told: What the server is told.
        problems: What could not be told, and why.
        is_whole: Whether nothing is missing that may be there at another time.
    """

    told: dict[str, Any]
    problems: list[str] = field(default_factory=list[str])
    is_whole: bool = True

    def miss(self, what: str, problem: Exception) -> None:
        """Notes a tool or a toolset that is not there."""
        self.problems.append(f"{what} of {self.told['name']} cannot be described: {problem}")
        self.is_whole = False


async def describe_agent(name: str, agent: Root, runner: Runner) -> Description:
    """Gives an agent's instruction, tools and schemas.

    What cannot be told without a conversation (an instruction that is made of the state) or not now (tools of a
    server that is down) is left out; the model requests of a session have it.
    """
    told: dict[str, Any] = {"name": name, "tools": []}
    description = Description(told)
    if agent.description:
        told["description"] = agent.description
    if not isinstance(agent, LlmAgent):
        return description
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="rehearsal")
    invocation = InvocationContext(
        invocation_id=new_invocation_context_id(),
        agent=agent,
        session=session,
        session_service=runner.session_service,
        artifact_service=runner.artifact_service,
        memory_service=runner.memory_service,
        credential_service=runner.credential_service,
    )
    try:
        instruction, _ = await agent.canonical_instruction(ReadonlyContext(invocation))
        if instruction:
            told["instruction"] = instruction
    except Exception as problem:
        description.problems.append(f"the instruction of {name} depends on a conversation: {problem}")
    told["tools"] = await _tools(agent, invocation, description)
    await runner.session_service.delete_session(app_name=runner.app_name, user_id="rehearsal", session_id=session.id)
    for key, schema in (("input_schema", agent.input_schema), ("output_schema", agent.output_schema)):
        described = any_schema_to_json_schema(schema)
        if described is not None:
            told[key] = described
    return description


async def _tools(agent: LlmAgent, invocation: InvocationContext, description: Description) -> list[dict[str, Any]]:
    request = LlmRequest()
    for tool in await _resolved(agent, ReadonlyContext(invocation), description):
        try:
            await tool.process_llm_request(tool_context=ToolContext(invocation), llm_request=request)
        except Exception as problem:
            description.miss(f"the tool {tool.name}", problem)
    tools, _ = describe_tools(request.config)
    return tools


async def _resolved(agent: LlmAgent, context: ReadonlyContext, description: Description) -> list[BaseTool]:
    """Gives an agent's tools.

    Toolsets are asked here: where one fails, some versions of ADK give no tools at all, and others do not say so.
    """
    given: list[Any] = []
    for each in cast("list[Any]", cast("Any", agent).tools):
        if not isinstance(each, BaseToolset):
            given.append(each)
            continue
        try:
            given.extend(await each.get_tools_with_prefix(context))
        except Exception as problem:
            description.miss(f"the {type(each).__name__}", problem)
    try:
        return await agent.model_copy(update={"tools": given}).canonical_tools(context)
    except Exception as problem:
        description.miss("the list of tools", problem)
        return []
