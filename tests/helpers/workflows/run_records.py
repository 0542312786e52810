"""What holds of the record of every run of a graph, whatever it did.

    require_sound_records(ledger)

- B20: folded from event 0 it is what a fold came to that stopped after each event, and
  what the ledger remembers.
- It fits its schema, at its end and after every event.
- B22: what a stage consumed is what the digest in its request covers.
- What its result says of an artifact is what the artifact was when it was recorded.
- It says what its events say, and so does the status: `told_runs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from muniment import Event
from muniment.documents.places import At
from muniment.ledger import Ledger
from muniment_plugins.evals.checks.differences import run_diff
from muniment_plugins.evals.checks.fixtures import held_against
from muniment_plugins.evals.documents.fixture import read_fixture
from muniment_plugins.evals.engine.reading import own_fixture, seen
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.workflow import Artifact, load_run_tree, run_record
from muniment_plugins.workflow.records.artifact_views import typed_artifact
from muniment_plugins.workflow.records.checkpoints import (
    checkpoints_of,
    queue_of,
    status_of_stage,
)
from muniment_plugins.workflow.records.fields import record_schema
from muniment_plugins.workflow.records.record import walks_graph
from muniment_plugins.workflow.records.skeleton import WorkflowRecords
from muniment_plugins.workflow.runtime.artifact_rows import (
    ContextDigests,
    result_row_of,
)
from told_runs import require_told

__all__ = ["TAMPERED", "digests_of_requests", "fits_schema", "require_sound_records"]

TAMPERED: set[Path] = set()
"""The ledgers that a test has tampered with: nothing is promised of their records."""

_SHORT = 400
_VALIDATOR = Draft202012Validator(record_schema())


def require_sound_records(ledger: Ledger) -> None:
    """Hold the record of each run of *ledger* to what is promised of all records."""
    for summary in list(ledger.runs()):
        if not walks_graph(ledger, summary.id):
            continue
        events = list(ledger.events(run=summary.id))
        _folds_equally(ledger, events)
        record = run_record(ledger, summary.id)
        fits_schema(record)
        assert record["status"] == summary.status
        assert load_run_tree(ledger, summary.id)["run"] == record
        _consumed_is_rendered(record, events, ledger)
        _results_are_as_recorded(record, events, ledger)
        require_told(ledger, summary.id)


def _folds_equally(ledger: Ledger, events: list[Event]) -> None:
    """B20: where a fold stopped makes no difference."""
    fold = WorkflowRecords()
    whole: Any = fold.initial()
    for event in events:
        whole = fold.apply(whole, event)
    live: Any = json.dumps(fold.initial())
    cut = max(1, len(events) // _SHORT)
    for number, event in enumerate(events):
        state = json.loads(live) if isinstance(live, str) else live
        live = fold.apply(state, event)
        if number % cut == 0:
            _views(live)
            live = json.dumps(live)
    if isinstance(live, str):
        live = json.loads(live)
    assert live == json.loads(json.dumps(whole))
    assert ledger.project(WorkflowRecords, run=events[0].run) == live
    # Order is part of a record: stages are listed as they were visited.
    assert [*live["stages"]] == [*whole["stages"]]


def _views(state: Any) -> None:
    """Derive what is derived, which works after each event."""
    checkpoints_of(state, "first")
    queue_of(state, "first")
    for scope in state["stages"]:
        status_of_stage(state, scope)


def fits_schema(record: dict[str, Any]) -> None:
    """Hold *record* to its schema, as the JSON text that it becomes."""
    plain = json.loads(json.dumps(record))
    error = next(_VALIDATOR.iter_errors(plain), None)
    assert error is None, f"{error.json_path}: {error.message}"


def digests_of_requests(
    events: list[Event], ledger: Ledger
) -> Iterator[tuple[str, str]]:
    """Yield the scope of each stage that asked for work, and the digest of its context."""
    for event in events:
        request: Any = event.data.get("request")
        if event.type != "stage.requested" or not ledger.holds(request.digest):
            continue
        said: Any = ledger.value(request)
        if "context" in said:
            yield event.scope or "", said["context"]


def _results_are_as_recorded(
    record: dict[str, Any], events: list[Event], ledger: Ledger
) -> None:
    """Require each artifact of the result to be the recorded one, but for its lineage."""
    ended = [one for one in events if one.type == "run.completed"]
    if not ended or "erased" in record:
        return
    result: Any = ledger.resolve(ended[-1])["result"]
    if not isinstance(result, dict) or "artifacts" not in result:
        return
    known = [result_row_of(typed_artifact(one)) for one in record["artifacts"]]
    for row in result["artifacts"]:
        assert row in known, row["id"]


def _passes_its_own_fixture(record: dict[str, Any]) -> None:
    """B14: whatever it did, loops and branches and all."""
    normaliser = Normaliser()
    view = seen(record, normaliser, {})
    made = own_fixture(record, view, {"run": record["id"]}, normaliser)
    fixture = read_fixture(json.loads(json.dumps(made)), At("fixture", "evals"))
    rows = held_against(seen(record, normaliser, {"fixture": fixture}), fixture)
    is_open = record["status"] == "open"
    assert [one.says for one in rows if one.ok is False] == []
    if "erased" not in record and not is_open:
        assert [one.says for one in rows if one.ok is None] == []
    assert rows
    diff = run_diff(view, view)
    assert (diff["stage_diffs"], diff["observability_diffs"]) == ([], [])


def _consumed_is_rendered(
    record: dict[str, Any], events: list[Event], ledger: Ledger
) -> None:
    """B22: the digest of what a record says was consumed is the one that was asked."""
    if "erased" in record:
        return
    known: dict[str, Artifact] = {}
    for row in record["artifacts"]:
        known.setdefault(row["id"], typed_artifact(row))
    stages = {one["id"]: one for one in record["stages"]}
    for scope, digest in digests_of_requests(events, ledger):
        consumed = [known[one] for one in stages[scope]["consumed_artifact_ids"]]
        assert ContextDigests().of(consumed) == digest, scope
