"""Imports of programs for a replay or a resume: no run or write while they last.

    with importing("triage.py"):
        module = importlib.import_module("triage")

Code that runs when a file is imported runs live: a program that should only be replayed
would perform its effects a second time, in a second run.

Rules:

- Everything that starts or continues a run, or writes, calls `refuse_importing` first.
- Threads of the import are refused, too: its own, those that it starts, and those that
  they start. All other threads belong to somebody else and continue, started meanwhile
  or not.
- A thread with an unknown starter, such as one of a library in another language, is
  refused if it was not there before.
- A process that has no ledgers (`without_ledgers`), such as the one in which a replay
  runs a program, refuses to open one during the import: the file would go on to use it.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from weakref import WeakSet

from muniment.errors import RefusedError
from muniment.programs.thread_starts import follow

__all__ = [
    "RULE",
    "importing",
    "is_importing",
    "refuse_importing",
    "refuse_opening",
    "without_ledgers",
]

RULE = "program/importing"


@dataclass(slots=True, eq=False)
class _Import:
    """One import that is under way."""

    place: str
    """The file or module."""
    threads: WeakSet[threading.Thread]
    """The threads that it runs in."""
    others: WeakSet[threading.Thread]
    """The threads that are known to be somebody else's."""

    def begun(self, thread: threading.Thread) -> None:
        """Add *thread* to the group of the current thread, which starts it."""
        starter = threading.current_thread()
        for known in (self.threads, self.others):
            if starter in known:
                known.add(thread)
                return


_active: list[_Import] = []
_without_ledgers = threading.Event()


@cache
def _follow_threads() -> None:
    follow(_begun)


def _begun(thread: threading.Thread | None) -> None:
    if thread is not None:
        for one in (*_active,):
            one.begun(thread)


@contextmanager
def importing(place: str) -> Generator[None]:
    """Import *place*, a file or a module, in the body; see the module's rules."""
    _follow_threads()
    here = threading.current_thread()
    entry = _Import(place, WeakSet([here]), WeakSet())
    _active.append(entry)  # first, so that threads from here on are followed
    entry.others.update(one for one in threading.enumerate() if one is not here)
    try:
        yield
    finally:
        _active.remove(entry)


def is_importing() -> bool:
    """Tell whether the calling code is imported for a replay or a resume."""
    return _imported_as() is not None


def refuse_importing() -> None:
    """Refuse runs and writes of code that is imported for a replay or a resume.

    Raises:
        RefusedError: the calling code is being imported, or was started by an import.

    """
    _refuse("it runs or writes something by itself, while it is imported for")


def without_ledgers() -> None:
    """Let imported code open no ledger in this process, which has none."""
    _without_ledgers.set()


def refuse_opening() -> None:
    """Refuse to open a ledger for imported code, in a process without ledgers.

    Raises:
        RefusedError: as `refuse_importing`.

    """
    if _without_ledgers.is_set():
        _refuse("it opens a ledger by itself, while it is imported for")


def _refuse(what: str) -> None:
    place = _imported_as()
    if place is not None:
        raise RefusedError(
            f"{what} a replay or a resume",
            rule="program/importing",
            place=place,
            remedy='put what the file does under `if __name__ == "__main__":`',
        )


def _imported_as() -> str | None:
    """Return the file or module whose import the calling code belongs to, or None."""
    here = threading.current_thread()
    for one in (*_active,):
        if here in one.threads or here not in one.others:
            return one.place
    return None
