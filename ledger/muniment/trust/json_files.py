"""Small files that are replaced whole, or that grow by whole lines.

    anchors.jsonl    {"note":"…","time":"2026-11-20T07:23:41.096123Z"}
                     {"note":"…","time":"2026-11-20T07:24:02.510034Z"}

Rules:

- Replacing writes a file beside the old one, syncs it and renames it: readers see
  either the old or the new.
- Appending syncs the line before it returns. Half a line after a power cut was never
  acknowledged: reading names it, the next append overwrites it.
- In the home no link is followed, and only regular files are opened.
- A missing file says nothing; an unreadable one raises, with the file and the line.
  Nothing is skipped.

The caller holds a lock while it writes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from muniment.encoding.canonical import JsonValue, canonical, parse
from muniment.errors import CannotTellError, RefusedError, WrongError
from muniment.files.folder import Folder, NotAFile, WrongSize, kind_of, open_file

__all__ = [
    "append_line",
    "damaged",
    "load_json",
    "load_lines",
    "open_lock",
    "refuse_shared",
    "replace_json",
    "require_folders",
    "texts",
    "unreadable",
]


MOST = 1 << 30
"""The largest file of the trust home that is read, in bytes."""


def texts(value: JsonValue) -> list[str] | None:
    """Return *value* if it is a list of texts, else None."""
    if not isinstance(value, list):
        return None
    texts = [item for item in value if isinstance(item, str)]
    return texts if len(texts) == len(value) else None


def _read(path: Path) -> bytes | None:
    try:
        with Folder.at(path.parent) as folder:
            return folder.read(path.name, limit=MOST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from None


def load_json(path: Path) -> JsonValue:
    """Return the JSON value in *path*; None if there is no file."""
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


def refuse_shared(home: Path) -> None:
    """Refuse a trust home that other users can write to, or that is not a folder.

    Raises:
        RefusedError: they can.
        CannotTellError: the system cannot say, or something else is there.

    """
    try:
        found = home.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(home, error) from None
    if not stat.S_ISDIR(found):
        raise CannotTellError(
            "the trust home is not a folder",
            rule="trust/unreadable",
            place=str(home),
            remedy="name another trust home with MUNIMENT_HOME",
        )
    mode = stat.S_IMODE(found)
    if os.name == "posix" and mode & 0o022:
        raise RefusedError(
            f"other users can write to the trust home (mode {mode:04o})",
            rule="trust/permissions",
            place=str(home),
            remedy=f"look at what it says, then chmod 700 {home}",
        )


def damaged(path: Path, what: str, line: int = 0) -> CannotTellError:
    """Return the error that names *path*, *line* and *what* is wrong."""
    return CannotTellError(
        f"line {line} {what}" if line else what,
        rule="trust/damaged",
        place=str(path),
        remedy="restore it from a backup, or repair it by hand",
    )


def replace_json(path: Path, value: JsonValue) -> None:
    """Put a new file in the place of *path*: readers see the old one or the new."""
    with Folder.at(path.parent) as folder:
        folder.replace(path.name, [canonical(value), b"\n"])


def append_line(path: Path, entry: dict[str, JsonValue]) -> None:
    """Add *entry* as a line of its own; on disk when this returns."""
    fd = open_file(path, os.O_RDWR | os.O_CREAT)
    with open(fd, "r+b") as file:  # noqa: PTH123 - a descriptor, not a path
        size = os.fstat(fd).st_size
        if size > MOST:
            what = f"it has {size} bytes, more than {MOST}"
            raise WrongSize(errno.EFBIG, what, str(path))
        _end_last_line(file)
        file.write(canonical(entry) + b"\n")
        file.flush()
        os.fsync(fd)


def open_lock(path: Path) -> int:
    """Return a descriptor of the lock file *path*, which is made if it is missing."""
    return open_file(path, os.O_RDWR | os.O_CREAT)


def require_folders(home: Path, *names: str) -> Path:
    """Return the folder *names* below *home*; each is a folder, or is not there yet.

    Raises:
        CannotTellError: a link or something else is in its place.

    """
    for name in names:
        home /= name
        try:
            mode = home.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unreadable(home, error) from None
        if not stat.S_ISDIR(mode):
            what = f"it is {kind_of(mode)}, not a directory"
            raise unreadable(home, NotAFile(errno.ENOTDIR, what, str(home)))
    return home


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
    except WrongError:  # half a line, which was never acknowledged
        file.seek(start)
        file.truncate()
    else:
        file.write(b"\n")
