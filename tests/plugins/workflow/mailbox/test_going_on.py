"""Workflows that go on as new: each run ends, the next one begins once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mailing import Outside, continues, outside, receives
from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    workflow_aexecute,
    workflow_continue,
    workflow_continue_as_new,
    workflow_execute,
    workflow_mail,
    workflow_signal,
    workflow_status,
)
from muniment_plugins.workflow.api import ready_workflow
from workflow_stages import Document, chain, edge, says, says_later


def counting(**more: object) -> Document:
    """Return a graph that goes on as new until it has made three counts."""
    counts = {
        "handler": "workflow_stages:says",
        "output_contract": {"output_kinds": ["count"]},
    }
    last = {"handler": last_of_three}
    return {**chain(count=counts, again=last), **more}


def last_of_three(run: Any, stage: Any) -> Any:
    """Go on as new unless there are three counts."""
    del run
    if len([one for one in stage.artifacts if one.kind == "count"]) < 3:
        stage.mail.continue_as_new(f"{stage.task}+")
    return "done"


def test_p8_generations(book: Ledger) -> None:
    """P8: a run that goes on as new ends well; the next has its artifacts, and a number."""
    done = workflow_execute(book, "t", counting(), labels={"a": "b"}, key="once")
    assert done.status == "completed", done.error
    runs = [one.id for one in book.runs()]
    assert [workflow_status(book, one)["generation"] for one in runs] == [1, 2, 3]
    assert done.run_id == runs[2]
    first, second, third = (workflow_status(book, one) for one in runs)
    assert (first["continued_by"], second["continues"]) == (runs[1], runs[0])
    assert "continued_by" not in third
    counts = [one.id for one in done.artifacts if one.kind == "count"]
    assert counts == ["count.1#0", "g2/count.1#0", "g3/count.1#0"]
    assert [one.status for one in book.runs()] == ["completed"] * 3
    for one in runs:
        assert replay(book, one).verdict == "acceptable"
    stated = [*book.events(type="workflow.continued_as_new")]
    assert [(e.data["generation"], e.data["task"]) for e in stated] == [
        (2, "t+"),
        (3, "t++"),
    ]
    before = book.head.size
    assert workflow_continue(book, runs[0]).run_id == runs[2]
    assert workflow_execute(book, "t", counting(), key="once").run_id == runs[0]
    assert book.head.size == before


def test_a_process_that_ends_in_between(book: Ledger) -> None:
    """Where the process ended before the next run began, anybody begins it, once."""
    program = ready_workflow(book, "t", counting())
    first = book.execute(program, params=program.params())
    assert first.status == "completed"
    again = workflow_continue(book, first.run_id)
    assert (again.status, len([*book.runs()])) == ("completed", 3)
    assert workflow_continue(book, first.run_id).run_id == again.run_id
    assert len([*book.runs()]) == 3
    with pytest.raises(RefusedError) as error:
        workflow_continue(book, again.run_id)
    assert error.value.rule == "workflow/continue"


def test_somebody_outside_asks_for_it(book: Ledger, outer: Outside) -> None:
    """A run that is asked to go on as new does so at its next step; its mail goes along."""

    def ask(ledger: Ledger, run: str) -> None:
        workflow_signal(ledger, run, "go", "on")
        workflow_continue_as_new(ledger, run, "the next batch")

    outer.when("a", ask)
    done = workflow_execute(
        book, "t", chain(a={"handler": outside}, b={"handler": receives})
    )
    assert done.status == "completed", done.error
    assert done.artifacts[-1].text == "signal go: on"
    first, second = [one.id for one in book.runs()]
    assert [e.data["task"] for e in book.events(type="workflow.continued_as_new")] == [
        "the next batch"
    ]
    assert [one["state"] for one in workflow_mail(book, first)] == [
        "passed_on",
        "taken",
    ]
    assert [one["state"] for one in workflow_mail(book, second)] == ["taken"]
    late = workflow_signal(book, first, "go", "again")
    assert (late.state, late.to) == ("undelivered", second)  # which has ended, too


def test_branches_and_children_cannot(book: Ledger) -> None:
    """A branch, and a run that another one called, is refused."""
    fork = {
        "nodes": {
            "fork": {"kind": "fork"},
            "l": {"handler": continues},
            "r": {"handler": says},
            "join": {"kind": "join"},
        },
        "edges": [
            edge("fork", "l"),
            edge("fork", "r"),
            edge("l", "join"),
            edge("r", "join"),
        ],
        "entry": "fork",
    }
    inner = chain(x={"handler": continues})
    for graph in (fork, chain(sub={"kind": "subagent", "graph": inner})):
        done = workflow_execute(book, "t", graph)
        assert done.status == "failed"
        assert "cannot go on as new" in str(done.error)


def test_asynchronous_graphs(book: Ledger) -> None:
    """It is the same where handlers are awaited."""
    graph = counting()
    graph["nodes"]["count"]["handler"] = says_later
    done = asyncio.run(workflow_aexecute(book, "t", graph))
    assert (done.status, len([*book.runs()])) == ("completed", 3)
