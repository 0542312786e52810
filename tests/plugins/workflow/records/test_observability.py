"""The block that shows a run at a glance says what the rest of its record says."""

from __future__ import annotations

from typing import Any

from muniment.ledger import Ledger
from muniment_plugins.workflow import run_record, workflow_execute
from run_records import fits_schema
from workflow_stages import Document, chain, edge, graph_of, stage

CONDITION = {"kind": "condition", "handler": "workflow_stages:is_small"}


def observed(book: Ledger, graph: Document, **more: Any) -> dict[str, Any]:
    """Run *graph*; return the record."""
    done = workflow_execute(
        book, "T", graph, [{"kind": "analysis_note", "text": "x"}], **more
    )
    record = run_record(book, done.run_id)
    fits_schema(record)
    return record


def edges(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the edges of *record*: from, to, kind."""
    rows = record["observability"]["action_graph_edges"]
    return [(one["from_id"], one["to_id"], one["kind"]) for one in rows]


def test_p26_trigger_and_predicate_share_their_trace(book: Ledger) -> None:
    """What began a run, and the condition in it, are nodes of one trace."""
    graph = graph_of(
        {"small": CONDITION, "yes": stage(), "no": stage()},
        edge("small", "yes", "true"),
        edge("small", "no", "false"),
    )
    record = observed(book, graph, labels={"trigger": "issue 7"})
    nodes = record["observability"]["action_graph_nodes"]
    kinds = [(one["id"], one["kind"]) for one in nodes]
    assert kinds == [
        ("trigger", "trigger"),
        ("run", "run"),
        ("small.1", "predicate"),
        ("yes.1", "stage"),
    ]
    assert {one["trace_id"] for one in nodes} == {record["id"]}
    assert edges(record) == [
        ("trigger", "run", "trigger_dispatch"),
        ("run", "small.1", "entry"),
        ("small.1", "yes.1", "predicate_gate"),
    ]
    assert record["observability"]["research_fact_count"] == 1


def test_u12_forks_retries_children_and_verdicts(book: Ledger) -> None:
    """Branches, attempts, called runs and verdicts are where they belong."""
    child = chain(inner=stage())
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "one": stage(
                "counted",
                metadata={"file": "n", "fails": 1},
                retry_policy={"max_attempts": 2},
            ),
            "two": {"kind": "subagent", "graph": child},
            "join": {"kind": "join"},
            "check": {
                "kind": "verify",
                "verify": {"command": "echo no", "assert_text": "yes"},
            },
        },
        *(edge("fork", "one"), edge("fork", "two"), edge("one", "join")),
        *(edge("two", "join"), edge("join", "check")),
    )
    record = observed(book, graph)
    found = set(edges(record))
    (called,) = record["child_runs"]
    worker = f"worker:{called['run_id']}"
    assert found == {
        ("run", "fork.1", "entry"),
        ("fork.1", "fork.1/one/one.1", "transition"),
        ("fork.1", "fork.1/two/two.1", "transition"),
        ("fork.1/one/one.1", "join.1", "transition"),
        ("fork.1/two/two.1", "join.1", "transition"),
        ("join.1", "check.1", "transition"),
        ("fork.1/one/one.1", "fork.1/one/one.1", "retry"),
        ("fork.1/two/two.1", worker, "delegates"),
    }
    (verdict,) = record["observability"]["verification_outcomes"]
    assert (verdict["stage_id"], verdict["passed"]) == ("check.1", False)
    assert verdict["summary"].startswith("1 of 2 checks held; not ")
    (lineage,) = record["observability"]["worker_lineage"]
    assert lineage["parent_stage_id"] == "fork.1/two/two.1"


def test_loops_lead_to_the_visit_that_they_led_to(book: Ledger) -> None:
    """Each visit of a loop is a node, and each way of it an edge."""
    check = {"kind": "verify", "verify": {"command": "test -f n"}}
    again = stage("counted", metadata={"file": "n"}, max_visits=3)
    graph = graph_of(
        {"check": {**check, "max_visits": 3}, "mend": again, "end": stage()},
        *(edge("check", "mend", "failed"), edge("mend", "check")),
        edge("check", "end", "passed"),
    )
    record = observed(book, graph)
    assert edges(record) == [
        ("run", "check.1", "entry"),
        ("check.1", "mend.1", "transition"),
        ("mend.1", "check.2", "transition"),
        ("check.2", "end.1", "transition"),
    ]
