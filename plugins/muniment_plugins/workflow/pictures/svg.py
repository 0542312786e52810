"""A graph as a picture: SVG in one text, with nothing outside it.

    Path("graph.svg").write_text(workflow_svg(graph))
    workflow_svg(graph, statuses={"act": "completed", "verify": "failed"})

Rules:

- The same graph and statuses make the same bytes.
- Light or dark follows the reader's system, by CSS alone: no script, no font, no address.
- Whatever a picture says by a colour or a shape it says by a word, too. It has a title and a
  description, and each node has its name in full.
- Texts are shown, never acted on: each is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape

from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowEdge,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.pictures.labels import label_places
from muniment_plugins.workflow.pictures.layout import (
    Direction,
    Drawn,
    PictureParts,
    Point,
    Route,
    laid_out,
)
from muniment_plugins.workflow.pictures.shapes import Box, outline
from muniment_plugins.workflow.pictures.styles import STATUS_MARKS, css_of
from muniment_plugins.workflow.pictures.words import (
    NOT_REACHED,
    clipped,
    kind_words,
    require_statuses,
    shown,
    width_of,
)

__all__ = ["workflow_svg"]

_NAME, _SMALL = 13.0, 11.0
_WIDEST = 220.0
_LABEL = 150.0
_START = (14.0, 14.0)
_LISTED = 60
"""Up to so many nodes, the description says where each leads."""


def workflow_svg(
    graph: GraphLike,
    *,
    statuses: Mapping[str, str] | None = None,
    direction: Direction | None = None,
) -> str:
    """Return *graph* as a picture.

    Args:
        graph: a graph, or its document.
        statuses: how the nodes of a run ended, by name, such as ``completed``; those that
            are not named were not reached. None draws no run.
        direction: ``down`` or ``right``; without it, whatever fits a page.

    Raises:
        UsageError: the graph has a mistake of form, or has no such node.

    """
    typed = workflow_graph(graph)
    if statuses is not None:
        require_statuses(typed, statuses)
    return "".join(_Picture(typed, statuses, direction).written())


@dataclass(frozen=True, slots=True)
class _NodeText:
    name: str
    """In full, as it is shown."""
    short: str
    kind: str
    status: str | None

    @property
    def size(self) -> Point:
        name = width_of(self.short, _NAME)
        kind = width_of(self.kind, _SMALL)
        status = 0.0 if self.status is None else width_of(self.status, _SMALL) + 16
        width = max(96.0, max(name, kind, status) + 40)
        return round(width), 48.0 if self.status is None else 64.0


class _Picture:
    """A picture in the making."""

    def __init__(
        self,
        graph: WorkflowGraph,
        statuses: Mapping[str, str] | None,
        direction: Direction | None,
    ) -> None:
        self.graph, self.statuses = graph, statuses
        names = [*graph.order]
        number = {name: place for place, name in enumerate(names, 1)}
        self.texts = [self._text(name) for name in names]
        drawn = [
            one for one in graph.edges if {one.source, one.target} <= number.keys()
        ]
        self.edges: list[WorkflowEdge | None] = [*drawn]
        pairs = [(number[one.source], number[one.target]) for one in drawn]
        if graph.entry in number:
            self.edges.append(None)
            pairs.append((0, number[graph.entry]))
        self.labels = ["" if one is None else _label(one) for one in self.edges]
        parts = PictureParts(
            [_START, *(one.size for one in self.texts)],
            ["", *(graph.nodes[name].kind for name in names)],
            pairs,
            [width_of(one, _SMALL) for one in self.labels],
        )
        self.drawn: Drawn = laid_out(parts, direction)
        said = None if statuses is None else sorted(statuses.items())
        whole = f"{graph.digest} {said!r} {self.drawn.direction}"
        self.id = f"w{sha256(whole.encode('utf-8', 'replace')).hexdigest()[:12]}"

    def _text(self, name: str) -> _NodeText:
        node, full = self.graph.nodes[name], shown(name)
        status = None
        if self.statuses is not None:
            status = clipped(
                shown(self.statuses.get(name, NOT_REACHED)), _WIDEST, _SMALL
            )
        return _NodeText(
            full,
            clipped(full, _WIDEST, _NAME),
            clipped(kind_words(node), _WIDEST, _SMALL),
            status,
        )

    def written(self) -> Iterator[str]:
        """Yield the parts of the text."""
        width, height = (f"{one:.0f}" for one in (self.drawn.width, self.drawn.height))
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{self.id}" '
            f'role="graphics-document document" aria-labelledby="{self.id}t {self.id}d" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
            f'<title id="{self.id}t">{_xml(f"Workflow {shown(self.graph.name)}")}</title>\n'
            f'<desc id="{self.id}d">{_xml(self._description())}</desc>\n'
            f"<style>{css_of(self.id)}</style>\n<defs>"
        )
        for name in ("tip", "tipback"):
            yield (
                f'<marker id="{self.id}{name}" viewBox="0 0 8 8" refX="7" refY="4" '
                'markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" '
                f'orient="auto"><path class="{name}" d="M0 .8 7.5 4 0 7.2z"/></marker>'
            )
        yield f'</defs>\n<rect class="ground" width="{width}" height="{height}"/>\n'
        yield from self._edges()
        if None in self.edges:
            start = self.drawn.boxes[0]
            yield f'<circle class="start" cx="{start.x:.1f}" cy="{start.y:.1f}" r="5"/>\n'
        names = [*self.graph.order]
        for name, text, box in zip(
            names, self.texts, self.drawn.boxes[1:], strict=True
        ):
            yield from self._node(name, text, box)
        yield from self._labels()
        yield "</svg>\n"

    def _description(self) -> str:
        graph, drawn = self.graph, self.drawn
        nodes, edges = len(graph.nodes), len(graph.edges)
        downwards = drawn.direction == "down"
        way = "from top to bottom" if downwards else "from left to right"
        said = [f"{nodes} node{'s' * (nodes != 1)}, {edges} edge{'s' * (edges != 1)}"]
        said[0] += f", {way}; it begins at {shown(graph.entry)}."
        if any(one.back for one in drawn.routes):
            said.append("Dashed edges lead back.")
        if self.statuses is not None:
            counted: dict[str, int] = {}
            for one in self.texts:
                counted[str(one.status)] = counted.get(str(one.status), 0) + 1
            told = (f"{status}: {count}" for status, count in sorted(counted.items()))
            said.append(f"{'; '.join(told)}.")
        if nodes <= _LISTED:
            said += [_leads(graph, name) for name in graph.order if graph.out(name)]
        return " ".join(said)

    def _edges(self) -> Iterator[str]:
        for route, edge in zip(self.drawn.routes, self.edges, strict=True):
            name = "edge back" if route.back else "edge"
            if edge is not None and self._is_unused(edge):
                name += " unused"
            tip = "tipback" if route.back else "tip"
            yield f'<path class="{name}" d="{_path(route)}" marker-end="url(#{self.id}{tip})"/>\n'

    def _is_unused(self, edge: WorkflowEdge) -> bool:
        """Tell whether a run cannot have taken *edge*: one of its ends was not reached."""
        ends = (edge.source, edge.target)
        return self.statuses is not None and any(e not in self.statuses for e in ends)

    def _node(self, name: str, text: _NodeText, box: Box) -> Iterator[str]:
        mark, glyph = self._mark(name, text)
        told = ", ".join(filter(None, (text.name, text.kind, text.status)))
        shape = outline(
            self.graph.nodes[name].kind, box, self.drawn.direction == "down"
        )
        yield (
            f'<g class="node{mark}" role="graphics-symbol img" '
            f'aria-label="{_xml(told)}"><title>{_xml(told)}</title>{shape}'
        )
        top = box.y - (4 if text.status is None else 12)
        yield _words("kind", box.x, top, text.kind)
        yield _words("name", box.x, top + 16, text.short)
        if text.status is not None:
            yield _words("status", box.x, top + 32, f"{glyph} {text.status}")
        yield "</g>\n"

    def _mark(self, name: str, text: _NodeText) -> tuple[str, str]:
        """Return the further class of a node, and the sign of its status."""
        if self.statuses is None or text.status is None:
            return "", ""
        status = text.status if name in self.statuses else ""
        mark, glyph = STATUS_MARKS.get(status, ("other", "\N{BULLET}"))
        return f" {mark}", glyph

    def _labels(self) -> Iterator[str]:
        routes = [
            (route, label)
            for route, label in zip(self.drawn.routes, self.labels, strict=True)
            if label
        ]
        places = label_places(
            self.drawn, ((route, width_of(one, _SMALL)) for route, one in routes)
        )
        for (route, label), (x, y) in zip(routes, places, strict=True):
            edge = self.edges[route.edge]
            full = shown(edge.words) if edge is not None else ""
            title = "" if full == label else f"<title>{_xml(full)}</title>"
            yield (
                f'<text class="label" x="{x:.1f}" y="{y + 4:.1f}">{title}'
                f"{_xml(label)}</text>\n"
            )


def _label(edge: WorkflowEdge) -> str:
    return clipped(shown(edge.words), _LABEL, _SMALL)


def _leads(graph: WorkflowGraph, name: str) -> str:
    ways = [
        shown(one.target) + (f" ({shown(one.words)})" if one.words else "")
        for one in graph.out(name)
    ]
    return f"{shown(name)} leads to {', '.join(ways)}."


def _words(name: str, x: float, y: float, text: str) -> str:
    return f'<text class="{name}" x="{x:.1f}" y="{y:.1f}">{_xml(text)}</text>'


def _path(route: Route) -> str:
    first = route.curves[0][0]
    told = [f"M{_number(first[0])} {_number(first[1])}"]
    for _, b, c, d in route.curves:
        told.append("C" + " ".join(f"{_number(x)} {_number(y)}" for x, y in (b, c, d)))
    return "".join(told)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _xml(text: str) -> str:
    return escape(text)
