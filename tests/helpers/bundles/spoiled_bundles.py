"""Everything that can be done to one file of an evidence bundle, one thing at a time.

    for spoiling in spoilings(files):
        with spoiled(folder, files, spoiling.files): …

Rules:

- A bundle is a mapping of names to contents; a spoiling is another such mapping, the
  name of the file that was spoiled, and what was done to it.
- *sealed* spoilings rewrite MANIFEST so that it lists what is there: what somebody does
  who has no keys, and knows the format.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from muniment.formats.evidence import MANIFEST, SELF_PROVING, manifest_line
from muniment.formats.stored_zip import Stored, closing_part, local_header

__all__ = [
    "Files",
    "Spoiling",
    "copy",
    "packed",
    "read",
    "sealed",
    "spoiled",
    "spoilings",
    "write",
]

Files = Mapping[str, bytes]

_POSITIONS = 3


@dataclass(frozen=True)
class Spoiling:
    """A bundle in which one file was spoiled."""

    what: str
    name: str
    files: Files
    other: str = ""
    """Another file that was spoiled with it."""


def spoilings(files: Files) -> Iterator[Spoiling]:
    """Yield every spoiling of every one of *files*."""
    names = sorted(files)
    for name in names:
        yield from _as_a_whole(files, name)
        for what, data in _changed(files[name]):
            yield Spoiling(what, name, {**files, name: data})
    for name, other in pairwise(names):
        if files[name] == files[other]:
            continue
        swapped = {name: files[other], other: files[name]}
        yield Spoiling("exchanged", name, {**files, **swapped}, other)
    salted = b"\0" * 32 + b'"added"'
    blob = f"blobs/sha256-{sha256(salted).hexdigest()}"
    for added in ("README", "blobs/x", "events.intoto.json", blob):
        yield Spoiling("added", added, {**files, added: salted})


def _as_a_whole(files: Files, name: str) -> Iterator[Spoiling]:
    rest = {one: data for one, data in files.items() if one != name}
    yield Spoiling("deleted", name, rest)
    for other in (f"{name}2", name.swapcase(), name[:-1]):
        yield Spoiling(f"renamed to {other}", name, {**rest, other: files[name]})


def _changed(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "emptied", b""
    yield "extended", data + b"\n"
    yield "cut", data[:-1]
    for at in sorted({len(data) * one // _POSITIONS for one in range(_POSITIONS)}):
        yield f"byte {at} changed", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return
    for at, line in enumerate(lines):
        before, after = lines[:at], lines[at + 1 :]
        yield f"line {at} dropped", b"".join(before + after)
        yield f"line {at} doubled", b"".join([*before, line, line, *after])
        if after and after[0] != line:
            swapped = [*before, after[0], line, *after[1:]]
            yield f"line {at} moved down", b"".join(swapped)
        yield f"line {at} changed", b"".join([*before, _other(line), *after])


def _other(line: bytes) -> bytes:
    """Return *line* with one letter or digit changed in its middle."""
    for at in range(len(line) // 2, len(line)):
        if chr(line[at]).isalnum():
            other = b"7" if line[at : at + 1] != b"7" else b"8"
            return line[:at] + other + line[at + 1 :]
    return b"7" + line


def sealed(files: Files) -> Files:
    """Return *files* with a MANIFEST that lists them."""
    listed = sorted(files.keys() - SELF_PROVING)
    lines = (manifest_line(one, sha256(files[one]).digest()) for one in listed)
    return {**files, MANIFEST: b"".join(lines)}


def read(folder: Path) -> Files:
    """Return the files of the bundle in *folder*."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write(folder: Path, files: Files) -> Path:
    """Write *files* into the new *folder*."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@contextmanager
def spoiled(folder: Path, files: Files, other: Files) -> Generator[Path]:
    """Lend *folder*, which has *files*, with the *other* files in their place."""
    gone = files.keys() - other.keys()
    new = {one: data for one, data in other.items() if files.get(one) != data}
    for name in gone:
        (folder / name).unlink()
    write(folder, new)
    try:
        yield folder
    finally:
        for name in new:
            (folder / name).unlink()
        for place in [one for one in folder.iterdir() if one.is_dir()]:
            if not any(place.iterdir()):
                place.rmdir()
        write(folder, {one: files[one] for one in gone | (new.keys() & files.keys())})


def copy(folder: Path, to: Path) -> Path:
    """Copy the bundle in *folder*."""
    return Path(shutil.copytree(folder, to))


def packed(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the zip file of these members, in this order, in the form of ours."""
    told: list[Stored] = []
    data = bytearray()
    for name, content in members:
        crc = zlib.crc32(content)
        told.append(Stored(name, crc, len(content), len(data)))
        data += local_header(name, crc, len(content)) + content
    return bytes(data) + b"".join(closing_part(told))
