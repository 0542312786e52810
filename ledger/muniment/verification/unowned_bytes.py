"""Bytes that no row owns, where something could be hidden from every verdict.

    header (100 bytes) | cell pointers → … nothing … ← cells | reserved bytes

Rules:

- They change no verdict; a note reports them, and they are never interpreted.
- A writer deletes securely (``secure_delete``), and its rows are only ever added or
  emptied: then SQLite leaves zeros between the rows of a table, after the end of a long
  value, and in free pages. Anything else there is noted.
- When SQLite splits an index page, it leaves pieces of the entries that moved. Nothing
  distinguishes them from planted bytes, so indexes are not checked.
- If SQLite's write-ahead log still holds something, it is newer than the file: then the
  pages are not checked, and nothing is reported.
- Names beside the contents that no row has are noted with the contents
  (`muniment.verification.contents`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from muniment.files.sqlite import size_of
from muniment.verification.snapshot import Snapshot

__all__ = ["unowned"]

_SAYING = re.compile(rb"[^\0]{5,}")
"""SQLite leaves nothing this long: the header of a free block has four bytes."""
_LEFT = 48
"""Nor does it leave this many bytes of them in one page of rows: twelve were seen."""
_HEADER = 100
_LEAF: Final = 13
"""The type of a page that holds rows of a table."""
_LEAF_HEADER = 8
_LARGEST_PAGE = 65536
_LOCK = 1 << 30
"""The page at this place is never used."""
_REMEDY = (
    "left by another program, or put there; a copy made by SQLite's VACUUM INTO has "
    "only the rows"
)


def unowned(snapshot: Snapshot) -> Iterator[str]:
    """Yield a remark on each class of bytes that no row owns."""
    if size_of(Path(f"{snapshot.path}-wal")):
        return
    pages = snapshot.value("PRAGMA page_count")
    with snapshot.path.open("rb") as file:
        before = os.fstat(file.fileno())
        size = _page_size(file)
        if not size or not isinstance(pages, int):
            return
        said = list(_Pages(file, size, pages).remarks())
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
        yield from said


def _page_size(file: BinaryIO) -> int:
    size = int.from_bytes(file.read(_HEADER)[16:18])
    return _LARGEST_PAGE if size == 1 else size


@dataclass(slots=True)
class _Pages:
    """The pages of a file without writers (https://sqlite.org/fileformat2.html)."""

    file: BinaryIO
    size: int
    count: int
    kept: int = 0
    """How many bytes at the end of each page SQLite does not use."""

    def remarks(self) -> Iterator[str]:
        """Yield a remark on each class of bytes that SQLite would not leave."""
        head = self.page(1)
        self.kept = head[20]
        if any(head[72:92]):
            yield "the file's header says something where it is reserved"
        free = dict(self.free(int.from_bytes(head[32:36])))
        ends = filled = between = 0
        for number in range(1, self.count + 1):
            page = self.page(number)
            ends += _filled(page[self.size - self.kept :])
            start = _HEADER if number == 1 else 0
            if number in free:
                filled += _SAYING.search(page, free[number]) is not None
            elif (number - 1) * self.size == _LOCK:
                filled += any(page)
            elif page[start] == _LEAF:
                between += self.slack(page, start)
        beyond = os.fstat(self.file.fileno()).st_size - self.count * self.size
        for number, what in (
            (ends, "bytes at the ends of the file's pages are of no row"),
            (filled, "pages of the file are free, and not empty"),
            (between, "bytes between the rows of the file are of none"),
            (beyond, "bytes come after the last page of the file"),
        ):
            if number > 0:
                yield f"{number} {what}: {_REMEDY}"

    def page(self, number: int) -> bytes:
        """Return the page *number*, from 1; only zeros if there is none."""
        self.file.seek(max(number - 1, 0) * self.size)
        found = self.file.read(self.size) if 0 < number <= self.count else b""
        return found.ljust(self.size, b"\0")

    def free(self, trunk: int) -> Iterator[tuple[int, int]]:
        """Yield the free pages, and the offset from which each should be empty."""
        left = self.count
        while trunk and left > 0:
            page = self.page(trunk)
            end = min(8 + 4 * int.from_bytes(page[4:8]), self.size)
            yield trunk, end
            for at in range(8, end, 4):
                yield int.from_bytes(page[at : at + 4]), 0
            left -= end // 4
            trunk = int.from_bytes(page[:4])

    def slack(self, page: bytes, start: int) -> int:
        """Return how many bytes of a page belong to no row and are not SQLite's."""
        cells = start + _LEAF_HEADER
        end = cells + 2 * int.from_bytes(page[start + 3 : start + 5])
        content = int.from_bytes(page[start + 5 : start + 7]) or _LARGEST_PAGE
        at = end  # skip the pointers of cells that are gone
        while cells < int.from_bytes(page[at : at + 2]) < self.size and at < content:
            at += 2
        gap = page[at:content]
        found = sum(map(len, _SAYING.findall(gap)))
        found = max(found, _filled(gap) if _filled(gap) >= _LEFT else 0)
        block = int.from_bytes(page[start + 1 : start + 3])
        while block:
            after = block + int.from_bytes(page[block + 2 : block + 4])
            found += _filled(page[block + 4 : after])
            following = int.from_bytes(page[block : block + 2])
            block = following if following > block else 0
        for at in range(cells, min(end, self.size), 2):
            found += self.tail(page, int.from_bytes(page[at : at + 2]))
        return found

    def tail(self, page: bytes, at: int) -> int:
        """Return how many bytes after the end of a long value are not zero."""
        usable = self.size - self.kept
        length, at = _varint(page, at)
        _, at = _varint(page, at)
        if length <= usable - 35:
            return 0
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= usable - 35 else least
        left, at = length - local, at + local
        while left > 0 and any(page[at : at + 4]):
            page, at = self.page(int.from_bytes(page[at : at + 4])), 0
            left -= usable - 4
        return 0 if left > 0 else _filled(page[usable + left : usable])


def _filled(data: bytes) -> int:
    return len(data) - data.count(0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at *at*, and the position after it."""
    value = 0
    for byte in data[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a number
            return value, at
    return value << 8 | int.from_bytes(data[at : at + 1]), at + 1
