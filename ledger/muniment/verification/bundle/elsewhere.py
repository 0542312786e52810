"""What the events of a bundle say of other runs, which are not in it.

    note: 21 answers of forks name runs that are not in this bundle, and were not compared:
          the ledger, or its other bundles, have them

Rule: it is counted, and compared with nothing. The verifier of a ledger compares it:
`muniment.verification.runs.across_runs`.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.formats.answers import CLOCK, FROM_RECORDS
from muniment.formats.lifecycle import LIFE, STARTED
from muniment.verification.counts import Count
from muniment.verification.runs.descent import CALLED, is_performed

__all__ = ["Elsewhere"]

_NAME = {"facts of forks": "may repeat those of runs"}


class Elsewhere:
    """Counts what an origin answered, and calls between parents and children."""

    def __init__(self) -> None:
        self._answers = self._facts = self._calls = 0
        self._forked = False
        self._asked: set[tuple[str, int]] = set()

    def take(self, kind: str, data: dict[str, Any], chain: dict[str, Any]) -> None:
        """Count the event, if it names another run, or may repeat a fact of one."""
        by = data.get("answered_by")
        told = cast("dict[str, Any]", by) if isinstance(by, dict) else {}
        self._answers += told.get("who") in FROM_RECORDS
        self._answers += kind == STARTED and "fork" in data
        self._calls += kind == STARTED and "parent" in data
        self._calls += kind == CALLED and is_performed(data)
        if kind == STARTED:
            self._forked = "fork" in data
        elif self._forked and "run" in chain and kind not in LIFE:
            self._facts += self._is_fact(kind, (chain["scope"], chain["ordinal"]))

    def _is_fact(self, kind: str, place: tuple[str, int]) -> bool:
        """Tell whether the event is no reading of the clock, and of no effect."""
        if kind.endswith(".requested"):
            self._asked.add(place)
        return kind != CLOCK and place not in self._asked

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
