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

__all__ = ["restrict", "version"]

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


def restrict(
    system: System, directories: Iterable[str], files: Iterable[str]
) -> dict[str, object]:
    """Let this process read *directories* and *files*, and nothing else; for good.

    Raises:
        OSError: there is no Landlock, or it cannot hold this process.

    """
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - pathlib is slow
        raise OSError(errno.EBUSY, "other threads would stay free")
    abi = version(system)
    ruleset = _ruleset(system, abi)
    try:
        for path in directories:
            _let_read(system, ruleset, path, _READ_FILE | _READ_DIR)
        for path in (*files, _OWN_STACK):
            _let_read(system, ruleset, path, _READ_FILE)
        system.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return {
        "abi": abi,
        "files": "read-only",
        "scoped": ["abstract-unix", "signals"] if abi >= _SCOPES_SINCE else [],
        "tcp": "denied" if abi >= _TCP_SINCE else "not covered",
    }


def _ruleset(system: System, abi: int) -> int:
    """Return a descriptor of what denies all that version *abi* can deny."""
    rights = max(count for since, count in _FILE_RIGHTS if since <= abi)
    attributes = [(1 << rights) - 1]
    if abi >= _TCP_SINCE:
        attributes.append(_TCP)
    if abi >= _SCOPES_SINCE:
        attributes.append(_SCOPES)
    data = b"".join(value.to_bytes(8, sys.byteorder) for value in attributes)
    return system.call("landlock_create_ruleset", data, len(data), 0)


def _let_read(system: System, ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        # struct landlock_path_beneath_attr is packed: rights, then the descriptor.
        rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        system.call("landlock_add_rule", ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
