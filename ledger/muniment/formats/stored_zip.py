"""A zip file of stored members whose every byte follows from names and contents.

    [local header][name][content]…   [central directory]   [end]

Rules:

- Members are stored as they are, in the order of their names; there is no compression,
  no encryption, no comment, no extra field, no gap, and every date is the same.
- So there is nothing to choose: a reader computes what must surround the contents, and
  refuses every other byte by the name of its member. Nothing is ever unpacked, so
  nothing can become larger than the file, and no link or folder can be in it.
- At most 65,535 members and 4 GiB - 1 in all: the limits of the format without zip64.

Specification: PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from muniment.errors import WrongError

__all__ = ["LARGEST", "MOST", "Stored", "closing_part", "local_header", "read_stored"]

MOST = 65_535
"""Members in one file."""
LARGEST = 2**32 - 1
"""Bytes of the whole file."""

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 20
_UNIX = 3 << 8 | _VERSION
_DATE = 1 << 5 | 1
"""1 January 1980, the first day that the format knows."""
_REGULAR = 0o100644 << 16
_LONGEST_NAME = 4096
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the content of a member is, and what the file says about it."""

    name: str
    crc: int
    size: int
    header: int
    """The offset of its local header."""

    @property
    def content(self) -> int:
        """The offset of its first byte."""
        return self.header + _LOCAL.size + len(self.name.encode())


def local_header(name: str, crc: int, size: int) -> bytes:
    """Return what comes before the content of the member *name*."""
    encoded = name.encode()
    fields = _VERSION, 0, 0, 0, _DATE, crc, size, size, len(encoded), 0
    return _LOCAL.pack(b"PK\3\4", *fields) + encoded


def _central(one: Stored) -> bytes:
    encoded = one.name.encode()
    sizes = one.crc, one.size, one.size
    fields = _UNIX, _VERSION, 0, 0, 0, _DATE, *sizes, len(encoded), 0, 0, 0, 0
    return _CENTRAL.pack(b"PK\1\2", *fields, _REGULAR, one.header) + encoded


def closing_part(members: list[Stored]) -> Iterator[bytes]:
    """Yield what comes after the last content."""
    size = sum(_CENTRAL.size + len(one.name.encode()) for one in members)
    last = members[-1]
    start = last.content + last.size
    for one in members:
        yield _central(one)
    count = len(members)
    yield _END.pack(b"PK\5\6", 0, 0, count, count, size, start, 0)


def read_stored(file: BinaryIO, size: int) -> Mapping[str, Stored]:
    """Return the members of the zip *file* of *size* bytes, by name.

    Each content is read once, for its CRC-32.

    Raises:
        WrongError: ``zip/…``; the place is the member.

    """
    members: dict[str, Stored] = {}
    at, before = 0, ""
    while (one := _next(file, at)) is not None:
        if one.name <= before:
            twice = one.name in members
            what = "is there twice" if twice else f"comes after {before!r:.80}"
            raise _odd("zip/order", f"the member {what}", one.name)
        if one.content + one.size > size:
            raise _odd("zip/cut", "the member is longer than the file", one.name)
        if len(members) == MOST:
            raise _odd("zip/many", f"more than {MOST} members", one.name)
        if _crc(file, one) != one.crc:
            raise _odd("zip/crc", "its content has another CRC-32", one.name)
        members[one.name], before, at = one, one.name, one.content + one.size
    if not members:
        raise _odd("zip/empty", "it has no member, or is no zip file", "zip")
    _compare_end(file, [*members.values()], at)
    return members


def _next(file: BinaryIO, at: int) -> Stored | None:
    """Return the member whose header is at *at*; None behind the last one."""
    file.seek(at)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or head[:4] != b"PK\3\4":
        return None
    *_, crc, size, _, length, _ = _LOCAL.unpack(head)
    name = file.read(min(length, _LONGEST_NAME))
    try:
        one = Stored(name.decode(), crc, size, at)
    except UnicodeDecodeError:
        raise _odd("zip/name", "the name is not UTF-8", ascii(name)) from None
    if head + name != local_header(one.name, crc, size):
        what = "it is compressed, encrypted, dated, or has extra fields"
        raise _odd("zip/header", what, one.name)
    return one


def _crc(file: BinaryIO, one: Stored) -> int:
    file.seek(one.content)
    left, crc = one.size, 0
    while left and (piece := file.read(min(left, _CHUNK))):
        crc, left = zlib.crc32(piece, crc), left - len(piece)
    return crc


def _compare_end(file: BinaryIO, members: list[Stored], at: int) -> None:
    """Refuse a directory that is not exactly that of *members*."""
    file.seek(at)
    for one, expected in zip([*members, None], closing_part(members), strict=True):
        if file.read(len(expected)) != expected:
            name = "the end of the zip" if one is None else one.name
            what = "its entry in the directory is not that of a plain file at its place"
            raise _odd("zip/directory", what, name)
    if file.read(1):
        raise _odd("zip/trailing", "bytes follow the end of the zip", "zip")


def _odd(rule: str, message: str, name: str) -> WrongError:
    return WrongError(
        message,
        rule=rule,
        place=name,
        remedy="ask its sender for the file as `muniment bundle` wrote it; a bundle that "
        "was packed anew is verified as a directory",
    )
