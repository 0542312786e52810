"""The record of a run says what the run did, whatever became of it.

That each record fits its schema, folds equally and consumed what it says is tried of all
runs of all tests: `run_records`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from forged_runs import facts_of, write_run
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageInput,
    WorkflowDone,
    load_run_tree,
    run_record,
    workflow_execute,
)
from muniment_plugins.workflow.api import ready_workflow
from muniment_plugins.workflow.records.fields import record_schema
from muniment_plugins.workflow.records.record import walks_graph
from run_records import fits_schema
from workflow_stages import Document, chain, edge, graph_of, stage

GIVEN = {"id": "g", "created_at": "2026-01-01T00:00:00Z", "text": "given"}


def run(book: Ledger, graph: Document, **options: object) -> WorkflowDone:
    """Run *graph* with one artifact."""
    return workflow_execute(book, "a task", graph, [GIVEN], options)


def stages(record: Document) -> dict[str, Any]:
    """Return the stages of *record* by their ids."""
    return {one["id"]: one for one in record["stages"]}


def counted(name: str, fails: int = 1, **more: object) -> Document:
    """Return a stage that fails so many times."""
    return stage("counted", metadata={"file": name, "fails": fails}, **more)


def branches(**nodes: Document) -> Document:
    """Return a graph that forks into *nodes*, which all have to come to the join."""
    ends = {"fork": {"kind": "fork"}, **nodes, "join": {"kind": "join"}, "end": stage()}
    edges = [edge("fork", one) for one in nodes] + [edge(one, "join") for one in nodes]
    return graph_of(ends, *edges, edge("join", "end"))


def test_a_complete_run(book: Ledger) -> None:
    """Stages, ways, artifacts and checkpoints follow each other, with times in UTC."""
    check = {"kind": "verify", "verify": {"command": "echo fine"}}
    done = run(book, chain(act=stage(), verify=check))
    record = run_record(book, done.run_id)

    assert (record["status"], record["task"]) == ("completed", "a task")
    assert record["workflow_id"] == "workflow"
    assert record["started_at"] < record["finished_at"]
    act, verify = record["stages"]
    assert (act["node_id"], act["visit"], act["scope"]) == ("act", 1, "")
    assert (act["visible_text"], verify["cause"]) == ("act: 1", "act")
    assert verify["verification"]["verdict"] == "verified"
    (way,) = record["transitions"]
    assert (way["from_stage_id"], way["to_node_id"]) == ("act.1", "verify")
    assert way["consumed_artifact_ids"] == ["g"]
    assert [one["id"] for one in record["artifacts"]] == ["g", "act.1#0", "verify.1#0"]
    told = [(one["reason"], one["ready_nodes"]) for one in record["checkpoints"]]
    assert told == [
        ("start", ["act"]),
        ("stage_complete", ["verify"]),
        ("stage_complete", []),
        ("finalize", []),
    ]
    completed = {"pending_nodes": [], "completed_nodes": ["act", "verify"]}
    assert record["queue"] == completed


def test_a_failed_run(book: Ledger) -> None:
    """It says which node failed, by which rule, and where a resume goes on."""
    done = run(book, chain(act=stage(), bad=stage("raises"), late=stage()))
    record = run_record(book, done.run_id)

    assert record["status"] == "failed"
    assert record["error"]["type"] == "WorkflowFailed"
    bad = stages(record)["bad.1"]
    assert (bad["status"], bad["branch"]) == ("failed", "error")
    assert (bad["rule"], bad["error"]) == ("effect/failed", "bad raised")
    assert record["queue"]["pending_nodes"] == ["bad"]
    assert [one.id for one in done.artifacts] == ["g", "act.1#0"]


@pytest.mark.parametrize("canceled", [False, True])
def test_runs_that_wait_or_are_given_up(book: Ledger, canceled: bool) -> None:
    """A run that waits has a record, and its artifacts are there so far."""
    graph = chain(act=stage(), ask={"kind": "escalation"}, end=stage())
    done = run(book, graph)
    if canceled:
        book.cancel(done.run_id, "too late")
    record = run_record(book, done.run_id)

    status = "canceled" if canceled else "paused"
    assert record["status"] == stages(record)["ask.1"]["status"] == status
    assert ("finished_at" in record) is canceled
    assert record["queue"]["pending_nodes"] == ([] if canceled else ["ask"])
    (asked,) = record["hitl_questions"]
    assert (asked["stage_id"], "outcome" in asked) == ("ask.1", False)
    assert [one.text for one in done.artifacts] == ["given", "act: 1"]


def test_an_interrupted_run(book: Ledger) -> None:
    """Ctrl-C leaves a record whose stage has no end, and resumes where it was."""

    def stops(given: StageInput) -> str:
        raise KeyboardInterrupt(given.node)

    with pytest.raises(KeyboardInterrupt):
        workflow_execute(book, "", chain(act=stage(), bad={"handler": stops}))
    (found,) = book.runs()
    record = run_record(book, found.id)

    assert record["status"] == "interrupted"
    assert stages(record)["bad.1"]["status"] == "interrupted"
    assert record["queue"] == {"pending_nodes": ["bad"], "completed_nodes": ["act"]}


def test_while_it_runs(book: Ledger) -> None:
    """A record can be viewed in the middle, and fits its schema there."""
    seen: list[Document] = []

    def looks(given: StageInput) -> str:
        with Ledger.open(book.path, home=book.home, readonly=True) as other:
            (found,) = other.runs()
            seen.append(run_record(other, found.id))
        return given.node

    done = workflow_execute(book, "", chain(act=stage(), look={"handler": looks}))

    assert done.status == "completed"
    fits_schema(seen[0])
    assert seen[0]["status"] == stages(seen[0])["look.1"]["status"] == "open"
    assert seen[0]["queue"]["pending_nodes"] == ["look"]


def test_branches_and_items(book: Ledger) -> None:
    """Branches are told apart by their scope, items are counted, the unneeded cancelled."""
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "fast": stage(),
            "slow": stage("sleeps", metadata={"seconds": 0.2}),
            "late": stage(),
            "join": {"kind": "join", "join_policy": {"strategy": "first"}},
            "map": {
                "kind": "map",
                "handler": "workflow_stages:odd_raises",
                "map_policy": {"items": ["0", "1", "2"]},
            },
        },
        edge("fork", "fast"),
        edge("fork", "slow"),
        edge("fast", "join"),
        edge("slow", "late"),
        edge("late", "join"),
        edge("join", "map"),
    )
    record = run_record(book, run(book, graph).run_id)

    found = {one["node_id"]: one for one in record["stages"]}
    assert found["fast"]["scope"].startswith("fork.1/")
    assert found["join"]["joined"]["arrived"] == ["fast"]
    assert found["join"]["joined"]["cancelled"] == ["slow"]
    assert "late" not in record["queue"]["completed_nodes"]
    assert found["map"]["items"] == {"done": 2, "failed": 1}
    bodies = [one for one in record["stages"] if one.get("item_of") == "map.1"]
    assert sorted(one["status"] for one in bodies) == ["completed"] * 2 + ["failed"]
    assert record["queue"]["completed_nodes"].count("join") == 1


def test_what_a_failed_run_made_is_in_the_order_of_the_branches(book: Ledger) -> None:
    """Branches come as their edges do, items in their order, whoever was first."""
    slow = stage("sleeps", metadata={"seconds": 0.2})
    items = {"items": [str(number) for number in range(12)]}
    many = {"kind": "map", "handler": "workflow_stages:says", "map_policy": items}
    graph = branches(z=slow, b={**many}, m=stage("fails"), a=stage())
    done = run(book, graph)

    assert done.status == "failed"
    items_made = [f"fork.1/b/b.1/{number}/body.1#0" for number in range(12)]
    made = ["fork.1/z/z.1#0", *items_made, "fork.1/a/a.1#0"]
    assert [one.id for one in done.artifacts] == ["g", *made]


def test_attempts(book: Ledger) -> None:
    """Each attempt is a row, with how long the next one waited."""
    node = counted("calls", 2, retry_policy={"max_attempts": 3})
    (act,) = run_record(book, run(book, chain(act=node)).run_id)["stages"]

    told = [(one["attempt"], one["status"]) for one in act["attempts"]]
    assert told == [(1, "failed"), (2, "failed"), (3, "completed")]
    assert act["attempts"][0]["error_type"] == "ValueError"
    assert act["attempts"][0]["finished_at"] <= act["attempts"][1]["started_at"]


@pytest.mark.parametrize("forked", [False, True])
def test_resumed(book: Ledger, place: Path, forked: bool) -> None:
    """What a resume performs again is superseded, and what followed it is stated anew."""
    graph = branches(good=stage(), bad=counted("calls"))
    done = run(book, graph if forked else chain(bad=counted("calls"), end=stage()))
    assert done.status == "failed"
    again = book.resume(done.run_id)
    record = run_record(book, done.run_id)

    assert again.status == record["status"] == "completed", again.error
    found = {one["node_id"]: one for one in record["stages"]}
    told = [(one["status"], "superseded" in one) for one in found["bad"]["attempts"]]
    assert told == [("failed", True), ("completed", False)]
    if forked:
        assert found["join"]["joined"]["arrived"] == ["good", "bad"]
        assert len(found["join"]["attempts"]) == 2
    assert record["metadata"]["resumed"] == 1
    assert record["queue"]["pending_nodes"] == []
    assert (place / "calls").read_text() == "xx"


def test_erased(book: Ledger) -> None:
    """Contents that were erased are marked, and the skeleton is what it was."""
    done = run(book, chain(act=stage(), end=stage()))
    before = run_record(book, done.run_id)
    (made,) = (
        one
        for one in book.events(run=done.run_id, type="artifact.recorded")
        if one.scope == "act.1"
    )
    text: Any = made.raw["text"]
    book.erase(text["$blob"], reason="personal")
    record = run_record(book, done.run_id)

    gone = {"$erased": text["$blob"]}
    assert record["artifacts"][1]["text"] == record["stages"][0]["visible_text"] == gone
    assert record["erased"] == [text["$blob"]]
    assert record["transitions"] == before["transitions"]
    assert done.artifacts[1].text is None
    fits_schema(record)


def test_everything_erased(book: Ledger) -> None:
    """A run all of whose contents were erased has a record of what it did."""
    done = run(book, branches(a=stage(), b=stage()))
    book.erase(done.run_id, reason="asked for")
    record = run_record(book, done.run_id)

    fits_schema(record)
    assert "$erased" in record["task"]
    assert [one["status"] for one in record["stages"]] == ["completed"] * 5


def test_children(book: Ledger) -> None:
    """A child is linked to the stage that called it, and is below it in the tree."""
    inner = chain(deep={"kind": "subagent", "graph": chain(deepest=stage())})
    done = run(book, chain(outer={"kind": "subagent", "graph": inner}))
    tree = load_run_tree(book, done.run_id)

    (child,) = tree["run"]["child_runs"]
    assert (child["parent_stage_id"], child["status"]) == ("outer.1", "completed")
    (below,) = tree["children"]
    assert below["run"]["parent_run_id"] == done.run_id
    assert below["run"]["id"] == child["run_id"]
    assert below["children"][0]["run"]["root_run_id"] == done.run_id
    assert below["children"][0]["children"] == []


def test_a_failed_child(book: Ledger) -> None:
    """A child that failed is linked, too."""
    inner = chain(bad=stage("raises"))
    done = run(book, chain(outer={"kind": "subagent", "graph": inner}))
    (child,) = run_record(book, done.run_id)["child_runs"]

    assert (child["parent_stage_id"], child["status"]) == ("outer.1", "failed")


def test_cycles(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that a ledger names as its own child is not entered twice."""
    done = run(book, chain(act=stage()))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "children", lambda _, run: [run])
        tree = load_run_tree(book, done.run_id)

    assert tree["children"] == [
        {"run": {"id": done.run_id}, "cycle": True, "children": []}
    ]


def test_other_runs(book: Ledger) -> None:
    """A run that walks no graph has no such record."""
    done = book.execute(lambda _: 1, name="other")

    with pytest.raises(UsageError, match="walks no graph"):
        run_record(book, done.run_id)
    assert load_run_tree(book, done.run_id)["run"]["workflow_name"] == "other"


def test_models(tmp_path: Path, place: Path) -> None:
    """What models took is added up, for the run and for the stage."""
    (place / "answers.json").write_text(
        '[{"text": "yes", "usage": {"input_tokens": 9, "output_tokens": 2}, '
        '"cost": {"usd": "0.25"}}, {"text": "no"}]'
    )
    node = {
        "kind": "stage",
        "mode": "llm",
        "model_policy": {"model": "scripted:answers.json"},
    }
    plugins = ("workflow", "providers")
    home = tmp_path / "home"
    with Ledger.create(tmp_path / "l.db", home=home, plugins=plugins) as book:
        done = run(book, chain(one=node, two=node))
        assert done.status == "completed", done.error
        record = run_record(book, done.run_id)

    usage = record["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (9, 2)
    assert (usage["call_count"], usage["total_cost"]) == (2, "0.25")
    assert usage["unpriced_calls"] == 1
    assert stages(record)["one.1"]["usage"]["call_count"] == 1


def test_a_record_with_another_key_does_not_fit(book: Ledger) -> None:
    """The control of the schema: it takes no key that is not in the table."""
    record = run_record(book, run(book, chain(act=stage())).run_id)
    with pytest.raises(AssertionError, match="stranger"):
        fits_schema({**record, "stranger": 1})
    del record["stages"][0]["node_id"]
    with pytest.raises(AssertionError, match="node_id"):
        fits_schema(record)


def test_the_schema_in_the_docs() -> None:
    """The schema beside the reference page is the one of the code: `make docs`."""
    docs = Path(__file__).parents[4] / "docs" / "reference"
    written = (docs / "run-record.schema.json").read_text()
    assert json.loads(written) == record_schema()
    Draft202012Validator.check_schema(record_schema())


def test_a_run_that_never_walked(book: Ledger) -> None:
    """A run that was refused its key, or cut off before its first fact, has a record."""
    keyed = {"key": "nightly"}
    program = ready_workflow(book, "a task", chain(act=stage()), [GIVEN], keyed)
    how: Document = {"params": program.params(), "name": "named"}
    first, second = (book.execute(program, **how) for _ in range(2))
    assert (first.status, second.status) == ("completed", "refused")
    facts = facts_of(book, second.run_id)
    assert [one.type for one in facts] == ["run.started", "run.failed"]
    for run, status in (
        (second.run_id, "refused"),
        (write_run(book, facts[:1]), "open"),
    ):
        assert walks_graph(book, run)
        record = run_record(book, run)
        fits_schema(record)
        assert (record["status"], record["workflow_id"]) == (status, "workflow")
        assert (record["stages"], record["checkpoints"][:-1]) == ([], [])
        assert record["queue"]["pending_nodes"] == ["act"]
        assert [one["id"] for one in record["artifacts"]] == ["g"]
    book.erase(second.run_id, reason="asked for")
    assert run_record(book, second.run_id)["workflow_id"] == "named"
