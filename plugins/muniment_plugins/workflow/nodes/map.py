"""``map``: the same work on each of many items, so many of them at once.

    {"kind": "map", "handler": "stages:check", "map_policy": {"items": ["a", "b"],
     "max_concurrent": 2}, "join_policy": {"strategy": "quorum", "min_completed": 1}}
    {"kind": "map", "map_policy": {…}, "body": {"kind": "map", "handler": …}}

Rules:

- Items are those of the policy; else the artifacts that are selected, of the given kind.
- Each item has a path and a scope of its own, ``<node>.<visit>/<n>``, from 0. There the
  ``body`` is visited, a node of any kind but a fork or a join; without one, the map's own
  handler or model works as a stage; without either, an item becomes an artifact.
- What good items made is kept, in the order of the items, also where others failed. The
  map failed if fewer succeeded than its join policy says by ``min_completed``,
  ``require_all_inputs`` or a race; where it says nothing of that, if none made anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.plain_json import json_text
from muniment_plugins.workflow.documents.node import JoinPolicy, WorkflowNode
from muniment_plugins.workflow.documents.subgraphs import body_node, with_bodies
from muniment_plugins.workflow.documents.words import BRANCHES, FAILED
from muniment_plugins.workflow.findings import WorkflowFinding
from muniment_plugins.workflow.nodes.gates import quorum_findings
from muniment_plugins.workflow.nodes.kind import COMMON_KEYS, WORK_KEYS
from muniment_plugins.workflow.nodes.work import inert, kind_findings, work_findings
from muniment_plugins.workflow.runtime.artifact_rows import row_of
from muniment_plugins.workflow.runtime.branching import Branching, at_once
from muniment_plugins.workflow.runtime.failures import failure_of
from muniment_plugins.workflow.runtime.lanes import (
    CancelledPath,
    FailedPath,
    FinishedPath,
)
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.stages.outputs import require_inputs, require_kind
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.graph import WorkflowGraph
    from muniment_plugins.workflow.runtime.paths import GraphPath

__all__ = ["MapKind", "body_of"]

_OWN = frozenset({"map_policy", "join_policy", "body"})
_SHARED = frozenset({"branch_semantics", "max_visits", "input_contract"})
"""What a map's own keys say of the map, and not of the work on an item."""
_HELD = frozenset({"context_policy", "capability_policy", "approval_policy"})
"""What holds for a map with a body, too."""
_BODY = "body"


def body_of(node: WorkflowNode) -> WorkflowNode | None:
    """Return what is done with each item; None if it becomes an artifact."""
    written = body_node(node)
    if written is not None or node.mode is None:
        return written
    kept = (WORK_KEYS | COMMON_KEYS) - _SHARED
    said = {key: value for key, value in node.document.items() if key in kept}
    said["kind"] = "stage"
    contract = dict(node.part("output_contract"))
    others = [
        one for one in node.output_contract.output_kinds if one != node.output_kind
    ]
    contract["output_kinds"] = [node.output_kind, *others]
    said["output_contract"] = contract
    return WorkflowNode(_BODY, said, node.at)


class MapKind:
    """The kind ``map``."""

    name = "map"
    branches = BRANCHES["map"]
    keys = WORK_KEYS | _OWN

    def findings(
        self, node: WorkflowNode, graph: WorkflowGraph
    ) -> Iterable[WorkflowFinding]:
        """Return what is wrong with a map: it has nothing to work on."""
        policy = node.map
        if not (
            "items" in node.part("map_policy")
            or policy.item_artifact_kind
            or node.input_contract.input_kinds
        ):
            yield WorkflowFinding(
                "MAP_NO_ITEMS",
                "error",
                node.at.key("map_policy").path,
                "it has nothing to work on",
                "write items, or item_artifact_kind, or input_kinds",
            )
        yield from quorum_findings(node, _most(node))
        yield from _unused(node)
        if _BODY in node.document and node.mode is not None:
            yield WorkflowFinding(
                "MAP_TWO_WORKS",
                "error",
                node.at.key(_BODY).path,
                "it has a body, and a handler or a mode of its own",
                "leave one of them out",
            )
        elif node.mode is None:
            yield from _unread(node)
        else:
            yield from work_findings(node, graph)
        if node.join.is_race:
            yield from _deciding(node)

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Work on all items."""
        node = here.node
        given = here.select()
        require_inputs(node, given)
        found = _items(node, given)
        items = found[: node.map.max_items]
        names = [str(number) for number in range(len(items))]
        each = dict(zip(names, items, strict=True))
        work = partial(_item, here, body_of(node), each)
        policy = node.join
        came = await at_once(
            here.conduct.lanes,
            here.path,
            here.lane,
            names,
            policy,
            work,
            limit=node.map.max_concurrent,
        )
        _state(here, came, len(found) - len(items))
        done = came.names(FinishedPath)
        made = [one for name in done for one in came.paths[name].made]
        here.path.take_verdicts([came.paths[name] for name in done])
        if len(done) < policy.needed(len(names)) and not (made and _keeps(policy)):
            return NodeOutcome(FAILED, FAILED, (), made, cause=came.failure())
        outcome = "mapped" if len(done) == len(found) else "partial"
        return NodeOutcome("mapped", outcome, (), made)


def _keeps(policy: JoinPolicy) -> bool:
    """Tell whether what good items made is enough: nobody said how many have to be good."""
    said = policy.min_completed is not None or policy.requires_all
    return not (said or policy.is_race)


def _most(node: WorkflowNode) -> int | None:
    """Return how many items there are at most; None if nothing says it."""
    known = [] if "items" not in node.part("map_policy") else [len(node.map.items)]
    if node.map.max_items is not None:
        known.append(node.map.max_items)
    return min(known, default=None)


def _unused(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what the policy of a map says that another member of the map overrules."""
    said, at = node.part("map_policy"), node.at.key("map_policy")
    if "items" in said and "item_artifact_kind" in said:
        yield inert(at.key("item_artifact_kind"), "the items are written out")
    if "output_kind" in said and _BODY in node.document:
        why = "what its body makes has a kind of its own"
        yield inert(at.key("output_kind"), why, "write it into the body")
    yield from kind_findings(node, at.key("output_kind"))


def _deciding(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what asks people in a map that is a race."""
    for one in with_bodies(node):
        if one.kind == "escalation":
            yield WorkflowFinding(
                "RACE_DECIDES",
                "error",
                one.at.path,
                "not all items are awaited: nobody can be asked there",
                'write the strategy "all", or ask people before or after',
            )


def _unread(node: WorkflowNode) -> Iterable[WorkflowFinding]:
    """Return what a map without work of its own says about work."""
    for key in sorted((WORK_KEYS - _HELD) & node.document.keys()):
        yield WorkflowFinding(
            "KEY_INERT",
            "error",
            node.at.key(key).path,
            "the map itself does no work on an item",
            "write it into the body, or name a handler or a mode",
        )


def _items(node: WorkflowNode, given: list[Artifact]) -> list[JsonValue | Artifact]:
    policy = node.map
    found: list[JsonValue | Artifact] = [*policy.items]
    if "items" not in node.part("map_policy"):
        kind = policy.item_artifact_kind
        found = [one for one in given if kind is None or one.kind == kind]
    return found


async def _item(
    here: NodeVisit,
    body: WorkflowNode | None,
    items: Mapping[str, JsonValue | Artifact],
    path: GraphPath,
    name: str,
) -> bool:
    """Work on one item, on a path of its own, as *body* says, if there is one."""
    item = items[name]
    path.stop.check()
    value = row_of(item) if isinstance(item, Artifact) else item
    if body is None:
        made = _wrapped(here, path, item)
        here.record(made, path.lane)
        path.add([made])
        return True
    outcome = await here.conduct.activate(path, body, here.node.name, value)
    if not here.conduct.is_good(body, outcome.branch):
        raise failure_of(body, outcome)
    return True


def _wrapped(here: NodeVisit, path: GraphPath, item: JsonValue | Artifact) -> Artifact:
    """Return an item as the artifact that it becomes."""
    kind, lane = here.node.output_kind, path.lane
    require_kind(here.node, kind)
    if isinstance(item, Artifact):
        text, data, lineage = item.text, item.data, [item]
        return here.artifact(text, data, kind=kind, lineage=lineage, lane=lane)
    if isinstance(item, str):
        return here.artifact(item, kind=kind, lane=lane)
    return here.artifact(json_text(item), item, kind=kind, lane=lane)


def _state(here: NodeVisit, came: Branching, left_out: int) -> None:
    """State how the items ended, and how many `max_items` left out."""
    ends = EngineFact(
        node=here.node.name,
        strategy=here.node.join.strategy,
        arrived=came.names(FinishedPath),
        failed=came.names(FailedPath),
        cancelled=came.names(CancelledPath),
        **({"left_out": left_out} if left_out else {}),
    )
    here.lane.record("branches.joined", ends)
