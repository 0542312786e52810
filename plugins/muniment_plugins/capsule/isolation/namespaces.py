"""Namespaces around the warm worker: a root of its own, and no network device.

    {"ipc": true, "mount": "private root", "network": true, "user": true, "uts": true}
    {"missing": "EPERM", "step": "unshare"}

Rules:

- The root is a small tmpfs with the places that Landlock lets be read, read-only and
  under the same names, and with /dev/null, /proc and the code of this package. Programs
  cannot even ask about files elsewhere, which Landlock alone would allow.
- It needs only the privileges of a new user namespace; if those are denied, that is
  stated, and the other layers work as they do without.
- It is all or nothing: all steps are tried first in a process that is thrown away,
  unless a worker of the same host got in before. A worker that is stuck half-way ends.
- Processes keep their numbers, by which the parent finds them in /proc.

The worker imports this module, and enters once, while it has one thread. See
user_namespaces(7), pivot_root(2), and ``linux/mount.h`` for the calls.
"""

from __future__ import annotations

import os

from muniment_plugins.capsule.isolation.native import error_name

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from muniment_plugins.capsule.isolation.native import System

__all__ = ["enter"]

_NEW_MOUNT, _NEW_UTS, _NEW_IPC = 0x20000, 0x4000000, 0x8000000
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_ALL_NEW = _NEW_MOUNT | _NEW_UTS | _NEW_IPC | _NEW_USER | _NEW_NETWORK

_HERE, _BY_DESCRIPTOR, _RECURSIVE = -100, 0x1000, 0x8000  # AT_FDCWD, AT_EMPTY_PATH, …
_READ_ONLY, _NO_SETUID, _PRIVATE = 1, 2, 1 << 18
_CLONE, _CLOSE_ON_EXEC = 1, os.O_CLOEXEC if os.name == "posix" else 0
_FROM_DESCRIPTOR = 4  # MOVE_MOUNT_F_EMPTY_PATH
_SET_TEXT, _CREATE = 1, 6  # FSCONFIG_SET_STRING, FSCONFIG_CMD_CREATE
_DETACH = 2

_DEVICE, _PROCESSES = "/dev/null", "/proc"
_ENTERED, _LONGEST = "entered", 64
_STATED = {
    "ipc": True,
    "mount": "private root",
    "network": True,
    "user": True,
    "uts": True,
}


def enter(system: System, walls: Mapping[str, Any]) -> dict[str, object]:
    """Enter new namespaces with the places in *walls*, made by `layers.plan`.

    Raises:
        OSError: a step failed that had succeeded just before; this process is left
            half-way and is unusable.

    """
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - pathlib is slow
        return {"missing": "EINVAL", "step": "unshare"}  # as the kernel would answer
    entry = _Entry(system, walls)
    if walls.get("tried"):
        entry.take()
        return dict(_STATED)
    try:
        pilot, words = _try(entry)
    except OSError as error:  # this user may have no further process
        return {"missing": error_name(error), "step": "fork"}
    try:
        if words != [_ENTERED]:
            step, answer = words or ("fork", "EIO")
            return {"missing": answer, "step": step}
        entry.take()
        return dict(_STATED)
    finally:  # last: the kernel's clean-up takes longer than the steps
        os.waitpid(pilot, 0)


def _try(entry: _Entry) -> tuple[int, list[str]]:
    """Take all steps in a process that then ends; return its pid and its words."""
    heard, told = os.pipe()
    try:
        try:
            pid = os.fork()
            if pid == 0:
                _tell(told, entry)
        finally:
            os.close(told)
        return pid, os.read(heard, _LONGEST).decode().split()
    finally:
        os.close(heard)


def _tell(told: int, entry: _Entry) -> NoReturn:
    try:
        os.write(told, _outcome(entry).encode())
    finally:
        os._exit(0)


def _outcome(entry: _Entry) -> str:
    """Return the step that fails and the system's answer, or that none fails."""
    for name, step in entry.steps():
        try:
            step()
        except OSError as error:
            return f"{name} {error_name(error)}"
    return _ENTERED


class _Entry:
    """The steps into the namespaces, and the mount trees that they take along."""

    def __init__(self, system: System, walls: Mapping[str, Any]) -> None:
        self._call = system.call
        self._directories: tuple[str, ...] = (
            *walls["directories"],
            *walls["own"],
            _PROCESSES,
        )
        self._files: tuple[str, ...] = (*walls["files"], _DEVICE)
        self._links: Mapping[str, str] = walls["links"]
        self._trees: dict[str, int] = {}
        self._root = -1

    def steps(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        """Return the steps in their order, by name."""
        return (
            ("unshare", self._unshare),
            ("map", self._map),
            ("clone", self._clone),
            ("root", self._make_root),
            ("attach", self._attach),
            ("pivot", self._pivot),
        )

    def take(self) -> None:
        """Take all steps."""
        for _, step in self.steps():
            step()

    def _unshare(self) -> None:
        self._ids = os.geteuid(), os.getegid()
        self._call("unshare", _ALL_NEW)

    def _map(self) -> None:
        """Be the same user inside; the kernel demands that no group can be dropped."""
        user, group = self._ids
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        _write("/proc/self/uid_map", f"{user} {user} 1")

    def _clone(self) -> None:
        """Hold a copy of each tree, read-only; nothing mounted from now on shows."""
        self._set(_HERE, "/", 0, propagation=_PRIVATE)
        for path in (*self._directories, *self._files):
            flags = _CLONE | _CLOSE_ON_EXEC | _RECURSIVE
            tree = self._call("open_tree", _HERE, path.encode(), flags)
            self._trees[path] = tree
            self._set(tree, "", _BY_DESCRIPTOR, _READ_ONLY | _NO_SETUID)

    def _make_root(self) -> None:
        """Make an empty root and mount it over a place that the trees hold anyway."""
        call = self._call
        made = call("fsopen", b"tmpfs", 1)
        try:
            for key, value in ((b"mode", b"0755"), (b"size", b"256k")):
                call("fsconfig", made, _SET_TEXT, key, value, 0)
            call("fsconfig", made, _CREATE, 0, 0, 0)
            self._root = call("fsmount", made, 1, _NO_SETUID)
        finally:
            os.close(made)
        self._move(self._root, _HERE, _PROCESSES)

    def _attach(self) -> None:
        """Put the trees, and the links that lead to them, into the root."""
        for path, tree in self._trees.items():
            name = path.strip("/")
            self._make_parents(name)
            if path in self._directories:
                os.mkdir(name, dir_fd=self._root)
            else:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
                os.close(os.open(name, flags, 0o644, dir_fd=self._root))
            self._move(tree, self._root, name)
            os.close(tree)
        for link, target in self._links.items():
            name = link.strip("/")
            self._make_parents(name)
            os.symlink(target, name, dir_fd=self._root)
        self._set(self._root, "", _BY_DESCRIPTOR, _READ_ONLY, only=True)

    def _pivot(self) -> None:
        """Make it the root, and detach the old one, which is on top for a moment."""
        os.fchdir(self._root)
        os.close(self._root)
        self._call("pivot_root", b".", b".")
        self._call("umount2", b".", _DETACH)
        os.chdir("/")

    def _make_parents(self, name: str) -> None:
        parts = name.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            try:
                os.mkdir("/".join(parts[:count]), dir_fd=self._root)
            except FileExistsError:
                continue

    def _move(self, tree: int, place: int, name: str) -> None:
        self._call("move_mount", tree, b"", place, name.encode(), _FROM_DESCRIPTOR)

    def _set(
        self,
        place: int,
        name: str,
        flags: int,
        attributes: int = 0,
        *,
        propagation: int = 0,
        only: bool = False,
    ) -> None:
        # struct mount_attr: set, clear, propagation, user namespace
        values = (attributes, 0, propagation, 0)
        data = b"".join(value.to_bytes(8, "little") for value in values)
        flags |= 0 if only else _RECURSIVE
        self._call("mount_setattr", place, name.encode(), flags, data, len(data))


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
