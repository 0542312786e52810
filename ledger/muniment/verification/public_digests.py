"""The plain digests that events state of public contents: the code of a synthesis.

    synthesis.attempted   code: "def f…"     subject[0]: code, SHA-256 of the text
                          code: {"$blob"…}   the same, of the content without its salt

Rules:

- Anybody who holds an artifact finds the events about it by its plain digest. So the
  digest is compared with the content: version 1 of the types, from version 2 of the
  events on.
- A content that is gone cannot be compared; `BlobCheck` checks that its erasure was
  recorded, and that contents match their commitments.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from muniment.verification.report import Findings
from muniment.verification.snapshot import LARGEST, Snapshot

__all__ = ["FIELDS", "Public", "misstated"]

FIELDS: Mapping[str, tuple[str, ...]] = {"synthesis.attempted": ("code",)}
"""Type → its public fields, in the order of their subjects."""

_SALT = 32
_CHUNK = 1 << 20
_TAG = re.compile(r"sha256:([0-9a-f]{64})")


def misstated(
    kind: str, statement: Any, digest_of: Callable[[Any], str | None]
) -> Iterator[str]:
    """Say which first subjects of a *statement* are not those of its public fields.

    *digest_of* returns the digest of a field's value, or None if its content is gone.
    """
    data, subjects = statement["predicate"]["data"], statement["subject"]
    for at, name in enumerate(one for one in FIELDS[kind] if one in data):
        told = subjects[at]["digest"]["sha256"] if at < len(subjects) else ""
        if not told or subjects[at]["name"] != name:
            yield f"it does not state the digest of its {name}"
        elif digest_of(data[name]) not in (told, None):
            yield f"the digest is not that of its {name}"


class Public:
    """Compares public contents with the digests that events state."""

    __slots__ = ("_fast", "_findings", "_snapshot")

    def __init__(self, snapshot: Snapshot, findings: Findings, *, fast: bool) -> None:
        self._snapshot = snapshot
        self._findings = findings
        self._fast = fast

    def check(self, seq: int, kind: str, statement: Any) -> None:
        """Compare the first subjects of a sound *statement* with its public fields."""
        for message in misstated(kind, statement, self._digest):
            self._add(seq, message)

    def _digest(self, value: Any) -> str | None:
        """Return the digest of a field's value; ``None`` if the value is not there."""
        if isinstance(value, str):
            return hashlib.sha256(value.encode()).hexdigest()
        reference = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        match = _TAG.fullmatch(str(reference.get("$blob")))
        if match is None or self._fast:
            return None
        row = self._snapshot.connection.execute(
            f"SELECT iif(length(data) <= {LARGEST}, data, NULL) FROM blob "  # noqa: S608 - a number
            "WHERE digest = ? AND typeof(data) = 'blob'",
            (bytes.fromhex(match[1]),),
        ).fetchone()
        if row is None:  # in a file, or gone
            return self._digest_of_file(match[1], reference.get("size"))
        return None if row[0] is None else hashlib.sha256(row[0][_SALT:]).hexdigest()

    def _digest_of_file(self, name: str, size: Any) -> str | None:
        folder = self._snapshot.blobs
        try:
            if folder is None:
                return None
            with folder.opened(name) as file:
                if os.fstat(file.fileno()).st_size - _SALT != size:
                    return None
                file.seek(_SALT)
                digest = hashlib.sha256()
                while piece := file.read(_CHUNK):
                    digest.update(piece)
                return digest.hexdigest()
        except OSError:
            return None  # `BlobCheck` says what is wrong with it

    def _add(self, seq: int, message: str) -> None:
        self._findings.add(
            "edited",
            "event/subject",
            message,
            seq=seq,
            place=f"event {seq} subject",
            remedy="trust the content; who looks for its digest does not find it",
        )
