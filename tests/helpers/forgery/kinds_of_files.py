"""What may stand in the place of a file: every kind, each beside what it leads to."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

SECRET = b"what somebody else keeps here\n"
SPARSE = 1 << 40
"""More than any machine reads in passing; no block of it is on the disk."""


def _regular(place: Path, _: Path) -> None:
    place.write_bytes(SECRET)


def _empty(place: Path, _: Path) -> None:
    place.touch()


def _sparse(place: Path, _: Path) -> None:
    with place.open("wb") as file:
        file.truncate(SPARSE)


def _unreadable(place: Path, _: Path) -> None:
    place.write_bytes(SECRET)
    place.chmod(0)


def _directory(place: Path, _: Path) -> None:
    place.mkdir()
    (place / "theirs").write_bytes(SECRET)


def _link_to_file(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "file")


def _link_to_directory(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "directory")


def _dangling(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "nothing")


def _link_to_device(place: Path, _: Path) -> None:
    place.symlink_to("/dev/zero")


def _fifo(place: Path, _: Path) -> None:
    os.mkfifo(place)


def _link_to_fifo(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "fifo")


def _socket(place: Path, _: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the whole path may be too long for a socket
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
            server.bind(place.name)
    finally:
        os.chdir(here)


def _device(place: Path, _: Path) -> None:
    os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 5))


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "a regular file of others": _regular,
    "an empty file": _empty,
    "a huge sparse file": _sparse,
    "an unreadable file": _unreadable,
    "a directory": _directory,
    "a link to a file": _link_to_file,
    "a link to a directory": _link_to_directory,
    "a dangling link": _dangling,
    "a link to a device": _link_to_device,
    "a FIFO": _fifo,
    "a link to a FIFO": _link_to_fifo,
    "a socket": _socket,
    "a device": _device,
}
"""Kind → puts one at a place, given the folder that links lead to."""

LINKS = frozenset(kind for kind in KINDS if "link" in kind)
NO_FILES = frozenset(
    {*LINKS, "a directory", "a FIFO", "a socket", "a device"},
)


def possible() -> list[str]:
    """Return the kinds that this user can make: a device needs the right to."""
    return [kind for kind in KINDS if kind != "a device" or os.geteuid() == 0]


def surroundings(outside: Path) -> None:
    """Make the folder that the links lead to."""
    (outside / "directory").mkdir(parents=True)
    (outside / "file").write_bytes(SECRET)
    (outside / "directory" / "theirs").write_bytes(SECRET)
    os.mkfifo(outside / "fifo")


def put(kind: str, place: Path, outside: Path) -> None:
    """Put *kind* in the place of whatever is at *place*."""
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
    else:
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](place, outside)


def picture(folder: Path) -> dict[str, str]:
    """Return all that is below *folder*, by name: kind, mode and content."""
    return dict(_pictured(folder, folder))


def _pictured(folder: Path, base: Path) -> Iterator[tuple[str, str]]:
    for place in sorted(folder.iterdir()):
        found = place.lstat()
        said = f"{stat.filemode(found.st_mode)} {found.st_size} {found.st_mtime_ns}"
        if stat.S_ISREG(found.st_mode) and found.st_size < SPARSE:
            said += f" {hashlib.sha256(place.read_bytes()).hexdigest()}"
        elif stat.S_ISLNK(found.st_mode):
            said += f" {place.readlink()}"
        yield str(place.relative_to(base)), said
        if stat.S_ISDIR(found.st_mode):
            yield from _pictured(place, base)
