"""Every valid graph ends, within its steps; every invalid one is refused with a place.

Rules: graphs are drawn by structure (`drawn_regions`), so that most are valid. Then one thing
is broken, and a finding has to name it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_regions import graphs
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    workflow_execute,
    workflow_graph,
    workflow_validate,
)
from muniment_plugins.workflow.records.branch_order import in_branch_order
from muniment_plugins.workflow.records.skeleton import WorkflowRecords
from workflow_stages import edge

Document = dict[str, Any]

BREAKS: dict[str, Callable[[Document, str], object]] = {
    "KIND_UNKNOWN": lambda graph, name: graph["nodes"][name].update(kind="stagee"),
    "FORM_UNKNOWN_KEY": lambda graph, name: graph["nodes"][name].update(handle="x:y"),
    "EDGE_UNKNOWN": lambda graph, name: graph["edges"].append(edge(name, "nowhere")),
    "ENTRY_UNKNOWN": lambda graph, name: graph.update(entry=f"{name}x"),
    "LABEL_DEAD": lambda graph, name: graph["edges"].append(edge(name, name, "nevr")),
    "KEY_INERT": lambda graph, name: graph["nodes"][name].update(
        escalation_policy={"level": "x"}, verify={"command": "true"}
    ),
}


@given(graphs())
@settings(max_examples=40, deadline=None)
def test_every_valid_graph_ends(document: Document) -> None:
    """It ends in a status that is final, within its steps, and its run replays.

    What it made is listed in one order, however it ended; without races in every run.
    """
    report = workflow_validate(document)
    assert report.valid, report.errors
    with tempfile.TemporaryDirectory() as folder:
        where, home = Path(folder, "ledger.db"), Path(folder, "home")
        with Ledger.create(where, home=home, plugins=("workflow",)) as book:
            most = 20 * len(document["nodes"])
            done = workflow_execute(book, "t", document, [], {"max_steps": most})
            assert done.status in ("completed", "failed"), done.done
            activated = list(book.events(run=done.run_id, type="node.activated"))
            completed = list(book.events(run=done.run_id, type="node.completed"))
            assert len(activated) <= most
            if done.status == "completed":
                raced = any(book.events(run=done.run_id, type="race.completed"))
                assert raced or len(activated) == len(completed)
            again = replay(book, done.run_id)
            assert again.verdict == "acceptable", again.findings
            listed = [one.id for one in done.artifacts]
            skeleton = book.project(WorkflowRecords, run=done.run_id)
            ordered = [one["row"]["id"] for one in in_branch_order(skeleton)]
            assert listed == [one for one in ordered if one in listed]
            if not any(book.events(run=done.run_id, type="race.completed")):
                other = workflow_execute(book, "t", document, [], {"max_steps": most})
                assert [one.id for one in other.artifacts] == listed


@given(graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_every_invalid_graph_is_refused(
    document: Document, data: st.DataObject
) -> None:
    """It is refused with the code of what is wrong, and a place that leads there."""
    code = data.draw(st.sampled_from(sorted(BREAKS)))
    name = data.draw(st.sampled_from(sorted(document["nodes"])))
    if code == "LABEL_DEAD" and document["nodes"][name]["kind"] == "fork":
        code = "FORK_LABEL"
        document["edges"].append(edge(name, name, "nevr"))
    else:
        BREAKS[code](document, name)

    report = workflow_validate(document)
    assert not report.valid
    found = [one for one in report.errors if one.code == code]
    assert found, report.errors
    assert all(one.place and one.message for one in report.findings)


@given(graphs())
def test_normal_form(document: Document) -> None:
    """The normal form of a normal form is the same, and has the same digest."""
    graph = workflow_graph(document)
    again = workflow_graph(dict(graph.document))

    assert again.document == graph.document
    assert again.digest == graph.digest
    shuffled = dict(reversed(document["nodes"].items()))
    assert workflow_graph({**document, "nodes": shuffled}).digest == graph.digest
