"""Imports of programs for a replay or a resume: meanwhile nothing is run or written.

    with importing("triage.py"):
        module = importlib.import_module("triage")

What a file does by itself, it does live: executed while it is imported, a program that
is only to be replayed would perform its effects a second time, in a second run.

Rules:

- Whatever begins a run, goes on with one, or writes asks `refuse_importing` first.
- What the import starts is refused, too: its own thread, and threads begun meanwhile.
  Threads that were there before go on; they are somebody else's.
- A process that has no ledgers (`without_ledgers`), such as the one that a replay runs a
  program in, refuses to open one meanwhile: what the file does with it would follow.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from muniment.errors import RefusedError

__all__ = [
    "RULE",
    "importing",
    "refuse_importing",
    "refuse_opening",
    "without_ledgers",
]

RULE = "program/importing"

_active: list[tuple[str, frozenset[threading.Thread]]] = []
"""The imports that are under way: which file or module, and whose threads go on."""
_without_ledgers = threading.Event()


@contextmanager
def importing(place: str) -> Generator[None]:
    """Import *place*, a file or a module, in the body; see the module's rules."""
    others = frozenset(threading.enumerate()) - {threading.current_thread()}
    entry = (place, others)
    _active.append(entry)
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
    if not _active:
        return
    here = threading.current_thread()
    for place, others in _active:
        if here not in others:
            raise RefusedError(
                f"{what} a replay or a resume",
                rule="program/importing",
                place=place,
                remedy='put what the file does under `if __name__ == "__main__":`',
            )
