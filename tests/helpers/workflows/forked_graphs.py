"""Graphs with a fork and its join: made, run and replayed, and how they were joined."""

from __future__ import annotations

from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import WorkflowDone, workflow_execute
from workflow_stages import Document, edge, graph_of, stage

__all__ = ["forked", "joined", "run"]


def run(book: Ledger, graph: Document, **options: object) -> WorkflowDone:
    """Run *graph*, and replay it."""
    done = workflow_execute(book, "a task", graph, [], options)
    if done.status in ("completed", "failed"):
        report = replay(book, done.run_id)
        assert report.verdict == "acceptable", report
    return done


def joined(book: Ledger, done: WorkflowDone) -> Document:
    """Return what the only join of a run joined."""
    (found,) = book.events(run=done.run_id, type="branches.joined")
    return dict(found.data)


def forked(
    join: Document | None = None, handler: str = "says", **branches: Document
) -> Document:
    """Return a graph that forks into *branches*, which meet in a join."""
    nodes = {
        "begin": stage(handler),
        "fork": {"kind": "fork"},
        **branches,
        "join": {"kind": "join", "join_policy": join or {}},
        "end": stage(handler),
    }
    edges = [edge("begin", "fork"), edge("join", "end")]
    for one in branches:
        edges += [edge("fork", one), edge(one, "join")]
    return graph_of(nodes, *edges)
