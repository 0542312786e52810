"""The batches of an action graph: what can be done at once, in waves.

    action_graph_batches(plan)
    batch-1   wave 1   research   read    action-1
    batch-2   wave 2   execute    write   action-2, action-3
    batch-3   wave 3   verify     verify  action-4

Rules:

- An action is in the first wave in which all that it depends on is done: no order that
  keeps the dependencies has fewer waves. The batches of a wave depend on none of each
  other, and run at once.
- Within a wave, actions of one phase and one class of tools are one batch, in the order in
  which the plan first comes to them.
- A cycle has no first action, so a graph with one has no batches: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment_plugins.workflow.actions.collecting import first_text
from muniment_plugins.workflow.actions.normalising import (
    ActionGraphLike,
    graph_of_plan,
)
from muniment_plugins.workflow.actions.planned import ActionGraph, PlannedAction
from muniment_plugins.workflow.actions.words import INSTRUCTIONS, TITLES

__all__ = ["ActionBatch", "action_graph_batches"]


@dataclass(frozen=True, slots=True)
class ActionBatch:
    """Actions of one wave, one phase and one class of tools."""

    id: str
    wave: int
    """From 1; the batches of one wave run at once."""
    phase: str
    tool_class: str
    actions: tuple[PlannedAction, ...]
    depends_on: tuple[str, ...]
    """The batches that one of its actions depends on."""
    groups: tuple[Mapping[str, JsonValue], ...] = ()
    """The groups of the plan: what its actions are parts of."""

    @property
    def action_ids(self) -> tuple[str, ...]:
        """The ids of its actions."""
        return tuple(one.id for one in self.actions)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that its actions name, each once."""
        return tuple(dict.fromkeys(t for one in self.actions for t in one.tools))

    @property
    def target_paths(self) -> tuple[str, ...]:
        """The paths that it may write to; empty unless each of its actions names some."""
        if not all(one.target_paths for one in self.actions):
            return ()
        return tuple(
            dict.fromkeys(path for one in self.actions for path in one.target_paths)
        )

    @property
    def prompt(self) -> str:
        """What whoever does the batch is told: its actions, and no others."""
        many = "1 action" if len(self.actions) == 1 else f"{len(self.actions)} actions"
        lines = [f"{self.id} ({self.phase}, {self.tool_class}): {many}"]
        for number, one in enumerate(self.actions, 1):
            lines += ["", f"{number}. {one.title} [{one.id}]"]
            lines += self._around(one)
            if one.instruction != one.title:
                lines += [f"   {line}" for line in one.instruction.splitlines()]
            if one.target_paths:
                lines.append(f"   Write only to: {', '.join(one.target_paths)}")
        lines += ["", "Do these, and nothing that is not listed: others do the rest."]
        return "\n".join(lines)

    def _around(self, action: PlannedAction) -> Iterator[str]:
        """Yield what *action* is a part of, the outermost group first."""
        for group in self.groups:
            said = cast("Mapping[str, JsonValue]", group["given"])
            if action.id not in cast("list[str]", group["actions"]):
                continue
            title, told = first_text(said, TITLES), first_text(said, INSTRUCTIONS)
            lines = dict.fromkeys(one for one in (title, told) if one is not None)
            for one in lines:
                first, *others = one.splitlines()
                yield f"   A part of: {first}"
                yield from (f"      {line}" for line in others)

    def document(self) -> dict[str, JsonValue]:
        """Return the batch as a JSON object."""
        return {
            "_type": "action_batch",
            "id": self.id,
            "wave": self.wave,
            "phase": self.phase,
            "tool_class": self.tool_class,
            "actions": [one.document() for one in self.actions],
            "action_ids": [*self.action_ids],
            "action_titles": [one.title for one in self.actions],
            "depends_on": [*self.depends_on],
            "count": len(self.actions),
            "prompt": self.prompt,
        }


def action_graph_batches(
    plan: ActionGraphLike, completed: Iterable[str] = ()
) -> tuple[ActionBatch, ...]:
    """Return the batches of *plan* that are left once *completed* is done.

    Args:
        plan: an action graph, or what a planner wrote.
        completed: ids of actions that are done.

    Raises:
        UsageError: an id is that of no action.
        RefusedError: actions that are left wait for each other.

    """
    graph = graph_of_plan(plan)
    done = _done(graph, completed)
    _refuse_cycles(graph, done)
    made: list[ActionBatch] = []
    batch_of: dict[str, str] = {}
    for number, wave in enumerate(_waves(graph, done), 1):
        groups: dict[tuple[str, str], list[PlannedAction]] = {}
        for one in wave:
            groups.setdefault((one.phase, one.tool_class), []).append(one)
        for (phase, tool_class), actions in groups.items():
            name = f"batch-{len(made) + 1}"
            needs = {
                batch_of[d] for one in actions for d in one.depends_on if d not in done
            }
            after = [one.id for one in made if one.id in needs]
            made.append(
                ActionBatch(
                    id=name,
                    wave=number,
                    phase=phase,
                    tool_class=tool_class,
                    actions=tuple(actions),
                    depends_on=tuple(after),
                    groups=graph.groups,
                )
            )
        batch_of |= {a: one.id for one in made for a in one.action_ids}
    return tuple(made)


def _done(graph: ActionGraph, completed: Iterable[str]) -> frozenset[str]:
    at = At("completed", "workflow")
    if isinstance(completed, str):
        raise at.wrong("it is a text", "type", "write a list")
    found = list(completed)
    for number, one in enumerate(found):
        if one not in graph.by_id:
            raise at.item(number).wrong(
                f"there is no action {one!r:.60}",
                "reference",
                near(str(one), graph.by_id),
            )
    return frozenset(found)


def _refuse_cycles(graph: ActionGraph, done: frozenset[str]) -> None:
    for cycle in graph.cycles:
        left = [one for one in cycle if one not in done]
        if len(left) == len(cycle):  # whoever did one of them has opened it
            raise RefusedError(
                f"{', '.join(cycle)} wait for each other: none of them can begin",
                rule="workflow/plan-cycle",
                place=f"the plan: {cycle[0]}",
                remedy="take one of their dependencies away, or name one as completed",
            )


def _waves(
    graph: ActionGraph, done: frozenset[str]
) -> Sequence[Sequence[PlannedAction]]:
    left = {one.id: one for one in graph.actions if one.id not in done}
    open_: Mapping[str, set[str]] = {
        name: {d for d in one.depends_on if d in left} for name, one in left.items()
    }
    waves: list[list[PlannedAction]] = []
    while left:
        wave = [one for name, one in left.items() if not open_[name]]
        if not wave:  # a cycle of which a part is done, and another is not
            raise RefusedError(
                f"{', '.join(left)} wait for each other, or for those that do",
                rule="workflow/plan-cycle",
                place=f"the plan: {next(iter(left))}",
                remedy="take one of their dependencies away",
            )
        waves.append(wave)
        for one in wave:
            del left[one.id]
        gone = {one.id for one in wave}
        for name in left:
            open_[name].difference_update(gone)
    return waves
