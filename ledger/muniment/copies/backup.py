"""A consistent copy of a ledger, while writers run.

    copy_ledger(Path(".muniment/ledger.db"), Path("/backup/friday.db"))

Rules:

- SQLite itself copies the database, in one snapshot; the contents beside it are copied
  afterwards, each checked against its commitment. A content was on disk before the
  event that refers to it, so none is missed.
- Contents that are erased while the copy is made are not in it: the copy is made again.
- Only regular files are read, and no link is followed beside the ledger.
- The copy is complete before it gets its name; nothing is overwritten.
- A copy is evidence, not a second place to write: its head is behind as soon as the
  original grows, and the trust home notices.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from muniment.errors import RefusedError, StoreError
from muniment.files.folder import write_new
from muniment.formats.tables import blob_directory
from muniment.storage.blob_files import BlobFiles, not_committed, stated_size
from muniment.storage.connections import Execute, open_reader, translated

__all__ = ["Copied", "copy_ledger"]

PAGES = 1000
_SIZE = "SELECT count(*) FROM event"
_ERASURES = "SELECT count(*) FROM event WHERE type = 'blob.erased'"
_APART = "SELECT digest, seq FROM blob WHERE data IS NULL"


@dataclass(frozen=True, slots=True)
class Copied:
    """How much was copied."""

    path: Path
    size: int
    contents: int
    """How many blobs are in files beside the database."""


def copy_ledger(
    source: Path,
    target: Path,
    progress: Callable[[int, int], None] | None = None,
    elsewhere: Path | None = None,
) -> Copied:
    """Copy the ledger file *source* to the new file *target*.

    Its large contents are in the folder *elsewhere*, unless they are beside it; those
    of the copy are beside the copy.

    Raises:
        RefusedError: there is something at *target*.
        StoreError: the source cannot be read, or the target cannot be written.

    """
    blobs = Path(blob_directory(str(target)))
    for path in (target, blobs):
        if path.exists() or path.is_symlink():
            raise RefusedError(
                "there is something already; a backup never writes over anything",
                rule="backup/exists",
                place=str(path),
                remedy="choose another name",
            )
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        origin = BlobFiles(source, elsewhere)
        copied = _copy_all(source, origin, partial, BlobFiles(target), progress)
        _publish(partial, target)
    except OSError as error:
        raise StoreError(
            f"the copy cannot be written ({error.strerror})",
            rule="backup/unwritable",
            place=str(error.filename or target),
            remedy="make room, or choose another place",
        ) from error
    finally:
        _remove(partial)
    return Copied(target, *copied)


def _copy_all(
    source: Path,
    origin: BlobFiles,
    partial: Path,
    blobs: BlobFiles,
    progress: Callable[[int, int], None] | None,
) -> tuple[int, int]:
    """Copy database and contents; again if something was erased meanwhile."""
    while True:
        _copy_database(source, partial, progress)
        with closing(_open(partial)) as copy:
            size = int(copy.execute(_SIZE).fetchone()[0])
            erasures = copy.execute(_ERASURES).fetchone()
            apart = _apart(copy.execute)
        contents = _copy_contents(origin, blobs, apart)
        with translated(str(source)), closing(open_reader(source, 60.0)) as reader:
            if reader.execute(_ERASURES).fetchone() == erasures:
                return size, contents
        _remove(partial)
        blobs.remove(digest for digest, _ in apart)
        with suppress(OSError):  # there was none
            blobs.path.rmdir()


def _apart(execute: Execute) -> list[tuple[bytes, int | None]]:
    """Return the digests of contents that are not in the file, and their sizes."""
    return [
        (bytes(digest), stated_size(execute, seq, f"sha256:{bytes(digest).hex()}"))
        for digest, seq in execute(_APART).fetchall()
    ]


def _remove(partial: Path) -> None:
    if not partial.parent.is_dir():
        return
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _publish(partial: Path, target: Path) -> None:
    try:
        target.hardlink_to(partial)
    except FileExistsError:
        raise
    except OSError:
        partial.rename(target)  # a file system without hard links


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _copy_database(
    source: Path, partial: Path, progress: Callable[[int, int], None] | None
) -> None:
    def step(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with translated(str(source)), closing(open_reader(source, 60.0)) as reader:
        reader.execute("BEGIN")  # one snapshot, however long the copying takes
        reader.execute(_SIZE).fetchone()
        write_new(partial, [], mode=0o600, sync=False)
        with closing(_open(partial)) as writer:
            reader.backup(writer, pages=PAGES, progress=step)
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with partial.open("rb+") as file:
        os.fsync(file.fileno())


def _copy_contents(
    origin: BlobFiles, target: BlobFiles, apart: list[tuple[bytes, int | None]]
) -> int:
    """Copy the files of *digests*; erased contents have none."""
    copied = 0
    for digest, size in apart:
        data = origin.read(digest, size)
        if data is None:
            continue
        if hashlib.sha256(data).digest() != digest:
            what = "the bytes of its file do not match the commitment"
            raise not_committed(what, str(origin.path / digest.hex()))
        target.write(digest, [data])
        copied += 1
    return copied
