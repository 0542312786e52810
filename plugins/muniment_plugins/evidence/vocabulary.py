"""The event type that the evidence plugin adds to the kernel's vocabulary.

    bundle.closed   {"manifest": "sha256:…", "run": "01JD…", "series": [{"count": 20, …}]}

Rules:

- The event is in no run, and its subjects are the files that people hand to tools
  which look for the plain digest of one file.
- It is written only while each series that it counts has so many events.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.errors import RefusedError, WrongError
from muniment.events.types import EventType, PlainData
from muniment.formats.evidence import CLOSED, read_stated

__all__ = ["TYPES"]


class BundleClosed(PlainData):
    """An evidence bundle of a run was written, with exactly these files."""

    run: str
    manifest: str
    """SHA-256 of MANIFEST, which lists every file that proves nothing by itself."""
    series: list[dict[str, object]] | None = None
    """Every series that the run is in, with how many events each has."""


def _counts(data: Mapping[str, object]) -> dict[str, int]:
    if data.get("series") is None:
        return {}
    try:
        return {one.key: one.count for one in read_stated(data)}
    except WrongError as error:
        what, rule = error.message, error.rule
        remedy = "let `write_bundle` close bundles"
        raise RefusedError(what, rule=rule, place=CLOSED, remedy=remedy) from error


TYPES: tuple[EventType, ...] = (EventType(CLOSED, BundleClosed, counts=_counts),)
