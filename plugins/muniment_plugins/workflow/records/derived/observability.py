"""What a record shows at a glance: a graph of what happened, rounds, verdicts, pointers.

    record["observability"]["action_graph_nodes"][0]
    {"id": "run", "kind": "run", "label": "letter", "status": "completed", …}

Rules:

- It is derived from the record that it is in, and states nothing of its own.
- All nodes share a trace: the id of the run above all. A run that has the label
  ``trigger`` was begun by what that names; conditions are predicates, which gate.
- An edge that was taken leads to the visit that it led to. Stages that were tried again
  have an edge to themselves. A run that was called has one from the stage that did; none if
  the record does not say which call it is of.
- Contents that were erased stay so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muniment_plugins.workflow.records.rows import Row

__all__ = ["observability_of"]

_RUN, _TRIGGER = "run", "trigger"
_FACT = "analysis_note"
_EMPTY: tuple[object, ...] = (None, [], {})


def observability_of(record: Mapping[str, Any]) -> Row:
    """Return the block of *record*, which has all its other fields."""
    stages = record["stages"]
    facts = [one for one in record["artifacts"] if one["kind"] == _FACT]
    return {
        "planner_rounds": [_round(one) for one in stages if one.get("usage")],
        "research_fact_count": len(facts),
        "action_graph_nodes": [*_nodes(record)],
        "action_graph_edges": [*_edges(record)],
        "worker_lineage": [_worker(one) for one in record["child_runs"]],
        "verification_outcomes": [
            _verdict(one) for one in stages if "verification" in one
        ],
        "transcript_pointers": [
            _pointer(record, one) for one in stages if one.get("usage")
        ],
    }


def _said(row: Row) -> Row:
    return {name: value for name, value in row.items() if value not in _EMPTY}


def _round(stage: Row) -> Row:
    usage = stage["usage"]
    return {
        "stage_id": stage["id"],
        "node_id": stage["node_id"],
        "calls": usage["call_count"],
        "input_tokens": usage["input_tokens"],
        "output_tokens": usage["output_tokens"],
        "denied_tools": len(stage.get("denials", [])),
    }


def _nodes(record: Mapping[str, Any]) -> Iterator[Row]:
    trace = record.get("root_run_id") or record["id"]
    trigger = _trigger(record)
    if trigger is not None:
        yield {"id": _TRIGGER, "kind": _TRIGGER, "label": trigger, "trace_id": trace}
    yield {
        "id": _RUN,
        "kind": _RUN,
        "label": record["workflow_id"],
        "status": record["status"],
        "trace_id": trace,
        "run_id": record["id"],
    }
    for one in record["stages"]:
        kind = "predicate" if one["kind"] == "condition" else "stage"
        row = {
            "id": one["id"],
            "kind": kind,
            "label": one["node_id"],
            "status": one["status"],
            "outcome": one.get("outcome"),
            "trace_id": trace,
            "stage_id": one["id"],
            "node_id": one["node_id"],
        }
        yield _said(row)
    for one in record["child_runs"]:
        row = {
            "id": _worker_id(one),
            "kind": "worker",
            "label": one["worker_name"],
            "status": one["status"],
            "trace_id": trace,
            "worker_id": one.get("worker_id"),
            "run_id": one["run_id"],
        }
        yield _said(row)


def _trigger(record: Mapping[str, Any]) -> str | None:
    labels: Mapping[str, str] = record["metadata"].get("labels", {})
    return labels.get(_TRIGGER)


def _worker_id(child: Row) -> str:
    return f"worker:{child['run_id']}"


def _edges(record: Mapping[str, Any]) -> Iterator[Row]:
    if _trigger(record) is not None:
        yield _edge(_TRIGGER, _RUN, "trigger_dispatch")
    stages: list[Row] = record["stages"]
    if stages:
        yield _edge(_RUN, stages[0]["id"], "entry")
    kinds = {one["id"]: one["kind"] for one in stages}
    visits: dict[str, list[Row]] = {}
    for one in stages:
        visits.setdefault(one["node_id"], []).append(one)
    for one in record["transitions"]:
        came = _came_to(one, visits.get(one["to_node_id"], []))
        source = one.get("from_stage_id")
        if came is not None and source is not None:
            gates = kinds.get(source) == "condition"
            kind = "predicate_gate" if gates else "transition"
            yield _edge(source, came, kind, one.get("branch"))
    for one in stages:
        tried = [row for row in one["attempts"] if not row.get("superseded")]
        if len(tried) > 1:
            yield _edge(one["id"], one["id"], "retry", f"{len(tried)} attempts")
    for one in record["child_runs"]:
        above = one.get("parent_stage_id", _RUN)
        if "worker_id" in one:  # else nobody knows which call it is of
            yield _edge(above, _worker_id(one), "delegates")


def _edge(source: str, target: str, kind: str, label: str | None = None) -> Row:
    row = {"from_id": source, "to_id": target, "kind": kind, "label": label}
    return _said(row)


def _came_to(transition: Row, visits: list[Row]) -> str | None:
    """Return the visit that a transition led to, if it was visited: the next on its path."""
    path = transition["id"].rpartition("#")[0]
    for one in visits:
        if one["event"] > transition["event"] and _is_near(one["scope"], path):
            return str(one["id"])
    return None


def _is_near(scope: str, path: str) -> bool:
    """Tell whether a path leads on in *scope*: in itself, a branch of it, or its join."""
    return (
        scope == path
        or scope.startswith(f"{path}/")
        or not scope
        or path.startswith(f"{scope}/")
    )


def _worker(child: Row) -> Row:
    names = ("run_id", "worker_name", "worker_id", "parent_stage_id", "status")
    return {name: child[name] for name in names if name in child}


def _verdict(stage: Row) -> Row:
    said = stage["verification"]
    checks: list[Row] = said["checks"] if isinstance(said["checks"], list) else []
    row = {
        "stage_id": stage["id"],
        "node_id": stage["node_id"],
        "status": said["verdict"],
        "passed": said["ok"],
    }
    if checks:
        bad = [str(one["kind"]) for one in checks if not one["ok"]]
        row["summary"] = f"{len(checks) - len(bad)} of {len(checks)} checks held"
        if bad:
            row["summary"] += f"; not {', '.join(bad)}"
    return row


def _pointer(record: Mapping[str, Any], stage: Row) -> Row:
    """Return where the calls of a stage's model are: in events of the run."""
    return {
        "id": f"{stage['id']}:llm",
        "label": stage["node_id"],
        "kind": "llm",
        "location": f"run {record['id']}, scope {stage['id']}, from event {stage['event']}",
    }
