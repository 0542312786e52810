"""A terminal of a certain width, and what stands on it.

    said = on_terminal(newcomer, 60, "runs", "list")
    said.out      what stdout got, as it was written: with its escape sequences

    said = on_forked_terminal(commands, newcomer, 60, "runs", "list")       costs less

Rules: stdout is a real pseudo-terminal, of a size that the system tells; stderr is a
terminal too where it is asked for, and a pipe otherwise.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import tempfile
import termios
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from first_hour import Newcomer, Said
from forked_commands import ForkedCommands

__all__ = ["on_forked_terminal", "on_terminal"]

TERM = "xterm-256color"


def on_terminal(
    newcomer: Newcomer,
    columns: int,
    *arguments: str,
    both: bool = False,
    command: Sequence[str] = ("muniment",),
    types: str | None = None,
) -> Said:
    """Type a command line on a terminal of so many *columns*, and then what *types* says.

    Without *types* nobody can type anything.
    """
    with _opened(columns) as (outer, inner, heard):
        started = subprocess.Popen(
            [*command, *arguments],
            cwd=newcomer.folder,
            env={"TERM": TERM, **newcomer.environment},
            stdin=subprocess.DEVNULL if types is None else inner,
            stdout=inner,
            stderr=inner if both else subprocess.PIPE,
        )
        if types is not None:
            os.write(outer, types.encode())
        errors = started.communicate()[1] or b""
    return Said(started.returncode, _text(heard), errors.decode())


def on_forked_terminal(
    commands: ForkedCommands,
    newcomer: Newcomer,
    columns: int,
    *arguments: str,
    both: bool = False,
) -> Said:
    """Type a command line that nothing is typed into, in a child of *commands*."""
    environment = {"TERM": TERM, **newcomer.environment}
    with tempfile.TemporaryDirectory() as folder, _opened(columns) as (_, inner, heard):
        out, err = Path(os.ttyname(inner)), Path(folder) / "err"
        told = out if both else err
        code = commands.start(arguments, newcomer.folder, environment, out, told)
        errors = err.read_text() if err.exists() else ""
    return Said(code, _text(heard), errors)


@contextmanager
def _opened(columns: int) -> Generator[tuple[int, int, list[bytes]]]:
    """Open a terminal: its own end, that of a program, and what it heard afterwards."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    heard: list[bytes] = []
    reader = threading.Thread(target=_read, args=(outer, heard))
    reader.start()
    try:
        yield outer, inner, heard
    finally:
        os.close(inner)
        reader.join()
        os.close(outer)


def _text(heard: list[bytes]) -> str:
    return b"".join(heard).decode("utf-8", "replace").replace("\r\n", "\n")


def _read(outer: int, heard: list[bytes]) -> None:
    while True:
        try:
            part = os.read(outer, 1 << 16)
        except OSError:  # how Linux says that nobody writes any more
            return
        if not part:
            return
        heard.append(part)
