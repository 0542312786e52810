"""Which run called which: what a child states about its parent, and how to find it.

    run.started   data:    {"parent": {"run": "01JD…", "root": "01JC…", "key": "9f86…"}}
                  subject: call    sha256:9f86…    the key of the call
                           parent  sha256:…        SHA-256 of the parent's id

Rules:

- Children are found by these subjects, so a ledger of millions of runs takes no longer;
  a found event counts only if its payload says the same.
- ``root`` is the run at the top, which no other called.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import cast

from muniment.formats.lifecycle import STARTED
from muniment.formats.statement import Event, Subject
from muniment.storage.connections import Database
from muniment.storage.lookup import events_in, events_of_run

__all__ = ["ancestors_of", "child_of", "children_of", "parent_of", "subjects_of"]


def subjects_of(parent: str, key: str) -> tuple[Subject, ...]:
    """Return the subjects for the start of the run that *parent* calls under *key*."""
    return Subject("call", f"sha256:{key}"), Subject("parent", _of_run(parent))


def parent_of(started: Event) -> dict[str, str]:
    """Return what the start of a run says about its parent; nothing without one."""
    told = started.raw.get("parent")
    return cast("dict[str, str]", told) if isinstance(told, dict) else {}


def ancestors_of(database: Database, started: Event) -> tuple[str, ...]:
    """Return the runs above the one that *started*: the parent first, the root last."""
    found: list[str] = []
    while (run := parent_of(started).get("run")) is not None and run not in found:
        found.append(run)
        above = next(events_of_run(database, run), None)
        if above is None:
            break
        started = above
    return tuple(found)


def child_of(database: Database, parent: str, key: str) -> str | None:
    """Return the run that *parent* called under *key*, if it started."""
    for event in events_in(database, subject=f"sha256:{key}", types=(STARTED,)):
        told = parent_of(event)
        if (told.get("run"), told.get("key")) == (parent, key):
            return event.run
    return None


def children_of(database: Database, parent: str) -> Iterator[Event]:
    """Yield the starts of the runs that *parent* called, in their order."""
    for event in events_in(database, subject=_of_run(parent), types=(STARTED,)):
        if parent_of(event).get("run") == parent:
            yield event


def _of_run(run: str) -> str:
    return f"sha256:{sha256(run.encode()).hexdigest()}"
