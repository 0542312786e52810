"""A run is a mutation session: its record says whose changes it makes, and how far."""

from __future__ import annotations

from typing import Any

from muniment.ledger import Ledger
from muniment_plugins.workflow import load_run_tree, run_record, workflow_execute
from workflow_stages import chain, stage


def session_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the mutation session in a record."""
    found: dict[str, Any] = record["metadata"]["mutation_session"]
    return found


def test_defaults(book: Ledger) -> None:
    """Without a ceiling nothing limits a run, and its session says so."""
    done = workflow_execute(book, "t", chain(act=stage()))
    assert session_of(run_record(book, done.run_id)) == {
        "session_id": f"session_{done.run_id}",
        "run_id": done.run_id,
        "execution_kind": "workflow",
        "mutation_scope": "network",
    }


def test_of_children(book: Ledger) -> None:
    """A child names its parent's, and has what the parent was held to."""
    reads = {"side_effect_level": "read_only"}
    low = chain(low=stage(capability_policy=reads))
    graph = chain(sub={"kind": "subagent", "graph": low})
    done = workflow_execute(book, "t", graph, [], {"ceiling": reads})
    tree = load_run_tree(book, done.run_id)
    (child,) = tree["children"]
    inner = session_of(child["run"])
    assert inner["parent_session_id"] == session_of(tree["run"])["session_id"]
    assert inner["execution_kind"] == "subagent"
    assert inner["worker_id"]
    assert inner["mutation_scope"] == "read_only"
