"""Series: the number of an event among all that share a key, and the event before it.

    "series":{"claim/c1":{"count":3,"prev":"<64 hex>"},"night-shift":{"count":1}}

Rules:

- A series is known by its key, a text, in one ledger. ``count`` is the number of its
  events up to and with this one, from 1; ``prev`` is the leaf hash of the one before,
  left out by the first.
- So each event of a series says how many there were, and removing, inserting or moving
  one contradicts another. Nothing here knows what a key means.
- A ledger file finds the events of a series by a digest of its key, which is stored
  beside the digests of their subjects.

Specification: ``docs/spec/event.md``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from muniment.encoding.canonical import MAX_INTEGER, JsonValue, canonical

__all__ = [
    "MAX_KEY",
    "SeriesLink",
    "is_key",
    "read_series",
    "series_digest",
    "series_json",
    "series_key",
]

MAX_KEY = 256
"""How long the key of a series may be, in bytes of UTF-8."""

_CONTEXT = b"muniment/series/v1\n"
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SeriesLink:
    """The place of an event in one series."""

    key: str
    count: int = 1
    """The number of this event in the series, from 1."""
    prev: str | None = None
    """The leaf hash of the event before in the series, 64 hex digits; None for the first."""


def series_key(prefix: str, name: str) -> str:
    """Return ``prefix/name``; a name that cannot be part of a key is hashed."""
    key = f"{prefix}/{name}"
    if is_key(key):
        return key
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}/sha256:{digest}"


def is_key(key: object) -> bool:
    """Tell whether *key* is a text that has a UTF-8 form of 1 to `MAX_KEY` bytes."""
    if not isinstance(key, str):
        return False
    try:
        return 0 < len(key.encode()) <= MAX_KEY
    except UnicodeEncodeError:  # a lone surrogate
        return False


def series_digest(key: str) -> bytes:
    """Return the 32 bytes by which the events of the series *key* are found."""
    return hashlib.sha256(_CONTEXT + key.encode()).digest()


def series_json(links: Iterable[SeriesLink]) -> bytes:
    """Return the canonical member ``series`` for *links*."""
    said: dict[str, JsonValue] = {}
    for one in links:
        link: dict[str, JsonValue] = {"count": one.count}
        said[one.key] = link if one.prev is None else {**link, "prev": one.prev}
    return canonical([said])[1:-1]


def read_series(value: Any) -> tuple[SeriesLink, ...]:
    """Return the links of the member ``series``.

    Raises:
        TypeError: it has another form than `series_json` writes.

    """
    if type(value) is not dict or not value:
        raise TypeError("series is not an object with members")
    members = cast("dict[str, object]", value)
    return tuple(_link(key, place) for key, place in members.items())


def _link(key: str, place: object) -> SeriesLink:
    if not is_key(key) or type(place) is not dict:
        raise TypeError("series has a member that is not a key and its place")
    said = cast("dict[str, object]", place)
    count, prev = said.get("count"), said.get("prev")
    if type(count) is not int or not 0 < count <= MAX_INTEGER:
        raise TypeError("a count is not an integer from 1")
    if said.keys() == {"count"} and count == 1:
        return SeriesLink(key)
    later = said.keys() == {"count", "prev"} and count > 1
    if later and type(prev) is str and _HASH.fullmatch(prev):
        return SeriesLink(key, count, prev)
    raise TypeError("prev is not a hash, or the first has one")
