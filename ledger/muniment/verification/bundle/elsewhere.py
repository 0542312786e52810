"""What the events of a bundle say of runs that are not in it.

    incomplete: it lacks child run 01JE7…
    note: 21 answers of forks name runs that are not in this bundle, and were not compared:
          the ledger, or its other bundles, have them

Rules:

- It is counted, and compared with nothing. What names runs that are here is compared:
  `muniment.verification.bundle.comparison`.
- A bundle should hold each run that its run called, and that from which it was forked: it
  lacks those that are named and not here. A call without a result names none: whether it
  began a run is then said by nobody.
- What answered an event is of the one form, whether or not the run that it names is here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from muniment.formats.answers import (
    CLOCK,
    FROM_RECORDS,
    PERFORMED,
    is_answer,
    names_record,
)
from muniment.formats.lifecycle import LIFE, STARTED
from muniment.verification.counts import Count
from muniment.verification.runs.descent import ASKED, CALLED, is_performed
from muniment.verification.runs.places import KERNEL_ANSWERS

__all__ = ["Elsewhere"]

_NAME = {"facts of forks": "may repeat those of runs"}
_ANSWERS = (".completed", ".failed")
_CALL = ASKED.partition(".")[0] + "."


class Elsewhere:
    """Counts what an origin answered, and calls between parents and children."""

    def __init__(self) -> None:
        self._answers = self._facts = self._calls = 0
        self._forked: set[str] = set()
        self._asked: set[tuple[str, str, int]] = set()
        self._going: dict[tuple[str, str, int], None] = {}
        """Calls that were made, and have no result."""
        self._began: Counter[str] = Counter()
        """How many children of a run are here that no result names."""
        self._lacks: dict[str, None] = {}
        self.odd: list[tuple[int, str]] = []
        """The events whose ``answered_by`` is of a wrong form, and how."""

    @property
    def named(self) -> bool:
        """Whether any event names another run, or may have begun one."""
        return bool(self._answers or self._calls or self._going)

    def take(self, kind: str, data: dict[str, Any], chain: dict[str, Any]) -> None:
        """Count the event of the one run that is here."""
        run = str(chain.get("run", ""))
        self.take_fork(run, kind, data, chain)
        if "run" in chain and run not in self._forked:
            self._take_answer(run, kind, data, chain)
        self.take_call(kind, data)
        self.follow(run, kind, data, chain)

    def leave(self, fork: str) -> None:
        """Notice a *fork* whose origin is not here, before its start is counted."""
        self._forked.add(fork)

    def leaves(self, run: str) -> bool:
        """Tell whether *run* is a fork whose origin is not here."""
        return run in self._forked

    def take_fork(
        self, run: str, kind: str, data: dict[str, Any], chain: dict[str, Any]
    ) -> None:
        """Count the event if an origin that is not here answers it, or may repeat it."""
        self._answers += _who(data) in FROM_RECORDS
        if kind == STARTED and "fork" in data:
            self._answers += 1
            self.leave(run)
            self._lacks[f"origin {_named(data['fork']):.60}"] = None
        elif run in self._forked and "run" in chain and kind not in LIFE:
            place = (run, chain["scope"], chain["ordinal"])
            self._take_answer(run, kind, data, chain)
            self._facts += kind != CLOCK and place not in self._asked

    def _take_answer(
        self, run: str, kind: str, data: dict[str, Any], chain: dict[str, Any]
    ) -> None:
        """Notice an ``answered_by`` that no event of such a run has."""
        place = run, chain["scope"], chain["ordinal"]
        if kind.endswith(".requested"):
            self._asked.add(place)
        if "answered_by" not in data:
            return
        by: object = data["answered_by"]
        forked = run in self._forked
        asked = kind.endswith(_ANSWERS) and place in self._asked
        if kind != CLOCK and not (asked or kind in KERNEL_ANSWERS or names_record(by)):
            return  # a plugin says what it means by that
        who = _who(data)
        if kind != CLOCK and not kind.endswith(_ANSWERS) and names_record(by):
            self.odd.append(
                (chain["seq"], f"{kind} is no outcome, and no record answers it")
            )
        elif not isinstance(by, dict):
            self.odd.append((chain["seq"], f"{kind} says {by!r:.40} answered it"))
        elif (who in FROM_RECORDS or kind == CLOCK) and not (
            forked and is_answer(cast("object", by))
        ):
            what = "is answered from a record, and its run is no fork"
            what = "does not say what answered it as it has to" if forked else what
            self.odd.append((chain["seq"], f"{kind} {what}"))
        elif forked and who not in (*FROM_RECORDS, *PERFORMED):
            self.odd.append((chain["seq"], f"{kind} says {who!r:.40} answered it"))

    def take_call(self, kind: str, data: dict[str, Any]) -> None:
        """Count the event if it names a caller or a child that is not here."""
        self._calls += kind == STARTED and "parent" in data
        if kind == CALLED and is_performed(data):
            self._calls += 1
            self._lacks[f"child run {_named(data.get('about')):.60}"] = None

    def follow(
        self, run: str, kind: str, data: dict[str, Any], chain: dict[str, Any]
    ) -> None:
        """Notice which calls of a run that is here whole have a result."""
        if kind.startswith(_CALL) and "run" in chain:
            place = (run, chain["scope"], chain["ordinal"])
            if kind == ASKED:
                self._going[place] = None
            elif kind == CALLED or not is_performed(data):
                self._going.pop(place, None)

    def begin(self, parent: str, *, named: bool) -> None:
        """Notice that a child of *parent* is here, and whether a result has *named* it."""
        self._began[parent] += 1 if not named else 0

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the bundle should hold of other runs, and does not."""
        left = Counter(run for run, _, _ in self._going) - self._began
        told = (
            f"what {number} {'call' if number == 1 else 'calls'} of run {run} without "
            "a result began, if anything"
            for run, number in left.items()
        )
        return *self._lacks, *told

    @property
    def counts(self) -> tuple[Count, ...]:
        """How many there are, all of them unchecked."""
        told = {
            "answers of forks": self._answers,
            "facts of forks": self._facts,
            "calls and children": self._calls,
        }
        return tuple(
            Count(name, 0, number, unchecked=number) for name, number in told.items()
        )

    @property
    def notes(self) -> list[str]:
        """What the reader has to know."""
        return [
            f"{one.total} {one.what} {_NAME.get(one.what, 'name runs')} that are not in "
            "this bundle, and were not compared: the ledger, or its other bundles, have "
            "them"
            for one in self.counts
            if one.total
        ]


def _named(told: object) -> str:
    known = isinstance(told, dict)
    return str(cast("dict[str, Any]", told).get("run") if known else told)


def _who(data: dict[str, Any]) -> object:
    by = data.get("answered_by")
    return cast("dict[str, Any]", by).get("who") if isinstance(by, dict) else None
