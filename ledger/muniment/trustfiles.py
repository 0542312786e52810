"""Small files that are replaced whole, or that grow by whole lines.

    anchors.jsonl    {"note":"…","time":"2026-11-20T07:23:41.096123Z"}
                     {"note":"…","time":"2026-11-20T07:24:02.510034Z"}

Rules:

- Replacing writes a file beside, syncs it and renames it: readers see old or new.
- Appending syncs the line before it returns. What a power cut left of a line was never
  acknowledged: reading names it, the next append takes its place.
- A file that is not there says nothing; one that cannot be read raises, and names
  itself and the line. Nothing is skipped.

The caller holds a lock while it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from muniment.canonical import JsonValue, canonical, parse
from muniment.errors import CannotTellError, WrongError

__all__ = [
    "append_line",
    "damaged",
    "load_json",
    "load_lines",
    "replace_json",
    "texts",
    "unreadable",
]


def texts(value: JsonValue) -> list[str] | None:
    """Return *value* where it is a list of texts, else None."""
    if not isinstance(value, list):
        return None
    texts = [item for item in value if isinstance(item, str)]
    return texts if len(texts) == len(value) else None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from None


def load_json(path: Path) -> JsonValue:
    """Return what *path* says; None where it is not there."""
    data = _read(path)
    if data is None:
        return None
    try:
        value = parse(data)
    except WrongError as error:
        raise damaged(path, f"is not JSON ({error.message})") from None
    if value is None:
        raise damaged(path, "says null")
    return value


def load_lines(path: Path) -> Iterator[dict[str, JsonValue]]:
    """Yield the object of every line of *path*."""
    *lines, rest = (_read(path) or b"").split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            entry = parse(line)
        except WrongError as error:
            raise damaged(path, f"is not JSON ({error.message})", number) from None
        if not isinstance(entry, dict):
            raise damaged(path, "is not an object", number)
        yield entry
    if rest:
        raise damaged(path, "was cut off while it was written", len(lines) + 1)


def unreadable(path: Path, error: OSError) -> CannotTellError:
    """Return the error that names *path* and what the system said about it."""
    return CannotTellError(
        f"cannot be read ({error.strerror})",
        rule="trust/unreadable",
        place=str(path),
        remedy="let this user read it, or name another trust home with MUNIMENT_HOME",
    )


def damaged(path: Path, what: str, line: int = 0) -> CannotTellError:
    """Return the error that names *path*, *line* and *what* is the matter."""
    return CannotTellError(
        f"line {line} {what}" if line else what,
        rule="trust/damaged",
        place=str(path),
        remedy="restore it from a backup, or mend it by hand",
    )


def replace_json(path: Path, value: JsonValue) -> None:
    """Put a new file in the place of *path*: readers see the old one or the new."""
    fresh = path.with_name(path.name + ".new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(canonical(value) + b"\n")
        file.flush()
        os.fsync(fd)
    fresh.replace(path)


def append_line(path: Path, entry: dict[str, JsonValue]) -> None:
    """Add *entry* as a line of its own; on disk when this returns."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with open(fd, "r+b") as file:  # noqa: PTH123 - a descriptor, not a path
        _end_last_line(file)
        file.write(canonical(entry) + b"\n")
        file.flush()
        os.fsync(fd)


def _end_last_line(file: BinaryIO) -> None:
    """Leave *file* at its end, after a whole line: end the last one, or cut it off."""
    if file.seek(0, os.SEEK_END) == 0:
        return
    file.seek(-1, os.SEEK_END)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    data = file.read()
    start = data.rfind(b"\n") + 1
    try:
        parse(data[start:])
    except WrongError:  # half a line, which nobody was told is there
        file.seek(start)
        file.truncate()
    else:
        file.write(b"\n")
