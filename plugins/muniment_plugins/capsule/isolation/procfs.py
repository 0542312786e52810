r"""Reads what /proc says about a process.

    read_proc(4711, "statm")    b"2790 1610 1100 1 0 580 0\n"

Every execution reads several files, on both sides, and ``open()`` takes ten times as
long. A list of processes may be cut, at the end of an entry; other files are complete.

The child imports this module: only small built-in modules at the top.
"""

from __future__ import annotations

import os

__all__ = ["read_proc"]

_MOST = 1 << 16


def read_proc(pid: int | str, name: str) -> bytes:
    """Return the file *name* of process *pid*.

    Raises:
        OSError: there is none, or this process may not read it.

    """
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
    try:
        return os.read(file, _MOST)
    finally:
        os.close(file)
