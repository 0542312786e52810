"""The limits that a child sets on itself, and what the parent finds in /proc.

    {"as": 310378496, "cpu": [6, 7], "cpu_timer_s": 5.0, "fsize": 0, "core": 0,
     "nofile": 32, "nproc": 0, "nproc_enforced": true}

Rules:

- Every limit is set or the child ends: no failure is ignored.
- Address space counts from what the interpreter and the allowed packages already use;
  the CPU timer (SIGPROF) ends the program at its time, to the tick; the CPU limit
  (SIGXCPU, whole seconds) backs it up, soft below hard so that the reason shows.
- The stack is grown beforehand: it counts as address space, and cannot grow later.
- The number of processes is not enforced for uid 0, and the statement says so.

The child imports this module: only small built-in modules at the top.
"""

from __future__ import annotations

import os
import sys
import time

from muniment_plugins.capsule.isolation.procfs import read_proc
from muniment_plugins.capsule.protocol import is_list

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from muniment_plugins.capsule.isolation.native import System

__all__ = ["apply_limits", "grow_stack", "limit_memory", "unmet_limits"]

MAX_DESCRIPTORS = 32

_STACK = 4 * 1024 * 1024
_STACK_OF_LEVEL = 100
_LEAPS_SINCE = 5  # older kernels treat a touch so far below as a fault

# Windows has none: there a job object of the parent limits the child.
resource: Any = __import__("resource") if os.name == "posix" else None

_PROC_NAMES = {
    "as": "Max address space",
    "core": "Max core file size",
    "cpu": "Max cpu time",
    "fsize": "Max file size",
    "nofile": "Max open files",
    "nproc": "Max processes",
}


def grow_stack(system: System | None) -> None:
    """Grow the stack now: it cannot grow once memory is used up.

    A program at its memory limit would otherwise end by a stack fault, which would not
    show the reason. The stack stays grown, in forks too.
    """
    if resource is None:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if most != resource.RLIM_INFINITY and most < 2 * _STACK:
        return
    if system is not None and int(os.uname().release.partition(".")[0]) >= _LEAPS_SINCE:
        system.touch(_top_of_stack() - _STACK)
        return
    nested: tuple[object, ...] = ()
    for _ in range(_STACK // _STACK_OF_LEVEL):
        nested = (nested,)
    hash(nested)  # recurses once per level


def _top_of_stack() -> int:
    with open("/proc/self/maps", "rb") as maps:  # noqa: PTH123 - pathlib is slow
        before, _, _ = maps.read().partition(b"[stack]")
    return int(before.rpartition(b"\n")[2].split()[0].partition(b"-")[2], 16)


def apply_limits(time_s: float, mem_mb: int) -> dict[str, object]:
    """Limit this process for good and return what was set."""
    if resource is None:
        return {"missing": "no limits that a process can set on itself"}
    # The module signal, which wraps this one, imports enum: a third of the start.
    _signal: Any = __import__("_signal")
    for number in (_signal.SIGPROF, _signal.SIGXCPU):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    cpu = int(time.process_time() + time_s) + 1
    stated: dict[str, object] = {
        "core": _lower(resource.RLIMIT_CORE, 0, 0)[0],
        "cpu": list(_lower(resource.RLIMIT_CPU, cpu, cpu + 1)),
        "cpu_timer_s": time_s,
        "fsize": _lower(resource.RLIMIT_FSIZE, 0, 0)[0],
        "nofile": _lower(resource.RLIMIT_NOFILE, MAX_DESCRIPTORS, MAX_DESCRIPTORS)[0],
        "nproc": _lower(resource.RLIMIT_NPROC, 0, 0)[0],
        "nproc_enforced": os.getuid() != 0,
    }
    held = limit_memory(mem_mb)
    if held is not None:
        stated["as"] = held
    _signal.setitimer(_signal.ITIMER_PROF, time_s)
    return stated


def limit_memory(mem_mb: int) -> int | None:
    """Let this process map *mem_mb* more; return the limit, None if none can be set."""
    taken = _address_space()
    if taken is None:
        return None
    wanted = taken + mem_mb * 1024 * 1024
    return _lower(resource.RLIMIT_AS, wanted, wanted)[0]


def _lower(kind: int, soft: int, hard: int) -> tuple[int, int]:
    """Set a limit, never above the existing hard limit."""
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    limits = (min(soft, hard), hard)
    resource.setrlimit(kind, limits)
    return limits


def _address_space() -> int | None:
    """Return the bytes that this process maps, or None if they are unknown."""
    if sys.platform != "linux":
        return None
    pages = int(read_proc("self", "statm").split()[0])
    return pages * int(resource.getpagesize())


def unmet_limits(pid: int, stated: Mapping[str, object]) -> list[str]:
    """Return the stated limits that /proc does not confirm."""
    said = read_proc(pid, "limits").decode("ascii")
    unmet: list[str] = []
    for key, name in _PROC_NAMES.items():
        soft, hard = [*said.partition(f"\n{name}")[2].split(None, 2), "", ""][:2]
        wanted = stated.get(key)
        both = wanted if is_list(wanted) else [wanted, wanted]
        if [soft, hard] != [*map(str, both)]:
            unmet.append(key)
    return unmet
