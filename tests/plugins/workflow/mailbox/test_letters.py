"""Signals, updates, queries and pauses of a run: where they are taken, and what is said."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mailing import Outside, answers, outside, publishes, receives, refuses, waits
from muniment import replay, verify
from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    SentMail,
    WorkflowDone,
    workflow_execute,
    workflow_graph,
    workflow_mail,
    workflow_pause,
    workflow_query,
    workflow_resume,
    workflow_signal,
    workflow_status,
    workflow_update,
    workflow_validate,
)
from workflow_stages import Document, chain, edge, says

BOX: Document = {"signals": ["note"], "updates": {"budget": answers, "limit": refuses}}


def stage(handler: Any, **more: object) -> Document:
    """Return a stage that *handler* does."""
    return {"handler": handler, **more}


def signal(name: str, payload: object = None) -> Any:
    """Return what sends a signal to the run that it is given."""
    return lambda ledger, run: workflow_signal(ledger, run, name, payload)


def updated(name: str, payload: object = None) -> Any:
    """Return what sends an update, and does not wait."""

    def send(ledger: Ledger, run: str) -> None:
        with pytest.raises(CannotTellError):
            workflow_update(ledger, run, name, payload, timeout_s=0)

    return send


def ran(book: Ledger, graph: Document, status: str = "completed") -> WorkflowDone:
    """Run *graph*, and replay it if it came to an end."""
    done = workflow_execute(book, "t", graph)
    assert done.status == status, done.error
    if status == "completed":
        report = replay(book, done.run_id)
        assert (report.verdict, report.result_digest) == (
            "acceptable",
            done.result_digest,
        )
    return done


def texts(done: WorkflowDone) -> list[str | None]:
    """Return what the stages of a run said."""
    return [one.text for one in done.artifacts if one.kind == "artifact"]


def states(book: Ledger, run: str) -> list[tuple[str, str]]:
    """Return what became of each letter."""
    return [(one["name"], one["state"]) for one in workflow_mail(book, run)]


def test_a_signal_is_an_artifact_at_the_next_step(book: Ledger, outer: Outside) -> None:
    """A declared signal that comes while a node works is taken at the node after it."""
    outer.when("a", signal("note", "look at b"))
    outer.when("a", signal("note", {"x": 1}))
    graph = chain(a=stage(outside), b=stage(outside), c=stage(outside))
    done = ran(book, {**graph, "mailbox": BOX})
    assert texts(done)[1] == "artifact None, signal {'x': 1}, signal look at b"
    made = [one for one in done.artifacts if one.kind == "signal"]
    assert [(one.id, one.title, one.stage) for one in made] == [
        ("b.1/mail#0", "note", "b"),
        ("b.1/mail#1", "note", "b"),
    ]
    assert states(book, done.run_id) == [("note", "taken")] * 2
    assert workflow_mail(book, done.run_id)[0]["scope"] == "b.1"
    taken = [*book.events(run=done.run_id, type="mail.completed")]
    assert len(taken) == 1  # and nothing is written where nothing waits


def test_letters_are_signed_events_that_no_run_owns(
    book: Ledger, outer: Outside
) -> None:
    """A letter is an event of its own, in the series of the run's mail; all verifies."""
    outer.when("a", signal("note"))
    done = ran(book, {**chain(a=stage(outside), b=stage(says)), "mailbox": BOX})
    (sent,) = book.events(series=f"workflow.mail/{done.run_id}")
    assert (sent.type, sent.run, sent.series[0].count) == ("mail.sent", None, 1)
    assert verify(book.path, home=book.home).ok


def test_a_waiting_handler_gets_a_letter(book: Ledger, outer: Outside) -> None:
    """A handler waits in its process for a signal, or an update, which it answers."""
    outer.when("a", signal("go", 7))
    outer.when("b", updated("go", 8))
    node = stage(waits, metadata={"seconds": 5})
    done = ran(
        book, chain(a=stage(outside), w=node, b=stage(outside), v=node, n=stage(waits))
    )
    assert [texts(done)[at] for at in (1, 3, 4)] == ["go: 7", "go: 8", "nothing"]
    assert states(book, done.run_id) == [("go", "taken"), ("go", "answered")]
    assert workflow_mail(book, done.run_id)[1]["value"] == {"got": 8}


def test_a_run_pauses_until_a_letter_is_there(book: Ledger) -> None:
    """Without a time nothing waits: the run pauses, and a resume looks again."""
    done = ran(book, chain(w=stage(receives)), "paused")
    assert book.resume(done.run_id).status == "paused"
    workflow_signal(book, done.run_id[:12], "other", 1)
    workflow_signal(book, done.run_id, "go", {"by": "lena"})
    again = book.resume(done.run_id)
    assert again.status == "completed"
    assert replay(book, done.run_id).result_digest == again.result_digest
    assert states(book, done.run_id) == [("other", "undelivered"), ("go", "taken")]
    lost = next(book.events(run=done.run_id, type="mail.undelivered"))
    assert lost.data["names"] == ["other"]


def test_updates_are_answered(book: Ledger, outer: Outside) -> None:
    """A declared function answers an update; what it raises refuses it, and ends nothing."""
    for name, value in (("budget", 40), ("limit", 99)):
        outer.when("a", updated(name, value))
    done = ran(book, {**chain(a=stage(outside), b=stage(says)), "mailbox": BOX})
    rows = workflow_mail(book, done.run_id)
    assert [one["state"] for one in rows] == ["answered", "answered"]
    assert rows[0]["value"] == {"set": 40, "of": 1}
    assert rows[1]["error"] == "StageFailed: 99 is too much"
    made = [one for one in done.artifacts if one.kind == "update"]
    assert [one.data for one in made] == [
        {"request": 40, "answer": {"set": 40, "of": 1}}
    ]


def test_queries_write_nothing(book: Ledger, outer: Outside) -> None:
    """A query tells what the run last published, while it runs and later."""
    seen: list[object] = []

    def look(ledger: Ledger, run: str) -> None:
        before = ledger.head.size
        seen.append(workflow_query(ledger, run, "progress"))
        seen.append(workflow_status(ledger, run))
        assert ledger.head.size == before

    outer.when("b", look)
    done = ran(book, chain(a=stage(publishes), b=stage(outside), c=stage(publishes)))
    said: Any = seen
    assert said[0] == {"at": "a"}
    assert (said[1]["status"], said[1]["at"]) == ("open", ["b"])
    assert said[1]["queries"] == ["progress"]
    assert workflow_query(book, done.run_id, "progress") == {"at": "c"}
    with pytest.raises(UsageError) as error:
        workflow_query(book, done.run_id, "progres")
    assert (error.value.rule, "progress" in error.value.remedy) == (
        "workflow/query",
        True,
    )


def test_a_pause_holds_and_a_resume_passes_it(book: Ledger, outer: Outside) -> None:
    """A pause stops the run at its next step; a resume goes on, and pauses no more."""
    outer.when("a", lambda ledger, run: workflow_pause(ledger, run, "late data"))
    done = ran(book, chain(a=stage(outside), b=stage(says), c=stage(says)), "paused")
    assert workflow_status(book, done.run_id)["status"] == "paused"
    stated = next(book.events(run=done.run_id, type="run.paused"))
    assert "local asked for it: late data" in str(book.resolve(stated)["reason"])
    again = workflow_resume(book, done.run_id)
    assert isinstance(again, WorkflowDone)
    assert again.status == "completed"
    assert replay(book, done.run_id).verdict == "acceptable"
    assert states(book, done.run_id) == [("pause", "taken")]


def test_a_pause_is_taken_back(book: Ledger, outer: Outside) -> None:
    """A pause that no step has come to is void once somebody resumes the run."""
    outer.when("a", workflow_pause)
    outer.when("a", workflow_resume)
    done = ran(book, chain(a=stage(outside), b=stage(says)))
    assert states(book, done.run_id) == [("pause", "void"), ("resume", "void")]


def test_a_pause_reaches_children(book: Ledger, outer: Outside) -> None:
    """A run that is paused pauses what it called: at the next step of that."""
    inner = chain(x=stage(outside), y=stage(says))

    def pause(ledger: Ledger, run: str) -> None:
        parent: Any = next(ledger.events(run=run, limit=1)).data["parent"]
        workflow_pause(ledger, parent["run"])

    outer.when("x", pause)
    graph = chain(sub={"kind": "subagent", "graph": inner}, after=stage(says))
    done = ran(book, graph, "paused")
    (child,) = book.children(done.run_id)
    assert [one.status for one in book.runs()] == ["paused", "paused"]
    assert [e.data["node"] for e in book.events(run=child, type="node.activated")] == [
        "x",
        "y",
    ]
    assert book.resume(done.run_id).status == "completed"
    assert states(book, done.run_id) == [("pause", "taken")]


def test_letters_for_parallel_paths(book: Ledger, outer: Outside) -> None:
    """Of paths at once one takes a letter, once; what it is comes to the join."""
    outer.when("fork_in", signal("note", "x"))
    graph = {
        "nodes": {
            "fork_in": stage(outside),
            "fork": {"kind": "fork"},
            "l": stage(says),
            "r": stage(says),
            "join": {"kind": "join"},
            "end": stage(outside),
        },
        "edges": [
            edge("fork_in", "fork"),
            edge("fork", "l"),
            edge("fork", "r"),
            edge("l", "join"),
            edge("r", "join"),
            edge("join", "end"),
        ],
        "entry": "fork_in",
        "mailbox": BOX,
    }
    done = ran(book, graph)
    assert str(texts(done)[-1]).count("signal x") == 1


def test_nobody_receives_in_a_race(book: Ledger) -> None:
    """A handler in a race is refused: the loser would have taken what it got."""
    graph = {
        "nodes": {
            "fork": {"kind": "fork"},
            "l": stage(waits),
            "r": stage(waits),
            "join": {"kind": "join", "join_policy": {"strategy": "first"}},
        },
        "edges": [
            edge("fork", "l"),
            edge("fork", "r"),
            edge("l", "join"),
            edge("r", "join"),
        ],
        "entry": "fork",
    }
    done = workflow_execute(book, "t", graph)
    assert done.status == "failed"
    assert "nobody receives mail in a race" in str(done.error)


def test_late_letters_are_said_to_be_late(book: Ledger) -> None:
    """Who writes to a run that has ended is told so; the letter stays, undelivered."""
    done = ran(book, chain(a=stage(says)))
    late = workflow_signal(book, done.run_id, "go", 1)
    assert isinstance(late, SentMail)
    assert late.state == "undelivered"
    with pytest.raises(RefusedError) as error:
        workflow_update(book, done.run_id, "budget", 1)
    assert error.value.rule == "workflow/undelivered"
    assert states(book, done.run_id) == [
        ("go", "undelivered"),
        ("budget", "undelivered"),
    ]


def test_what_waits_as_a_run_fails_is_taken_when_it_is_resumed(
    book: Ledger, outer: Outside
) -> None:
    """A failed run has not ended for good: its mail waits for the resume."""
    outer.when("a", signal("note", "x"))
    outer.when("a", lambda *_: (_ for _ in ()).throw(ValueError("not yet")))
    graph = {**chain(a=stage(outside), b=stage(outside)), "mailbox": BOX}
    done = ran(book, graph, "failed")
    assert states(book, done.run_id) == [("note", "waiting")]
    assert book.resume(done.run_id).status == "completed"
    assert states(book, done.run_id) == [("note", "taken")]
    assert replay(book, done.run_id).verdict == "acceptable"


def test_a_fork_has_a_mailbox_of_its_own(book: Ledger, outer: Outside) -> None:
    """A fork is told what its origin took, and takes none of its later letters."""
    outer.when("a", signal("note", "first"))
    graph = {
        **chain(a=stage(outside), b=stage(outside), c=stage(outside)),
        "mailbox": BOX,
    }
    outer.when("b", signal("note", "second"))
    done = ran(book, graph)
    at = [e.seq for e in book.events(run=done.run_id, type="stage.completed")][1]
    forked = book.fork(done.run_id, at=at)
    assert forked.status == "completed", forked.error
    value: Any = forked.value
    kinds = [one["text"] for one in value["artifacts"] if one["kind"] == "signal"]
    assert kinds == ["first"]
    assert replay(book, forked.run_id).verdict == "acceptable"


@pytest.mark.parametrize(
    ("act", "rule"),
    [
        (partial(workflow_signal, run="zz", name="go"), "run/unknown"),
        (partial(workflow_signal, name="two words"), "workflow/mail-name"),
        (partial(workflow_signal, name="go", payload=object()), "workflow/type"),
        (
            partial(workflow_signal, name="go", payload="x" * (1 << 20)),
            "workflow/mail-size",
        ),
        (partial(workflow_query, name="nothing"), "workflow/query"),
    ],
)
def test_refusals(book: Ledger, act: Any, rule: str) -> None:
    """What cannot be sent is refused, and nothing is written."""
    done = ran(book, chain(a=stage(says)))
    before = book.head.size
    with pytest.raises(UsageError) as error:
        act(book, **({} if "run" in act.keywords else {"run": done.run_id}))
    assert (error.value.rule, book.head.size) == (rule, before)


def test_a_run_without_a_graph_takes_no_mail(book: Ledger) -> None:
    """A run of another program reads no mail, so nobody can send it any."""
    with book.run("plain") as run:
        run.record("note.added", {"text": "x"})
    with pytest.raises(UsageError) as error:
        workflow_signal(book, run.id, "go")
    assert error.value.rule == "workflow/run"


@pytest.mark.parametrize(
    ("box", "place"),
    [
        ({"signal": ["a"]}, "mailbox"),
        ({"signals": ["a b"]}, "mailbox.signals[0]"),
        ({"updates": {"a": "nowhere"}}, "mailbox.updates.a"),
        ({"updates": {"a/b": "m:f"}}, "mailbox.updates['a/b']"),
    ],
)
def test_the_document_of_a_mailbox(box: Document, place: str) -> None:
    """What a graph says of its mailbox is checked, with its place; its names have an order."""
    graph = {**chain(a=stage(says)), "mailbox": box}
    with pytest.raises(UsageError) as error:
        workflow_graph(graph)
    assert place in error.value.place
    good = {**chain(a=stage(says)), "mailbox": {"signals": ["b", "a"]}}
    assert workflow_graph(good).document["mailbox"] == {"signals": ["a", "b"]}
    assert workflow_validate(good).valid
