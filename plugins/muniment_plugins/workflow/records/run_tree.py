"""A run with the runs that it called, and those that they called.

    load_run_tree(ledger, run)
    {"run": {…}, "children": [{"run": {…}, "children": []}]}

Rules:

- A run that walks no graph is there by its identity and its marks alone, and one that the
  ledger lacks by its id.
- A run that is already above itself is named and not entered again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment.errors import UsageError
from muniment.formats.lifecycle import MARKED
from muniment.queries.run_summary import RunSummaries
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.derived.marks import marks_of
from muniment_plugins.workflow.records.record import run_record, walks_graph

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["load_run_tree"]


def load_run_tree(ledger: Ledger, run: str) -> dict[str, Any]:
    """Return the record of *run* and of all runs below it.

    Raises:
        UsageError: there is no such run.

    """
    return _tree(ledger, ledger.run_id(run), ())


def _tree(ledger: Ledger, run: str, around: tuple[str, ...]) -> dict[str, Any]:
    if run in around:
        return {"run": {"id": run}, "cycle": True, "children": []}
    if walks_graph(ledger, run):
        record = run_record(ledger, run)
        below = [one["run_id"] for one in record["child_runs"]]
    else:
        record, below = _identity(ledger, run), ledger.children(run)
    inside = (*around, run)
    return {"run": record, "children": [_tree(ledger, one, inside) for one in below]}


def _identity(ledger: Ledger, run: str) -> dict[str, Any]:
    try:
        known = ledger.project(RunSummaries, run=run)
    except UsageError:
        return {"id": run}
    marks = marks_of(Contents(ledger), ledger.events(run=run, type=MARKED))
    return {
        "id": run,
        "workflow_name": known.name,
        "status": known.status,
        "started_at": known.started,
        **({} if known.ended is None else {"finished_at": known.ended}),
        **({"marks": marks} if marks else {}),
    }
