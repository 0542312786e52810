"""Branches and items run at once, meet where they should, and keep what is good."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from forked_graphs import forked, joined, run
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.executors import Threads
from muniment_plugins.workflow import StageInput, workflow_execute
from muniment_plugins.workflow.engine.assembly import rebuild
from workflow_stages import Document, chain, edge, graph_of, stage

LATER = "says_later"


@pytest.mark.parametrize("handler", ["says", LATER])
def test_all_branches(book: Ledger, handler: str) -> None:
    """All branches run, and are merged in the order of the edges."""
    branches = {name: stage(handler) for name in ("c", "a", "b")}
    done = run(book, forked(handler=handler, **branches))

    assert [one.stage for one in done.artifacts] == ["begin", "c", "a", "b", "end"]
    assert joined(book, done)["arrived"] == ["c", "a", "b"]
    assert [one.text for one in done.artifacts][-1] == "end: 4"


@pytest.mark.parametrize("handler", ["says", LATER])
def test_branches_do_not_see_each_other(book: Ledger, handler: str) -> None:
    """A branch sees what its fork had, and nothing of its siblings."""
    done = run(book, forked(handler=handler, a=stage(handler), b=stage(handler)))

    texts = {one.stage: one.text for one in done.artifacts}
    assert (texts["a"], texts["b"]) == ("a: 1", "b: 1")


def test_b6_pruned(book: Ledger) -> None:
    """B6: a join behind a pruned branch proceeds, fires once, and waits for nothing."""
    nodes = {
        "fork": {"kind": "fork"},
        "if": {"kind": "condition", "metadata": {"artifact_kind": "plan"}},
        "yes": stage(),
        "stop": stage(),
        "other": stage(),
        "join": {"kind": "join"},
        "end": stage(),
    }
    graph = graph_of(
        nodes,
        edge("fork", "if"),
        edge("fork", "other"),
        edge("if", "yes", "true"),
        edge("if", "stop", "false"),
        edge("yes", "join"),
        edge("other", "join"),
        edge("join", "end"),
    )
    done = run(book, graph)

    said = joined(book, done)
    assert (said["arrived"], said["dead"]) == (["other"], ["if"])
    assert [one.stage for one in done.artifacts] == ["stop", "other", "end"]
    activated = [
        one.data["node"] for one in book.events(run=done.run_id, type="node.activated")
    ]
    assert activated.count("join") == activated.count("end") == 1


@pytest.mark.parametrize(("strategy", "steps"), [("all", 6), ("first", 5)])
def test_b6_waiting_takes_no_steps(book: Ledger, strategy: str, steps: int) -> None:
    """B6: a join is one step, however long it waits; of a race, the branch that won counts."""
    branches = {"fast": stage(), "slow": stage("sleeps", metadata={"seconds": 0.3})}
    graph = forked({"strategy": strategy}, "says", **branches)
    enough = run(book, graph, max_steps=steps)
    assert enough.status == "completed", enough.error
    assert run(book, graph, max_steps=steps - 1).status == "paused"


@pytest.mark.parametrize("handler", ["says", LATER])
@pytest.mark.parametrize(
    ("join", "most"),
    [({"strategy": "first"}, 1), ({"strategy": "quorum", "min_completed": 2}, 2)],
)
def test_races(book: Ledger, join: Document, most: int, handler: str) -> None:
    """A race goes on with as many successes as it needs; its replay comes to the same."""
    branches = {name: stage(handler) for name in ("a", "b", "c")}
    done = run(book, forked(join, handler=handler, **branches))

    said = joined(book, done)
    assert len(said["arrived"]) >= most
    assert len(said["arrived"]) + len(said["cancelled"]) == 3
    assert done.status == "completed"
    after = [e for e in book.events(type="node.activated") if e.data["node"] == "end"]
    assert len(after) == 1


def slow(given: StageInput) -> str:
    """Come to an end after others have."""
    time.sleep(1)
    return given.node


def test_failures_do_not_win(book: Ledger) -> None:
    """A race counts successes: a branch that failed first has not won."""
    late: Document = {"handler": slow}
    done = run(book, forked({"strategy": "first"}, a=stage("raises"), b=late))

    said = joined(book, done)
    assert (said["arrived"], said["failed"]) == (["b"], ["a"])


def test_a_failed_branch(book: Ledger) -> None:
    """A join that waits for all fails if a branch failed; the others are kept."""
    graph = forked(a=stage("raises"), b=stage())
    done = run(book, graph)
    assert done.status == "failed"
    assert "a raised" in str(done.error)

    graph["nodes"]["mend"] = stage()
    graph["edges"].append(edge("join", "mend", "failed"))
    done = run(book, graph)
    assert done.status == "completed"
    assert [one.stage for one in done.artifacts] == ["begin", "b", "mend"]


def test_forks_without_a_join(book: Ledger) -> None:
    """Branches that end need no join; what they made is there at the end."""
    graph = graph_of(
        {"fork": {"kind": "fork"}, "a": stage(), "b": stage()},
        edge("fork", "a"),
        edge("fork", "b"),
    )

    assert [one.stage for one in run(book, graph).artifacts] == ["a", "b"]


def test_forks_nest(book: Ledger) -> None:
    """A fork in a branch is closed in that branch, in a scope of its own."""
    nodes = {
        "outer": {"kind": "fork"},
        "inner": {"kind": "fork"},
        "a": stage(),
        "b": stage(),
        "c": stage(),
        "in": {"kind": "join"},
        "out": {"kind": "join"},
        "end": stage(),
    }
    graph = graph_of(
        nodes,
        edge("outer", "inner"),
        edge("outer", "c"),
        edge("inner", "a"),
        edge("inner", "b"),
        edge("a", "in"),
        edge("b", "in"),
        edge("in", "out"),
        edge("c", "out"),
        edge("out", "end"),
    )
    done = run(book, graph)

    assert [one.stage for one in done.artifacts] == ["a", "b", "c", "end"]
    assert done.artifacts[0].id == "outer.1/inner/inner.1/a/a.1#0"


@pytest.mark.parametrize("handler", ["says", LATER])
@pytest.mark.parametrize("at_once", [1, 2, 16])
def test_maps(book: Ledger, handler: str, at_once: int) -> None:
    """A map works on each item, so many at once, and keeps their order."""
    policy = {"items": [3, 1, 2], "max_concurrent": at_once, "output_kind": "note"}
    many = stage(handler, map_policy=policy)
    done = run(book, chain(many={**many, "kind": "map"}))

    assert [one.text for one in done.artifacts] == [
        "body: 0 3",
        "body: 0 1",
        "body: 0 2",
    ]
    assert {one.kind for one in done.artifacts} == {"note"}
    recorded = list(book.events(run=done.run_id, type="artifact.recorded"))
    assert len(recorded) == 3


def test_maps_keep_what_is_good(book: Ledger) -> None:
    """Where some items fail, what the others made is kept."""
    many = stage("odd_raises", map_policy={"items": [0, 1, 2, 3]})
    done = run(book, chain(many={**many, "kind": "map"}))

    assert [one.text for one in done.artifacts] == ["body: 0 0", "body: 0 2"]
    assert joined(book, done)["failed"] == ["1", "3"]
    (ended,) = [
        one
        for one in book.events(run=done.run_id, type="node.completed")
        if one.data["node"] == "many"
    ]
    assert (ended.data["branch"], ended.data["outcome"]) == ("mapped", "partial")


@pytest.mark.parametrize(
    ("policy", "branch"),
    [
        ({}, "mapped"),
        ({"strategy": "all"}, "mapped"),
        ({"require_all_inputs": True}, "failed"),
        ({"strategy": "all", "require_all_inputs": True}, "failed"),
        ({"min_completed": 2}, "mapped"),
        ({"min_completed": 3}, "failed"),
        ({"strategy": "quorum", "min_completed": 2}, "mapped"),
        ({"strategy": "quorum", "min_completed": 3}, "failed"),
        ({"strategy": "first"}, "mapped"),
    ],
    ids=str,
)
def test_maps_need_successes(book: Ledger, policy: Document, branch: str) -> None:
    """A map, of which two of four items succeed, counts what its policy wants of them."""
    many = stage("odd_raises", map_policy={"items": [0, 1, 2, 3]}, join_policy=policy)
    done = run(book, chain(many={**many, "kind": "map"}))

    ends = {
        str(one.data["node"]): one.data["branch"]
        for one in book.events(run=done.run_id, type="node.completed")
    }
    assert ends["many"] == branch


def test_maps_of_artifacts(book: Ledger) -> None:
    """A map without work makes an artifact of each one that it is given."""
    many = {
        "kind": "map",
        "map_policy": {"item_artifact_kind": "artifact", "output_kind": "plan"},
    }
    done = run(book, chain(act=stage("two"), many=many))

    made = [one for one in done.artifacts if one.kind == "plan"]
    assert [one.text for one in made] == ["a", "b"]
    recorded = {
        one.data["id"]: one.data.get("lineage")
        for one in book.events(run=done.run_id, type="artifact.recorded")
    }
    assert [recorded[one.id] for one in made] == [["act.1#0"], ["act.1#1"]]


def test_maps_in_maps(book: Ledger) -> None:
    """The body of a map may be a map, each with scopes of its own."""
    inner = {**stage("says", map_policy={"items": ["x", "y"]}), "kind": "map"}
    many = {"kind": "map", "map_policy": {"items": [1, 2]}, "body": inner}
    done = run(book, chain(many=many))

    assert [one.text for one in done.artifacts] == ["body: 0 x", "body: 0 y"] * 2
    assert done.artifacts[-1].id == "many.1/1/body.1/1/body.1#0"


def test_children(book: Ledger) -> None:
    """A subagent runs a graph of its own as a child run; what it made is delegated."""
    inner = chain(deep={"kind": "subagent", "graph": chain(low=stage())})
    done = run(book, chain(act=stage(), sub={"kind": "subagent", "graph": inner}))

    made = done.artifacts[-1]
    assert made.text == "low: 1"
    assert made.metadata["delegated"] is True
    tree = [one for one in book.runs() if one.id != done.run_id]
    assert len(tree) == 2


def test_a_large_child(book: Ledger) -> None:
    """Without max_steps a child gets as many steps as its own graph would alone."""
    inner = chain(**{f"n{number}": stage() for number in range(6)})
    done = run(book, chain(outer={"kind": "subagent", "graph": inner}))
    assert done.status == "completed"
    few = run(book, chain(outer={"kind": "subagent", "graph": inner}), max_steps=2)
    assert few.status == "paused"


def test_a_child_that_failed(book: Ledger) -> None:
    """A child that failed is a branch of its own, and has a record of its own."""
    graph = graph_of(
        {
            "sub": {"kind": "subagent", "handler": "workflow_stages:raises"},
            "mend": stage(),
        },
        edge("sub", "mend", "failed"),
    )

    assert [one.stage for one in run(book, graph).artifacts] == ["mend"]


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", "dask", "ray"])
def test_executors(book: Ledger, executor: str) -> None:
    """Handlers come to the same wherever an executor calls them."""
    if executor == "ray":  # half a gigabyte: tried where it is installed
        pytest.importorskip("ray")
    many = stage("odd_raises", map_policy={"items": [0, 1, 2]})
    graph = chain(act=stage(), many={**many, "kind": "map"})
    done = run(book, graph, executor=executor)

    assert [one.text for one in done.artifacts] == ["act: 0", "body: 1 0", "body: 1 2"]


TWO = chain(one=stage(), two=stage())
NESTED = chain(
    act=stage(),
    child={"kind": "subagent", "graph": chain(deep={"kind": "subagent", "graph": TWO})},
)
GIVEN: list[Any] = [None, "serial", "threads", "processes", Threads(workers=2)]


def test_an_executor_is_no_part_of_a_result(book: Ledger) -> None:
    """By whichever name, as an object, or by none: children do not differ either.

    A child that is resumed by itself has the executor of the run above it.
    """
    digests = set[str]()
    for one in GIVEN:
        done = run(book, NESTED, **({} if one is None else {"executor": one}))
        assert done.status == "completed", done.error
        digests.add(done.result_digest)
        for summary in book.runs():
            program = rebuild(book, summary.id)
            assert program is not None
            name = None if one is None else getattr(one, "name", one)
            started = next(book.events(run=summary.id, limit=1))
            above: Any = started.data.get("parent") or {}
            at = done.run_id in (summary.id, above.get("root"))
            assert not at or getattr(program.executor, "name", None) == name
    assert len(digests) == 1


@pytest.mark.parametrize("task", [None, 5, b"x", ["a"], {"a": 1}])
def test_a_task_is_a_text(book: Ledger, task: Any) -> None:
    """Anything else is refused before a run is begun."""
    with pytest.raises(UsageError, match="not a text"):
        workflow_execute(book, task, chain(act=stage()))
    assert [*book.runs()] == []


def test_digests_do_not_depend_on_the_order(book: Ledger, place: Path) -> None:
    """Whoever is first, in threads or one after the other: the digest is the same."""
    del place
    graph = forked(None, "says", **{name: stage() for name in "abcdefgh"})
    digests = {run(book, graph, executor="threads").result_digest for _ in range(3)}

    assert len(digests) == 1
