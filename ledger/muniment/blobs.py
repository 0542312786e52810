"""Salted contents: what may be personal stands outside the signed events.

    blob        = salt (32 random bytes) || content
    commitment  = SHA-256(blob)  = address = file name = in-toto subject

Rules:

- The salt makes a commitment say nothing about its content once both are gone: a guess
  cannot be confirmed from the chain.
- Equal content is shared within a run only, so that equality across runs is not shown.
- Contents above 1 MiB stand in a directory beside the database, written and synced
  before the commit that refers to them.
- Erasing empties the row, zeroes the bytes in the file (``secure_delete``) and removes
  the content's file; the event that says so is written in the same transaction.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from muniment.canonical import parse
from muniment.database import Driver, Execute
from muniment.errors import CannotTellError, ErasedError, UsageError, WrongError
from muniment.event_types import Content
from muniment.events import BlobRef
from muniment.layout import BLOB_FILE_THRESHOLD, blob_directory
from muniment.value_types import ValueTypes
from muniment.values import decode

__all__ = ["SALT_SIZE", "Blobs", "Shared", "Staged", "content_value", "ref_of"]

SALT_SIZE = 32

_INSERT = "INSERT INTO blob (digest, seq, data) VALUES (?, ?, ?)"
_SELECT = "SELECT seq, data FROM blob WHERE digest = ?"
_EMPTY = "UPDATE blob SET data = NULL WHERE digest = ?"


@dataclass(slots=True)
class Shared:
    """The contents that one run has written already: their hash → their reference."""

    refs: dict[bytes, BlobRef] = field(default_factory=dict[bytes, BlobRef])


@dataclass(slots=True)
class Staged:
    """What one append is about to write."""

    rows: list[tuple[bytes, int, bytes]] = field(
        default_factory=list[tuple[bytes, int, bytes]]
    )
    fresh: list[tuple[Shared, bytes, BlobRef]] = field(
        default_factory=list[tuple[Shared, bytes, BlobRef]]
    )

    def add(self, content: Content, seq: int, shared: Shared | None) -> BlobRef:
        """Return the reference of *content*, first referred to by event *seq*."""
        key = b""
        if shared is not None:
            key = hashlib.sha256(content.media.encode() + b"\0" + content.data).digest()
            known = shared.refs.get(key) or self._just_added(shared, key)
            if known is not None:
                return known
        data = os.urandom(SALT_SIZE) + content.data
        digest = hashlib.sha256(data)
        ref = BlobRef("sha256:" + digest.hexdigest(), len(content.data), content.media)
        self.rows.append((digest.digest(), seq, data))
        if shared is not None:
            self.fresh.append((shared, key, ref))
        return ref

    def _just_added(self, shared: Shared, key: bytes) -> BlobRef | None:
        for owner, other, ref in self.fresh:
            if owner is shared and other == key:
                return ref
        return None

    def settle(self) -> None:
        """After the commit: later appends of the same runs may share these."""
        for shared, key, ref in self.fresh:
            shared.refs[key] = ref


class Blobs:
    """The contents of the ledger in the file *database*."""

    def __init__(self, database: Path) -> None:
        self._directory = Path(blob_directory(str(database)))

    def write(self, driver: Driver, staged: Staged) -> None:
        """Insert the staged rows; large contents go to files first."""
        if not staged.rows:
            return
        rows = [
            (digest, seq, None if self._kept_apart(digest, data) else data)
            for digest, seq, data in staged.rows
        ]
        driver.executemany(_INSERT, rows)

    def read(self, execute: Execute, ref: str) -> bytes:
        """Return the content behind the commitment *ref* (``sha256:<hex>``).

        Raises:
            UsageError: the ledger has no such commitment.
            ErasedError: the content was erased.
            WrongError: the bytes are not those that were committed to.

        """
        digest = ref_of(ref)
        row = execute(_SELECT, (digest,)).fetchone()
        if row is None:
            raise UsageError(
                "the ledger refers to no such content",
                rule="blob/unknown",
                place=ref,
                remedy="`muniment events show SEQ` prints the references of an event",
            )
        data = cast("bytes | None", row[1])
        if data is None:
            data = self._from_file(digest)
        if data is None:
            raise ErasedError(
                "the content was erased",
                rule="blob/erased",
                place=ref,
                remedy="`muniment events --type blob.erased` says by whom and why",
            )
        if hashlib.sha256(data).digest() != digest:
            raise WrongError(
                "the content is not what was committed to",
                rule="blob/commitment",
                seq=cast("int", row[0]),
                place=ref,
                remedy="run `muniment verify`",
            )
        return data[SALT_SIZE:]

    def erase(self, driver: Driver, refs: list[str]) -> None:
        """Empty the rows of *refs* and remove their files."""
        for ref in refs:
            digest = ref_of(ref)
            driver.execute(_EMPTY, (digest,))
            self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: bytes) -> Path:
        return self._directory / digest.hex()

    def _kept_apart(self, digest: bytes, data: bytes) -> bool:
        if len(data) <= BLOB_FILE_THRESHOLD + SALT_SIZE:
            return False
        self._directory.mkdir(mode=0o700, exist_ok=True)
        target = self._path(digest)
        partial = target.with_suffix(f".{os.getpid()}")
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        return True

    def _from_file(self, digest: bytes) -> bytes | None:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CannotTellError(
                error.strerror or "the content cannot be read",
                rule="blob/unreadable",
                place=str(self._path(digest)),
                remedy="check the permissions",
            ) from error


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
