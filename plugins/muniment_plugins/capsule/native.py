"""System calls by number, through the one C function that makes any of them.

    System().call("prctl", 38, 1)        PR_SET_NO_NEW_PRIVS; raises OSError with the errno

Rules:

- Only the calls that lock a process in; `seccomp` and `landlock` say with what.
- An argument is an integer, or bytes, which are passed by their address.

The child imports this module: it uses the C part of ctypes, whose Python part costs
half a bare interpreter's start.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any

__all__ = ["System", "architecture"]

_NUMBERS = {
    "x86_64": {"capset": 126, "prctl": 157, "seccomp": 317},
    "aarch64": {"capset": 91, "prctl": 167, "seccomp": 277},
}
_EVERYWHERE = {
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_LONGEST = 6
_NONE = (0,) * _LONGEST
_64_BITS = 2**32


def architecture() -> str:
    """Return what the walls are made for here; empty if there are none for it."""
    if sys.platform != "linux" or sys.maxsize < _64_BITS or sys.byteorder != "little":
        return ""
    machine = os.uname().machine
    return machine if machine in _NUMBERS else ""


class System:
    """The C library's ``syscall``, and the C part of ctypes that calls it."""

    def __init__(self) -> None:
        self.c: Any = __import__("_ctypes")
        self._long = self._simple("long", "l")
        self._pointer = self._simple("pointer", "P")
        members = {
            "_flags_": self.c.FUNCFLAG_CDECL | self.c.FUNCFLAG_USE_ERRNO,
            "_restype_": self._long,
        }
        function = type(self.c.CFuncPtr)("function", (self.c.CFuncPtr,), members)
        self._syscall = function(self.c.dlsym(self.c.dlopen(None, 0), "syscall"))
        self._syscall.argtypes = (self._long, *(self._pointer,) * _LONGEST)
        self._numbers = {**_EVERYWHERE, **_NUMBERS[architecture()]}

    def call(self, name: str, *arguments: int | bytes) -> int:
        """Make one system call and return what it returns.

        Raises:
            OSError: it failed.

        """
        padded = (*arguments, *_NONE[len(arguments) :])
        result: int = self._syscall(self._numbers[name], *padded)
        if result == -1:
            code = self.c.get_errno()
            raise OSError(code, os.strerror(code), name)
        return result

    def at_address(self, data: bytes) -> tuple[object, int]:
        """Return a copy of *data* that must be kept, and where it lies."""
        members = {"_length_": len(data), "_type_": self._simple("byte", "B")}
        array = type(self.c.Array)("array", (self.c.Array,), members)
        held = array.from_buffer_copy(data)
        return held, self.c.addressof(held)

    def _simple(self, name: str, kind: str) -> Any:
        base = self.c._SimpleCData  # noqa: SLF001 - ctypes itself is a shell around this
        return type(base)(name, (base,), {"_type_": kind})
