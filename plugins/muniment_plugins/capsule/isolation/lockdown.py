"""The child locks itself in, for good, and states which layers are active.

    {"namespaces": {"user": true, …}, "capabilities": {"set": true}, …,
     "landlock": {"abi": 7, …}, "seccomp": {"filter": "open"}}

Rules:

- The order is: namespaces and the bounding set, once, in the process that forks the
  children; then, in the child: death with its parent, capabilities, no new privileges,
  not dumpable, Landlock, the handler that names forbidden calls, seccomp. Each step
  could be undone or refused without the one before.
- The child states what the system does not grant, ``{"missing": "ENOSYS"}``; the parent
  judges whether the rest is enough, before anything runs.
- Without Landlock the filter lets no file be opened at all; modules that ordinary
  programs load late are loaded before.
"""

from __future__ import annotations

import errno
import os
import sys

from muniment_plugins.capsule.isolation.landlock import Rules, version
from muniment_plugins.capsule.isolation.namespaces import enter
from muniment_plugins.capsule.isolation.native import System, error_name
from muniment_plugins.capsule.isolation.syscall_trap import Trap

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

__all__ = [
    "Readied",
    "SyscallFilter",
    "attempt",
    "die_with",
    "drop_bounding",
    "give_up",
    "load_late",
    "prepare",
]

_SIGKILL = 9
_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP = 1, 4, 24
_SET_NO_NEW_PRIVS, _CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
_SET_MODE_FILTER, _TSYNC = 1, 1

_LATE = {
    "uuid": ("hashlib",),
    "statistics": ("random",),
    "random": ("_sha2", "hashlib", "statistics", "time", "warnings"),
    "calendar": ("warnings",),
    "collections": ("copy", "heapq"),
    "datetime": ("_strptime", "zoneinfo"),
    "decimal": ("numbers",),
    "difflib": ("re",),
    "enum": ("warnings",),
    "fractions": ("decimal",),
    "functools": ("types", "typing", "warnings", "weakref"),
    "hashlib": ("_blake2", "_md5", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512"),
    "operator": ("functools",),
    "pprint": ("time",),
    "re": ("enum", "warnings"),
    "time": ("_strptime",),
    "typing": ("contextlib", "inspect", "re", "warnings"),
    "warnings": ("functools", "inspect", "linecache", "re", "traceback", "types"),
    "numpy": ("numpy.ma",),
    "pandas": (
        *("pandas.core.methods.to_dict", "pandas.core.reshape.reshape"),
        *("pandas.io.formats.string", "numpy.rec", "pyarrow.pandas_compat"),
    ),
    "scipy.optimize": ("multiprocessing.reduction",),
    "scipy.special": ("scipy.linalg",),
    "sklearn": (
        *("narwhals._interchange.dataframe", "narwhals._pandas_like.namespace"),
        *("narwhals._pandas_like.dataframe", "narwhals.stable.v2._namespace"),
    ),
    "sklearn.cluster": ("scipy.cluster.hierarchy",),
}
"""Module → modules that it imports when one of its functions is first called."""

_CODECS = ("ascii", "latin_1", "utf_16", "utf_32", "utf_8_sig")


def prepare(walls: Mapping[str, Any]) -> System | None:
    """Return what locking needs; None if there are no layers to raise."""
    return System() if walls else None


def load_late(system: System | None, imports: Iterable[str]) -> None:
    """Load what *imports* load on use, if no file can be opened by then."""
    if system is None or "missing" not in attempt(lambda: {"abi": version(system)}):
        return
    # Modules that they imported have late parts of their own.
    for name in (*imports, *(name for name in _LATE if name in sys.modules)):
        for late in _LATE.get(name, ()):
            try:
                __import__(late)
            except ImportError:
                continue  # a package may keep its parts elsewhere
    for codec in _CODECS:
        b"".decode(codec)


class Readied:
    """The work done before there is a child: once, for any number of children.

    This process enters its namespaces and gives up all further capabilities; children
    inherit both. Then it holds directories open, which `lock` closes.
    """

    def __init__(self, system: System, walls: Mapping[str, Any]) -> None:
        """Make ready, after everything is loaded, as a process of one thread.

        Raises:
            OSError: this process is left half-way and is unusable.

        """
        self._system = system
        self._namespaces = enter(system, walls)
        self._rules: Rules | None = None
        self._trap = Trap(system)
        self._missing = attempt(lambda: self._open(walls))
        self._bounding = attempt(lambda: drop_bounding(system))
        self._filters = {
            kind: SyscallFilter(system, bytes.fromhex(program), kind)
            for kind, program in walls["filters"].items()
        }

    def descriptors(self) -> list[int]:
        """Return the descriptors that are open until `lock`."""
        return self._rules.descriptors() if self._rules is not None else []

    def lock(self, parent: int, answers: int | None = None) -> dict[str, object]:
        """Lock this process in, a child of *parent*; return the statement.

        Calls that the filter forbids are reported on descriptor *answers*.
        """
        system = self._system
        die_with(system, parent)
        stated: dict[str, object] = {
            "namespaces": self._namespaces,
            "bounding": self._bounding,
            **give_up(system),
        }
        rules = self._rules
        landlock = self._missing if rules is None else attempt(rules.restrict)
        kind = "closed" if "missing" in landlock else "open"
        if answers is not None:
            stated["trap"] = attempt(lambda: self._trap.arm(answers))
        seccomp = attempt(self._filters[kind].load)
        return {**stated, "landlock": landlock, "seccomp": seccomp}

    def _open(self, walls: Mapping[str, Any]) -> dict[str, object]:
        self._rules = Rules(self._system, walls["directories"], walls["files"])
        return {}


def die_with(system: System, parent: int) -> None:
    """End when process *parent*, the parent of this one, ends."""
    system.call("prctl", _SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:  # it died before the signal was set
        os._exit(0)


def give_up(system: System) -> dict[str, object]:
    """Give up capabilities, further privileges, and memory that others may read."""
    return {
        "capabilities": attempt(lambda: _drop_capabilities(system)),
        "no_new_privs": attempt(lambda: _control(system, _SET_NO_NEW_PRIVS, 1)),
        "undumpable": attempt(lambda: _control(system, _SET_DUMPABLE, 0)),
    }


class SyscallFilter:
    """A filter in memory, in the kernel's form."""

    def __init__(self, system: System, program: bytes, kind: str) -> None:
        self._system, self._kind = system, kind
        self._held, where = system.at_address(program)
        # struct sock_fprog: the number of instructions, padding, their address
        count = (len(program) // 8).to_bytes(8, "little")
        self._pointed = count + where.to_bytes(8, "little")

    def load(self) -> dict[str, object]:
        """Load it for every thread of this process."""
        call = self._system.call
        failed = call("seccomp", _SET_MODE_FILTER, _TSYNC, self._pointed)
        if failed:
            raise OSError(errno.ESRCH, f"thread {failed} cannot be filtered")
        return {"filter": self._kind}


def attempt(step: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Return what *step* states, or what the system answered instead."""
    try:
        return step()
    except OSError as error:
        return {"missing": error_name(error)}


def _control(system: System, option: int, value: int) -> dict[str, object]:
    system.call("prctl", option, value)
    return {"set": True}


def drop_bounding(system: System) -> dict[str, object]:
    """Give up the right to ever get a capability, which needs one itself (SETPCAP).

    Without that one, no-new-privileges keeps them away.
    """
    for number in range(_MOST_CAPABILITIES):
        try:
            system.call("prctl", _CAPBSET_DROP, number)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # the kernel has no more
    return {"set": True}


def _drop_capabilities(system: System) -> dict[str, object]:
    system.call("prctl", _CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)  # of this process
    system.call("capset", header, bytes(24))
    return {"set": True}
