"""What an agent is, for the people who choose and play it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from google.adk.agents.invocation_context import InvocationContext, new_invocation_context_id
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext

from rehearsal.request import describe_tools
from rehearsal.schema import any_schema_to_json_schema

if TYPE_CHECKING:
    from rehearsal.compat import Root

log = logging.getLogger("rehearsal")


async def describe_agent(name: str, agent: Root, runner: Runner) -> dict[str, Any]:
    """Gives an agent's instruction, tools and schemas.

    What cannot be told without a conversation (an instruction that is made of the state, tools of a server
    that is down) is left out and logged; the model requests of a session have it.
    """
    told: dict[str, Any] = {"name": name, "tools": []}
    if agent.description:
        told["description"] = agent.description
    if not isinstance(agent, LlmAgent):
        return told
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
        log.warning("the instruction of %s depends on a conversation: %s", name, problem)
    try:
        told["tools"] = await _tools(agent, invocation)
    except Exception as problem:
        log.warning("the tools of %s could not be listed: %s", name, problem)
    await runner.session_service.delete_session(app_name=runner.app_name, user_id="rehearsal", session_id=session.id)
    for key, schema in (("input_schema", agent.input_schema), ("output_schema", agent.output_schema)):
        described = any_schema_to_json_schema(schema)
        if described is not None:
            told[key] = described
    return told


async def _tools(agent: LlmAgent, invocation: InvocationContext) -> list[dict[str, Any]]:
    request = LlmRequest()
    for tool in await agent.canonical_tools(ReadonlyContext(invocation)):
        await tool.process_llm_request(tool_context=ToolContext(invocation), llm_request=request)
    tools, _ = describe_tools(request.config)
    return tools
