"""The runs that a run called, by the events of the call and of the child itself.

Rules:

- A call that ended well names its run, and a run names its call by a key that follows from
  what was asked, and where: so each run is held to the call that it states.
- Where a request was erased nobody can tell its key. Then the run is of the call that was
  open when it began, and has its name, if there is only one; else the record does not say
  which stage it is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from muniment.errors import ErasedError
from muniment.formats.lifecycle import MARKED
from muniment.formats.statement import BlobRef
from muniment.queries.run_summary import RunSummaries, RunSummary
from muniment.recorded.match_keys import match_key, nth_key
from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.derived.marks import marks_of
from muniment_plugins.workflow.records.rows import Row, is_reference, part

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["child_runs_of"]


def child_runs_of(
    ledger: Ledger, skeleton: Row, contents: Contents, params: Mapping[str, Any]
) -> list[Row]:
    """Return the runs that were called, in the order of their calls."""
    calls: list[Row] = [*skeleton["children"].values()]
    named: dict[str, Row] = {one["run"]: one for one in calls if "run" in one}
    runs = [*dict.fromkeys([*named, *ledger.children(skeleton["id"])])]
    keys: dict[str, Row] = {}
    if any(run not in named for run in runs):
        keys.update(_keys(ledger, skeleton["id"], calls))
    rows: list[Row] = []
    for run in runs:
        summary = ledger.project(RunSummaries, run=run)
        call = named.get(run) or keys.get(str((summary.parent or {}).get("key")))
        if call is None:
            known = {id(one) for one in (*named.values(), *keys.values())}
            left = [one for one in calls if id(one) not in known]
            call = _meant(skeleton, left, summary, params)
        row = _row(run, summary, call, params)
        if summary.marks:
            marked = ledger.events(run=run, type=MARKED)
            row["marks"] = marks_of(contents, marked)
        rows.append(row)
    return sorted(rows, key=lambda one: one.pop("_seq"))


def _keys(ledger: Ledger, run: str, calls: list[Row]) -> Iterator[tuple[str, Row]]:
    """Yield the key of each call that can be told, and the call.

    A key counts the calls of the same in one scope: where one cannot be read, none after
    it can be told there.
    """
    unread = set[str]()
    counted: dict[tuple[str, str], int] = {}
    for call in calls:
        content = _content(ledger, call)
        if content is None:
            unread.add(call["scope"])
        if content is None or call["scope"] in unread:
            continue
        place = (call["scope"], call["ordinal"])
        yield nth_key(run, place, match_key("child", content), counted), call


def _content(ledger: Ledger, call: Row) -> bytes | None:
    """Return the bytes of what was asked; None if they were erased."""
    request = part(call, "request")
    if not is_reference(request):
        return None
    try:
        return ledger.get_blob(BlobRef.from_json(request))
    except ErasedError:
        return None


def _meant(
    skeleton: Row, calls: list[Row], summary: RunSummary, params: Mapping[str, Any]
) -> Row | None:
    """Return the only one of *calls* that was open when this run began, and has its name."""
    found = [
        one
        for one in calls
        if one["seq"] < summary.first < one.get("ended", summary.first + 1)
        and _name_called(skeleton, one, params) == summary.name
    ]
    return found[0] if len(found) == 1 else None


def _name_called(skeleton: Row, call: Row, params: Mapping[str, Any]) -> str | None:
    """Return the name of the run that a call starts: that of its graph, or the node's."""
    stage = skeleton["stages"].get(call["stage"])
    if stage is None:
        return None
    graph: Mapping[str, Any] = params.get("graph", {})
    node = graph.get("nodes", {}).get(stage["node"], {})
    name: str = node.get("graph", {}).get("name", stage["node"])
    return name


def _row(
    run: str, summary: RunSummary, call: Row | None, params: Mapping[str, Any]
) -> Row:
    view: Row = {
        "_seq": summary.first if call is None else call["seq"],
        "run_id": run,
        "worker_name": summary.name,
        "worker_id": None if call is None else f"{call['scope']}#{call['ordinal']}",
        "parent_stage_id": None if call is None else call["stage"],
        "task": params.get("task"),
        "status": summary.status,
        "started_at": summary.started,
        "finished_at": summary.ended,
    }
    return {name: value for name, value in view.items() if value is not None}
