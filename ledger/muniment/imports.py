"""Imports of programs for a replay or a resume: meanwhile nothing is run or written.

    with importing("triage.py"):
        module = importlib.import_module("triage")

What a file does by itself, it does live: executed while it is imported, a program that
is only to be replayed would perform its effects a second time, in a second run.

Rules:

- Whatever begins a run, goes on with one, or writes asks `refuse_importing` first.
- What the import starts is refused, too: its own thread, and those that it starts, and
  they start. All others are somebody else's and go on, begun meanwhile or not.
- A thread of which nobody was told who started it, such as one of a library written in
  another language, is refused if it was not there before.
- A process that has no ledgers (`without_ledgers`), such as the one that a replay runs a
  program in, refuses to open one meanwhile: what the file does with it would follow.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from weakref import WeakSet

from muniment.errors import RefusedError
from muniment.thread_starts import follow

__all__ = [
    "RULE",
    "importing",
    "refuse_importing",
    "refuse_opening",
    "without_ledgers",
]

RULE = "program/importing"


@dataclass(slots=True, eq=False)
class _Import:
    """One import that is under way."""

    place: str
    """Which file or module."""
    threads: WeakSet[threading.Thread]
    """Those that it runs in."""
    others: WeakSet[threading.Thread]
    """Those that are known to be somebody else's."""

    def begun(self, thread: threading.Thread) -> None:
        """Let *thread* belong to whoever starts it, which is the current one."""
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
    _active.append(entry)  # first: what starts from here on is told
    entry.others.update(one for one in threading.enumerate() if one is not here)
    try:
        yield
    finally:
        _active.remove(entry)


def refuse_importing() -> None:
    """Refuse what a program does while it is imported for a replay or a resume.

    Raises:
        RefusedError: the calling code is being imported, or was started by an import.

    """
    _refuse("it runs or writes something by itself, while it is imported for")


def without_ledgers() -> None:
    """Let what this process imports open no ledger: it is kept from all of them."""
    _without_ledgers.set()


def refuse_opening() -> None:
    """Refuse to open a ledger for what is imported where there are none.

    Raises:
        RefusedError: as `refuse_importing`.

    """
    if _without_ledgers.is_set():
        _refuse("it opens a ledger by itself, while it is imported for")


def _refuse(what: str) -> None:
    here = threading.current_thread()
    for one in (*_active,):
        if here in one.threads or here not in one.others:
            raise RefusedError(
                f"{what} a replay or a resume",
                rule="program/importing",
                place=one.place,
                remedy='put what the file does under `if __name__ == "__main__":`',
            )
