"""Two runs of graphs, compared in each of the ways that there are.

    changed(ledger, one, other)     [["act.1"], ["act.1"], ["act.1"]]

Rule: the ways agree on whether there is a difference.
"""

from __future__ import annotations

from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)

__all__ = ["changed"]


def changed(book: Ledger, one: str, other: str) -> list[list[str]]:
    """Return the stages that are not as in *one*, by a fixture, a comparison, a difference."""
    found = run_record_eval(book, other, run_record_fixture(book, one))
    case = {"label": "c", "run": other, "compare_to": one}
    (row,) = eval_suite_run(book, {"cases": [case]})["cases"]
    diff = run_record_diff(book, one, other)
    assert diff["identical"] == (found["verdict"] == "passed") == row["pass"], found
    told = [found["changed_stages"], row["changed_stages"]]
    return [*told, [one["stage_id"] for one in diff["stage_diffs"]]]
