"""A graph as a Mermaid flowchart, for pages that draw such texts.

    flowchart TD
      n1("stage<br>act")
      n2(["verify<br>verify"])
      n1 --> n2
      n2 -->|"failed"| n1

Rules:

- Nodes are called ``n1``, ``n2``, … in the order of the document: no name is ever read as
  Mermaid. Each stands in a label, where all but letters, digits, blanks, ``_``, ``-`` and
  ``.`` are written as numbered entities.
- Kinds have the shapes that Mermaid has, and their words; so have statuses.
- The same graph and statuses make the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowEdge,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.pictures.layers import layered
from muniment_plugins.workflow.pictures.styles import STATUS_MARKS
from muniment_plugins.workflow.pictures.words import (
    NOT_REACHED,
    kind_words,
    require_statuses,
    shown,
)

__all__ = ["workflow_mermaid"]

_SHAPES: Mapping[str, tuple[str, str]] = {
    "stage": ("(", ")"),
    "verify": ("([", "])"),
    "condition": ("{", "}"),
    "fork": ("[/", "\\]"),
    "join": ("[\\", "/]"),
    "map": ("[(", ")]"),
    "reduce": ("[\\", "\\]"),
    "subagent": ("[[", "]]"),
    "escalation": ("{{", "}}"),
}
_COLOURS: Mapping[str, str] = {
    "good": "stroke:#146c2e,stroke-width:2px",
    "bad": "stroke:#b3261e,stroke-width:3px",
    "busy": "stroke:#8a5300,stroke-width:2px",
    "absent": "stroke-dasharray:3 3",
}
_SAFE = frozenset(" _-.·")
_RESERVED = frozenset("ﬂß")
"""Letters that stand for the begin and the end of an entity inside Mermaid."""


def workflow_mermaid(
    graph: GraphLike,
    *,
    statuses: Mapping[str, str] | None = None,
    direction: Literal["down", "right"] = "down",
) -> str:
    """Return *graph* as a Mermaid flowchart.

    Args:
        graph: a graph, or its document.
        statuses: how the nodes of a run ended, by name; those that are not named were not
            reached. None draws no run.
        direction: ``down`` or ``right``.

    Raises:
        UsageError: the graph has a mistake of form, or has no such node.

    """
    typed = workflow_graph(graph)
    if statuses is not None:
        require_statuses(typed, statuses)
    lines = _lines(typed, statuses, "TD" if direction == "down" else "LR")
    return "".join(f"{line}\n" for line in lines)


def _lines(
    graph: WorkflowGraph, statuses: Mapping[str, str] | None, way: str
) -> Iterator[str]:
    number = {name: place for place, name in enumerate(graph.order, 1)}
    yield f"flowchart {way}"
    marks: dict[str, list[str]] = {}
    if graph.entry in number:
        yield '  n0((" "))'
    for name in graph.order:
        status = None
        if statuses is not None:
            status = shown(statuses.get(name, NOT_REACHED))
            mark = "" if name not in statuses else status
            marks.setdefault(STATUS_MARKS.get(mark, ("other", ""))[0], []).append(
                f"n{number[name]}"
            )
        yield f"  n{number[name]}{_shape(graph.nodes[name], status)}"
    if graph.entry in number:
        yield f"  n0 --> n{number[graph.entry]}"
    yield from _edges(graph, number)
    for mark, named in sorted(marks.items()):
        if mark in _COLOURS:
            yield f"  classDef {mark} {_COLOURS[mark]}"
            yield f"  class {','.join(named)} {mark}"


def _edges(graph: WorkflowGraph, number: Mapping[str, int]) -> Iterator[str]:
    known = [one for one in graph.edges if {one.source, one.target} <= number.keys()]
    entry = number.get(graph.entry, 0)
    pairs = [(number[one.source], number[one.target]) for one in known]
    made = layered(len(number) + 1, [*pairs, (0, entry)] if entry else pairs)
    back = {one.edge for one in made.chains if one.back} | set(made.loops)
    for place, edge in enumerate(known):
        line = "-.->" if place in back else "-->"
        source, target = (number[one] for one in (edge.source, edge.target))
        yield f"  n{source} {line}{_label(edge)} n{target}"


def _label(edge: WorkflowEdge) -> str:
    return "" if not edge.words else f'|"{_entities(edge.words)}"|'


def _shape(node: WorkflowNode, status: str | None) -> str:
    begin, end = _SHAPES.get(node.kind, ("[", "]"))
    told = [kind_words(node), node.name, *([] if status is None else [status])]
    words = "<br>".join(_entities(one) for one in told)
    return f'{begin}"{words}"{end}'


def _entities(text: str) -> str:
    """Return *text* so that Mermaid shows it, and reads nothing of it."""
    return "".join(
        one
        if one in _SAFE or (one.isalnum() and one not in _RESERVED)
        else f"#{ord(one)};"
        for one in shown(text)
    )
