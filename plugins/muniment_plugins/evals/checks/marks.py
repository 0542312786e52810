"""What runs are marked with, and that no verdict rests on one that nobody can certify.

    marks_told({"01JD…": [{"mark": "non_certifiable", "reason": "policy, …", "event": 9}]})
    held_marks(view)    [Held("marked", None, "the run is marked non_certifiable: policy, …")]

Rules:

- A run that is *non_certifiable* passes nothing, and neither does one that called such a run,
  or that is compared to one: the worst counts, as in a replay with child runs. What does not
  hold of it has failed all the same.
- Of two sets, a pair with such a run got worse, or nobody can tell.
- Other marks are carried, and judge nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from muniment.verification.page.run_marks import NON_CERTIFIABLE
from muniment_plugins.evals.checks.rows import Held, Rows
from muniment_plugins.evals.views.rows import Row, listed
from muniment_plugins.workflow.records.contents import is_erased

__all__ = ["doubts", "held_marks", "marks_told"]

_WIDTH = 300


def marks_told(found: Mapping[str, Iterable[Row]]) -> list[Row]:
    """Return the marks of runs in a row, each with its run."""
    return [
        {"run": run, "mark": one["mark"], "reason": _reason(one["reason"])}
        for run, marks in found.items()
        for one in marks
    ]


def _reason(said: object) -> str:
    return "its reason was erased" if is_erased(said) else str(said)


def held_marks(view: Mapping[str, Any], other: Mapping[str, Any] | None = None) -> Rows:
    """Return why nobody can tell of the run in *view*, which is compared with the *other*."""
    rows = [
        _held(
            one,
            "the run" if one["run"] == view["run"] else f"run {one['run']}, below it,",
        )
        for one in doubts(view)
    ]
    compared = [] if other is None else doubts(other)
    return rows + [
        _held(one, f"run {one['run']}, with which it is compared,") for one in compared
    ]


def doubts(row: Mapping[str, Any]) -> list[Row]:
    """Return the marks in *row*, a view or a result, that let nothing pass."""
    return [one for one in listed(row, "marks") if one["mark"] == NON_CERTIFIABLE]


def _held(mark: Row, who: str) -> Held:
    reason = " ".join(mark["reason"].split())
    reason = reason if len(reason) <= _WIDTH else f"{reason[: _WIDTH - 1]}…"
    return Held("marked", None, f"{who} is marked {mark['mark']}: {reason}")
