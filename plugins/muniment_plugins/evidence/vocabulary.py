"""The event type that the evidence plugin adds to the kernel's vocabulary.

    bundle.closed   {"manifest": "sha256:…", "run": "01JD…"}

Rule: the event is in no run, and its subjects are the files that people hand to tools
which look for the plain digest of one file.
"""

from __future__ import annotations

from muniment.events.types import EventType, PlainData
from muniment.formats.evidence import CLOSED

__all__ = ["TYPES"]


class BundleClosed(PlainData):
    """An evidence bundle of a run was written, with exactly these files."""

    run: str
    manifest: str
    """SHA-256 of MANIFEST, which lists every file that proves nothing by itself."""


TYPES: tuple[EventType, ...] = (EventType(CLOSED, BundleClosed),)
