"""What a reader of a report sees first: marks, verdicts, and of how many tries each is one.

    marked                  non_certifiable
    because                 policy, max_count: all effects are spent
    smaller under halved    holds, p-value 0.0002, integrity valid
    One of 2 runs of the claim shrink in this ledger, as number 2.

Rules:

- What a run is marked with comes before whatever it found, with the first reason for it.
- A verdict never stands without its denominator: all runs in the series of its claim,
  counted again from the events, with those that failed or came later.
- A run is in the series of a claim by its start, or by an event that states the claim.
- What is not here, or not all of it, is said in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from muniment.events.findings import VERDICTS
from muniment.formats.lifecycle import MARKED, STARTED
from muniment.verification.page.run_marks import NON_CERTIFIABLE, RunMarks
from muniment.verification.page.wording import IS_ABSENT, IS_WITHHELD
from muniment_plugins.evidence.report.blocks import Block, Piece, Row, Section, at, head

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.record import Citation, RunReader

__all__ = ["summary"]

_MOST = 6
_OTHERS = tuple(one for one in VERDICTS if one != "verdict.reached")
_WHOLE = "flow"
"""What a verdict on a flow as a whole is about."""
_CLAIM = "claim"
"""A series of a claim is ``claim/ID``, or has this as the last word of its kind."""


def summary(record: RunReader) -> Iterator[Section]:
    """Yield the section that says what came of the run, and how often it was tried."""
    told = f"This is what came of it{record.unseen}."
    hidden: list[Block] = [{"say": told}] if record.unseen else []
    blocks = [*_marks(record), *hidden, *_verdicts(record), *_tries(record)]
    yield {"title": "In short", "blocks": blocks}


def _marks(record: RunReader) -> Iterator[Block]:
    """Yield what the run is marked with, as verifiers look for it on the page."""
    found = RunMarks()
    for one in record.events(run=record.run, type=MARKED):
        found.take(one.run, one.type, one.seq, one.raw)
    marks = found.of(record.run)
    if NON_CERTIFIABLE in marks:
        yield {"say": "This run is marked: no verdict on it may be relied upon."}
    rows: list[Row] = []
    for mark in sorted(marks, key=lambda one: one != NON_CERTIFIABLE):
        rows.append(["marked", at(marks[mark], "mark")])
        rows.append(["because", at(marks[mark], "reason")])
    if rows:
        yield {"facts": rows}
    marked = record.events(run=record.run, type=MARKED)
    if any(one.raw.get("mark") not in marks for one in marked):
        yield {"say": "It has more marks: `muniment events list --run` shows them."}


def _verdicts(record: RunReader) -> Iterator[Block]:
    """Yield the verdicts that say most; which of them there are is said in any case."""
    reached = record.events(run=record.run, type="verdict.reached")
    rows: list[Row] = []
    for one in islice(reached, _MOST + 1):
        where: list[Piece] = [" under ", head(one.seq, "scope")] if one.scope else []
        rows.append([[at(one.seq, "hypothesis"), *where], _said(one)])
    others = list(islice(record.events(run=record.run, type=",".join(_OTHERS)), 1))
    if not rows and not others:
        yield {
            "say": f"The run reached no verdict{' that is shown' if record.unseen else ''}."
        }
        return
    if rows:
        yield {"facts": rows[:_MOST]}
    if len(rows) > _MOST:
        count: Citation = {
            "rule": "count",
            "run": record.run,
            "type": "verdict.reached",
        }
        yield {"say": ["These are the first of ", count, " verdicts."]}
    if others:
        yield from _of_other_types(record)


def _of_other_types(record: RunReader) -> Iterator[Block]:
    """Yield what verification, replays and tests of properties came to."""
    kinds = {
        "verification.arbitrated": ("verification of ", "target", "status"),
        "replay.judged": ("replay of ", "replay_of", "verdict"),
    }
    rows: list[Row] = []
    for one in record.events(run=record.run, type=",".join(kinds)):
        word, subject, said = kinds[one.type]
        if one.raw.get(said) != "pass" or one.raw.get(subject) == _WHOLE:
            rows.append([[word, at(one.seq, subject)], at(one.seq, said)])
        if len(rows) > _MOST:
            break
    if rows:
        yield {"facts": rows[:_MOST]}
    yield {"say": "All verdicts of the run are below, as far as a page holds them."}


def _said(event: Event) -> list[Piece]:
    """Return what a verdict says, and how sure it is."""
    said: list[Piece] = ["unsaid"]
    if "passed" in event.raw:
        said = [at(event.seq, "passed", form="verdict")]
    for name in ("p_value", "p_adjusted", "integrity"):
        if event.raw.get(name) is not None:
            said += [", ", name.replace("_", " "), " ", at(event.seq, name)]
    return said


def _tries(record: RunReader) -> Iterator[Block]:
    """Yield a sentence for each claim: one of how many runs this is."""
    found = _claims(record)
    if not found and any(record.events(run=record.run, type="verdict.reached")):
        yield {"say": "No series counts it: nothing says of how many tries it is one."}
    for keys, stated in islice(found.values(), _MOST):
        count: Citation = {"rule": "runs", "of": json.dumps(sorted(keys))}
        if record.quote(count).value in (IS_ABSENT, IS_WITHHELD):
            yield {"say": "Of how many tries this is one is not told here."}
            continue
        claim: list[Piece] = ["that it registers"]
        if stated is not None:
            claim = [at(stated.seq, "id")]
        number = [
            piece
            for key, event in keys.items()
            if event.type == STARTED
            for piece in (", as number ", head(event.seq, "series", key))
        ]
        yield {
            "say": [
                *("One of ", count, " runs of the claim ", *claim, " in this ledger"),
                *(*number[:2], "."),
            ]
        }
    if len(found) > _MOST:
        yield {"say": "It is a run of more claims; `muniment claims` lists all."}


def _claims(record: RunReader) -> dict[str, tuple[dict[str, Event], Event | None]]:
    """Return claim → its series with an event of the run in each, and what states it."""
    found: dict[str, tuple[dict[str, Event], Event | None]] = {}
    for event in _events(record):
        for link in event.series:
            kind, _, name = link.key.partition("/")
            if kind.rpartition(".")[2] != _CLAIM:
                continue
            if name not in found and len(found) > _MOST:
                return found
            keys, stated = found.setdefault(name, ({}, None))
            keys.setdefault(link.key, event)
            if stated is None and event.type != STARTED:
                found[name] = keys, event
    return found


def _events(record: RunReader) -> Iterator[Event]:
    """Yield the start of the run, and what states a claim."""
    yield from islice(record.events(run=record.run, type=STARTED), 1)
    yield from record.events(run=record.run, type="claim.stated")
