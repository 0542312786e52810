"""From what a planner wrote to the normal form of an action graph.

    plan = action_graph({"steps": [{"id": "inspect", "kind": "research"}, …]},
                        {"task": "Fix the parser"})
    plan.actions[1].depends_on        ("action-1",)
    plan.dropped_refs                 ({"action": "action-3", "reference": "design", …},)

Rules:

- Whatever JSON a planner writes gives a graph, or a refusal with a place. Nothing that it
  says is left out: what is no member of an action, of a group or of the graph is kept
  there, under ``given``.
- A reference is read as an id of the planner's, a canonical id, a number counted from 1,
  or a title, in this order. Of two actions with one name the later one is meant, which is
  listed. A reference to nothing, or to the action itself, is dropped, which is listed.
- Work that depends on nothing comes after all earlier research, and a check after all
  earlier work, or else research. What was added is listed; it never closes a cycle.
- What each action has of its groups, and refers to, is bounded: a short plan makes no long
  graph.
- The normal form of a normal form is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.shapes import Choice, ObjectShape, Text
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import RefusedError
from muniment_plugins.workflow.actions.collecting import (
    Collected,
    FoundGroup,
    collected,
)
from muniment_plugins.workflow.actions.cycles import cycles_in
from muniment_plugins.workflow.actions.items import (
    ActionDraft,
    beside_references,
    drafted,
)
from muniment_plugins.workflow.actions.linking import linked
from muniment_plugins.workflow.actions.plan_texts import plan_json
from muniment_plugins.workflow.actions.planned import (
    ActionGraph,
    PlannedAction,
    read_graph,
)
from muniment_plugins.workflow.actions.words import DEPENDENCIES, PHASES

__all__ = ["ActionGraphLike", "action_graph", "graph_of_plan"]

ActionGraphLike: TypeAlias = object
"""An action graph, or whatever a planner wrote."""
_OPTIONS = ObjectShape(
    optional={"task": Text(), "summary": Text(), "phase": Choice(PHASES)}
)
_TASKS = ("task", "goal", "objective")
_TYPE = "action_graph"
_MOST_NAMES = 4 << 20
"""Characters of tools and paths that all actions have, those of their groups included."""


def action_graph(
    raw: ActionGraphLike, options: Mapping[str, object] | None = None
) -> ActionGraph:
    """Return the plan *raw* in its normal form.

    Args:
        raw: an `ActionGraph`; an object or a list; a text, with JSON in it or not.
        options: ``task`` and ``summary``, which win over those of the plan, and
            ``phase``: that of actions which nothing else gives one.

    Raises:
        UsageError: it is no plan; the message names the place.

    """
    said = cast("dict[str, JsonValue]", dict(options or {}))
    _OPTIONS.check(said, At("options", "workflow"))
    at = At("the plan", "workflow")
    around: list[str] = []
    if isinstance(raw, ActionGraph):
        plan = cast("JsonValue", raw.document())
    else:
        plan, around = plan_json(raw, at)
    if isinstance(plan, dict) and plan.get("_type") == _TYPE:
        return _told(read_graph(plan, at), said)
    found = collected(plan, at, cast("str | None", said.get("phase")))
    drafts = [*_drafts(found)]
    links = linked(drafts)
    actions = tuple(
        PlannedAction(
            id=one.id,
            title=one.title,
            instruction=one.instruction,
            phase=one.phase,
            tool_class=one.tool_class,
            depends_on=tuple(links.targets[one.id]),
            tools=one.tools,
            metadata=one.metadata,
        )
        for one in drafts
    )
    given = _beside(found, around)
    groups = [*_groups(drafts)]
    metadata: dict[str, JsonValue] = {
        "source": found.source,
        "raw_digest": sha256_tag(canonical(plan)),
        "repairs": [*links.repairs],
        "dropped_refs": [*links.dropped],
        "ambiguous_refs": [*links.ambiguous],
        "cycles": [list(one) for one in cycles_in(links.targets)],
        **({"groups": groups} if groups else {}),
        **({"given": given} if given else {}),
    }
    made = ActionGraph(_said(plan, *_TASKS), _said(plan, "summary"), actions, metadata)
    whole, _ = plan_json(made.document(), at)  # which it has to be read from again
    return _told(read_graph(whole, at), said)


def _drafts(found: Collected) -> Iterator[ActionDraft]:
    """Yield the actions that were *found*, each with what its groups say for all of theirs.

    Raises:
        UsageError: one of them says nothing, or something that cannot be read.
        RefusedError: what their groups name is too much, once each of them has it.

    """
    taken = 0
    for number, one in enumerate(found.actions, 1):
        draft = drafted(one, number)
        names = [
            *draft.tools,
            *cast("list[str]", draft.metadata.get("target_paths", ())),
        ]
        taken += sum(len(name) + 1 for name in names)
        if taken > _MOST_NAMES:
            raise RefusedError(
                f"by here its actions have tools and paths of more than {_MOST_NAMES} "
                "characters, those of their groups counted for each",
                rule="workflow/plan-size",
                place=f"{one.at.file}: {one.at.path}",
                remedy="name fewer, such as src/** for all below it, or plan in parts",
            )
        yield draft


def _beside(found: Collected, around: list[str]) -> dict[str, JsonValue]:
    """Return what a plan says beside its actions, its task and its summary."""
    read = [_key(found.given, *_TASKS), _key(found.given, "summary")]
    given: dict[str, JsonValue] = {
        key: value
        for key, value in found.given.items()
        if key not in read and value is not None
    }
    if around:
        given["text"] = [*([given["text"]] if "text" in given else []), *around]
    return given


def _groups(drafts: Sequence[ActionDraft]) -> Iterator[JsonValue]:
    """Yield the groups that say something of themselves, in order."""
    inside: dict[FoundGroup, list[JsonValue]] = {}
    for draft in drafts:
        for group in draft.found.groups:
            inside.setdefault(group, []).append(draft.id)
    for group, actions in inside.items():
        given: dict[str, JsonValue] = {
            key: value
            for key, value in group.said.items()
            if key not in DEPENDENCIES and value is not None
        }
        given |= beside_references(group.said)
        if given:
            yield {"place": group.at.path, "actions": actions, "given": given}


def graph_of_plan(plan: ActionGraphLike) -> ActionGraph:
    """Return *plan* if it is an action graph, and else its normal form."""
    return plan if isinstance(plan, ActionGraph) else action_graph(plan)


def _key(plan: Mapping[str, JsonValue], *keys: str) -> str | None:
    return next((one for one in keys if isinstance(plan.get(one), str)), None)


def _said(plan: JsonValue, *keys: str) -> str:
    key = _key(plan, *keys) if isinstance(plan, dict) else None
    return "" if key is None else str(cast("Mapping[str, JsonValue]", plan)[key])


def _told(graph: ActionGraph, options: Mapping[str, JsonValue]) -> ActionGraph:
    """Return *graph* with the task and the summary of the options; its own are kept."""
    task = cast("str", options.get("task", graph.task))
    summary = cast("str", options.get("summary", graph.summary))
    own = {"task": graph.task, "summary": graph.summary}
    chosen = {"task": task, "summary": summary}
    kept: dict[str, JsonValue] = {
        key: one for key, one in own.items() if one and one != chosen[key]
    }
    metadata = graph.metadata
    if kept:
        metadata = {**metadata, "given": {**kept, **graph.given}}
    return ActionGraph(task, summary, graph.actions, metadata)
