"""What runs are marked with, and whether a page says so.

    non_certifiable, event 9 of run 01JD3…

Rules:

- A mark stands: no event takes it away. The first event of each mark is what is named.
- Somebody may write any number of marks: of each run, *non_certifiable* and the first
  twenty others are kept.
- The first values on a page about a run are its marks, each with its reason.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muniment.verification.page.frame import CitedValue

__all__ = ["NON_CERTIFIABLE", "RunMarks"]

NON_CERTIFIABLE = "non_certifiable"
"""The mark of a run on which no verdict may be relied upon."""
MOST_MARKS = 20
"""How many other marks of a run are kept; how many marks are said in words."""
OF_MARK = ("/mark", "/reason")


class RunMarks:
    """The marks of some runs: of each mark, its first event."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, int]] = {}

    def take(self, run: str | None, kind: str, seq: int, data: Any) -> None:
        """Take an event, whatever it is of."""
        if run is None or kind != "run.marked":
            return
        mark, known = data.get("mark"), self._found.setdefault(run, {})
        others = len(known.keys() - {NON_CERTIFIABLE})
        if isinstance(mark, str) and (mark == NON_CERTIFIABLE or others < MOST_MARKS):
            known.setdefault(mark, seq)

    def of(self, run: str) -> Mapping[str, int]:
        """Return the marks of *run*, each with the number of its event."""
        return self._found.get(run, {})

    def said(self) -> list[str]:
        """Say of the first marks which run has each, by which event, and how many follow."""
        every = [
            f"{mark:.80}, event {seq} of run {run:.80}"
            for run, marks in self._found.items()
            for mark, seq in marks.items()
        ]
        more = len(every) - MOST_MARKS
        return [*every[:MOST_MARKS], f"{more} more"] if more > 0 else every

    def unsaid(self, run: str, cited: Sequence[CitedValue]) -> str | None:
        """Return what a page that cites these values does not say of *run*, if anything."""
        marks = self.of(run)
        first = cited[: len(marks) * len(OF_MARK)]
        shown = {_place(one.marks) for one in first}
        for mark, seq in marks.items():
            if any((str(seq), path) not in shown for path in OF_MARK):
                return f"it does not say first that the run is {mark:.80}"
        return None


def _place(marks: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return event and path that a value cites; nothing if it shows only their name."""
    odd = marks.keys() & {"data-rule", "data-head"}
    shows = marks.get("data-as", "block") == "block" and not odd
    return (marks.get("data-event"), marks.get("data-path")) if shows else (None, None)
