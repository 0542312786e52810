"""Bundles that are made to exhaust, mislead or escape whoever reads them.

    for what, path in hostile(files, folder): …

Rules:

- Each starts from an honest bundle, so that nothing before it is a reason to stop.
- Sizes are claimed, or sparse: nothing takes the disk.
"""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from muniment.formats.evidence import MANIFEST
from spoiled_bundles import Files, sealed, write

__all__ = ["hostile"]

_GIB = 1 << 30
_DEEP = 200_000
_TEXTS = {
    "deep arrays": b"[" * _DEEP + b"]" * _DEEP + b"\n",
    "deep objects": b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"\n",
    "a long number": b"1" * 5_000_000 + b"\n",
    "a number that is none": b'{"seq":NaN}\n',
    "a number beyond all": b'{"seq":1e999999999}\n',
    "a lone surrogate": b'{"seq":"\\ud800"}\n',
    "members twice": b'{"seq":1,"seq":2}\n',
    "UTF-16": '{"seq":1}\n'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}\n",
    "bytes that are no text": bytes(range(256)) * 64,
    "zeros": bytes(1 << 20),
    "a million lines": b"\n" * 1_000_000,
    "a million objects": b"{}\n" * 1_000_000,
    "one long line": b"x" * 8_000_000,
    "controls of a terminal": b"\x1b]0;owned\x07\x1b[2J\n",
}


def hostile(files: Files, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield one bundle after the other, and what it is."""
    for name in files:
        for what, data in _TEXTS.items():
            changed = {**files, name: data}
            listed = changed if name == MANIFEST else sealed(changed)
            yield f"{name}: {what}", write(_fresh(folder), listed)
        for what in ("fifo", "socket", "directory", "link out", "link to a device"):
            yield f"{name}: a {what}", _odd_file(files, name, what, _fresh(folder))
        place = write(_fresh(folder), files)
        os.truncate(place / name, _GIB)
        yield f"{name}: a gibibyte", place
    for what, data in _archives(files):
        place = _fresh(folder).with_suffix(".zip")
        place.write_bytes(data)
        yield f"zip: {what}", place


def _fresh(folder: Path) -> Path:
    return folder / str(len(list(folder.iterdir())))


def _odd_file(files: Files, name: str, what: str, place: Path) -> Path:
    rest = {one: data for one, data in files.items() if one != name}
    odd = write(place, rest) / name
    odd.parent.mkdir(exist_ok=True)
    if what == "fifo":
        os.mkfifo(odd)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = Path.cwd()
            os.chdir(odd.parent)  # the name of a socket is short
            one.bind(odd.name)
            os.chdir(here)
    elif what == "directory":
        odd.mkdir()
    elif what == "link out":
        odd.symlink_to("/etc/passwd")
    else:
        odd.symlink_to("/dev/zero")
    return place


def _archives(files: Files) -> Iterator[tuple[str, bytes]]:
    name = next(iter(files))
    honest = _packed(list(files.items()))
    yield "a gibibyte claimed in both headers", _packed([(name, b"x")], size=_GIB)
    yield "four gibibytes claimed", _packed([(name, b"x")], size=0xFFFFFFFF)
    yield "names that lead out", _packed([("../../out", b"x"), (name, b"x")])
    yield "an absolute name", _packed([("/etc/cron.d/x", b"x")])
    yield "a name without end", _packed([("a" * 60_000, b"x")])
    yield "a name of no encoding", honest.replace(name.encode(), b"\xff" * len(name))
    yield "one name twice", _packed([(name, b"x"), (name, b"y")])
    yield "many members", _packed([(f"blobs/{one:05}", b"") for one in range(60_000)])
    yield "an end alone", b"PK\x05\x06" + bytes(18)
    yield "a directory that is everywhere", honest[:-6] + struct.pack("<I", 0) + b"\0\0"
    yield "an end in an end", honest + honest[-22:]
    yield "a bomb", _bomb(name)
    yield "half of it", honest[: len(honest) // 2]
    yield "no archive", b"muniment" * 1000


def _packed(
    members: list[tuple[str, bytes]], size: int | None = None, method: int = 0
) -> bytes:
    """Return a zip file of *members*, each of which claims *size* bytes."""
    local, central = b"", b""
    for name, data in members:
        raw, claimed = name.encode(), len(data) if size is None else size
        head = struct.pack(
            "<HHHHHIIIHH", 20, 0, method, 0, 33, zlib.crc32(data), claimed, claimed,
            len(raw), 0,
        )  # fmt: skip
        central += b"PK\x01\x02\x14\x03" + head + bytes(6)
        central += struct.pack("<II", 0o100644 << 16, len(local)) + raw
        local += b"PK\x03\x04" + head + raw + data
    number = min(len(members), 0xFFFF)
    end = struct.pack("<HHHHIIH", 0, 0, number, number, len(central), len(local), 0)
    return local + central + b"PK\x05\x06" + end


def _bomb(name: str) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    pieces = [packer.compress(bytes(1 << 20)) for _ in range(256)]
    return _packed([(name, b"".join([*pieces, packer.flush()]))], 256 << 20, method=8)
