"""The loop in a program: `agent_loop`, and `agent_aloop` where it is awaited.

    def repair(run):
        done = agent_loop(run, "Mend it.", model="openai:gpt-…", tools=tools())
        return done.text

Rules:

- Each loop of a lane has a scope of its own, ``<name>.<n>``, in the order in which they
  begin. Loops that run at once need names, or lanes, of their own.
- What is wrong with tools, policies and options is refused before anything is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import TypeAlias, Unpack, cast

from muniment.programs.awaiting import driven
from muniment.programs.references import Function
from muniment.runs.run import Run
from muniment_plugins.workflow.agents.loop.arguments import (
    AgentArguments,
    LoopSetup,
    require_asked,
)
from muniment_plugins.workflow.agents.loop.conversation import (
    Conversation,
    Message,
    begin,
    opening,
)
from muniment_plugins.workflow.agents.loop.counts import AgentDone
from muniment_plugins.workflow.agents.loop.host import AgentHost, heard_by
from muniment_plugins.workflow.agents.loop.loop import AgentLoop
from muniment_plugins.workflow.agents.loop.session_talk import SessionTalk, lent
from muniment_plugins.workflow.agents.loop.structured import with_schema
from muniment_plugins.workflow.agents.loop.tool_desk import ToolDesk
from muniment_plugins.workflow.agents.loop.tool_servers import ServerTool, served_tools
from muniment_plugins.workflow.artifacts.context.rendering import render_artifacts
from muniment_plugins.workflow.runtime.attempts import performed
from muniment_plugins.workflow.runtime.lanes import Lanes, Stop, TaskLanes, ThreadLanes
from muniment_plugins.workflow.sessions.inside import RunSession

__all__ = ["agent_aloop", "agent_loop"]

AgentPrompt: TypeAlias = str | Sequence[Message]
_COUNTS = "muniment.workflow.agents"
"""The member of a run's memory that counts the loops of its lanes."""


def agent_loop(
    run: Run, prompt: AgentPrompt, *, model: str, **given: Unpack[AgentArguments]
) -> AgentDone:
    """Let a model work on *prompt* with tools, until it answers or something stops it.

    Args:
        run: a run, or a lane of it.
        prompt: a text, or the messages of a conversation, to which the loop adds.
        model: ``provider:name``.
        given: ``tools`` (a registry), ``system``, ``schema`` (JSON Schema of the last
            answer), ``options``, ``artifacts`` (shown above the prompt),
            ``capability_policy``, ``approval_policy``, ``tool_annotations`` (what you state
            about tools of others), ``name``, ``base`` (the folder where relative paths
            begin), ``session`` (a `RunSession`: what was said before, to which the loop
            adds), ``auto_compact`` (when the conversation is compacted, and how), and
            ``on_text``, which gets what the model says, as it says it; nothing in a replay.

    Raises:
        UsageError: an argument, a tool or an option is wrong.
        EffectFailed: there was no answer of the model, or an effect ended the run.

    """
    require_asked(prompt, model)
    setup = LoopSetup.of(given, model)
    setup.refuse_waiting()
    return cast("AgentDone", driven(_looped(run, prompt, model, setup, ThreadLanes())))


async def agent_aloop(
    run: Run, prompt: AgentPrompt, *, model: str, **given: Unpack[AgentArguments]
) -> AgentDone:
    """Do as `agent_loop` does, awaited: tools may be coroutine functions.

    Args:
        run: a run, or a lane of it.
        prompt: a text, or the messages of a conversation.
        model: ``provider:name``.
        given: as for `agent_loop`; and ``servers``, as `muniment_plugins.providers` gives
            them by ``tool_server``, whose tools are offered, too.

    """
    require_asked(prompt, model)
    setup = LoopSetup.of(given, model)
    return await _looped(run, prompt, model, setup, TaskLanes())


async def _looped(
    run: Run, prompt: AgentPrompt, model: str, setup: LoopSetup, lanes: Lanes
) -> AgentDone:
    given, name = setup.given, setup.given.get("name", "agent")
    scope = f"{name}.{_number(run, name)}"
    async with AsyncExitStack() as stack:
        lane = stack.enter_context(run.scope(scope))
        stack.enter_context(_heard(setup))
        talk = await _talk(lane, prompt, setup, lanes, stack)
        tools, served = await served_tools(lane, setup.tools, given.get("servers", ()))
        setup = setup.with_tools(tools)
        host = AgentHost(lane, lanes, Stop())
        functions: Mapping[str, Function | ServerTool] = {**setup.functions, **served}
        gate = setup.gate
        desk = ToolDesk(name, gate, functions, host, {"agent": name})
        schema = given.get("schema")
        based = setup.gate_in if setup.begins_here and gate.takes_paths else None
        return await AgentLoop(
            name, model, host, desk, talk, setup.options, schema, based
        ).run()


async def _talk(
    lane: Run,
    prompt: AgentPrompt,
    setup: LoopSetup,
    lanes: Lanes,
    stack: AsyncExitStack,
) -> Conversation:
    """Return the conversation of a loop, which is that of a session if there is one.

    Raises:
        RefusedError: another loop has the session.

    """
    given = setup.given
    system = with_schema(given.get("system"), given.get("schema"))
    said, shown = _shown(prompt, setup), [one.id for one in setup.artifacts]
    session = given.get("session")
    if session is None and setup.compaction is None:
        return opening(said, system, shown)
    if session is None:
        had = RunSession.own(lane, lane.scope_path)
        stack.callback(had.close)
    else:
        had = await lent(session, lane, partial(_effect, lane, lanes))
        stack.callback(had.give_back)
    talk = SessionTalk(system, names=shown, session=had, policy=setup.compaction)
    talk.begin()
    begin(talk, said)
    return talk


async def _effect(
    lane: Run,
    lanes: Lanes,
    kind: str,
    request: object,
    perform: Callable[[object], object],
) -> object:
    return await performed(
        lane, kind, request, perform, seconds=None, is_async=lanes.is_async
    )


def _shown(prompt: AgentPrompt, setup: LoopSetup) -> AgentPrompt:
    """Return *prompt* below the artifacts that are shown."""
    if not setup.artifacts:
        return prompt
    above = render_artifacts(setup.artifacts)
    if isinstance(prompt, str):
        return f"{above}\n\n{prompt}"
    return [{"role": "user", "content": above}, *prompt]


def _number(run: Run, name: str) -> int:
    """Return which loop of that *name* in the lane *run* this is, from 1."""
    counts = cast("dict[tuple[str, str, str], int]", run.memory.setdefault(_COUNTS, {}))
    key = (run.id, run.scope_path, name)
    counts[key] = counts.get(key, 0) + 1
    return counts[key]


@contextmanager
def _heard(setup: LoopSetup) -> Generator[None]:
    if setup.hears is None:
        yield
        return
    with heard_by(setup.hears):
        yield
