"""Bytes that no row owns: where something could stand that no verdict speaks of.

    header (100 bytes) | cell pointers → … nothing … ← cells | bytes kept back

Rules:

- They change no verdict; they are named in a note, and never read as anything.
- In a page of a tree nothing stands between the pointers and the cells but what SQLite
  leaves of cells that are gone; a free page, the bytes that a page keeps back, and what
  the header reserves are zero.
- What SQLite's own log still holds is newer than the file: then pages are not looked at.
- Names beside the contents that no row has are noted with the contents
  (`muniment.verifying.contents`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from muniment.verifying.snapshot import Snapshot

__all__ = ["unowned"]

_SAYING = re.compile(rb"[^\0]{5,}")
_HEADER = 100
_TREES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kind of a page of a tree → the length of its header."""
_LARGEST_PAGE = 65536


def unowned(snapshot: Snapshot) -> Iterator[str]:
    """Yield a remark on each sort of bytes that no row owns."""
    free = snapshot.value("PRAGMA freelist_count")
    if free:
        yield f"{free} pages of the file are free; what stands in them is no event"
    wal = Path(f"{snapshot.path}-wal")
    if not wal.exists() or not wal.stat().st_size:
        yield from _in_pages(snapshot.path)


def _in_pages(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        head = file.read(_HEADER)
        size = int.from_bytes(head[16:18]) if len(head) == _HEADER else 0
        size = _LARGEST_PAGE if size == 1 else size
        if size < 512:  # noqa: PLR2004 - no page is smaller; SQLite says what it is
            return
        if any(head[72:92]):
            yield "the file's header says something where it is reserved"
        if head[20]:
            yield f"each page keeps {head[20]} bytes back, which no row owns"
        file.seek(0)
        slack, number = 0, 0
        while len(page := file.read(size)) == size:
            slack += _slack(page, 0 if number else _HEADER)
            number += 1
    if slack:
        yield f"{slack} bytes between the rows of the file are of none: left over, or put there"


def _slack(page: bytes, start: int) -> int:
    """Return how many bytes between pointers and cells of a tree's page say something.

    Pointers of cells that are gone are passed over, and runs of four bytes and fewer: so
    long is the head of a free block (https://sqlite.org/fileformat2.html#b_tree_pages).
    """
    header = _TREES.get(page[start])
    if header is None:
        return 0
    cells = int.from_bytes(page[start + 3 : start + 5])
    content = int.from_bytes(page[start + 5 : start + 7]) or _LARGEST_PAGE
    gap = page[start + header + 2 * cells : content]
    at = 0
    while header < int.from_bytes(gap[at : at + 2]) < len(page):
        at += 2
    return sum(map(len, _SAYING.findall(gap, at)))
