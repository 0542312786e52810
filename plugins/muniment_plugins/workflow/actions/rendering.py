"""An action graph as Markdown, for people and for models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.visible import clean
from muniment_plugins.workflow.actions.collecting import first_text
from muniment_plugins.workflow.actions.normalising import (
    ActionGraphLike,
    graph_of_plan,
)
from muniment_plugins.workflow.actions.planned import ActionGraph, PlannedAction
from muniment_plugins.workflow.actions.words import PHASES, TITLES

__all__ = ["action_graph_render"]

_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def action_graph_render(plan: ActionGraphLike) -> str:
    """Return *plan* as Markdown: what is done in which phase, after what, and with what.

    What was added, dropped or chosen while it was normalised is at its end, and so are
    cycles.
    """
    graph = graph_of_plan(plan)
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: ActionGraph) -> Iterator[str]:
    yield f"# {_plain(graph.task or 'Plan')}"
    if graph.summary:
        yield from ("", _plain(graph.summary))
    for phase in PHASES:
        found = [one for one in graph.actions if one.phase == phase]
        if found:
            yield from ("", f"## {phase.capitalize()}", "")
        for one in found:
            yield from _action(one)
    notes = [*_notes(graph)]
    if notes:
        yield from ("", "## Notes", "")
        yield from notes


def _action(one: PlannedAction) -> Iterator[str]:
    parts = [f"- **{one.id}** {_plain(one.title)} ({one.tool_class})"]
    if one.depends_on:
        parts.append(f"after {', '.join(one.depends_on)}")
    if one.tools:
        parts.append(f"with {', '.join(map(_plain, one.tools))}")
    yield ", ".join(parts)
    if one.instruction != one.title:
        yield from (f"  {_plain(line)}" for line in one.instruction.splitlines())
    if one.target_paths:
        yield f"  writes to {', '.join(map(_plain, one.target_paths))}"


def _notes(graph: ActionGraph) -> Iterator[str]:
    for one in graph.groups:
        own = cast("Mapping[str, JsonValue]", one["given"])
        title = _plain(first_text(own, TITLES) or str(one["place"]))
        yield f"- group: {title} is {', '.join(_texts(one['actions']))}"
    for one in graph.repairs:
        added = ", ".join(_texts(one["added"]))
        yield f"- added: {one['action']} comes after {added} ({one['reason']})"
    for one in graph.dropped_refs:
        said = _plain(str(one["reference"]))
        yield f"- dropped: {said} at {one['place']} ({one['reason']})"
    for one in graph.ambiguous_refs:
        taken, others = (
            ", ".join(_texts(one["taken"])),
            ", ".join(_texts(one["others"])),
        )
        said = _plain(str(one["reference"]))
        yield f"- ambiguous: {said} at {one['place']} is {taken}, and not {others}"
    for ring in graph.cycles:
        yield f"- cycle: {' → '.join([*ring, ring[0]])}"


def _texts(value: JsonValue | Mapping[str, JsonValue]) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _plain(text: str) -> str:
    """Return *text* as one line that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", clean(" ".join(text.split())))
