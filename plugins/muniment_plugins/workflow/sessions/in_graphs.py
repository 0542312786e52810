"""Sessions of the nodes of a graph: who has which, and what parallel nodes do.

    "model_policy": {"model": "openai:…", "session_id": "desk"}

Rules:

- A run joins the sessions that its nodes name when it begins, and has them until it ends.
  Nodes that name one session share it, one after the other.
- What goes on at once, the branches of a fork and the items of a map, writes forks: each
  branch its own, ``<id>~<scope>``, that begins as the session is where the paths part.
  After the join the session goes on as it was; what branches said is in their forks.
- A verifier reads a session, and says nothing in it.
- A loop that is compacted and names no session has one of its own, which begins empty and is
  known by the scope of the visit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import UsageError
from muniment_plugins.workflow.documents.subgraphs import compactors_of, with_bodies
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.session_types import session_name
from muniment_plugins.workflow.sessions.inside import RunSession
from muniment_plugins.workflow.sessions.policies import CompactPolicy, compact_policy

if TYPE_CHECKING:
    from muniment.documents.places import At
    from muniment.runs.run import Run
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.runtime.paths import GraphPath
    from muniment_plugins.workflow.runtime.seams import NodeVisit
    from muniment_plugins.workflow.sessions.asking import Effects
    from muniment_plugins.workflow.sessions.claims import Held

__all__ = [
    "compaction_of",
    "is_private",
    "join_sessions",
    "own_session",
    "policy_of",
    "prepared_session",
    "session_findings",
    "session_named",
    "session_of",
]


def session_named(node: WorkflowNode) -> str | None:
    """Return the session that *node* names."""
    named = cast("str | None", node.part("model_policy").get("session_id"))
    return None if named is None else session_name(named)


def is_private(node: WorkflowNode) -> bool:
    """Tell whether nobody else is shown what *node* makes."""
    return node.document.get("output_visibility") == "private"


def policy_of(node: WorkflowNode, model: str | None) -> CompactPolicy:
    """Return when the session of *node* is compacted; by its own *model* by default."""
    said = node.document.get("auto_compact")
    policy = compact_policy(said, node.at.key("auto_compact"))
    if policy.summarize_model is None and "llm" in policy.strategies:
        policy = replace(policy, summarize_model=model)
    return policy


def session_findings(
    node: WorkflowNode, graph: WorkflowGraph
) -> Iterable[WorkflowFinding]:
    """Return what is wrong with the session of *node*, whose work a model does."""
    named = session_named(node)
    at = node.at.key("model_policy")
    if named is None:
        yield from _without_session(node)
    held = node.part("model_policy").get("session_held")
    for other in graph.nodes.values() if named is not None else ():
        if session_named(other) != named:
            continue
        if other.part("model_policy").get("session_held") != held:
            yield WorkflowFinding(
                "SESSION_HELD_TWICE",
                "error",
                at.key("session_held").path,
                f"{other.name} names {named}, too, and says something else",
                "say the same at each node that names the session",
            )
    try:
        policy_of(node, "")
    except UsageError as error:
        yield WorkflowFinding(
            "AUTO_COMPACT_INCOMPLETE",
            "error",
            node.at.key("auto_compact").path,
            error.message,
            error.remedy,
        )


def _without_session(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    said = node.document
    inert: list[At] = []
    has_own = node.mode == "agent" and "auto_compact" in said
    if "auto_compact" in said and not has_own:
        inert.append(node.at.key("auto_compact"))
    if "output_visibility" in said and not (has_own or is_private(node)):
        inert.append(node.at.key("output_visibility"))
    if "session_held" in node.part("model_policy"):
        inert.append(node.at.key("model_policy").key("session_held"))
    if node.part("input_contract").get("require_transcript"):
        inert.append(node.at.key("input_contract").key("require_transcript"))
    for at in inert:
        yield WorkflowFinding(
            "SESSION_MISSING",
            "error",
            at.path,
            "the node has no session that it could be about",
            'name one: "model_policy": {"session_id": "…"}, or leave it out',
        )


async def join_sessions(
    graph: WorkflowGraph,
    run: Run,
    path: GraphPath,
    effect: Effects,
) -> None:
    """Join the sessions that nodes of *graph* name, by their ids in order.

    Raises:
        EffectFailed: another run has one of them.

    """
    named: dict[str, Held] = {}
    for node in graph.nodes.values():
        for one in with_bodies(node):
            session = session_named(one)
            if session is not None and one.kind != "subagent":
                said = one.part("model_policy").get("session_held", "refuse")
                named[session] = cast("Held", said)
    for session, held in sorted(named.items()):
        path.sessions[session] = await RunSession.joined(
            run, session, effect, held, is_of_node=True
        )


def session_of(here: NodeVisit) -> RunSession | None:
    """Return the session of the node of a visit, on its path; None if it names none.

    Raises:
        WorkflowFailed: its contract requires a transcript, and there is none.

    """
    named = session_named(here.node)
    if named is None:
        return None
    session = here.path.sessions.get(named)
    if session is None:
        outer = here.path.outer
        while outer is not None and named not in outer.sessions:
            outer = outer.outer
        if outer is None:
            raise WorkflowFailed(
                "the run did not join the session",
                rule="workflow/session",
                place=here.node.name,
            )
        lane = here.path.lane
        session = outer.sessions[named].branch(lane, f"{named}~{lane.scope_path}")
        here.path.sessions[named] = session
    if here.node.part("input_contract").get("require_transcript") and not len(session):
        raise WorkflowFailed(
            f"the session {session.id} is empty, and the node requires a transcript",
            rule="workflow/transcript",
            place=here.node.name,
            remedy="say something in it first, or leave require_transcript out",
        )
    return _shown_as(here, session.on(here.lane))


def own_session(here: NodeVisit) -> RunSession:
    """Return a session of the visit that is nobody else's, which is to be closed."""
    return _shown_as(here, RunSession.own(here.lane, here.lane.scope_path))


def _shown_as(here: NodeVisit, session: RunSession) -> RunSession:
    session.is_of_node = True
    if session.has_private:
        here.lane.keep_private(effects=True)
    session.visibility = "private" if is_private(here.node) else None
    shown = here.node.document.get("output_visibility")
    session.keeps_private = shown not in ("public", "public_only")
    return session


async def prepared_session(here: NodeVisit, model: str | None) -> RunSession | None:
    """Return the session of the node, compacted if that is due.

    Raises:
        EffectFailed: a model or a function failed over its summary.
        RefusedError: what has to stay does not fit the hard limit.

    """
    session = session_of(here)
    policy = compaction_of(here, model)
    if session is None or policy is None:
        return session
    await session.compacted_if_due(policy, session.asking(policy, here.effect))
    return session


def compaction_of(here: NodeVisit, model: str | None) -> CompactPolicy | None:
    """Return when the session of the node is compacted; None if it says nothing of it."""
    if "auto_compact" not in here.node.document:
        return None
    return _with_functions(here, policy_of(here.node, model))


def _with_functions(here: NodeVisit, policy: CompactPolicy) -> CompactPolicy:
    """Return *policy* with functions in place of their import paths."""
    found: dict[str, Any] = {
        name: _called(here, path) for name, path in compactors_of(here.node).items()
    }
    return replace(policy, **found) if found else policy


def _called(here: NodeVisit, path: str) -> Any:
    def call(given: object) -> object:
        function: Any = here.conduct.function(path)
        return function(given)

    call.__qualname__ = path
    return call
