"""Landlock: which files a locked process may still read, and no TCP, by the kernel.

    {"abi": 7, "files": "read-only", "tcp": "denied", "scoped": ["abstract-unix",
     "signals"]}

Rules:

- Everything that the kernel's version of Landlock can deny is denied; then the given
  directories and files may be read again, for what the interpreter loads late.
- It holds for the calling thread and what that starts: a process of several threads is
  not locked by it, and says so.
- It does not cover what asks about a file (stat), nor UDP: `seccomp` has the sockets.

The child imports this module. See landlock(7) and ``linux/landlock.h``.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment_plugins.capsule.native import System

__all__ = ["Rules", "version"]

_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))  # since ABI, how many rights
_TCP_SINCE, _TCP = 4, 0b11  # bind, connect
_OWN_STACK = "/proc/self/maps"  # where the C library finds the end of it
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract UNIX sockets, signals


def version(system: System) -> int:
    """Return the ABI of this kernel's Landlock.

    Raises:
        OSError: it has none, or it is switched off.

    """
    return system.call("landlock_create_ruleset", 0, 0, _VERSION)


class Rules:
    """What a locked process may read; opened once, for any number of processes.

    A descriptor here leads out of a private root, and a ruleset once made cannot be
    copied: so the places are opened beforehand and each process makes the ruleset of
    its own, with its own memory map in it.
    """

    def __init__(
        self, system: System, directories: Iterable[str], files: Iterable[str]
    ) -> None:
        """Open *directories* and *files*.

        Raises:
            OSError: there is no Landlock, or one of the places.

        """
        self._system = system
        self.abi = version(system)
        self._attributes = _attributes(self.abi)
        self._places = [_open(path, _READ_FILE | _READ_DIR) for path in directories]
        self._places += [_open(path, _READ_FILE) for path in files]

    def restrict(self) -> dict[str, object]:
        """Let this process read them, and nothing else; for good. Closes them.

        Raises:
            OSError: Landlock cannot hold this process.

        """
        try:
            if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - pathlib is slow
                raise OSError(errno.EBUSY, "other threads would stay free")
            self._places.append(_open(_OWN_STACK, _READ_FILE))
            self._restrict()
        finally:
            self.close()
        return {
            "abi": self.abi,
            "files": "read-only",
            "scoped": ["abstract-unix", "signals"] if self.abi >= _SCOPES_SINCE else [],
            "tcp": "denied" if self.abi >= _TCP_SINCE else "not covered",
        }

    def descriptors(self) -> list[int]:
        """Return the descriptors of the places."""
        return [place for place, _ in self._places]

    def close(self) -> None:
        """Close the places, which a locked process is not to hold."""
        for place, _ in self._places:
            os.close(place)
        self._places.clear()

    def _restrict(self) -> None:
        call, data = self._system.call, self._attributes
        ruleset = call("landlock_create_ruleset", data, len(data), 0)
        try:
            for _, rule in self._places:
                call("landlock_add_rule", ruleset, _PATH_BENEATH, rule, 0)
            call("landlock_restrict_self", ruleset, 0)
        finally:
            os.close(ruleset)


def _attributes(abi: int) -> bytes:
    """Return what denies all that version *abi* can deny."""
    rights = max(count for since, count in _FILE_RIGHTS if since <= abi)
    attributes = [(1 << rights) - 1]
    if abi >= _TCP_SINCE:
        attributes.append(_TCP)
    if abi >= _SCOPES_SINCE:
        attributes.append(_SCOPES)
    return b"".join(value.to_bytes(8, sys.byteorder) for value in attributes)


def _open(path: str, rights: int) -> tuple[int, bytes]:
    """Return a descriptor of *path*, and the rule that lets read there."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    # struct landlock_path_beneath_attr is packed: rights, then the descriptor.
    rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
    return place, rule
