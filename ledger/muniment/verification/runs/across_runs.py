"""What runs say of other runs: forks of their origins, calls and children of each other."""

from __future__ import annotations

from typing import Any

from muniment.verification.counts import Count
from muniment.verification.report import Findings
from muniment.verification.runs.descent import Descent
from muniment.verification.runs.forks import Forks, IsAsked
from muniment.verification.snapshot import Snapshot

__all__ = ["AcrossRuns"]


class AcrossRuns:
    """Compares runs with the runs that they name."""

    __slots__ = ("descent", "forks")

    def __init__(
        self, snapshot: Snapshot, findings: Findings, asked: IsAsked, *, fast: bool
    ) -> None:
        self.forks = Forks(snapshot, findings, asked, fast=fast)
        self.descent = Descent(snapshot, findings, fast=fast)

    def check(
        self, seq: int, run: str, kind: str, statement: Any, version: int
    ) -> None:
        """Compare the event *seq* of *run*, if it names another run."""
        self.forks.check(seq, run, kind, statement)
        self.descent.check(seq, run, kind, statement, version)

    @property
    def counts(self) -> tuple[Count, ...]:
        """How much was compared, and how much there is."""
        facts = self.forks.facts
        total = facts.repeated + facts.own
        return (
            _count("answers of forks", self.forks),
            Count("facts of forks", facts.repeated, total, facts.own, facts.erased),
            _count("calls and children", self.descent),
        )


def _count(name: str, found: Forks | Descent) -> Count:
    total = found.total + found.unchecked
    return Count(name, found.compared, total, found.unchecked, found.erased)
