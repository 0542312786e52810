r"""Cutting the middle out of a text that is too long, and saying so in its place.

    cut_text(log, 2000)     "…\n[… 81234 of 83120 bytes are left out; all of it: sha256:… …]\n…"

Rule: the beginning gets two thirds of the room and the end one third; no character is
split; the digest is that of the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass

from muniment.encoding.canonical import sha256_tag
from muniment_plugins.workflow.artifacts.texts import boundary

__all__ = ["CutText", "cut_text"]


@dataclass(frozen=True, slots=True)
class CutText:
    """What was cut out of an artifact's text."""

    id: str
    """The artifact."""
    size: int
    """Bytes of the whole text."""
    removed: int
    """Bytes that are left out."""
    digest: str
    """SHA-256 of the whole text."""


def cut_text(artifact_id: str, text: str, most: int) -> tuple[str, CutText] | None:
    """Return *text* in at most *most* bytes, and what was cut; None if nothing is.

    Nothing is cut out of a text that is short enough, or where the words that say so
    would take half of the room.
    """
    data = text.encode()
    digest = sha256_tag(data)
    room = most - len(_said(len(data), len(data), digest).encode())
    if len(data) <= most or room < most // 2:
        return None
    start = boundary(data, room * 2 // 3)
    end = len(data) - (room - room * 2 // 3)
    while boundary(data, end) != end:  # of a character that is split all is left out
        end += 1
    cut = CutText(artifact_id, len(data), end - start, digest)
    said = _said(cut.removed, cut.size, digest)
    return data[:start].decode() + said + data[end:].decode(), cut


def _said(removed: int, size: int, digest: str) -> str:
    return f"\n[… {removed} of {size} bytes are left out; all of it: {digest} …]\n"
