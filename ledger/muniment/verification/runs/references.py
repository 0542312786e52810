"""Contents that events refer to, compared without their salts."""

from __future__ import annotations

import os
from typing import Any

from muniment.files.folder import NotAFile
from muniment.verification.snapshot import Snapshot

__all__ = ["content", "same"]

_SALT = 32


def content(snapshot: Snapshot, reference: Any) -> bytes | None:
    """Return the content of a *reference* without its salt; None if it is gone."""
    if reference is None:
        return b"null"
    digest = bytes.fromhex(reference["$blob"].removeprefix("sha256:"))
    held = snapshot.value("SELECT data FROM blob WHERE digest = ?", digest)
    if isinstance(held, bytes):
        return held[_SALT:]
    if snapshot.blobs is None:
        return None
    try:
        with snapshot.blobs.opened(digest.hex()) as file:
            # A reference says any number; no more is read than is there.
            size = min(reference["size"] + _SALT, os.fstat(file.fileno()).st_size)
            return file.read(size)[_SALT:]
    except (FileNotFoundError, NotAFile):
        return None


def same(snapshot: Snapshot, one: Any, other: Any) -> bool | None:
    """Tell whether two references have one content; None if one of them is gone."""
    if one is None or other is None:
        return one is other
    kinds = [(each.get("size"), each.get("media")) for each in (one, other)]
    if kinds[0] != kinds[1]:
        return False
    first, second = content(snapshot, one), content(snapshot, other)
    return None if first is None or second is None else first == second
