"""Salted contents: what may be personal stands outside the signed events.

    blob        = salt (32 random bytes) || content
    commitment  = SHA-256(blob)  = address = file name = in-toto subject

Rules:

- The salt makes a commitment say nothing about its content once both are gone: a guess
  cannot be confirmed from the chain.
- Equal content is shared within a run only, so that equality across runs is not shown;
  what a run states after an erasure is kept anew.
- Contents above 1 MiB stand in a directory beside the database (`muniment.blob_files`),
  written and synced before the commit that refers to them.
- Erasing empties the row and zeroes the bytes in the file (``secure_delete``) in the
  transaction that says so; the files of large contents go after its commit.
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

from muniment.blob_files import SALT_SIZE, BlobFiles, another_size, stated_size
from muniment.canonical import parse
from muniment.database import Driver, Execute
from muniment.errors import (
    CannotTellError,
    ErasedError,
    UsageError,
    WrongError,
)
from muniment.event_types import Content
from muniment.events import BlobRef
from muniment.layout import BLOB_FILE_THRESHOLD
from muniment.value_types import ValueTypes
from muniment.values import decode

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
"""The first event that refers to a content, and how many bytes its row has of it."""
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
    """The last erasure in the ledger when these were looked at."""


@dataclass(slots=True)
class Staged:
    """What one append is about to write."""

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
        """Insert the staged rows; what fails in the body removes their files again."""
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
            execute: what asks the database.
            ref: the commitment.
            size: how many bytes the reference states; what its first event states without.

        Raises:
            UsageError: the ledger has no such commitment.
            ErasedError: the content was erased.
            WrongError: the bytes are not those that were committed to.

        """
        digest = ref_of(ref)
        row = execute(_SELECT, (digest,)).fetchone()
        if row is None:
            raise _unknown(ref)
        data = self._bytes(execute, ref, row, size)
        if data is None:
            raise _absent(execute, digest, ref)
        if hashlib.sha256(data).digest() != digest:
            raise WrongError(
                "the content is not what was committed to",
                rule="blob/commitment",
                seq=cast("int", row[0]),
                place=ref,
                remedy="run `muniment verify`",
            )
        return data[SALT_SIZE:]

    def stored(self, execute: Execute, ref: str, size: int) -> bytes | None:
        """Return salt and content behind *ref*, unhashed; None where they are gone."""
        row = execute(_SELECT, (ref_of(ref),)).fetchone()
        return None if row is None else self._bytes(execute, ref, row, size)

    def _bytes(
        self, execute: Execute, ref: str, row: Any, size: int | None
    ) -> bytes | None:
        """Return salt and content, of the size that an event states; nothing else is read."""
        seq, length = row
        whole = stated_size(execute, seq, ref) if size is None else size + SALT_SIZE
        if length is None:
            return self.files.read(ref_of(ref), whole)
        if length != whole:
            raise another_size(f"it has {length} bytes, not {whole}", ref)
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
        """Forget what runs share where something was erased since: it may be that."""
        row = driver.execute(_LAST_ERASURE).fetchone()
        last = -1 if row is None else row[0]
        for shared in shares:
            if shared.erasure != last:
                shared.refs.clear()
                shared.erasure = last

    def empty(self, driver: Driver, refs: Iterable[str]) -> None:
        """Empty the rows of *refs*; after the commit, `remove` their files.

        Raises:
            CannotTellError: what stands in the place of a file cannot be removed.

        """
        digests = [ref_of(ref) for ref in refs]
        self.files.require_removable(digests)
        driver.executemany(_EMPTY, [(digest,) for digest in digests])

    def remove(self, refs: Iterable[str]) -> None:
        """Remove the files of *refs*; those that are not there are done with.

        Raises:
            CannotTellError: the directory cannot be written.

        """
        self.files.remove(ref_of(ref) for ref in refs)

    def strangers(self, driver: Driver) -> list[str]:
        """Return the names beside the database that no row has; nobody removes them."""
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
        "the ledger refers to no such content",
        rule="blob/unknown",
        place=ref,
        remedy="`muniment events show SEQ` prints the references of an event",
    )


def _absent(execute: Execute, digest: bytes, ref: str) -> CannotTellError:
    """Say why a content is not there: an event says so, or something took it."""
    tag = f'"sha256:{digest.hex()}"'.encode()
    if any(tag in row[0] for row in execute(_ERASURES)):
        return ErasedError(
            "the content was erased",
            rule="blob/erased",
            place=ref,
            remedy="`muniment events --type blob.erased` says by whom and why",
        )
    return CannotTellError(
        "the content is gone, and no event says that it was erased",
        rule="blob/missing",
        place=ref,
        remedy="restore it from a backup; `muniment verify` says more",
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
