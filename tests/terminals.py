"""A terminal of a certain width, and what stands on it.

    said = on_terminal(newcomer, 60, "runs", "list")
    said.out      what stdout got, as it was written: with its escape sequences

Rules: stdout is a real pseudo-terminal, of a size that the system tells; stderr is a
terminal too where it is asked for, and a pipe otherwise.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence

from first_hour import Newcomer, Said

__all__ = ["on_terminal"]


def on_terminal(
    newcomer: Newcomer,
    columns: int,
    *arguments: str,
    both: bool = False,
    command: Sequence[str] = ("muniment",),
) -> Said:
    """Type a command line on a terminal of so many *columns*."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    heard: list[bytes] = []
    reader = threading.Thread(target=_read, args=(outer, heard))
    started = subprocess.Popen(
        [*command, *arguments],
        cwd=newcomer.folder,
        env={"TERM": "xterm-256color", **newcomer.environment},
        stdin=subprocess.DEVNULL,
        stdout=inner,
        stderr=inner if both else subprocess.PIPE,
    )
    os.close(inner)
    reader.start()
    errors = started.communicate()[1] or b""
    reader.join()
    os.close(outer)
    said = b"".join(heard).decode("utf-8", "replace").replace("\r\n", "\n")
    return Said(started.returncode, said, errors.decode())


def _read(outer: int, heard: list[bytes]) -> None:
    while True:
        try:
            part = os.read(outer, 1 << 16)
        except OSError:  # how Linux says that nobody writes any more
            return
        if not part:
            return
        heard.append(part)
