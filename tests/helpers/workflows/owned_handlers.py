"""Handlers that are at work when somebody kills the owner of their run."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import time
from pathlib import Path

from muniment_plugins.workflow import StageInput

__all__ = [
    "holds_python",
    "serves",
    "serves_long",
    "sleeps_long",
    "sleeps_long_later",
    "tells_pid",
]

LONG = 30.0


def _begin(given: StageInput) -> Path:
    file = Path(str(given.metadata["file"]))
    file.write_text(f"{os.getpid()}\n")
    return file


def _end(file: Path) -> str:
    with file.open("a") as stream:
        stream.write("went on\n")
    return "done"


def sleeps_long(given: StageInput) -> str:
    """Sleep, and go on."""
    file = _begin(given)
    time.sleep(LONG)
    return _end(file)


async def sleeps_long_later(given: StageInput) -> str:
    """Do so in a task."""
    file = _begin(given)
    await asyncio.sleep(LONG)
    return _end(file)


def holds_python(given: StageInput) -> str:
    """Let no other thread of the process run meanwhile."""
    file = _begin(given)
    libc = ctypes.PyDLL(None) if sys.platform != "win32" else ctypes.pythonapi
    libc.sleep(int(LONG))
    return _end(file)


def serves(sent: bytes) -> bytes:
    """Answer what was sent."""
    return sent


def serves_long(sent: bytes) -> bytes:
    """Answer late."""
    time.sleep(LONG)
    return sent


def tells_pid(sent: bytes) -> bytes:
    """Answer with the process that answers."""
    del sent
    return str(os.getpid()).encode()
