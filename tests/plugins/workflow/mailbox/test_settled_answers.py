"""Answers, names, waits and runs that have hardly begun: what is stated of mail is so."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from children import is_killed
from mailing import Outside, outside
from muniment import Run, replay
from muniment.documents.places import At
from muniment.documents.shapes import Numeric
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    workflow_execute,
    workflow_graph,
    workflow_mail,
    workflow_query,
    workflow_signal,
    workflow_status,
    workflow_update,
)
from muniment_plugins.workflow.api import ready_workflow
from workflow_stages import Document, chain, edge, says

ODD: dict[str, Any] = {
    "set": {1, 2},
    "nan": float("nan"),
    "inside": {"a": [float("inf")]},
    "bytes": b"x",
    "deep": None,
    "object": Path(),
}


def deep(levels: int) -> Any:
    """Return a value that nests so deep."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def answers_oddly(given: StageInput) -> Any:
    """Answer with what the update names."""
    return deep(40) if given.item == "deep" else ODD[str(given.item)]


def asks(name: str, payload: object, ledger: Ledger, run: str) -> None:
    """Send an update, and wait for nothing."""
    with pytest.raises(MunimentError):
        workflow_update(ledger, run, name, payload, timeout_s=0)


@pytest.mark.parametrize("odd", [*ODD])
def test_an_answer_that_is_no_answer(book: Ledger, outer: Outside, odd: str) -> None:
    """What can be no artifact refuses the update, and ends nothing; the sender is told so."""
    outer.when("a", partial(asks, "budget", odd))
    graph = {
        **chain(a={"handler": outside}, b={"handler": says}),
        "mailbox": {"updates": {"budget": answers_oddly}},
    }
    done = workflow_execute(book, "t", graph)
    (row,) = workflow_mail(book, done.run_id)
    assert row["state"] == "answered"
    assert "value" not in row
    assert row["error"]
    assert done.status == "completed", done.error
    assert replay(book, done.run_id).verdict == "acceptable"


def says_oddly(run: Run, stage: StageCall) -> object:
    """Answer an update, and publish, with what it names; then with what JSON has."""
    del run
    mail = stage.mail.receive("budget")
    assert mail is not None
    odd = deep(40) if mail.payload == "deep" else ODD[str(mail.payload)]
    refused: list[str] = []
    for say in (
        stage.mail.publish_query,
        lambda _, it: stage.mail.respond_update(mail, it),
    ):
        try:
            say("state", odd)
        except UsageError as error:
            refused.append(error.message)
    stage.mail.publish_query("state", {"a": [1, (2, 3)]})
    stage.mail.respond_update(mail, "fine")
    return str(len(refused))


@pytest.mark.parametrize("odd", [*ODD])
def test_a_handler_says_what_json_has(book: Ledger, odd: str) -> None:
    """Anything else is refused to the handler, and the update is open until it is said."""
    began = workflow_execute(book, "t", chain(a={"handler": says_oddly}))
    asks("budget", odd, book, began.run_id)
    done = book.resume(began.run_id)
    assert done.status == "completed", done.error
    (row,) = workflow_mail(book, done.run_id)
    assert (row["state"], row["value"]) == ("answered", "fine")
    assert workflow_query(book, done.run_id, "state") == {"a": [1, [2, 3]]}
    value: Any = done.value
    assert value["artifacts"][-1]["text"] == "2"
    assert replay(book, done.run_id).verdict == "acceptable"


def answers_twice(run: Run, stage: StageCall) -> object:
    """Answer an update, and then again."""
    del run
    mail = stage.mail.receive("budget")
    assert mail is not None
    stage.mail.respond_update(mail, 1)
    try:
        stage.mail.respond_update(mail, 2)
    except UsageError as error:
        return error.rule
    return "answered twice"


def test_an_update_is_answered_once(book: Ledger) -> None:
    """The first answer is the answer; a second one is refused before it is stated."""
    began = workflow_execute(book, "t", chain(a={"handler": answers_twice}))
    asks("budget", 7, book, began.run_id)
    done = book.resume(began.run_id)
    assert done.status == "completed", done.error
    (row,) = workflow_mail(book, done.run_id)
    assert (row["state"], row["value"]) == ("answered", 1)
    assert len([*book.events(run=done.run_id, type="update.answered")]) == 1
    value: Any = done.value
    assert value["artifacts"][-1]["text"] == "workflow/mail-answered"
    assert replay(book, done.run_id).verdict == "acceptable"


SECONDS = st.one_of(
    st.floats(max_value=0, exclude_max=True),
    st.sampled_from([float("nan"), float("inf"), 1e300, True, "5", None, 10**20]),
)


@given(SECONDS)
def test_what_nobody_can_wait_for(seconds: Any) -> None:
    """NaN, infinite and negative seconds, and what is no number, are refused by place."""
    graph = {"nodes": {"a": {"handler": "m:f", "timeout_s": seconds}}}
    with pytest.raises(UsageError) as error:
        Numeric(0, 31_536_000).check(seconds, At("here", "workflow"))
    assert error.value.remedy
    if seconds is not None:  # nothing is said
        with pytest.raises(MunimentError) as refused:
            workflow_graph(graph)
        assert "timeout_s" in refused.value.place


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0, "5"])
def test_waits_are_refused(book: Ledger, seconds: Any) -> None:
    """Whoever waits so is told at once, and nothing is sent."""

    def waits(run: Run, stage: StageCall) -> object:
        del run
        return str(stage.mail.receive("go", timeout_s=seconds))

    done = workflow_execute(book, "t", chain(a={"handler": waits}))
    assert done.status == "failed"
    assert "timeout_s" in str(done.error)
    before = book.head.size
    with pytest.raises(UsageError) as error:
        workflow_update(book, done.run_id, "go", timeout_s=seconds)
    assert (error.value.place, book.head.size) == ("timeout_s", before)


@pytest.mark.parametrize("name", ["status", "\x1b[31m", "\u202ego", "a\u200bb"])
def test_names_that_mislead(book: Ledger, name: str) -> None:
    """A name can be printed; and the status is the run's own, which nobody publishes."""

    def publishes(run: Run, stage: StageCall) -> object:
        del run
        stage.mail.publish_query(name, 1)
        return "published"

    done = workflow_execute(book, "t", chain(a={"handler": publishes}))
    assert done.status == "failed"
    assert ("the run itself" if name == "status" else "not the name") in str(done.error)
    status: Any = workflow_query(book, done.run_id)
    assert status["queries"] == []
    if name != "status":
        with pytest.raises(UsageError):
            workflow_signal(book, done.run_id, name)
        with pytest.raises(UsageError):
            workflow_graph(
                {**chain(a={"handler": says}), "mailbox": {"signals": [name]}}
            )


def counts(run: Run, stage: StageCall) -> object:
    """Go on as new until there are three counts."""
    del run
    if len([one for one in stage.artifacts if one.stage == "a"]) < 3:
        stage.mail.continue_as_new()
    return "done"


def test_letters_to_a_chain_that_ended(book: Ledger) -> None:
    """Whoever writes to any run of an ended chain is told that nobody takes it any more."""
    graph = chain(a={"handler": says}, b={"handler": counts})
    done = workflow_execute(book, "t", graph)
    assert done.status == "completed", done.error
    runs = [one.id for one in book.runs()]
    assert len(runs) == 3
    for run in runs:
        sent = workflow_signal(book, run, "go")
        assert (sent.state, sent.to) == ("undelivered", runs[-1])
        assert workflow_mail(book, run)[-1]["state"] == "undelivered"
        with pytest.raises(RefusedError) as error:
            workflow_update(book, run, "go", timeout_s=0)
        assert error.value.rule == "workflow/undelivered"


def waits_on(run: Run, stage: StageCall) -> object:
    """Go on as new twice, then wait for a letter."""
    del run
    if len([one for one in stage.artifacts if one.stage == "a"]) < 3:
        stage.mail.continue_as_new()
    mail = stage.mail.receive("go")
    assert mail is not None
    return str(mail.payload)


def test_a_letter_to_the_first_of_a_chain_is_taken_by_the_last(book: Ledger) -> None:
    """A letter to an early run goes to the last one, and its row says who took it."""
    graph = chain(a={"handler": says}, b={"handler": waits_on})
    done = workflow_execute(book, "t", graph)
    assert done.status == "paused"
    first, _, last = [one.id for one in book.runs()]
    sent = workflow_signal(book, first, "go", "hi")
    assert (sent.state, sent.to) == ("passed_on", last)
    assert book.resume(last).status == "completed"
    (row,) = workflow_mail(book, first)
    assert (row["state"], row["to"]) == ("passed_on", last)


def test_a_run_whose_heir_is_not_begun_takes_letters(book: Ledger) -> None:
    """Where the process ended before the next run began, a letter waits for that one."""
    program = ready_workflow(
        book, "t", chain(a={"handler": says}, b={"handler": counts})
    )
    first = book.execute(program, params=program.params())
    assert first.status == "completed"
    assert workflow_signal(book, first.run_id, "go").state == "waiting"
    assert workflow_mail(book, first.run_id)[0]["state"] == "waiting"


def test_a_run_that_has_hardly_begun_takes_mail(book: Ledger) -> None:
    """Killed right after its start, a run of a graph has a status, and letters wait for it."""
    graph: Document = {
        "nodes": {"a": {"handler": "mailing:receives"}, "b": {"handler": says}},
        "edges": [edge("a", "b")],
        "entry": "a",
    }
    killed = is_killed(
        book.path,
        lambda one: workflow_execute(one, "t", graph),
        0,
        plugins=("workflow",),
    )
    assert killed
    (run,) = [one.id for one in book.runs()]
    assert not [*book.events(run=run, type="workflow.started")]
    assert workflow_status(book, run)["at"] == ["a"]
    assert workflow_signal(book, run, "go", 5).state == "waiting"
    assert [one["state"] for one in workflow_mail(book, run)] == ["waiting"]
    done = book.resume(run)
    assert done.status == "completed", done.error
    assert [one["state"] for one in workflow_mail(book, run)] == ["taken"]


def fails(given: StageInput) -> object:
    """Fail."""
    raise ValueError(given.node)


def test_a_failed_run_keeps_its_mail(book: Ledger) -> None:
    """A run that failed can be resumed: what is sent to it waits, and is not undelivered."""
    done = workflow_execute(book, "t", chain(a={"handler": fails}))
    assert done.status == "failed"
    assert workflow_signal(book, done.run_id, "go").state == "waiting"
    assert not [*book.events(run=done.run_id, type="mail.undelivered")]
    assert json.dumps(workflow_mail(book, done.run_id)[0]["state"]) == '"waiting"'
