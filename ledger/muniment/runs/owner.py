"""The owner of a run: the process that began it, until it has ended.

    {"host": "lab-3", "pid": 4711, "started": "183225"}

Rules:

- A fork copies what a run has in memory: its counters, and the facts that wait to be
  written. Two processes that continued from there would count differently, and write or
  lose the same facts. So in a child every operation of an inherited run refuses, takes
  no lock and writes nothing, even while the child exits.
- The ledger itself differs: a child that inherited it connects anew
  (`muniment.storage.transactions`), may append, and may begin runs of its own.
- Whether an owner is alive can be told on its host only, by its process id and the time
  at which that process started.
"""

from __future__ import annotations

import os
import platform
import secrets
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import NoReturn, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError, UsageError

__all__ = ["LISTENING", "RunOwner", "environment", "is_alive", "owner", "ulid"]

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LISTENING: ContextVar[bool] = ContextVar("muniment_listening", default=False)
"""Whether the calling code listens to a run: it is no part of it, and does nothing in it."""
_REMEDY = "hand work back to the process that began the run, and record it there"


class RunOwner:
    """The process of the run *run*."""

    __slots__ = ("_pid", "run")

    def __init__(self, run: str) -> None:
        """Make the calling process the owner."""
        self.run = run
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is the process that began the run."""
        return os.getpid() == self._pid

    def require(self) -> None:
        """Refuse in any other process, and to whoever only listens.

        Raises:
            RefusedError: the run was inherited by a fork.
            UsageError: the calling code listens to the run.

        """
        if os.getpid() != self._pid:
            raise RefusedError(
                f"a run belongs to its process ({self._pid}), and this is a child of it",
                rule="run/process",
                place=f"run {self.run}",
                remedy=_REMEDY,
            )
        if LISTENING.get():
            raise UsageError(
                "who listens is no part of the run",
                rule="run/listener",
                place=f"run {self.run}",
                remedy="keep what it hears, and use it where the program goes on",
            )

    def refuse_travel(self) -> NoReturn:
        """Refuse to be sent to another process.

        Raises:
            RefusedError: always.

        """
        raise RefusedError(
            "a run belongs to its process, and is not handed to another",
            rule="run/process",
            place=f"run {self.run}",
            remedy=_REMEDY,
        )

    def ended(self) -> UsageError:
        """Return the error for an operation after the run's end."""
        return UsageError(
            "the run has ended",
            rule="run/ended",
            place=f"run {self.run}",
            remedy="wait for threads and tasks before the program returns",
        )


def ulid() -> str:
    """Return a new ULID: 48 bits of milliseconds, 80 random bits, 26 characters."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def environment() -> dict[str, object]:
    """Return what a run records about where it runs."""
    return {
        "muniment": _version(),
        "platform": _platform(),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
    }


@cache
def _version() -> str:
    """Return the version that this process has loaded."""
    from importlib.metadata import version  # noqa: PLC0415 - slow, and only runs ask

    return version("muniment")


def _platform() -> str:
    """Return what `platform.platform` says; on Linux, without its processor.

    It starts a process to ask for the processor, which most kernels do not know.
    """
    if sys.platform != "linux":
        return platform.platform()
    system = platform.uname()
    libc = "".join(platform.libc_ver())
    parts = (system.system, system.release, system.machine, libc and f"with-{libc}")
    return "-".join(part for part in parts if part)


def owner(pid: int | None = None) -> dict[str, object]:
    """Return a description by which to tell whether a run's owner is still alive."""
    return {
        "host": platform.node(),
        "pid": os.getpid() if pid is None else pid,
        "started": _process_start(os.getpid() if pid is None else pid),
    }


def is_alive(described: Mapping[str, JsonValue]) -> bool | None:
    """Tell whether the owner *described* is alive; None when that cannot be known."""
    if described.get("host") != platform.node() or os.name == "nt":
        return None  # on Windows, os.kill would end the process
    pid = cast("int", described.get("pid", 0))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if _process_fields(pid)[:1] in (["Z"], ["X"]):
        return False  # a zombie: its parent has not waited for it
    return described.get("started") in ("", _process_start(pid))


def _process_start(pid: int) -> str:
    """Return the start time of a process in ticks since boot, "" where unknown."""
    known = _process_fields(pid)
    return known[19] if known else ""


def _process_fields(pid: int) -> list[str]:
    """Return what Linux says about a process after its name: state, parent and so on."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(
            "utf-8", "replace"
        )  # a name is bytes
    except OSError:
        return []
    return stat.rpartition(")")[2].split()
