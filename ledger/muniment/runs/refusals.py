"""Why a run is not resumed yet: somebody owns it, or people have not answered it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import RunFenced, RunPaused
from muniment.events.visibility import INSTEAD, hides
from muniment.formats.lifecycle import BEGINNINGS, LIFE, PAUSED
from muniment.formats.statement import Event
from muniment.recorded.descent import children_of
from muniment.recorded.run import Recorded
from muniment.runs.owner import is_alive, owner
from muniment.storage.lookup import events_of_run

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads

__all__ = ["owned", "refuse_alive", "refuse_alive_around", "refuse_waiting"]

_STATED = "pause.stated"


def refuse_alive(
    ledger: LedgerReads, record: Recorded, run: str, take_over: bool
) -> None:
    """Refuse to take *run* over from an owner that may be alive."""
    if take_over:
        return
    if (by := _living(ledger, record.events, run)) is not None:
        raise owned(run, f"the run is owned by {by}")


def refuse_alive_around(
    ledger: LedgerReads, run: str, above: Iterable[str], take_over: bool
) -> None:
    """Refuse to resume *run* beside somebody who owns a run that it called, or one *above*.

    To resume a run fences whoever owns what it called, and what they perform meanwhile
    would be performed again. Whoever owns a run above would come to this one, too.
    """
    if take_over:
        return
    database = ledger.store.database
    for what, one in (
        *(("is a part of", one) for one in above),
        *(("called", one) for one in _called(ledger, run)),
    ):
        if (by := _living(ledger, events_of_run(database, one), one)) is not None:
            raise owned(one, f"run {run} {what} this one, which is owned by {by}")


def _called(ledger: LedgerReads, run: str) -> Iterator[str]:
    """Yield the runs that *run* called, and those that they called."""
    for started in children_of(ledger.store.database, run):
        child = str(started.run)
        yield child
        yield from _called(ledger, child)


def _living(ledger: LedgerReads, events: Iterable[Event], run: str) -> str | None:
    """Return who owns the run of *events*, if it has no end and they may be alive."""
    life = [event for event in events if event.type in LIFE]
    if not life or life[-1].type not in BEGINNINGS:
        return None
    described = cast("dict[str, JsonValue]", life[-1].raw.get("owner", {}))
    alive = is_alive(described)
    if alive is False:
        return None
    if described.get("pid") == owner()["pid"] and run in ledger.port.left:
        return None
    where = f"process {described.get('pid')} on {described.get('host')}"
    doubt = "is alive" if alive else "cannot be looked at from here"
    return f"{where}, which {doubt}"


def refuse_waiting(ledger: LedgerReads, record: Recorded, run: str) -> None:
    """Stop before anything is written, if people have not answered what the run asks.

    Not if a lane of it waits for something else as well, which only a resume looks for.
    """
    last = [event for event in record.events if event.type in LIFE][-1]
    awaited = last.raw.get("waits_for") if last.type == PAUSED else None
    asks = cast("list[str]", awaited or [])
    if not asks or _states_pause(ledger, run):
        return
    if ledger.port.inbox.waits(run, asks):
        reason = INSTEAD if hides(last, "reason") else last.raw.get("reason", "")
        raise RunPaused(str(reason), asks)


def _states_pause(ledger: LedgerReads, run: str) -> bool:
    """Tell whether *run*, or one that it called, stated a pause that no resume passed."""
    return any(_is_at_pause(ledger, one) for one in (run, *_called(ledger, run)))


def _is_at_pause(ledger: LedgerReads, run: str) -> bool:
    last = ""
    stated = False
    for event in events_of_run(ledger.store.database, run):
        if event.type in LIFE:
            last = event.type
            stated = stated and last not in BEGINNINGS
        elif event.type == _STATED:
            stated = True
    return stated and last == PAUSED


def owned(run: str, by: str) -> RunFenced:
    """Return the refusal of a *run* that somebody else owns."""
    return RunFenced(
        by,
        rule="run/owned",
        place=f"run {run}",
        remedy="let it finish, or resume with --take-over",
    )
