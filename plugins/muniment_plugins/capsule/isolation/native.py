"""System calls by number, through the one C function that makes any of them.

    System().call("prctl", 38, 1)        PR_SET_NO_NEW_PRIVS; raises OSError with the errno

Rules:

- Only the calls that lock a process in; `seccomp` and `landlock` supply the arguments.
- An argument is an integer, or bytes, which are passed by address.
- A signal handler is called in C, at once; handlers of the module ``signal`` wait until
  the interpreter looks for them.

The child imports this module: it uses the C part of ctypes, whose Python part costs
half a bare interpreter's start.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["System", "architecture", "error_name"]

_NUMBERS = {
    "x86_64": {
        "capset": 126,
        "pivot_root": 155,
        "prctl": 157,
        "seccomp": 317,
        "umount2": 166,
        "unshare": 272,
    },
    "aarch64": {
        "capset": 91,
        "pivot_root": 41,
        "prctl": 167,
        "seccomp": 277,
        "umount2": 39,
        "unshare": 97,
    },
}
_EVERYWHERE = {
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "landlock_add_rule": 445,
    "landlock_create_ruleset": 444,
    "landlock_restrict_self": 446,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
}
_LONGEST = 6
_ONCE = 0x80000004  # SA_RESETHAND, SA_SIGINFO
_NONE = (0,) * _LONGEST
_64_BITS = 2**32


def error_name(error: OSError) -> str:
    """Return the name of the system's answer, such as ``EPERM``."""
    return errno.errorcode.get(error.errno or 0, str(error.errno))


def architecture() -> str:
    """Return this machine's architecture; empty if there are no layers for it."""
    if sys.platform != "linux" or sys.maxsize < _64_BITS or sys.byteorder != "little":
        return ""
    machine = os.uname().machine
    return machine if machine in _NUMBERS else ""


class System:
    """The C library's ``syscall``, and the C part of ctypes that calls it."""

    def __init__(self) -> None:
        self.c: Any = __import__("_ctypes")
        self._long = self._simple("long", "l")
        self._integer = self._simple("integer", "i")
        self._pointer = self._simple("pointer", "P")
        self._library = self.c.dlopen(None, 0)
        arguments = (self._long, *(self._pointer,) * _LONGEST)
        self._syscall = self._prototype(self._long, *arguments)(
            self._address("syscall")
        )
        arguments = (self._integer, self._pointer, self._pointer)
        self._handled = self._prototype(None, *arguments)
        sigaction = self._prototype(self._integer, *arguments)
        self._sigaction = sigaction(self._address("sigaction"))
        self._numbers = {**_EVERYWHERE, **_NUMBERS[architecture()]}

    def call(self, name: str, *arguments: int | bytes) -> int:
        """Make one system call and return its result.

        Raises:
            OSError: it failed.

        """
        padded = (*arguments, *_NONE[len(arguments) :])
        result: int = self._syscall(self._numbers[name], *padded)
        if result == -1:
            raise self._error(name)
        return result

    def touch(self, address: int) -> None:
        """Write a zero at *address*, where there is nothing yet."""
        self._simple("byte", "b").from_address(address).value = 0

    def at_address(self, data: bytes) -> tuple[object, int]:
        """Return a copy of *data*, which the caller must keep, and its address."""
        held = self.array(len(data)).from_buffer_copy(data)
        return held, self.c.addressof(held)

    def array(self, size: int) -> Any:
        """Return the type of *size* bytes; its ``from_address`` reads any memory."""
        members = {"_length_": size, "_type_": self._simple("byte", "B")}
        return type(self.c.Array)("array", (self.c.Array,), members)

    def handler(self, handle: Callable[[int, int, int], None]) -> tuple[object, bytes]:
        """Return an object to keep, and *handle* as a ``struct sigaction``.

        It is called with the signal, and the addresses of its ``siginfo_t`` and of the
        interrupted context; only once, because the kernel removes it before the call.
        """
        held = self._handled(handle)
        where = bytes(self.array(8).from_address(self.c.addressof(held)))
        # The mask of signals is empty; flags and restorer follow.
        return held, where + bytes(128) + _ONCE.to_bytes(16, "little")

    def on_signal(self, number: int, action: bytes) -> None:
        """Let *action*, made by `handler`, answer the signal *number*.

        Raises:
            OSError: it cannot be caught.

        """
        if self._sigaction(number, action, None):
            raise self._error("sigaction")

    def _prototype(self, result: Any, *arguments: Any) -> Any:
        flags = self.c.FUNCFLAG_CDECL | self.c.FUNCFLAG_USE_ERRNO
        members = {"_argtypes_": arguments, "_flags_": flags, "_restype_": result}
        return type(self.c.CFuncPtr)("function", (self.c.CFuncPtr,), members)

    def _address(self, name: str) -> int:
        address: int = self.c.dlsym(self._library, name)
        return address

    def _error(self, name: str) -> OSError:
        code = self.c.get_errno()
        return OSError(code, os.strerror(code), name)

    def _simple(self, name: str, kind: str) -> Any:
        base = self.c._SimpleCData  # noqa: SLF001 - ctypes itself wraps this
        return type(base)(name, (base,), {"_type_": kind})
