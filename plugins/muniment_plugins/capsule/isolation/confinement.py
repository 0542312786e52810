"""The layers around a replayed program: raised by its process, checked by the parent.

    plan(places, scratch)   the layers that the process must raise, as JSON
    confine(plan)           {"network": {…}, "capabilities": {…}, "landlock": {…}, …}
    judged(pid, stated)     what the parent finds: level, missing, what /proc denies

Rules:

- The layers are the capsule's: no capabilities and no new privileges, Landlock, the
  system call filter; and, if permitted, a network namespace without a device. The
  filter lets a program have threads, timers, loops and files of its own.
- The given places are readable; a scratch directory and ``/dev/null`` are writable.
- The process raises them while it has one thread, before it imports anything of a
  program, and waits until the parent has looked.
- The process states what the system does not grant; the parent reports it, or refuses.

The child imports this module, and little more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from muniment_plugins.capsule.isolation.landlock import Rules
from muniment_plugins.capsule.isolation.lockdown import (
    SyscallFilter,
    attempt,
    die_with,
    drop_bounding,
    give_up,
)
from muniment_plugins.capsule.isolation.native import System, architecture
from muniment_plugins.capsule.isolation.procfs import read_proc

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from muniment.encoding.canonical import JsonValue
    from muniment_plugins.capsule.isolation.readable_paths import Readable

__all__ = ["LEVELS", "confine", "hide", "judged", "leave_network", "plan"]

LEVELS = ("none", "process", "os-partial", "os-strong")
"""Weakest first."""

_NEW_MOUNT, _NEW_USER, _NEW_NETWORK = 0x20000, 0x10000000, 0x40000000
OWN_FILES = ("maps", "status", "stat", "statm", "cgroup", "mountinfo", "limits")
_HERE, _RECURSIVE, _PRIVATE = -100, 0x8000, 1 << 18
_SET_TEXT, _CREATE, _FROM_DESCRIPTOR = 1, 6, 4
_NONE = {"missing": "ENOSYS"}


def plan(places: Readable, scratch: str) -> dict[str, JsonValue]:
    """Return the layers that a process must raise; empty on systems without them."""
    from muniment_plugins.capsule.isolation import seccomp  # noqa: PLC0415 - the parent alone

    machine = architecture()
    if not machine:
        return {}
    return {
        "directories": [*places.directories],
        "files": [*places.files],
        "listed": [*places.listed],
        "writable": [scratch, os.devnull],
        "filters": {
            "open": seccomp.replay_filter(machine, opens=True).hex(),
            "closed": seccomp.replay_filter(machine, opens=False).hex(),
        },
        "parent": os.getpid(),
    }


def confine(raised: Mapping[str, Any]) -> dict[str, object]:
    """Raise the layers in *raised*, made by `plan`, for good; return the statement."""
    if not raised:
        return {"landlock": dict(_NONE), "seccomp": dict(_NONE)}
    system = System()
    stated: dict[str, object] = {"network": leave_network(system)}
    held: list[Rules] = []

    def places() -> dict[str, object]:
        own = [f"/proc/self/{name}" for name in OWN_FILES]
        files = [one for one in (*raised["files"], *own) if os.path.exists(one)]  # noqa: PTH110 - pathlib is slow
        given, listed = raised["directories"], raised["listed"]
        held.append(Rules(system, given, files, raised["writable"], listed, once=True))
        return {}

    missing = attempt(places)
    stated["bounding"] = attempt(lambda: drop_bounding(system))
    die_with(system, raised["parent"])
    stated |= give_up(system)
    landlock = attempt(held[0].restrict) if held else missing
    kind = "closed" if "missing" in landlock else "open"
    chosen = SyscallFilter(system, bytes.fromhex(raised["filters"][kind]), kind)
    return {**stated, "landlock": landlock, "seccomp": attempt(chosen.load)}


def leave_network(system: System) -> dict[str, object]:
    """Leave the network for a namespace without a device; state it, or the refusal."""
    stated = attempt(lambda: _unshare(system, _NEW_NETWORK))
    if "missing" in stated:  # a user namespace may permit it
        return attempt(lambda: _enter(system, _NEW_NETWORK))
    return stated


def hide(place: str) -> dict[str, object]:
    """Take the network and directory *place* from this process and its children.

    An empty directory covers *place*. For commands, which keep everything else.
    """
    if not architecture():
        return {"network": dict(_NONE), "hidden": dict(_NONE)}
    system = System()
    entered = attempt(lambda: _enter(system, _NEW_NETWORK | _NEW_MOUNT))
    if "missing" in entered or not os.path.isdir(place):  # noqa: PTH112 - pathlib is slow
        return {"network": entered, "hidden": entered}
    return {"network": entered, "hidden": attempt(lambda: _cover(system, place))}


def _cover(system: System, place: str) -> dict[str, object]:
    call, propagation = system.call, (0, 0, _PRIVATE, 0)
    data = b"".join(value.to_bytes(8, "little") for value in propagation)
    call("mount_setattr", _HERE, b"/", _RECURSIVE, data, len(data))
    made = call("fsopen", b"tmpfs", 1)
    try:
        call("fsconfig", made, _SET_TEXT, b"mode", b"0700", 0)
        call("fsconfig", made, _CREATE, 0, 0, 0)
        empty = call("fsmount", made, 1, 0)
    finally:
        os.close(made)
    call("move_mount", empty, b"", _HERE, os.fsencode(place), _FROM_DESCRIPTOR)
    os.close(empty)
    # Mounts that a further namespace inherits cannot be removed in it.
    return _enter(system, _NEW_MOUNT)


def _unshare(system: System, kinds: int) -> dict[str, object]:
    system.call("unshare", kinds)
    return {"set": True}


def _enter(system: System, kinds: int) -> dict[str, object]:
    """Enter new namespaces as the same user, in a user namespace of its own."""
    user, group = os.geteuid(), os.getegid()
    stated = _unshare(system, kinds | _NEW_USER)
    for name, text in (
        ("setgroups", "deny"),
        ("gid_map", f"{group} {group} 1"),
        ("uid_map", f"{user} {user} 1"),
    ):
        _write(f"/proc/self/{name}", text)
    return stated


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def judged(pid: int, stated: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return level and layers of process *pid*, from its statement and /proc."""
    from muniment_plugins.capsule.isolation import layers  # noqa: PLC0415 - the parent alone
    from muniment_plugins.capsule.protocol import is_object  # noqa: PLC0415 - the same

    known = {name: layer for name, layer in stated.items() if is_object(layer)}
    try:
        denied = layers.unmet_walls(pid, known)
        denied += [] if _is_apart(pid) else ["network"]
    except (OSError, KeyError, ValueError):
        denied = sorted(known)
    lacking = {**dict.fromkeys(denied, "not confirmed"), **layers.missing(known)}
    standing = {name: one for name, one in known.items() if name not in lacking}
    return {
        "level": layers.level_of(standing) if standing else "process",
        "layers": cast("JsonValue", sorted(standing)),
        "missing": cast("JsonValue", lacking),
    }


def _is_apart(pid: int) -> bool:
    """Tell whether process *pid* has another network; if hidden, by its user map."""
    try:
        own, other = (os.readlink(f"/proc/{one}/ns/net") for one in ("self", pid))  # noqa: PTH115 - its text
    except PermissionError:
        return read_proc("self", "uid_map") != read_proc(pid, "uid_map")
    return own != other
