"""One comparison of an eval: what was compared, whether it held, and the words for it.

    Held("stage-branch", False, "verify.1: the branch is failed, not passed", "verify.1")

Rules:

- It held, it did not, or nobody can tell: then something is missing, and the words say what.
- Only what was compared counts: a row that cannot tell compares nothing.
- Of a run that may still change, what does not hold decides nothing, unless it is final: a
  limit that was exceeded, a question that was asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Held", "Rows", "counted", "expected", "of_open_run"]


@dataclass(frozen=True, slots=True)
class Held:
    """One comparison."""

    check: str
    """What kind of comparison it is: ``stage-branch``, ``threshold``, …."""
    ok: bool | None
    """None if nobody can tell."""
    says: str
    """A line for people; where it held, it is not shown."""
    stage: str | None = None
    """The stage that it is about."""
    proves: bool = True
    """Whether that it holds says something: a fixture holds of the run it was made of."""
    final: bool = False
    """Whether that it does not hold stays so, whatever else the run does."""

    def to_json(self) -> dict[str, Any]:
        """Return what a result has of it."""
        row: dict[str, Any] = {"check": self.check, "ok": self.ok, "says": self.says}
        return row if self.stage is None else {**row, "stage": self.stage}


Rows = list[Held]


def expected(check: str, what: str, wanted: Any, got: Any, stage: str | None) -> Held:
    """Return whether *got* is what was *wanted*."""
    place = "" if stage is None else f"{stage}: "
    said = "missing" if got is None else str(got)
    return Held(
        check, wanted == got, f"{place}the {what} is {said}, not {wanted}", stage
    )


def of_open_run(row: Held) -> Held:
    """Return *row* of a run that may still change: what does not hold yet may hold later."""
    if row.ok is not False or row.final:
        return row
    return replace(row, ok=None, says=f"{row.says}; the run has no end yet")


def counted(rows: Iterable[Held]) -> dict[str, int]:
    """Return how many comparisons were made, by their kind."""
    found: dict[str, int] = {}
    for one in rows:
        if one.ok is not None:
            found[one.check] = found.get(one.check, 0) + 1
    return found
