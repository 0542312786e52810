"""The mail of a run, as it is viewed without writing anything: its letters, its answers.

    workflow_mail(ledger, run)                   [{"name": "go", "state": "waiting", …}]

Rules:

- Everything is read from events, of a run in this process or in any other; nothing is
  written, and no run is asked.
- A letter *waits* until it is *taken*, and an update until it is *answered*. What can never
  be taken any more is *undelivered*, and a pause that was taken back, or that a resume came
  after, is *void*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import ErasedError, UsageError
from muniment.formats.statement import BlobRef, Event
from muniment_plugins.workflow.declared_names import is_engine
from muniment_plugins.workflow.mailbox.letters import mail_of
from muniment_plugins.workflow.mailbox.pending import (
    continuing_key,
    ends_of,
    letters_for,
    pending_events,
    taken_by,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "STATUS",
    "answer_to",
    "continued_by",
    "heirs_of",
    "last_of",
    "over_at",
    "plain_value",
    "require_workflow",
    "workflow_mail",
]

Row = dict[str, Any]
STATUS = "status"
"""The query that every run answers."""


def require_workflow(ledger: Ledger, run: str) -> str:
    """Return the id of *run*, which has to walk a graph, or to be about to.

    Raises:
        UsageError: there is no such run, or it walks none.

    """
    chosen = ledger.run_id(run)
    if not (_has(ledger, chosen, "workflow.started") or _will_walk(ledger, chosen)):
        raise UsageError(
            "it walks no graph, so nothing reads its mail",
            rule="workflow/run",
            place=f"run {chosen}",
            remedy="name a run of a workflow: `muniment runs list`",
        )
    return chosen


def _has(ledger: Ledger, run: str, kind: str) -> bool:
    return next(ledger.events(run=run, type=kind, limit=1), None) is not None


def _will_walk(ledger: Ledger, run: str) -> bool:
    """Tell whether the program of *run* walks a graph, which it may not have begun."""
    started = next(ledger.events(run=run, limit=1), None)
    return started is not None and is_engine(started.data.get("program"))


def heirs_of(ledger: Ledger, run: str) -> Iterator[str]:
    """Yield the runs that go on as new for *run*, one after the other."""
    heir = continued_by(ledger, run)
    while heir is not None:
        yield heir
        heir = continued_by(ledger, heir)


def last_of(ledger: Ledger, run: str) -> str:
    """Return the last run that goes on as new for *run*; itself if none does."""
    return [run, *heirs_of(ledger, run)][-1]


def over_at(ledger: Ledger, run: str) -> Event | None:
    """Return the event after which no letter to *run* is taken; None if one may be.

    A run that goes on as new hands its letters on, also while the next one is not begun.
    """
    if _has(ledger, run, "workflow.continued_as_new"):
        return None
    return ends_of(ledger, run)


def continued_by(ledger: Ledger, run: str) -> str | None:
    """Return the run that goes on as new for *run*; None if there is none yet."""
    for event in ledger.events(series=f"workflow/{continuing_key(run)}", limit=1):
        return event.run
    return None


def workflow_mail(ledger: Ledger, run: str) -> list[Row]:
    """Return every letter to *run*, the oldest first, and what became of it.

    Raises:
        UsageError: there is no such run, or it walks no graph.

    """
    chosen = require_workflow(ledger, run)
    taken, answers = _taken_below(ledger, chosen), _answers(ledger, chosen)
    lost = _lost(ledger, chosen)
    waiting = {one.hash for one in pending_events(ledger, chosen)}
    end, heirs = ends_of(ledger, chosen), [*heirs_of(ledger, chosen)]
    over = over_at(ledger, chosen)
    rows: list[Row] = []
    for event in sorted(letters_for(ledger, chosen), key=lambda one: one.seq):
        row: Row = dict(mail_of(ledger, event).row())
        by = taken.get(event.hash)
        if event.hash in answers:
            row |= {"state": "answered", **_answer(ledger, answers[event.hash])}
        elif event.hash in lost:
            row["state"] = "undelivered"
        elif by is not None:
            row |= {"state": "taken", "scope": by.scope or "", "taken_at": by.time}
        elif event.hash not in waiting:
            row["state"] = "void"
        elif heirs and event.data["kind"] != "control":
            row |= _passed_on(ledger, heirs, event.hash)
        else:
            late = end if event.data["kind"] == "control" else over
            row["state"] = "waiting" if late is None else "undelivered"
        rows.append(row)
    return rows


def _passed_on(ledger: Ledger, heirs: list[str], letter: str) -> Row:
    """Return what became of a letter that was passed on: who has it, or that nobody has."""
    for one in heirs:
        if letter in _lost(ledger, one):
            return {"state": "undelivered"}
        if letter in taken_by(ledger, one):
            return {"state": "passed_on", "to": one}
    if over_at(ledger, heirs[-1]) is not None:
        return {"state": "undelivered"}
    return {"state": "passed_on", "to": heirs[-1]}


def _taken_below(ledger: Ledger, run: str) -> dict[str, Event]:
    """Return what *run* and the runs that it called took."""
    found = taken_by(ledger, run)
    for child in ledger.children(run):
        found = {**_taken_below(ledger, child), **found}
    return found


def _answers(ledger: Ledger, run: str) -> dict[str, Event]:
    kind = "update.answered"
    return {str(one.data["mail"]): one for one in ledger.events(run=run, type=kind)}


def _lost(ledger: Ledger, run: str) -> set[str]:
    return {
        str(one)
        for event in ledger.events(run=run, type="mail.undelivered")
        for one in cast("list[str]", event.data["mail"])
    }


def plain_value(ledger: Ledger, value: object) -> object:
    """Return what an event says as *value*, its content if that is kept apart."""
    return ledger.value(value) if isinstance(value, BlobRef) else value


def _answer(ledger: Ledger, event: Event) -> Row:
    """Return the answer in *event*: a value, or an error."""
    said: Mapping[str, object] = event.data
    name = "value" if said.get("error") is None else "error"
    try:
        return {name: plain_value(ledger, said.get(name))}
    except ErasedError:
        return {name: None, "erased": True}


def answer_to(ledger: Ledger, run: str, letter: str) -> Row:
    """Return what became of the *letter* to *run*; of one that was passed on, there.

    Raises:
        UsageError: the run has no such letter.

    """
    place, heir = run, continued_by(ledger, run)
    while heir is not None and letter not in taken_by(ledger, place):
        place, heir = heir, continued_by(ledger, heir)
    answered = _answers(ledger, place).get(letter)
    if answered is not None:
        return {"state": "answered", **_answer(ledger, answered)}
    ended = over_at(ledger, place) is not None
    gone = letter in _lost(ledger, place)
    return {"state": "undelivered" if ended or gone else "waiting"}
