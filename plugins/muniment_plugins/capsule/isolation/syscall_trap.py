"""The child's last words when it makes a forbidden system call: which one, and where.

    -> {"failed": {"rule": "system-call", "message": "59", "line": 3, …}}     execve

Rules:

- The kernel does not make the call: the filter answers with the signal SIGSYS, whose
  handler, in C, reads the number from the signal and ends the process.
- The handler is installed before the filter, which refuses to have it replaced.
- It is called once. If it fails for lack of memory, it makes a forbidden call itself,
  and the signal ends the process: this shows that there was a call, but not which. If
  it cannot even begin, at the recursion limit, the call counts as refused, and the next
  one ends the process in this way.

The child imports this module. See sigaction(2), SYS_SECCOMP.
"""

from __future__ import annotations

import os
import sys

from muniment_plugins.capsule.protocol import render, send

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from types import FrameType

    from muniment_plugins.capsule.isolation.native import System

__all__ = ["PROGRAM", "SIGSYS", "Trap", "place_of"]

PROGRAM = "<program>"
"""The file name of a program, by which its lines are found."""

SIGSYS = 31
_INFO = 32  # bytes that are read of a siginfo_t
_CODE, _NUMBER = slice(8, 12), slice(24, 28)
_BY_FILTER = 1  # SYS_SECCOMP


class Trap:
    """The handler, made while memory may be made executable; `arm` installs it."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._info = system.array(_INFO)
        self._held, self._action = system.handler(self._handle)
        self._answers = -1

    def arm(self, answers: int) -> dict[str, object]:
        """Answer a forbidden call on descriptor *answers*.

        Raises:
            OSError: the signal cannot be caught.

        """
        self._answers = answers
        self._system.on_signal(SIGSYS, self._action)
        return {"set": True}

    def _handle(self, _signal: int, info: int, _context: int) -> None:
        try:
            found = bytes(self._info.from_address(info))
            if int.from_bytes(found[_CODE], "little") == _BY_FILTER:
                number = int.from_bytes(found[_NUMBER], "little")
                frame = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - inspect is slow
                send(self._answers, _frame(number, *place_of(frame)))
            os._exit(0)
        finally:  # only if that failed
            self._system.call("unshare")


def _frame(number: int, line: int, column: int) -> str:
    failed = {
        "column": column,
        "line": line,
        "message": str(number),
        "rule": "system-call",
        "type": "",
    }
    return render({"failed": failed})


def place_of(frame: FrameType | None) -> tuple[int, int]:
    """Return line and column of the program, from 1; 0 if it is in no frame."""
    while frame is not None:
        if frame.f_code.co_filename == PROGRAM:
            places = list(frame.f_code.co_positions())
            return frame.f_lineno or 0, (places[frame.f_lasti // 2][2] or 0) + 1
        frame = frame.f_back
    return 0, 0
