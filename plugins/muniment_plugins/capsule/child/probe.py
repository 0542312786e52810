"""Tries what a locked child can still do; no program runs in that child.

    {"chmod": "EPERM", "connect": "EPERM", "exec": "SIGSYS", "fork": "EPERM",
     "read": "ENOENT", "signal": "EPERM", "stat": "ENOENT", "write": "EPERM", …}

Rules:

- Each attempt would do no harm if it succeeded: it opens and asks, changes a mode to
  what it already is, sends signal 0, forks a child that ends.
- In a root of the child's own, ``read`` and ``stat`` find nothing; ``read-process``
  still finds a file, which Landlock protects.
- ``exec`` comes last, after the answer, because it kills: the parent reads its outcome
  from the end of the process, or from its output. There is no second answer, because
  the signal whose handler would send one is blocked.

The child imports this module before it is locked.
"""

from __future__ import annotations

import errno
import os
import sys

from muniment_plugins.capsule.isolation.native import error_name
from muniment_plugins.capsule.isolation.syscall_trap import SIGSYS
from muniment_plugins.capsule.protocol import render, send

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Prober"]

_KNOWN = "/etc/passwd"
_DEVICE = os.devnull
_STATUS = "/proc/self/status"  # exists in a root of its own too
_DISCARD_PORT = 9


class Prober:
    """The attempts, with the modules that they need."""

    def __init__(self) -> None:
        # The module socket wraps this one, and costs more than the rest together.
        self._sockets = __import__("_socket")
        self._signals: Any = __import__("_signal")
        self._attempts: dict[str, Callable[[], object]] = {
            "chmod": lambda: os.chmod(_DEVICE, 0o666),  # noqa: PTH101, S103 - its mode anyway
            "connect": self._connect,
            "fork": _fork,
            "read": lambda: os.close(os.open(_KNOWN, os.O_RDONLY)),
            "read-parent": _read_parent,
            "read-process": lambda: os.close(os.open(_STATUS, os.O_RDONLY)),
            "signal": lambda: os.kill(os.getppid(), 0),
            "stat": lambda: os.stat(_KNOWN),  # noqa: PTH116 - pathlib is slow
            "thread": _thread,
            "udp": self._udp,
            "write": lambda: os.close(os.open(_DEVICE, os.O_WRONLY)),
        }

    def run(self, results: int, output: int) -> None:
        """Try everything, answer, then try to become another program."""
        found = {name: _outcome(step) for name, step in self._attempts.items()}
        send(results, f'{{"ok":{render(found)}}}')
        self._signals.pthread_sigmask(self._signals.SIG_BLOCK, (SIGSYS,))
        os.write(output, _outcome(_exec).encode())

    def _connect(self) -> None:
        stream = self._sockets.socket(
            self._sockets.AF_INET, self._sockets.SOCK_STREAM, 0
        )
        stream.setblocking(False)
        reached = (errno.ECONNREFUSED, errno.EINPROGRESS, 0)
        code = stream.connect_ex(("127.0.0.1", _DISCARD_PORT))
        if code not in reached:
            raise OSError(code, os.strerror(code))

    def _udp(self) -> None:
        datagram = self._sockets.socket(self._sockets.AF_INET, self._sockets.SOCK_DGRAM)
        if sys.platform == "darwin":  # opening one is allowed there, sending is not
            datagram.sendto(b"", ("127.0.0.1", _DISCARD_PORT))


def _outcome(step: Callable[[], object]) -> str:
    try:
        step()
    except OSError as error:
        return error_name(error)
    except RuntimeError:  # _thread raises it, without an errno
        return "refused"
    return "allowed"


def _exec() -> None:
    os.execv("/bin/sh", ["sh", "-c", ":"])  # noqa: S606 - what the layers must stop


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _read_parent() -> None:
    os.close(os.open(f"/proc/{os.getppid()}/environ", os.O_RDONLY))


def _thread() -> None:
    threads = __import__("_thread")
    threads.start_new_thread(threads.get_ident, ())
