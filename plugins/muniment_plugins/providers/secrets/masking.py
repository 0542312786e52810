"""Cutting found secrets out of a text: every character of them, and nothing else.

    masked("no key-1234 here", [Span(3, 11), Span(3, 6)])     no [redacted] here

Rule: spans that overlap are one, however they were found; spans that only touch are two.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment_plugins.providers.secrets.places import MASK, Span

__all__ = ["cut", "joined", "masked"]


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return *spans* from left to right, without overlaps.

    If several overlap, the names that answers gave are written.
    """
    found: list[Span] = []
    for one in sorted(spans, key=lambda one: one[:2]):
        if found and one.start < found[-1].stop:
            found[-1] = _both(found[-1], one)
        else:
            found.append(one)
    return found


def _both(last: Span, one: Span) -> Span:
    new = [name for name in one.names if name not in last.names]
    if last.names and one.names:
        written = f"{last.written}{one.written}" if new else last.written
    elif one.names or last.names:
        written = one.written if one.names else last.written
    else:
        written = last.written or one.written
    return last._replace(
        stop=max(last.stop, one.stop),
        label=last.label or one.label,
        quote=last.quote or one.quote,
        written=written,
        names=(*last.names, *new),
    )


def cut(
    text: str, spans: Iterable[Span], begin: int = 0, end: int | None = None
) -> str:
    """Return *text* from *begin* to *end*, without *spans*, which do not overlap.

    The replacement of a span is put where the span begins.
    """
    end = len(text) if end is None else end
    parts: list[str] = []
    at = begin
    for one in spans:
        if one.stop <= begin or one.start >= end:
            continue
        parts.append(text[at : max(one.start, at)])
        if one.start >= begin:
            parts.append(MASK if one.written is None else one.written)
        at = min(one.stop, end)
    return "".join([*parts, text[at:end]])


def masked(text: str, spans: Iterable[Span]) -> str:
    """Return *text* with each of *spans* replaced by its ``written``, or a mask."""
    return cut(text, joined(spans))
