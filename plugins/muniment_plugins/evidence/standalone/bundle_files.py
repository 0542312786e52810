"""The part of the standalone verifier that reads files: a piece at a time, never all.

Rule: a file is hashed and its lines are read as they come; only one that is small is held.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from muniment_plugins.evidence.standalone.formats import Refused, Unchecked, require

__all__ = ["SMALL", "Files", "read"]

MEMBERS = 65_535
"""As many files as a zip without extensions has."""
TELLING = ("MANIFEST", "events.intoto.jsonl", "proofs.jsonl", "evidence.sigstore.json")
"""Of these each bundle has at least one, and no other directory has any."""
PIECE, LINE, SMALL = 1 << 20, 100_000, 1 << 20
SHORT_LINE, SHORT_LINES = 8192, ("MANIFEST", "proofs.jsonl", "withheld.jsonl")


class Files(Mapping[str, bytes]):
    """Name → content of the files of a bundle."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[Path, int, int]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __getitem__(self, name: str) -> bytes:
        """Return the content of a small file."""
        require(self.size(name) <= SMALL, name, "too large for such a file")
        return b"".join(self.pieces(name))

    def size(self, name: str) -> int:
        """Return how many bytes the file has."""
        return self.places[name][2]

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content, piece by piece."""
        path, start, left = self.places[name]
        with path.open("rb") as file:
            file.seek(start)
            while left and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                yield piece
        require(not left, name, "it has become shorter")

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines, without their ends."""
        rest, most = b"", SHORT_LINE if name in SHORT_LINES else LINE
        for piece in self.pieces(name):
            *whole, rest = (rest + piece).split(b"\n")
            long = max(map(len, (*whole, rest))) > most
            require(not long, name, "a line is too long")
            yield from whole
        require(not rest, name, "the last line has no end")

    def digest(self, name: str, skip: int = 0) -> bytes:
        """Return the SHA-256 of the content, but for the first bytes to *skip*."""
        digest = hashlib.sha256()
        for piece in self.pieces(name):
            digest.update(piece[skip:])
            skip = max(skip - len(piece), 0)
        return digest.digest()


def regular(path: Path, name: str) -> int:
    """Return the size of a file; refuse what is none."""
    known = path.lstat()
    require(stat.S_ISREG(known.st_mode), name, "not a file")
    return known.st_size


def starts(path: Path) -> bool:
    """Tell whether a file begins as a zip file does."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def read(path: Path) -> Files:
    """Return the files of the bundle at *path*; what is none cannot be wrong."""
    files = Files()
    if not path.is_dir():
        whole = path.resolve()
        like = whole.is_file() and (path.suffix.lower() == ".zip" or starts(whole))
        if not like:
            raise Unchecked(f"{path}: neither a directory nor a zip file")
        size = regular(whole, path.name)
        try:
            unpack(files, whole, size, path.name)
        except (struct.error, UnicodeError):
            raise Refused(f"{path.name}: {NO_ZIP}") from None
        return files
    if not any(os.path.lexists(path / name) for name in TELLING):
        raise Unchecked(f"{path}: nothing of a bundle is in there")
    for one in sorted(path.rglob("*")):
        name = one.relative_to(path).as_posix()
        if name == "blobs" and one.is_dir() and not one.is_symlink():
            require(any(one.iterdir()), name, "an empty folder")
            continue
        files.places[name] = one, 0, regular(one, name)
    return files


NO_ZIP = "not a zip of `muniment bundle`"


def unpack(files: Files, path: Path, size: int, place: str) -> None:
    """Find the members of a zip file, which is what they make it and nothing else."""
    directory: list[bytes] = []
    at, last = 0, ""
    with path.open("rb") as file:
        while (start := file.read(30))[:4] == b"PK\3\4" and len(files) < MEMBERS:
            length, named = struct.unpack_from("<IH", start, 22)
            told = file.read(named)
            name = told.decode()
            require(name > last or not last, place, NO_ZIP)
            require(at + 30 + named + length <= size, place, NO_ZIP)
            files.places[name] = path, at + 30 + named, length
            check = 0
            for piece in files.pieces(name):
                check = zlib.crc32(piece, check)
            sizes = struct.pack("<3IH", check, length, length, named)
            head = struct.pack("<5H", 20, 0, 0, 0, 33) + sizes
            require(start == b"PK\3\4" + head + b"\0\0", place, NO_ZIP)
            where = struct.pack("<4H2I", 0, 0, 0, 0, 0o100644 << 16, at)
            entry = b"PK\1\2" + struct.pack("<H", 3 << 8 | 20) + head + where + told
            directory.append(entry)
            at, last = at + 30 + named + length, name
            file.seek(at)
        listing, count = b"".join(directory), len(files)
        sizes = struct.pack("<4H2IH", 0, 0, count, count, len(listing), at, 0)
        file.seek(at)
        rest = listing + b"PK\5\6" + sizes
        good = files and at + len(rest) == size and file.read(len(rest)) == rest
        require(good, place, NO_ZIP)
