"""The mode ``agent``: a model that calls the tools of its node in a loop.

    {"mode": "agent", "tools": tools, "prompt": "Mend it.", "model_policy":
     {"model": "openai:…", "max_iterations": 8, "max_tool_calls": 20}}

Rules:

- What the model is asked first is what one call of a model would be asked.
- ``retry_policy`` tries a call of the model again, not what was done before it; each call
  has its own attempts.
- With a schema in ``output_contract`` the last answer is a value that fits it, and the data
  of the artifact.
- A loop that came to no good end is a failure of the node, with the reason as its outcome;
  so is one that failed, but by what is said of the run, or halts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError
from muniment.programs.references import Function, plain
from muniment_plugins.workflow.agents.loop.conversation import (
    Conversation,
    begin,
    opening,
)
from muniment_plugins.workflow.agents.loop.counts import AgentDone
from muniment_plugins.workflow.agents.loop.endings import ENDINGS, FAILED
from muniment_plugins.workflow.agents.loop.host import AgentHost
from muniment_plugins.workflow.agents.loop.loop import AgentLoop
from muniment_plugins.workflow.agents.loop.options import (
    AgentOptions,
    contradictions,
    options_for,
)
from muniment_plugins.workflow.agents.loop.session_talk import (
    SessionTalk,
    after_session,
)
from muniment_plugins.workflow.agents.loop.structured import with_schema
from muniment_plugins.workflow.agents.loop.tool_desk import ToolDesk, unperformed
from muniment_plugins.workflow.agents.loop.tool_servers import (
    RecordedServer,
    ServerTool,
    not_recorded,
    served_tools,
)
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.model import missing_model, model_of, prompt_of
from muniment_plugins.workflow.runtime.failures import (
    SAID_OF_THE_RUN,
    AgentStopped,
    halts,
    said_by,
)
from muniment_plugins.workflow.sessions.in_graphs import (
    compaction_of,
    own_session,
    session_of,
)
from muniment_plugins.workflow.stages.tool_calls import gate_of
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolRegistry,
    registry_of,
    tool_select,
)
from muniment_plugins.workflow.tools.unheld_paths import warn_of_unheld

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.runtime.seams import NodeVisit
    from muniment_plugins.workflow.runtime.stage_input import StageInput

__all__ = ["agent_findings", "looped", "unready_findings"]

_OF_NODES = ("provider", "model", "session_id", "session_held")
"""Members of a ``model_policy`` that are no options of a loop."""
_SHOWN = 300
"""Characters of a last answer that an error quotes."""


def agent_findings(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what is wrong with the loop of *node*."""
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    schema = node.output_contract.schema if node.kind != "verify" else None
    known = None if node.tool_servers else tools
    for member, why, remedy in contradictions(
        _options(node), known, has_schema=schema is not None
    ):
        at = node.at.key("model_policy").key(member)
        yield WorkflowFinding("AGENT_OPTION", "error", at.path, why, remedy)
    for name, one in tools.items():
        if one.defer_loading:
            yield WorkflowFinding(
                "TOOL_DEFERRED",
                "error",
                node.at.key("tools").key(name).path,
                "a loop offers all of its tools at once",
                "leave defer_loading out",
            )


def unready_findings(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what *node* lacks to be run, where it is complete as a document."""
    if node.mode != "agent":
        return
    if model_of(node) is None:
        yield missing_model(node)
    tools = registry_of(cast("RegistryLike", node.document.get("tools"))).tools
    for name, one in tools.items():
        if one.handler is None:
            yield WorkflowFinding(
                "TOOL_UNPERFORMED",
                "error",
                node.at.key("tools").key(name).path,
                f"nobody performs the tool {name}",
                "give it a handler",
            )


def _options(node: WorkflowNode) -> AgentOptions:
    said = {
        name: one
        for name, one in node.part("model_policy").items()
        if name not in _OF_NODES
    }
    if "done_sentinel" in node.document:
        said["done_sentinel"] = node.document["done_sentinel"]
    return options_for(said, node.at.key("model_policy"))


async def looped(
    here: NodeVisit,
    given: StageInput,
    schema: Mapping[str, JsonValue] | None = None,
    *,
    speaks: bool = True,
) -> AgentDone:
    """Return how the loop of the node ended, which is a good end.

    Its session comes before the prompt; if the node *speaks*, what is said is added to the
    session.

    Raises:
        AgentStopped: it came to no good end, or there was no answer of the model.
        EffectFailed: an effect ended the run.

    """
    async with AsyncExitStack() as stack:
        talk = await _talk(here, given, schema, stack, speaks=speaks)
        return await _looped(here, talk, schema, stack)


async def _talk(
    here: NodeVisit,
    given: StageInput,
    schema: Mapping[str, JsonValue] | None,
    stack: AsyncExitStack,
    *,
    speaks: bool,
) -> Conversation:
    """Return what the model of the node is asked first, after its session if it has one."""
    prompt = prompt_of(here.node, given)
    system = with_schema(given.system, schema)
    shown = [one.id for one in given.artifacts]
    session = session_of(here)
    policy = compaction_of(here, model_of(here.node))
    if session is None and policy is not None:
        session = own_session(here)
        stack.callback(session.close)
        speaks = True
    if session is None:
        return opening(prompt, system, shown)
    if not speaks:
        heard = after_session(session, system, shown)
        begin(heard, prompt)
        return heard
    talk = SessionTalk(system, names=shown, session=session, policy=policy)
    talk.begin()
    begin(talk, prompt)
    return talk


async def _looped(
    here: NodeVisit,
    talk: Conversation,
    schema: Mapping[str, JsonValue] | None,
    stack: AsyncExitStack,
) -> AgentDone:
    node = here.node
    host = AgentHost(
        here.lane,
        here.conduct.lanes,
        here.path.stop,
        node.timeout_s,
        partial(here.attempt, anew=True),
    )
    loop = AgentLoop(
        node.name,
        str(model_of(node)),
        host,
        await _desk(here, host, stack),
        talk,
        _options(node),
        schema,
    )
    try:
        done = await loop.run()
    except SAID_OF_THE_RUN:
        raise
    except MunimentError as error:
        if halts(error):
            raise
        raise _failed(node, error) from error
    if not done.ok:
        raise _stopped(node, done)
    return done


async def _desk(here: NodeVisit, host: AgentHost, stack: AsyncExitStack) -> ToolDesk:
    own = registry_of(cast("RegistryLike", here.node.document.get("tools")))
    functions: dict[str, Function | ServerTool] = {}
    for name, one in own.tools.items():
        if one.handler is None:
            raise unperformed(name, here.node.name)
        functions[name] = here.conduct.function(one.handler)
    servers = [await _connected(here, one, stack) for one in here.node.tool_servers]
    tools, served = await served_tools(here.lane, own, servers)
    if served:
        _require_options(here.node, tools)
    gate = gate_of(here, tools)
    functions |= served
    new = tool_select(tools, served)
    warn_of_unheld(new, gate.limits, gate.approvals, here.node.name)
    subject: dict[str, JsonValue] = {
        "workflow": here.conduct.graph.name,
        "node": here.node.name,
        **({} if here.item is None else {"item": here.item}),
    }
    return ToolDesk(here.node.name, gate, functions, host, subject)


async def _connected(
    here: NodeVisit, path: str, stack: AsyncExitStack
) -> RecordedServer:
    """Return the server that the function at *path* connects to, for this loop."""
    made = plain(here.conduct.function(path))()
    if not hasattr(made, "__aenter__"):
        raise not_recorded(made, f"{here.node.name}: {path}")
    return cast(
        "RecordedServer",
        await stack.enter_async_context(
            cast("AbstractAsyncContextManager[object]", made)
        ),
    )


def _require_options(node: WorkflowNode, tools: ToolRegistry) -> None:
    """Refuse options that name tools which no server has.

    Raises:
        UsageError: one does.

    """
    at = node.at.key("model_policy")
    for member, why, remedy in contradictions(
        _options(node), tools.tools, has_schema=False
    ):
        raise at.key(member).wrong(why, "option", remedy)


def _failed(node: WorkflowNode, error: MunimentError) -> AgentStopped:
    """Return the end of a loop that failed by *error*."""
    return AgentStopped(
        f"{FAILED}: {said_by(error)[2]}",
        rule="workflow/agent-stopped",
        place=node.name,
        remedy=error.remedy or ENDINGS[FAILED].remedy,
    )


def _stopped(node: WorkflowNode, done: AgentDone) -> AgentStopped:
    ending = ENDINGS[done.reason]
    said = f"; it said: {done.text[:_SHOWN]}" if done.text else ""
    error = AgentStopped(
        f"{done.reason}: {ending.says}, after {done.turns} turns{said}",
        rule="workflow/agent-stopped",
        place=node.name,
        remedy=ending.remedy,
    )
    error.reason = done.reason
    return error
