"""A directory for an untrusted program, and its removal.

    with scratch_directory() as scratch:      /tmp/muniment-replay-x1y2z3
        …                                     the program fills it, and has ended
                                              it is gone, whatever was in it

Rules:

- Its contents are a stranger's: folders nested deeper than any stack or path allows,
  folders whose mode forbids opening them, links to anywhere. Each folder is moved to
  the top and emptied there, so that only one is open at a time; no link is followed.
- Whatever cannot be removed stays, and changes no verdict.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove", "scratch_directory"]

_RELATIVE = {
    *(os.chmod, os.open, os.rename, os.rmdir, os.stat, os.unlink),
} <= os.supports_dir_fd


@contextmanager
def scratch_directory() -> Generator[str]:
    """Lend a directory that is removed afterwards; nothing may write to it then."""
    place = tempfile.mkdtemp(prefix="muniment-replay-")
    try:
        yield place
    finally:
        remove(place)


def remove(place: str) -> None:
    """Remove the directory *place* and everything in it."""
    if not _RELATIVE:
        shutil.rmtree(place, ignore_errors=True)
        return
    with suppress(OSError):
        top = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        Path(place).rmdir()


def _empty(top: int) -> None:
    moved = 0
    waiting = _folders(top)
    while waiting:
        name = waiting.pop()
        found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
        try:
            for inner in _folders(found):
                moved += 1
                up = f"moved-{moved}-{os.urandom(8).hex()}"
                os.rename(inner, up, src_dir_fd=found, dst_dir_fd=top)
                waiting.append(up)
        finally:
            os.close(found)
        os.rmdir(name, dir_fd=top)


def _folders(place: int) -> list[str]:
    """Remove the files of *place*; return its folders, which can now be opened."""
    folders: list[str] = []
    for name in os.listdir(place):
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            os.chmod(name, 0o700, dir_fd=place)
            folders.append(name)
        else:
            os.unlink(name, dir_fd=place)
    return folders
