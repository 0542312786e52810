"""The references to blobs in the data of an event.

    {"request":{"$blob":"sha256:9d1f…","size":31}}      → 9d1f…: 31

Rules:

- A direct member of the data with ``$blob`` is a reference: a commitment, the size of
  the content, a media type or none, and nothing else.
- An event is about each blob that it refers to, and states one size of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

__all__ = ["SALT", "blob_tag", "references", "unnamed"]

SALT = 32
"""The bytes before the content."""

_TAG = re.compile(r"sha256:([0-9a-f]{64})")

Say = Callable[[str, str, bytes | None], None]
"""Takes a rule, what is wrong, and the blob, if it is known."""


def blob_tag(tag: object) -> bytes | None:
    """Return the commitment that *tag* names, ``sha256:<64 hex>``, else ``None``."""
    match = _TAG.fullmatch(tag) if isinstance(tag, str) else None
    return None if match is None else bytes.fromhex(match[1])


def references(data: Any, say: Say) -> dict[bytes, int]:
    """Return commitment → stated size; *say* what is no reference."""
    found: dict[bytes, int] = {}
    for name, value in data.items():
        if type(value) is not dict or "$blob" not in value:
            continue
        reference = cast("dict[str, object]", value)
        digest, size = blob_tag(reference["$blob"]), reference.get("size")
        media = reference.get("media", "")
        known = reference.keys() <= {"$blob", "media", "size"}
        if (
            digest is None
            or type(size) is not int
            or size < 0
            or not isinstance(media, str)
            or not known
        ):
            say("blob/reference", f"data.{name} is not a reference to a blob", None)
        elif found.setdefault(digest, size) != size:
            say("blob/size", "the event says two sizes of it", digest)
    return found


def unnamed(found: dict[bytes, int], subject: Any, say: Say) -> None:
    """*Say* which of the references *found* are not among the subjects."""
    named: set[Any] = {one["digest"]["sha256"] for one in subject} if found else set()
    for digest in found:
        if digest.hex() not in named:
            what = "the event refers to it, and is not about it"
            say("blob/subject", what, digest)
