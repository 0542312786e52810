"""Salted contents: data that may be personal is kept outside the signed events.

    blob        = salt (32 random bytes) || content
    commitment  = SHA-256(blob)  = address = file name = in-toto subject

Rules:

- Once salt and content are gone, the commitment says nothing about the content: a guess
  cannot be confirmed from the chain.
- Equal content is shared within a run only, so that equality across runs does not show;
  content that a run states after an erasure is stored again.
- Contents above 1 MiB are in a directory beside the database
  (`muniment.storage.blob_files`), written and synced before the commit that refers to
  them.
- Erasing empties the row and zeroes the bytes in the file (``secure_delete``) in the
  transaction that records it; the files of large contents go after its commit.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from muniment.encoding.canonical import parse
from muniment.encoding.codec import decode
from muniment.encoding.registry import ValueTypes
from muniment.errors import (
    CannotTellError,
    ErasedError,
    UsageError,
)
from muniment.events.types import Content
from muniment.formats.statement import BlobRef
from muniment.formats.tables import BLOB_FILE_THRESHOLD
from muniment.storage.blob_files import SALT_SIZE, BlobFiles, not_committed, stated_size
from muniment.storage.connections import Driver, Execute

__all__ = [
    "SALT_SIZE",
    "Blobs",
    "Shared",
    "Staged",
    "content_value",
    "ref_of",
]

_INSERT = "INSERT INTO blob (digest, seq, data) VALUES (?, ?, ?)"
_SELECT = (
    "SELECT seq, CASE typeof(data) WHEN 'null' THEN NULL WHEN 'blob' THEN length(data) "
    "ELSE -1 END FROM blob WHERE digest = ?"
)
"""The first event that refers to a content, and how many of its bytes the row has."""
_DATA = "SELECT data FROM blob WHERE digest = ?"
_EMPTY = "UPDATE blob SET data = NULL WHERE digest = ?"
_LAST_ERASURE = (
    "SELECT seq FROM event WHERE type = 'blob.erased' ORDER BY seq DESC LIMIT 1"
)
_ERASURES = "SELECT payload FROM event WHERE type = 'blob.erased'"
_NAME = re.compile("[0-9a-f]{64}")
_Row: TypeAlias = tuple[bytes, int, bytes, bytes]
"""Digest, the first event that refers to it, salt, content."""


@dataclass(slots=True)
class Shared:
    """The contents that one run has written already: their hash → their reference."""

    refs: dict[bytes, BlobRef] = field(default_factory=dict[bytes, BlobRef])
    erasure: int = -1
    """The last erasure in the ledger when these were last checked."""


@dataclass(slots=True)
class Staged:
    """The contents that one append is about to write."""

    rows: list[_Row] = field(default_factory=list[_Row])
    fresh: dict[tuple[int, bytes], tuple[Shared, BlobRef]] = field(
        default_factory=dict[tuple[int, bytes], tuple[Shared, BlobRef]]
    )

    def add(self, content: Content, seq: int, shared: Shared | None) -> BlobRef:
        """Return the reference of *content*, first referred to by event *seq*."""
        key = b""
        if shared is not None:
            hashed = hashlib.sha256(content.media.encode() + b"\0")
            hashed.update(content.data)
            key = hashed.digest()
            known = shared.refs.get(key)
            if known is None and (id(shared), key) in self.fresh:
                known = self.fresh[id(shared), key][1]
            if known is not None:
                return known
        salt = os.urandom(SALT_SIZE)
        digest = hashlib.sha256(salt)
        digest.update(content.data)
        ref = BlobRef("sha256:" + digest.hexdigest(), len(content.data), content.media)
        self.rows.append((digest.digest(), seq, salt, content.data))
        if shared is not None:
            self.fresh[id(shared), key] = shared, ref
        return ref

    def settle(self) -> None:
        """After the commit: later appends of the same runs may share these."""
        for (_, key), (shared, ref) in self.fresh.items():
            shared.refs[key] = ref


class Blobs:
    """The contents of the ledger in the file *database*."""

    def __init__(self, database: Path, elsewhere: Path | None = None) -> None:
        self.files = BlobFiles(database, elsewhere)

    @contextmanager
    def written(self, driver: Driver, staged: Staged) -> Generator[None]:
        """Insert the staged rows; a failure in the body removes their files again."""
        if not staged.rows:
            yield
            return
        apart = [digest for digest, _, _, data in staged.rows if _is_large(data)]
        try:
            for digest, _, salt, data in staged.rows:
                if _is_large(data):
                    self.files.write(digest, (salt, data))
            rows = [
                (digest, seq, None if _is_large(data) else salt + data)
                for digest, seq, salt, data in staged.rows
            ]
            driver.executemany(_INSERT, rows)
            yield
        except BaseException:
            self.files.remove(apart)
            raise

    def read(self, execute: Execute, ref: str, size: int | None = None) -> bytes:
        """Return the content behind the commitment *ref* (``sha256:<hex>``).

        Args:
            execute: runs statements on the database.
            ref: the commitment.
            size: how many bytes the reference states; without it, its first event does.

        Raises:
            UsageError: the ledger has no such commitment.
            ErasedError: the content was erased.
            WrongError: the bytes contradict the commitment.

        """
        digest = ref_of(ref)
        row = execute(_SELECT, (digest,)).fetchone()
        if row is None:
            raise _unknown(ref)
        data = self._bytes(execute, ref, row, size)
        if data is None:
            raise _absent(execute, digest, ref)
        if hashlib.sha256(data).digest() != digest:
            whose = "its bytes" if row[1] is not None else "the bytes of its file"
            what = f"{whose} do not match the commitment"
            raise not_committed(what, ref, cast("int", row[0]))
        return data[SALT_SIZE:]

    def stored(self, execute: Execute, ref: str, size: int) -> bytes | None:
        """Return salt and content behind *ref*, unhashed; None if they are gone."""
        row = execute(_SELECT, (ref_of(ref),)).fetchone()
        return None if row is None else self._bytes(execute, ref, row, size)

    def _bytes(
        self, execute: Execute, ref: str, row: Any, size: int | None
    ) -> bytes | None:
        """Return salt and content; read only as much as an event states."""
        seq, length = row
        whole = stated_size(execute, seq, ref) if size is None else size + SALT_SIZE
        if length is None:
            return self.files.read(ref_of(ref), whole)
        if length != whole:
            said = "no event says its size"
            if whole is not None:
                said = f"it has not {whole - SALT_SIZE} bytes"
            raise not_committed(said, ref)
        return cast("bytes", execute(_DATA, (ref_of(ref),)).fetchone()[0])

    def holds(self, execute: Execute, ref: str, *, known: bool = False) -> bool:
        """Tell whether any byte of the content behind *ref* is left.

        Raises:
            UsageError: it should be *known*, and the ledger has no such commitment.

        """
        digest = ref_of(ref)
        row = execute(_SELECT, (digest,)).fetchone()
        if row is None:
            if known:
                raise _unknown(ref)
            return False
        return row[1] is not None or self.files.holds(digest)

    def unshare(self, driver: Driver, shares: Iterable[Shared]) -> None:
        """Forget shared contents if anything was erased since: it may be among them."""
        row = driver.execute(_LAST_ERASURE).fetchone()
        last = -1 if row is None else row[0]
        for shared in shares:
            if shared.erasure != last:
                shared.refs.clear()
                shared.erasure = last

    def empty(self, driver: Driver, refs: Iterable[str]) -> None:
        """Empty the rows of *refs*; after the commit, `remove` their files.

        Raises:
            CannotTellError: something in the place of a file cannot be removed.

        """
        digests = [ref_of(ref) for ref in refs]
        self.files.require_removable(digests)
        driver.executemany(_EMPTY, [(digest,) for digest in digests])

    def remove(self, refs: Iterable[str]) -> None:
        """Remove the files of *refs*; missing ones count as removed.

        Raises:
            CannotTellError: the directory is not writable.

        """
        self.files.remove(ref_of(ref) for ref in refs)

    def strangers(self, driver: Driver) -> list[str]:
        """Return the names beside the database that no row has; they stay there."""
        return [
            name
            for name in self.files.names()
            if not _NAME.fullmatch(name)
            or driver.execute(_SELECT, (bytes.fromhex(name),)).fetchone() is None
        ]


def _is_large(data: bytes) -> bool:
    return len(data) > BLOB_FILE_THRESHOLD


def _unknown(ref: str) -> UsageError:
    return UsageError(
        "the ledger refers to no such blob",
        rule="blob/unknown",
        place=ref,
        remedy="`muniment events show SEQ` prints the references of an event",
    )


def _absent(execute: Execute, digest: bytes, ref: str) -> CannotTellError:
    """Say why a content is missing: an event erased it, or something else took it."""
    tag = f'"sha256:{digest.hex()}"'.encode()
    if any(tag in row[0] for row in execute(_ERASURES)):
        return ErasedError(
            "the blob was erased",
            rule="blob/erased",
            place=ref,
            remedy="`muniment events --type blob.erased` says by whom and why",
        )
    return CannotTellError(
        "the blob is gone",
        rule="blob/missing",
        place=ref,
        remedy="no event says that it was erased: restore it from a backup; `muniment verify` says more",
    )


def ref_of(ref: str) -> bytes:
    """Return the 32 bytes of a ``sha256:<hex>`` commitment."""
    try:
        digest = bytes.fromhex(ref.removeprefix("sha256:"))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise UsageError(
            "a commitment is written sha256:<64 hex digits>",
            rule="blob/reference",
            place=ref[:80],
        )
    return digest


def content_value(content: bytes, media: str, types: ValueTypes) -> object:
    """Return the Python value that *content* of type *media* holds."""
    if media.startswith("application/json"):
        return decode(parse(content), types)
    if media.startswith("text/plain"):
        return content.decode()
    return content
