"""What the events of a bundle say of other runs, which are not in it.

    note: run 01JC…, from which this one was forked, is not in the bundle: 21 answers of
          forks were not compared

Rule: it is counted, and compared with nothing. The verifier of a ledger compares it:
`muniment.verification.runs.across_runs`.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.formats.answers import FROM_RECORDS
from muniment.formats.lifecycle import STARTED
from muniment.verification.counts import Count
from muniment.verification.runs.descent import CALLED, is_performed

__all__ = ["Elsewhere"]


class Elsewhere:
    """Counts what an origin answered, and calls between parents and children."""

    def __init__(self) -> None:
        self._answers = self._calls = 0

    def take(self, kind: str, data: dict[str, Any]) -> None:
        """Count the event, if it names another run."""
        by = data.get("answered_by")
        told = cast("dict[str, Any]", by) if isinstance(by, dict) else {}
        self._answers += told.get("who") in FROM_RECORDS
        self._answers += kind == STARTED and "fork" in data
        self._calls += kind == STARTED and "parent" in data
        self._calls += kind == CALLED and is_performed(data)

    @property
    def counts(self) -> tuple[Count, ...]:
        """How many there are, all of them unchecked."""
        told = {"answers of forks": self._answers, "calls and children": self._calls}
        return tuple(
            Count(name, 0, number, unchecked=number) for name, number in told.items()
        )

    @property
    def notes(self) -> list[str]:
        """What the reader has to know."""
        return [
            f"{one.total} {one.what} name runs that are not in this bundle, and were "
            "not compared: the ledger, or its other bundles, have them"
            for one in self.counts
            if one.total
        ]
