"""The files of large contents, in a folder beside the database.

    ledger.db.blobs/9d1f…c07a        salt (32 bytes) || content, named by its SHA-256

Rules:

- The folder must be a folder: a link in its place is refused, never followed. To keep
  large contents on another disk, use ``init --blobs DIR``, which tells the trust home.
- A file is made exclusively under its own name, which nobody can guess before, and is
  on disk before the commit that refers to it.
- It is read only if it is a regular file of the size that the event states; if no event
  states one, it is not read.
- A fault of a content is described in the words of a verification.
- Only files that a row names are removed: what a killed writer left behind is counted,
  and left to the owner of the folder.
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import parse
from muniment.errors import CannotTellError, StoreError, WrongError
from muniment.files.folder import Folder, NotAFile, WrongSize
from muniment.formats.tables import blob_directory
from muniment.storage.connections import Execute

__all__ = ["SALT_SIZE", "BlobFiles", "not_committed", "stated_size"]

SALT_SIZE = 32

_REFERRING = "SELECT payload FROM event WHERE seq = ?"
_IS_FILE = "a file"
_NO_LINK = (
    "put a directory there, or the files back; other disks are named by "
    "`muniment init --blobs DIR`, not by a link"
)


class BlobFiles:
    """The files beside the database *database*, or in the folder *elsewhere*."""

    def __init__(self, database: Path, elsewhere: Path | None = None) -> None:
        """Open nothing yet."""
        beside = Path(blob_directory(str(database)))
        self.path = elsewhere or beside
        self._apart = elsewhere is not None

    def holds(self, digest: bytes) -> bool:
        """Tell whether anything has the name of *digest*."""
        with self._reading(digest) as folder:
            return folder is not None and folder.kind(digest.hex()) != ""

    def read(self, digest: bytes, size: int | None) -> bytes | None:
        """Return the *size* bytes of the file of *digest*; None without a file.

        Raises:
            CannotTellError: it is not a file, or cannot be read.
            WrongError: it has another size, or none is stated.

        """
        with self._reading(digest) as folder:
            if folder is None:
                return None
            try:
                if size is not None:
                    return folder.read(digest.hex(), size=size)
                if not folder.kind(digest.hex()):
                    return None
            except FileNotFoundError:
                return None
            except WrongSize as error:
                what = f"its file has not {cast('int', size) - SALT_SIZE} bytes"
                raise not_committed(what, str(error.filename)) from None
            except MemoryError:
                raise CannotTellError(
                    f"the blob has {size} bytes, more than fit into memory",
                    rule="blob/unreadable",
                    place=str(self.path / digest.hex()),
                    remedy="read its file with another program",
                ) from None
            raise not_committed("no event says its size", digest.hex())

    def names(self) -> list[str]:
        """Return the names in the folder, whatever they are."""
        with self._reading(b"") as folder:
            return [] if folder is None else folder.names()

    def write(self, digest: bytes, parts: Iterable[bytes]) -> None:
        """Write *parts* to the file of *digest*; on disk when this returns.

        Raises:
            StoreError: no space, no permission, or no folder.

        """
        try:
            self._make()
            with self._open() as folder:
                folder.create(digest.hex(), parts)
                folder.sync()
        except OSError as error:
            raise StoreError(
                f"a large blob cannot be written ({error.strerror})",
                rule="store/full" if error.errno == errno.ENOSPC else "store/io",
                place=str(error.filename or self.path / digest.hex()),
                remedy=_NO_LINK
                if isinstance(error, NotAFile)
                else "make room, or make the directory writable; try again",
            ) from error

    def require_removable(self, digests: Iterable[bytes]) -> None:
        """Refuse early if something could not be removed after the commit.

        Raises:
            CannotTellError: something other than a file has the name of a digest.

        """
        for digest in digests:
            with self._reading(digest) as folder:
                kind = "" if folder is None else folder.kind(digest.hex())
                if kind not in ("", _IS_FILE):
                    what = f"it is {kind}, not a file"
                    error = NotAFile(errno.EINVAL, what, digest.hex())
                    raise self._unusable(digest, error)

    def remove(self, digests: Iterable[bytes]) -> None:
        """Remove the files of *digests*; missing ones count as removed.

        Raises:
            CannotTellError: the folder is not a folder, or not writable.

        """
        for digest in digests:
            try:
                with suppress(FileNotFoundError), self._open() as folder:
                    folder.remove(digest.hex())
            except OSError as error:
                raise CannotTellError(
                    f"the blob's file cannot be removed ({error.strerror})",
                    rule="blob/unremovable",
                    place=str(self.path / digest.hex()),
                    remedy="make its directory writable, and erase it again",
                ) from error

    @contextmanager
    def _reading(self, digest: bytes) -> Generator[Folder | None]:
        with ExitStack() as stack:
            folder: Folder | None = None
            try:
                with suppress(FileNotFoundError):
                    folder = stack.enter_context(self._open())
                yield folder
            except OSError as error:
                raise self._unusable(digest, error) from error

    @contextmanager
    def _open(self) -> Generator[Folder]:
        if self._apart:
            with Folder.at(self.path) as folder:
                yield folder
        else:
            with (
                Folder.at(self.path.parent) as parent,
                parent.inside(self.path.name) as folder,
            ):
                yield folder

    def _make(self) -> None:
        if not self._apart:
            with Folder.at(self.path.parent) as parent:
                parent.make(self.path.name)

    def _unusable(self, digest: bytes, error: OSError) -> CannotTellError:
        place = Path(error.filename or self.path / digest.hex())
        what = "its file" if place.name == digest.hex() else "the folder of blobs"
        return CannotTellError(
            f"{what}: {error.strerror or 'it cannot be read'}",
            rule="blob/unreadable",
            place=str(place),
            remedy=_NO_LINK if isinstance(error, NotAFile) else "check the permissions",
        )


def not_committed(what: str, place: str, seq: int | None = None) -> WrongError:
    """Return the error about a content that contradicts event *seq*'s commitment."""
    return WrongError(
        what,
        rule="blob/commitment",
        seq=seq,
        place=place,
        remedy="run `muniment verify`",
    )


def stated_size(execute: Execute, seq: int, ref: str) -> int | None:
    """Return the size with salt that event *seq* states for *ref*, if it does."""
    row = execute(_REFERRING, (seq,)).fetchone()
    statement: object = None if row is None else parse(row[0])
    match statement:
        case {"predicate": {"data": dict(data)}}:
            values = cast("dict[str, object]", data).values()
        case _:
            return None
    for value in values:
        reference = cast("dict[str, object]", value) if type(value) is dict else {}
        size = reference.get("size")
        if reference.get("$blob") == ref and type(size) is int:
            return size + SALT_SIZE
    return None
