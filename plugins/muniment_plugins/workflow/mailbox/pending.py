"""Which letters wait for a run: sent, and neither taken yet nor taken back.

Rules:

- What a run took is in its record: the outcomes of its effects ``mail`` name the letters.
  So nothing is kept beside the ledger, and nothing is delivered twice.
- A run that goes on as new inherits what its predecessor did not take.
- A pause counts until the run is resumed, or somebody takes it back. A pause of a run that
  called this one counts here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from muniment.formats.statement import Event
from muniment_plugins.workflow.mailbox.letters import (
    MAIL,
    SENT,
    mail_series,
)

if TYPE_CHECKING:
    from muniment.hookspecs import ReadableLedger

__all__ = [
    "CONTINUES",
    "GENERATION",
    "continuing_key",
    "ends_of",
    "has_mail",
    "letters_for",
    "line_of",
    "pending_events",
    "predecessor_of",
    "sent_to",
    "taken_by",
]

CONTINUES = "workflow_continues"
"""The label that names the run that a run continues as new."""
GENERATION = "workflow_generation"
"""The label that counts the runs of one workflow that went on as new."""


def continuing_key(run: str) -> str:
    """Return the key of the run that goes on as new for *run*."""
    return f"continues/{run}"


def sent_to(ledger: ReadableLedger, run: str) -> Iterator[Event]:
    """Yield the letters that were sent to *run*, the oldest first."""
    return ledger.events(series=mail_series(run), type=SENT)


def _started(ledger: ReadableLedger, run: str) -> Event | None:
    return next(ledger.events(run=run, limit=1), None)


def predecessor_of(ledger: ReadableLedger, run: str) -> str | None:
    """Return the run that *run* continues as new; None if it continues none."""
    started = _started(ledger, run)
    labels = None if started is None else started.data.get("labels")
    return cast("Mapping[str, str]", labels or {}).get(CONTINUES)


def _parent_of(ledger: ReadableLedger, run: str) -> str | None:
    started = _started(ledger, run)
    parent = None if started is None else started.data.get("parent")
    return cast("Mapping[str, str]", parent or {}).get("run")


def taken_by(ledger: ReadableLedger, run: str) -> dict[str, Event]:
    """Return the letters that *run* took: their hashes → the event by which."""
    found: dict[str, Event] = {}
    for event in ledger.events(run=run, type=f"{MAIL}.completed"):
        about = cast("Mapping[str, object]", event.data.get("about") or {})
        for one in cast("list[str]", about.get("mail") or []):
            found[one] = event
    return found


def ends_of(ledger: ReadableLedger, run: str) -> Event | None:
    """Return the event by which *run* ended for good; None if it did not."""
    kinds = "run.completed,run.canceled"
    return next(ledger.events(run=run, type=kinds, limit=1), None)


def line_of(ledger: ReadableLedger, run: str) -> tuple[str, ...]:
    """Return *run* and those before it whose mail may be for it; they never change."""
    found: list[str] = []
    one: str | None = run
    while one is not None:
        found.append(one)
        one = _parent_of(ledger, one) or predecessor_of(ledger, one)
    return tuple(found)


def has_mail(ledger: ReadableLedger, line: Iterable[str]) -> bool:
    """Tell whether anything may wait for the runs of a *line*.

    Cheaply, and sometimes in vain.
    """
    each = (ledger.events(series=mail_series(one), limit=1) for one in line)
    return any(next(found, None) is not None for found in each)


def pending_events(ledger: ReadableLedger, run: str) -> list[Event]:
    """Return the letters that wait for *run*, the oldest first."""
    taken = taken_by(ledger, run)
    found = [
        one
        for one in letters_for(ledger, run)
        if one.hash not in taken and not _is_void(ledger, run, one)
    ]
    above = _parent_of(ledger, run)
    while above is not None:
        gone = taken_by(ledger, above)
        found += [
            one
            for one in sent_to(ledger, above)
            if one.data["kind"] == "control"
            and one.data["name"] == "pause"
            and one.hash not in taken
            and one.hash not in gone
            and not _is_void(ledger, above, one)
        ]
        above = _parent_of(ledger, above)
    return sorted(found, key=lambda one: one.seq)


def letters_for(ledger: ReadableLedger, run: str) -> Iterator[Event]:
    """Yield the letters to *run*, and those that its predecessors passed on."""
    yield from sent_to(ledger, run)
    before = predecessor_of(ledger, run)
    while before is not None:
        gone = taken_by(ledger, before)
        yield from (
            one
            for one in sent_to(ledger, before)
            if one.hash not in gone and one.data["kind"] != "control"
        )
        before = predecessor_of(ledger, before)


def _is_void(ledger: ReadableLedger, run: str, event: Event) -> bool:
    """Tell whether *event* is a control that means nothing any more."""
    if event.data["kind"] != "control" or event.data["name"] == "continue_as_new":
        return False
    if event.data["name"] == "resume":
        return True  # it takes back what came before, and is never taken itself
    resumed = next(
        ledger.events(run=run, type="run.resumed", order="desc", limit=1), None
    )
    later = [
        one.seq
        for one in sent_to(ledger, run)
        if one.data["kind"] == "control" and one.data["name"] == "resume"
    ]
    last = max([*later, -1 if resumed is None else resumed.seq])
    return event.seq < last
