"""What a writer may say of a fork that is not so: each lie, and the event that says it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from forged_copies import Entry, ForkedRuns

__all__ = ["LIES", "first"]

Spoil = Callable[[ForkedRuns, list[Entry]], int]


def at(entries: list[Entry], entry: Entry) -> Entry:
    """Return the copy of *entry*."""
    return next(one for one in entries if one.seq == entry.seq)


def first(runs: ForkedRuns, entries: list[Entry], kind: str) -> Entry:
    """Return the first answered outcome of a type, in the copy."""
    return at(entries, next(one for one in runs.answered if one.kind == kind))


def insert(entries: list[Entry], before: int, *new: Entry) -> int:
    """Put new events before the event *before*; return its number."""
    where = next(n for n, one in enumerate(entries) if one.seq == before)
    for one in new:
        one.seq = 0
    entries[where:where] = new
    return before


def swapped(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Answer two equal requests with each other's answers, each as it was."""
    one, other = [at(entries, e) for e in runs.answered if e.kind == "tool.completed"][
        :2
    ]
    one.data, other.data = other.data, one.data
    return one.seq


def readings_swapped(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Repeat the second reading of the clock first."""
    one, other = [at(entries, e) for e in runs.answered if e.kind == "clock.read"][:2]
    one.data, other.data = other.data, one.data
    return one.seq


def parts(content: bytes) -> Spoil:
    """Return what adds parts to a streamed answer."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        told = [
            at(entries, one) for one in runs.answered if one.kind == "llm.completed"
        ]
        chain = copy.deepcopy(told[-1].chain)
        data = {"parts": runs.refer(content)}
        new = Entry(0, "llm.streamed", data, chain, [])
        return insert(entries, told[-1].seq, new) + 1

    return lie


def parts_alone(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Leave parts of an answer, and no end of it, in a run that goes on."""
    seq = parts(b'["one"]')(runs, entries) - 1
    end = next(runs.of_fork("run.completed")).seq
    entries[:] = [one for one in entries if one.seq not in {seq, end}]
    return seq


def twice(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Answer one more request with an answer that was given."""
    outcome = first(runs, entries, "tool.completed")
    asked = at(entries, runs.request_of(outcome))
    new = copy.deepcopy([asked, outcome])
    for one in new:
        one.chain["ordinal"] = 30
    end = next(runs.of_fork("run.completed"))
    at(entries, end).chain["ordinal"] = 31
    return insert(entries, end.seq, *new) + 1


def fact(kind: str, run: str) -> Spoil:
    """Return what adds a fact that says that a record answered it."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        by = runs.answered[0].data["answered_by"]
        chain = {**runs.answered[0].chain, "run": getattr(runs, run), "scope": "facts"}
        data = {"text": "x", "answered_by": by}
        end = next(
            one
            for one in entries
            if one.kind == "run.completed" and one.chain["run"] == chain["run"]
        )
        return insert(entries, end.seq, Entry(0, kind, data, chain, []))

    return lie


def in_no_fork(kind: str) -> Spoil:
    """Return what answers an effect of a run that is no fork."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        mine = [one for one in entries if one.chain.get("run") == runs.origin]
        outcome = next(one for one in reversed(mine) if one.kind == kind)
        outcome.data["answered_by"] = runs.answered[-1].data["answered_by"]
        return outcome.seq

    return lie


def again(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Perform what failed in the origin, though nobody resumed the fork."""
    failed = first(runs, entries, "tool.failed")
    asked = copy.deepcopy(runs.request_of(failed))
    asked.data["attempt"] = 2
    done = copy.deepcopy(failed)
    done.kind = "tool.completed"
    done.data = {"answered_by": {"who": "performer"}, "value": runs.refer(b'"up"')}
    following = entries[entries.index(failed) + 1].seq
    insert(entries, following, asked, done)
    return following


def in_start(**changes: Any) -> Spoil:
    """Return what changes the start of the fork."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        start, told = at(entries, next(runs.of_fork("run.started"))), dict(changes)
        start.chain |= told.pop("chain", {})
        if "params" in told:
            told["params"] = runs.refer(told["params"])
        start.data |= told
        return start.seq

    return lie


def undeclared(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Change an answer that the start does not name."""
    outcome = first(runs, entries, "tool.completed")
    outcome.data["answered_by"]["who"] = "change"
    outcome.data["value"] = runs.refer(b'"made up"')
    return outcome.seq


def no_change(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Declare nothing, and give the other value."""
    start = at(entries, next(runs.of_fork("run.started")))
    start.data["fork"]["changes"] = []
    del start.data["changed"]
    return changed_of(runs).seq


def changed_of(runs: ForkedRuns) -> Entry:
    """Return the changed answer."""
    return next(
        one for one in runs.answered if one.data["answered_by"]["who"] == "change"
    )


def declared(content: bytes) -> Spoil:
    """Return what declares another value than is given."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        start = at(entries, next(runs.of_fork("run.started")))
        start.data["changed"] = runs.refer(content)
        return changed_of(runs).seq

    return lie


def of_change(**more: Any) -> Spoil:
    """Return what a changed answer says beside its value."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        told = at(entries, changed_of(runs))
        told.data |= more
        return told.seq

    return lie


def about(kind: str) -> Spoil:
    """Return what adds a subject to an answer, or to its request."""

    def lie(runs: ForkedRuns, entries: list[Entry]) -> int:
        outcome = first(runs, entries, "tool.completed")
        entry = (
            outcome if kind == "completed" else at(entries, runs.request_of(outcome))
        )
        entry.subject = [{"digest": {"sha256": "ab" * 32}, "name": "report"}]
        return outcome.seq

    return lie


def in_series(runs: ForkedRuns, entries: list[Entry]) -> int:
    """Count an answer in a series."""
    outcome = first(runs, entries, "tool.completed")
    outcome.chain["series"] = {"claim/c1": {"count": 1}}
    return outcome.seq


LIES: dict[str, Spoil] = {
    "two answers swapped": swapped,
    "two readings swapped": readings_swapped,
    "the parts of the origin": parts(b'["one"]'),
    "other parts": parts(b'["three"]'),
    "parts without an end": parts_alone,
    "an answer given twice": twice,
    "a fact with an answer": fact("note.added", "fork"),
    "a plugin's fact with an answer": fact("sensor.seen", "fork"),
    "a plugin's fact like an outcome": fact("sensor.seen.completed", "fork"),
    "a fact of no fork": fact("sensor.seen", "origin"),
    "an answer in no fork": in_no_fork("tool.completed"),
    "an answer of a plugin's kind in no fork": in_no_fork("sensor.read.completed"),
    "a failure of a plugin's kind in no fork": in_no_fork("sensor.read.failed"),
    "a further attempt that nobody resumed": again,
    "another name": in_start(name="another"),
    "other labels": in_start(labels={"of": "another"}),
    "no labels": in_start(labels={}),
    "another tenant": in_start(chain={"tenant": "another"}),
    "another seed": in_start(seed="0"),
    "other params": in_start(params=b'{"place":"Bari"}'),
    "an undeclared change": undeclared,
    "no declared change": no_change,
    "another declared value": declared(b'["another"]'),
    "no declared value": declared(b"[]"),
    "a change about something": of_change(about={"usage": {"input_tokens": 9}}),
    "a change with a secret that it has not": of_change(about={"secrets": True}),
    "a change with a reason": of_change(reason="x"),
    "an answer about something else": about("completed"),
    "a request about something else": about("requested"),
    "an answer in a series": in_series,
}
