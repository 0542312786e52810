"""Branches that failed at once are run again at once; a race is run again as a whole."""

from __future__ import annotations

import pytest

from forked_graphs import forked, joined, run
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow.records.record import recorded_artifacts
from workflow_stages import Document, chain, edge, graph_of, stage


@pytest.mark.parametrize("handler", ["says", "says_later"])
def test_a_path_that_ends_before_the_join_has_not_won(
    book: Ledger, handler: str
) -> None:
    """A condition that ends its branch at once leaves the race to the others."""
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "if": {"kind": "condition", "metadata": {"artifact_kind": "plan"}},
            "never": stage(handler),
            "stop": stage(handler),
            "slow": stage("sleeps", metadata={"seconds": 0.1}),
            "late": stage(handler),
            "join": {"kind": "join", "join_policy": {"strategy": "first"}},
            "end": stage(handler),
        },
        edge("fork", "if"),
        edge("fork", "slow"),
        edge("if", "never", "true"),
        edge("if", "stop", "false"),
        edge("never", "join"),
        edge("slow", "late"),
        edge("late", "join"),
        edge("join", "end"),
    )
    done = run(book, graph)
    assert done.status == "completed"
    assert [one.stage for one in done.artifacts] == ["stop", "slow", "late", "end"]
    said = joined(book, done)
    assert (said["arrived"], said["dead"]) == (["slow"], ["if"])
    assert replay(book, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("many", [False, True], ids=["branches", "items"])
def test_a_race_that_nobody_won_is_run_again(book: Ledger, many: bool) -> None:
    """It failed, with what each of its paths said; a resume runs all of it again."""

    def bad(name: str) -> Document:
        return stage("counted", metadata={"file": name, "fails": 1})

    first: Document = {"strategy": "first"}
    graph = forked(first, a=bad("a"), b=bad("b"))
    if many:
        items: Document = {"items": ["0", "1"], "max_concurrent": 1}
        body = stage("counted", metadata={"file": "m", "fails": 2})
        each = {"kind": "map", "body": body, "map_policy": items, "join_policy": first}
        graph = graph_of({"each": each})
    done = run(book, graph)

    assert done.status == "failed"
    (lost,) = book.events(run=done.run_id, type="race.failed")
    assert lost.raw["error_type"] == "RaceLost"
    assert len(joined(book, done)["failed"]) == 2
    assert replay(book, done.run_id).verdict == "acceptable"
    again = book.resume(done.run_id)
    assert again.status == "completed", again.error
    assert len(list(book.events(run=done.run_id, type="race.completed"))) == 1
    assert replay(book, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("shape", ["join", "ends", "map", "body", "nested"])
def test_a_resume_performs_all_that_failed(book: Ledger, shape: str) -> None:
    """What failed at once is performed again at once, by one resume."""

    def bad(name: str) -> Document:
        return stage("counted", metadata={"file": name, "fails": 1})

    two = forked(None, a=bad("a"), b=bad("b"), c=bad("c"))
    if shape == "ends":
        kept = [one for one in two["edges"] if one["to"] not in ("join", "end")]
        names = ("begin", "fork", "a", "b", "c")
        two = {
            **two,
            "nodes": {name: two["nodes"][name] for name in names},
            "edges": [one for one in kept if one["from"] != "join"],
        }
    if shape in ("map", "body"):
        work = stage("counted", metadata={"file": "m", "fails": 3})
        if shape == "map":
            work["kind"] = "map"
        else:
            work = {"kind": "map", "body": work}
        work["map_policy"] = {"items": ["0", "1", "2"], "max_concurrent": 1}
        two = chain(many=work)
    if shape == "nested":
        two = forked(None, x={"kind": "subagent", "graph": two}, y=bad("y"))
    done = run(book, two)
    assert done.status == "failed"
    assert "beside it failed" in str(done.error)

    again = book.resume(done.run_id)
    assert again.status == "completed", again.error
    made = [one.text for one in recorded_artifacts(book, done.run_id)]
    wanted = 4 if shape == "nested" else 3
    assert len([one for one in made if str(one).startswith("call ")]) == wanted
    assert replay(book, done.run_id).verdict == "acceptable"
