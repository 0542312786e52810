r"""macOS: the interpreter starts inside a profile that denies what it does not list.

    /usr/bin/sandbox-exec -p '(version 1) (deny default) …' python -s -S -P worker.py …

Rules:

- Denied by default: writing, sockets, other programs, forks, signals to others, services
  of the system. Allowed: reading the interpreter, the packages and the system's
  libraries, and asking about any file.
- Only the interpreter itself may be executed, which `sandbox-exec` has to do.
- macOS cannot limit the address space: the parent looks at the resident memory every
  few milliseconds, and ends a child that has outgrown its bounds.
- The level is ``os-partial``, and only if a probe child could not get out.

Written from the manuals, and not tested by us on this system. See sandbox-exec(1);
``<libproc.h>`` and ``<sys/proc_info.h>`` for the memory of a process.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from muniment.encoding.canonical import JsonValue

__all__ = ["Seatbelt", "TaskInfo", "profile"]

LEVEL = "os-partial"
COMMAND = "/usr/bin/sandbox-exec"

_SYSTEM = (
    "/Library/Apple/System/Library",
    "/System",
    "/private/var/db/timezone",
    "/usr/lib",
    "/usr/share/zoneinfo",
)
_DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
_TASK_INFO = 4  # PROC_PIDTASKINFO
_OF_FRAMEWORK = "Resources/Python.app/Contents/MacOS/Python"

_PROFILE = """\
(version 1)
(deny default)
(allow process-exec
{programs})
(allow file-read* file-map-executable
{places}
{programs})
(allow file-read*
{devices})
(allow file-read-metadata)
(allow file-read-data
  (literal "/"))
(allow process-info* signal
  (target self))
(allow sysctl-read)
"""


class TaskInfo(ctypes.Structure):
    """``struct proc_taskinfo``; only the resident size is read."""

    _fields_ = (
        ("virtual_size", ctypes.c_uint64),
        ("resident_size", ctypes.c_uint64),
        ("times", ctypes.c_uint64 * 4),
        ("counts", ctypes.c_int32 * 12),
    )


def profile(programs: Iterable[str], places: Iterable[str]) -> str:
    """Return the profile for these interpreters, which read below these *places*."""
    return _PROFILE.format(
        programs=_listed("literal", programs),
        places=_listed("subpath", sorted({*places, *_SYSTEM})),
        devices=_listed("literal", _DEVICES),
    )


def _listed(kind: str, paths: Iterable[str]) -> str:
    return "\n".join(f"  ({kind} {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Seatbelt:
    """The profile and the memory limit of one child."""

    def __init__(self) -> None:
        self._most = 0

    @staticmethod
    def prefix(paths: Iterable[str]) -> tuple[str, ...]:
        """Return the prefix of the interpreter's command."""
        return (COMMAND, "-p", profile(_programs(), [*_own(), *_real(paths)]))

    def hold(self, pid: int, mem_mb: int) -> dict[str, JsonValue]:
        """Bound the memory that *pid* takes from now on; return the layer."""
        self._most = resident(pid) + mem_mb * 1024 * 1024
        return {"seatbelt": {"default": "deny", "resident": self._most}}

    def outgrown(self, pid: int) -> bool:
        """Tell whether *pid* takes more memory than it may."""
        return 0 < self._most < resident(pid)


def resident(pid: int) -> int:
    """Return the bytes of memory that *pid* takes; 0 if they are unknown."""
    if sys.platform != "darwin":
        return 0
    info = TaskInfo()
    size = ctypes.sizeof(info)
    ask = ctypes.CDLL(None, use_errno=True).proc_pidinfo
    ask.argtypes = (
        *(ctypes.c_int, ctypes.c_int, ctypes.c_uint64),
        *(ctypes.c_void_p, ctypes.c_int),
    )
    got = ask(pid, _TASK_INFO, 0, ctypes.byref(info), size)
    return int(info.resident_size) if got == size else 0


def _programs() -> list[str]:
    """Return the paths of this interpreter; one in a framework starts a second one."""
    framework = Path(sys.base_prefix) / _OF_FRAMEWORK
    return _real([sys.executable, str(framework)])


def _own() -> list[str]:
    """Return the places of the interpreter's and the capsule's own modules."""
    plugins = Path(__file__).parents[2]
    import muniment  # noqa: PLC0415 - for its place only

    kernel = Path(muniment.__path__[0])
    return _real([sys.base_prefix, sys.prefix, str(plugins), str(kernel)])


def _real(paths: Iterable[str]) -> list[str]:
    """Return each path as given and as resolved; the system may compare either."""
    return sorted({p for path in paths for p in (path, os.path.realpath(path))})
