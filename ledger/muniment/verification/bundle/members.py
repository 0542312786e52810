"""The files of a bundle, in a folder or in a zip, opened without trusting their names.

    with opened(Path("evidence.zip")) as members:
        members.sizes        {"MANIFEST": 842, "blobs/sha256-9d1f…": 63, …}
        with members.open("MANIFEST") as file: …

Rules:

- Only regular files are opened, and only names that a bundle can have
  (`muniment.formats.evidence.is_name`). Anything else is a *stranger*: a link, a folder,
  ``..``, a twin in other case.
- A folder is read through its descriptor, and no link in it is followed. A zip is the
  bytes that `muniment.formats.stored_zip` gives its members, and never unpacked.
- A directory that has nothing of a bundle, and what is neither a directory nor like a zip
  file, is none: nothing of it was read that could be wrong.
- A file that has more bytes than any of its name is refused before it is read.
- A file has the size that it had when the bundle was opened, or it is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from muniment.errors import CannotTellError, WrongError
from muniment.files.folder import Folder, open_file
from muniment.formats.evidence import BLOBS, MANIFEST, MOST_BYTES, TELLING, is_name
from muniment.formats.stored_zip import Stored, read_stored

__all__ = ["Members", "opened"]

_CHUNK = 1 << 20
_LISTED = 8192
"""More bytes than any line of MANIFEST has."""
_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"

Opener = Callable[[str], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True, slots=True)
class Members:
    """The files of one bundle."""

    sizes: Mapping[str, int]
    """Name → bytes, sorted by name."""
    _open: Opener
    strangers: Mapping[str, str]
    """Name → what it is, of everything that no bundle has."""

    def is_large(self, name: str) -> bool:
        """Tell whether *name* has more bytes than any such file: then nothing reads it."""
        most = _LISTED * len(self.sizes) if name == MANIFEST else MOST_BYTES.get(name)
        return most is not None and self.sizes.get(name, 0) > most

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of *name*, a mebibyte at a time.

        Raises:
            WrongError: it is missing, or shorter or longer than it was.

        """
        left = self._size(name)
        with self._open(name) as file:
            while piece := file.read(min(_CHUNK, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        if left:
            raise _changed(name, "it has another size than a moment ago")

    def read(self, name: str, most: int) -> bytes:
        """Return the content of *name*.

        Raises:
            WrongError: it is missing, or larger than *most*.

        """
        if self._size(name) > most:
            raise self._too_large(name)
        return b"".join(self.pieces(name))

    def _size(self, name: str) -> int:
        if name not in self.sizes:
            what = "the file is missing"
            raise WrongError(what, rule="bundle/missing", place=name, remedy=_ASK)
        if self.is_large(name):
            raise self._too_large(name)
        return self.sizes[name]

    def _too_large(self, name: str) -> WrongError:
        what = f"it has {self.sizes[name]} bytes, more than any such file"
        return WrongError(what, rule="bundle/size", place=name, remedy=_ASK)

    def digest(self, name: str) -> bytes:
        """Return the SHA-256 of the content of *name*."""
        digest = hashlib.sha256()
        for piece in self.pieces(name):
            digest.update(piece)
        return digest.digest()

    def lines(self, name: str, most: int) -> Iterator[bytes]:
        """Yield the lines of *name* with their ends, each of at most *most* bytes.

        Raises:
            WrongError: a line is longer; the last one has no end.

        """
        rest = b""
        for piece in self.pieces(name):
            *whole, rest = (rest + piece).split(b"\n")
            if max(map(len, (*whole, rest))) > most:
                what = f"a line has more than {most} bytes"
                raise WrongError(what, rule="bundle/size", place=name, remedy=_ASK)
            for line in whole:
                yield line + b"\n"
        if rest:
            what = "the last line has no end"
            raise WrongError(what, rule="bundle/line", place=name, remedy=_ASK)


@contextmanager
def opened(path: Path) -> Generator[Members]:
    """Lend the members of the bundle at *path*, a directory or a zip file.

    Raises:
        WrongError: it is no zip file as `muniment bundle` writes them.
        CannotTellError: there is nothing to read.

    """
    try:
        with ExitStack() as stack:
            yield _in_folder(path, stack) if path.is_dir() else _in_zip(path, stack)
    except OSError as error:
        raise CannotTellError(
            f"the bundle cannot be read ({error.strerror or error})",
            rule="bundle/unreadable",
            place=_inside(path, error),
            remedy="give a directory or a zip file that `muniment bundle` wrote",
        ) from None


def _inside(path: Path, error: OSError) -> str:
    """Return the name of the member that *error* is about, if it is about one."""
    named = str(error.filename or path)
    return named.removeprefix(f"{path}{os.sep}")


def _in_folder(path: Path, stack: ExitStack) -> Members:
    folder = stack.enter_context(Folder.at(path))
    places = {name: (folder, name) for name in folder.names()}
    if places.keys().isdisjoint(TELLING):
        raise _no_bundle(path, "nothing of a bundle is in this directory")
    strangers: dict[str, str] = {}
    if folder.kind(BLOBS) == "a directory":
        del places[BLOBS]
        blobs = stack.enter_context(folder.inside(BLOBS))
        inside = {f"{BLOBS}/{name}": (blobs, name) for name in blobs.names()}
        places |= inside
        if not inside:
            strangers[BLOBS] = "an empty folder"
    sizes: dict[str, int] = {}
    for name, (where, inner) in sorted(places.items()):
        if is_name(name) and where.kind(inner) == "a file":
            sizes[name] = where.regular(inner).st_size
        else:
            strangers[name] = where.kind(inner)

    def lend(name: str) -> AbstractContextManager[BinaryIO]:
        where, inner = places[name]
        return where.opened(inner)

    return Members(sizes, lend, strangers)


def _in_zip(path: Path, stack: ExitStack) -> Members:
    fd = open_file(path, os.O_RDONLY, follow=True)
    file = stack.enter_context(os.fdopen(fd, "rb"))
    if path.suffix.lower() != ".zip" and file.read(2) != b"PK":
        raise _no_bundle(path, "this is neither a directory nor a zip file")
    file.seek(0)
    stored = read_stored(file, os.fstat(fd).st_size)

    @contextmanager
    def lend(name: str) -> Generator[BinaryIO]:
        yield io.BufferedReader(_Part(file, stored[name]))

    known = {name: one.size for name, one in stored.items() if is_name(name)}
    others = dict.fromkeys(stored.keys() - known.keys(), "a member")
    return Members(known, lend, others)


class _Part(io.RawIOBase):
    """One member of an open zip file."""

    def __init__(self, file: BinaryIO, member: Stored) -> None:
        super().__init__()
        self._file = file
        self._at = member.content
        self._end = member.content + member.size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._file.seek(self._at)
        piece = self._file.read(min(len(buffer), self._end - self._at))
        self._at += len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


def _no_bundle(path: Path, what: str) -> CannotTellError:
    return CannotTellError(
        what,
        rule="bundle/unreadable",
        place=str(path),
        remedy="give a directory or a zip file that `muniment bundle` wrote",
    )


def _changed(name: str, what: str) -> WrongError:
    return WrongError(
        what, rule="bundle/changing", place=name, remedy="verify it where nobody writes"
    )
