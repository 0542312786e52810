"""What can be asked of a run, without writing anything: what it published, and how it is.

    workflow_query(ledger, run, "progress")      what the run published last
    workflow_status(ledger, run)                 {"status": "open", "at": ["act"], …}

Rules:

- Everything is read from events, of a run in this process or in any other; nothing is
  written, and no run is asked.
- Where a run is (``at``) is what its record says of it, by the same computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from muniment.documents.places import near
from muniment.errors import RefusedError, UsageError
from muniment.events.visibility import INSTEAD, hides
from muniment.formats.lifecycle import MARKED
from muniment.formats.statement import Event
from muniment.queries.run_summary import RunSummaries
from muniment_plugins.workflow.mailbox.pending import CONTINUES, GENERATION
from muniment_plugins.workflow.mailbox.views import (
    STATUS,
    continued_by,
    plain_value,
    require_workflow,
    workflow_mail,
)
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.derived.marks import marks_of
from muniment_plugins.workflow.records.record import where_it_goes_on

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["workflow_query", "workflow_status"]

Row = dict[str, Any]


def workflow_query(ledger: Ledger, run: str, name: str = STATUS) -> object:
    """Return what *run* last published as *name*; ``status`` is always there.

    Raises:
        UsageError: it published nothing like that, or walks no graph.
        RefusedError: it is private.
        ErasedError: the content was erased.

    """
    chosen = require_workflow(ledger, run)
    if name == STATUS:
        return workflow_status(ledger, chosen)
    found = _published(ledger, chosen)
    if name not in found:
        raise UsageError(
            f"the run has published nothing as {name!r:.60}",
            rule="workflow/query",
            place=f"run {chosen}",
            remedy=near(name, [STATUS, *found]),
        )
    event = found[name]
    if hides(event, "value"):
        raise RefusedError(
            f"what the run published as {name!r:.60} is private",
            rule="workflow/query",
            place=f"run {chosen}",
            remedy=f"`muniment events show {event.seq} --private` prints it",
        )
    return plain_value(ledger, event.data["value"])


def _published(ledger: Ledger, run: str) -> dict[str, Event]:
    found: dict[str, Event] = {}
    for event in ledger.events(run=run, type="query.published"):
        found[str(event.data["query"])] = event
    return found


def workflow_status(ledger: Ledger, run: str) -> Row:
    """Return how *run* is: its status, where its paths are, and what waits for it.

    Raises:
        UsageError: there is no such run, or it walks no graph.

    """
    chosen = require_workflow(ledger, run)
    summary = ledger.project(RunSummaries, run=chosen)
    marked = ledger.events(run=chosen, type=MARKED)
    marks, labels = marks_of(Contents(ledger), marked), summary.labels
    rows = workflow_mail(ledger, chosen)
    said: Row = {
        "run": chosen,
        "workflow": summary.name,
        "status": summary.status,
        "marks": marks or None,
        "generation": int(labels.get(GENERATION, "1")),
        "continues": labels.get(CONTINUES),
        "continued_by": continued_by(ledger, chosen),
        "at": where_it_goes_on(ledger, chosen) if _goes_on(summary.status) else [],
        "because": _because(ledger, chosen) if summary.status == "paused" else None,
        "asks": [*_open_questions(ledger, chosen)] or None,
        "queries": sorted(_published(ledger, chosen)),
        "mail": {
            state: sum(one["state"] == state for one in rows)
            for state in ("waiting", "undelivered")
        },
    }
    return {name: value for name, value in said.items() if value is not None}


def _goes_on(status: str) -> bool:
    """Tell whether a run of this *status* is where it was, and may go on from there."""
    return status in ("open", "paused", "interrupted")


def _because(ledger: Ledger, run: str) -> object:
    """Return why *run* is paused."""
    *_, paused = ledger.events(run=run, type="run.paused")
    if hides(paused, "reason"):
        return INSTEAD
    return plain_value(ledger, paused.data["reason"])


def _open_questions(ledger: Ledger, run: str) -> Iterator[int]:
    """Yield the events in which *run*, or a run that it called, asks people."""
    runs = [run]
    for one in runs:  # it grows
        runs += ledger.children(one)
    yield from (one.seq for one in ledger.pending() if one.run in runs)
