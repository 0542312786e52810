"""Landlock: the kernel limits the files that a locked process reads, and denies TCP.

    {"abi": 7, "files": "read-only", "tcp": "denied", "scoped": ["abstract-unix",
     "signals"]}

Rules:

- Everything that the kernel's version of Landlock can deny is denied; then the given
  directories and files may be read again, for what the interpreter loads late.
- It holds for the calling thread and what that starts: a process with several threads
  is not locked, and says so.
- Rules only add rights: a directory that may be listed may be listed with all below it.
- It covers neither questions about a file (stat) nor UDP: `seccomp` covers sockets.

The child imports this module. See landlock(7) and ``linux/landlock.h``.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment_plugins.capsule.isolation.native import System

__all__ = ["Rules", "version"]

_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_CHANGE_FILE = 1 << 1 | _READ_FILE | 1 << 14  # write, read, truncate
_CHANGE = _CHANGE_FILE | _READ_DIR | 0b11 << 4 | 0b11 << 7 | 0b11 << 12
"""Making, moving and removing files, directories and links; no devices, no sockets."""
_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))  # since ABI, how many rights
_TCP_SINCE, _TCP = 4, 0b11  # bind, connect
_OWN_STACK = "/proc/self/maps"  # where the C library finds the end of the stack
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract UNIX sockets, signals


def version(system: System) -> int:
    """Return the ABI of this kernel's Landlock.

    Raises:
        OSError: it has none, or it is switched off.

    """
    return system.call("landlock_create_ruleset", 0, 0, _VERSION)


class Rules:
    """The places that a locked process may read, opened once for many processes.

    A descriptor leads out of a private root, and a ruleset cannot be copied: so the
    places are opened beforehand, and each process makes its own ruleset, with its own
    memory map in it. For a single process (*once*) the ruleset is made immediately, and
    only one place is open at a time, however many there are.
    """

    def __init__(
        self,
        system: System,
        directories: Iterable[str],
        files: Iterable[str],
        writable: Iterable[str] = (),
        listed: Iterable[str] = (),
        *,
        once: bool = False,
    ) -> None:
        """Open *directories* and *files*, and places that are *writable* or *listed*.

        Raises:
            OSError: there is no Landlock, or one of the places does not exist.

        """
        self._system = system
        self.abi = version(system)
        self._attributes = _attributes(self.abi)
        self._places: list[tuple[int, bytes]] = []
        self._ruleset = -1
        if once:
            self._create()
        for path in directories:
            self._take(path, _READ_FILE | _READ_DIR)
        for path in files:
            self._take(path, _READ_FILE)
        for path in listed:
            self._take(path, _READ_DIR)
        known = int.from_bytes(self._attributes[:8], sys.byteorder)
        for path in writable:
            rights = _CHANGE if os.path.isdir(path) else _CHANGE_FILE  # noqa: PTH112 - as in `restrict`
            self._take(path, rights & known)

    def restrict(self) -> dict[str, object]:
        """Let this process read the places, and nothing else, for good; close them.

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
        """Close the places, which a locked process must not hold."""
        for place, _ in self._places:
            os.close(place)
        self._places.clear()
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1

    def _create(self) -> None:
        data = self._attributes
        call = self._system.call
        self._ruleset = call("landlock_create_ruleset", data, len(data), 0)

    def _take(self, path: str, rights: int) -> None:
        opened = _open(path, rights)
        if self._ruleset < 0:
            self._places.append(opened)
            return
        try:
            self._add(opened[1])
        finally:
            os.close(opened[0])

    def _add(self, rule: bytes) -> None:
        call = self._system.call
        call("landlock_add_rule", self._ruleset, _PATH_BENEATH, rule, 0)

    def _restrict(self) -> None:
        if self._ruleset < 0:
            self._create()
        for _, rule in self._places:
            self._add(rule)
        self._system.call("landlock_restrict_self", self._ruleset, 0)


def _attributes(abi: int) -> bytes:
    """Return attributes that deny everything that version *abi* can deny."""
    rights = max(count for since, count in _FILE_RIGHTS if since <= abi)
    attributes = [(1 << rights) - 1]
    if abi >= _TCP_SINCE:
        attributes.append(_TCP)
    if abi >= _SCOPES_SINCE:
        attributes.append(_SCOPES)
    return b"".join(value.to_bytes(8, sys.byteorder) for value in attributes)


def _open(path: str, rights: int) -> tuple[int, bytes]:
    """Return a descriptor of *path*, and the rule that grants *rights* there."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    # struct landlock_path_beneath_attr is packed: rights, then the descriptor.
    rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
    return place, rule
