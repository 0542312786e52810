"""What runs are marked with, and whether a page says so.

    non_certifiable, event 9 of run 01JD3…

Rules:

- A mark stands: no event takes it away. The first event of each mark is what is named.
- Somebody may write any number of marks: of each run, *non_certifiable* and the first
  twenty others are kept.
- A page about a run says its marks, each with its reason, before it says any verdict.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muniment.verification.page.frame import CitedValue
from muniment.verification.page.quotes import reference

__all__ = ["NON_CERTIFIABLE", "RunMarks"]

NON_CERTIFIABLE = "non_certifiable"
"""The mark of a run on which no verdict may be relied upon."""
MOST_MARKS = 20
"""How many other marks of a run are kept."""
OF_MARK = ("mark", "reason")


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
        if isinstance(mark, str) and (
            mark == NON_CERTIFIABLE or others < MOST_MARKS
        ):
            known.setdefault(mark, seq)

    def of(self, run: str) -> Mapping[str, int]:
        """Return the marks of *run*, each with the number of its event."""
        return self._found.get(run, {})

    def said(self) -> list[str]:
        """Say of each mark which run has it, and by which event."""
        return [
            f"{mark:.80}, event {seq} of run {run:.80}"
            for run, marks in self._found.items()
            for mark, seq in marks.items()
        ]

    def unsaid(self, run: str, cited: Sequence[CitedValue]) -> str | None:
        """Return what a page that cites these values does not say of *run*, if anything."""
        shown: set[str] = set()
        for one in cited:
            form = one.marks.get("data-as", "block")
            if form == "verdict":
                break
            if form == "block":
                shown.add(reference(one.marks))
        for mark, seq in self.of(run).items():
            if any(f"{seq}/{name}" not in shown for name in OF_MARK):
                return f"before its verdicts, it does not say that the run is {mark:.80}"
        return None
