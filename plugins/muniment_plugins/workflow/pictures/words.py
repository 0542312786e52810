"""The words of a picture: what it shows of texts, and how wide that is about.

Rules:

- What could act on a page or a terminal, or would not be seen, is shown as an escape.
- A text that is too long ends in ``…``; the whole of it is beside it, for those who point
  at it, and for screen readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from unicodedata import combining, east_asian_width

from muniment.documents.places import At, near
from muniment.encoding.visible import clean
from muniment_plugins.workflow.documents.graph import WorkflowGraph
from muniment_plugins.workflow.documents.node import WorkflowNode

__all__ = [
    "NOT_REACHED",
    "clipped",
    "kind_words",
    "require_statuses",
    "shown",
    "width_of",
]

NOT_REACHED = "not reached"
"""What is said of nodes that have no status where others have one."""
_NARROW = frozenset("iIjlftr.,:;'|!()[]{}` -")
_BROAD = frozenset("mwMW@%&")


def shown(text: str) -> str:
    """Return *text* in one line, with escapes for what would not be seen."""
    return clean(text).replace("\n", "\\n")


def clipped(text: str, most: float, size: float) -> str:
    """Return so much of *text* as fits into *most* pixels, at a font of *size* pixels."""
    if width_of(text, size) <= most:
        return text
    kept = ""
    for char in text:
        if width_of(kept + char + "…", size) > most:
            break
        kept += char
    return kept + "…"


def width_of(text: str, size: float) -> float:
    """Return about how many pixels *text* is wide, at a font of *size* pixels."""
    return size * sum(map(_width, text))


def _width(char: str) -> float:
    if char in _NARROW:
        return 0.36
    if char in _BROAD:
        return 0.92
    if combining(char):
        return 0.0
    if east_asian_width(char) in ("W", "F"):
        return 1.05
    return 0.7 if char.isupper() else 0.6


def kind_words(node: WorkflowNode) -> str:
    """Return the kind of *node*, and who does its work if that is a model."""
    if node.mode in (None, "function"):
        return shown(node.kind)
    return f"{shown(node.kind)} · {node.mode}"


def require_statuses(graph: WorkflowGraph, statuses: Mapping[str, str]) -> None:
    """Refuse a status of a node that is not there.

    Raises:
        UsageError: *graph* has no such node.

    """
    for name in statuses:
        if name not in graph.nodes:
            message = f"no node is called {name!r:.80}"
            remedy = near(str(name), sorted(graph.nodes)[:50])
            at = At("statuses", "workflow")
            raise at.wrong(message, "node-unknown", remedy)
