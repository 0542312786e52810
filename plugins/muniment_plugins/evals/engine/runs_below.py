"""What the runs took that a run called, and those that they called.

    runs_below(ledger, record["child_runs"])
    {"runs": 2, "stages": 5, "open": 0, "usage": {"input_tokens": 30, …}, "verified": 40}, …

Rules:

- Each is verified before it is read, and counted once.
- A run of a program that walks no graph has no stages, and takes all the same.
- One that has no end yet may take more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.formats.lifecycle import UNFINISHED
from muniment.formats.statement import Event
from muniment.recorded.run_check import checked_events
from muniment_plugins.evals.views.rows import Row, part
from muniment_plugins.evals.views.usage import added, way_usage
from muniment_plugins.workflow.records.skeleton import WorkflowRecords
from muniment_plugins.workflow.records.usage_views import usage_view

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["runs_below"]


def runs_below(
    ledger: Ledger, called: Iterable[Mapping[str, Any]]
) -> tuple[Row, dict[str, list[Event]]]:
    """Return what the runs in the rows *called* took, and those below them; and the events.

    Raises:
        WrongError: an event of one does not verify.

    """
    waiting = [str(one["run_id"]) for one in called]
    found: Row = {"runs": 0, "stages": 0, "open": 0, "verified": 0}
    events: dict[str, list[Event]] = {}
    while waiting:
        run = waiting.pop()
        if run in events:
            continue
        events[run], checked = checked_events(ledger, run)
        found["verified"] += checked.rows
        skeleton = ledger.project(WorkflowRecords, run=run)
        before = part(skeleton, "answered_usage")
        usage = {"usage": usage_view(part(skeleton, "usage"))}
        if before:
            usage["answered_usage"] = usage_view(before)
        found["usage"] = added(found.get("usage", {}), way_usage(usage))
        found["runs"] += 1
        found["stages"] += len(skeleton["stages"])
        found["open"] += skeleton["status"] in UNFINISHED
        named = (one.get("run") for one in skeleton["children"].values())
        waiting += [one for one in named if one is not None]
        waiting += ledger.children(run)
    return found, events
