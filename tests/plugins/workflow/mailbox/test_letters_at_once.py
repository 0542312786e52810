"""Branches and items that wait for letters wait each for itself, in threads and in tasks.

Rules: the run pauses once none of them can go on, and says what each waits for. One resume
takes all the letters that are there, and what others did meanwhile is done once. An operator's
pause stops all of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from deciding import approver, signed
from mailing import Outside, outside
from muniment import Run, replay, verify
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    workflow_execute,
    workflow_mail,
    workflow_pause,
    workflow_signal,
    workflow_status,
    workflow_update,
)
from workflow_stages import Document, chain, edge, graph_of

DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _forget() -> None:
    DONE.clear()


def name_of(stage: StageCall) -> str:
    """Return which letter a stage waits for."""
    if stage.metadata.get("one_name"):
        return "go"
    return f"go-{stage.node}" if stage.item is None else f"go-{stage.item}"


def receives(run: Run, stage: StageCall) -> str:
    """Wait for a letter."""
    del run
    mail = stage.mail.receive(name_of(stage))
    assert mail is not None
    if mail.kind == "update":
        stage.mail.respond_update(mail, "told")
    return f"{mail.name} {mail.payload}"


async def receives_later(run: Run, stage: StageCall) -> str:
    """Wait for a letter in a task."""
    del run
    mail = await stage.mail.areceive(name_of(stage))
    assert mail is not None
    if mail.kind == "update":
        stage.mail.respond_update(mail, "told")
    return f"{mail.name} {mail.payload}"


def does(given: StageInput) -> str:
    """Do something, which counts."""
    DONE[given.node] += 1
    return given.node


def fork(**branches: Document) -> Document:
    """Return a fork of these branches."""
    return graph_of(
        {"fork": {"kind": "fork"}, **branches, "both": {"kind": "join"}},
        *(edge("fork", name) for name in branches),
        *(edge(name, "both") for name in branches),
    )


def mapped(items: int, **more: Any) -> Document:
    """Return a map over so many items."""
    policy = {"items": [*range(items)], **more.pop("policy", {})}
    return {"kind": "map", "map_policy": policy, "handler": receives, **more}


WAIT: Document = {"handler": receives}
ONE: Document = {"handler": receives, "metadata": {"one_name": True}}
GRAPHS: dict[str, tuple[Document, list[str], int]] = {
    "branches": (fork(a=WAIT, b=WAIT, c={"handler": does}), ["go-a", "go-b"], 2),
    "one name": (fork(a=ONE, b=ONE), ["go", "go"], 2),
    "items": (chain(act=mapped(4)), [f"go-{at}" for at in range(4)], 4),
    "items of one name": (
        chain(act=mapped(4, metadata={"one_name": True})),
        ["go"] * 4,
        4,
    ),
    "two at a time": (
        chain(act=mapped(4, policy={"max_concurrent": 2})),
        [f"go-{at}" for at in range(4)],
        4,
    ),
    "one at a time": (
        chain(act=mapped(3, policy={"max_concurrent": 1})),
        [f"go-{at}" for at in range(3)],
        1,
    ),
}
"""Graph, the letters that it waits for, and how many of them it waits for at once."""


def _later(value: Any) -> Any:
    """Return a graph whose functions that wait must be awaited."""
    if isinstance(value, dict):
        return {name: _later(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_later(one) for one in value]
    return receives_later if value is receives else value


def resumed(book: Ledger, run: str, lanes: str) -> Any:
    """Resume a run."""
    return asyncio.run(book.aresume(run)) if lanes == "tasks" else book.resume(run)


def send(book: Ledger, run: str, name: str, kind: str) -> None:
    """Send a letter."""
    if kind == "signal":
        workflow_signal(book, run, name, 1)
        return
    with pytest.raises(CannotTellError):
        workflow_update(book, run, name, 1, timeout_s=0)


@pytest.mark.parametrize("kind", ["signal", "update"])
@pytest.mark.parametrize("lanes", ["threads", "tasks"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_one_resume_takes_all_letters(
    book: Ledger, graph: str, lanes: str, kind: str
) -> None:
    """The run says what all of its lanes wait for; what is there is taken by one resume."""
    document, letters, at_once = GRAPHS[graph]
    document = _later(document) if lanes == "tasks" else document
    done: Any = workflow_execute(book, "t", document)
    run = done.run_id
    assert done.status == "paused", done.error
    because = str(workflow_status(book, run)["because"])
    assert all(f"the letter {name}" in because for name in letters[:at_once]), because
    assert because.count("waits for") == at_once
    for name in letters:
        send(book, run, name, kind)
    done = resumed(book, run, lanes)
    assert done.status == "completed", done.error
    assert {one["state"] for one in workflow_mail(book, run)} <= {"taken", "answered"}
    assert set(DONE.values()) <= {1}
    assert replay(book, run).verdict == "acceptable"
    assert verify(book.path, home=book.home).ok


@pytest.mark.parametrize("first", ["letter", "answer"])
def test_a_letter_is_taken_beside_a_question(book: Ledger, first: str) -> None:
    """A run that waits for people and for a letter is resumed by either of them."""
    ann = approver(book, "ann")
    done: Any = workflow_execute(book, "t", fork(a=WAIT, b={"kind": "escalation"}))
    run = done.run_id
    told = workflow_status(book, run)
    assert "the letter go-a; a decision" in str(told["because"])
    assert len(book.pending()) == 1
    acts: list[Callable[[], object]] = [
        lambda: workflow_signal(book, run, "go-a", 1),
        lambda: book.answer(signed(book.pending()[0], ann, "approved")),
    ]
    for act in acts if first == "letter" else reversed(acts):
        assert done.status == "paused"
        act()
        done = book.resume(run)
    assert done.status == "completed", done.error
    assert replay(book, run).verdict == "acceptable"


def test_a_letter_is_taken_below_a_question(book: Ledger) -> None:
    """So is a run that waits for the letter to a run that it called."""
    approver(book, "ann")
    inner: Document = {"kind": "subagent", "graph": chain(a=WAIT)}
    done: Any = workflow_execute(book, "t", fork(a=inner, b={"kind": "escalation"}))
    (child,) = book.children(done.run_id)
    workflow_signal(book, child, "go-a", 1)
    assert book.resume(done.run_id).status == "paused"
    assert workflow_status(book, child)["status"] == "completed"


def test_an_operator_pauses_all_branches(book: Ledger, outer: Outside) -> None:
    """A pause that was asked for stops the run at its next node, whatever the others do."""
    outer.when("a", lambda ledger, run: workflow_pause(ledger, run, reason="late data"))
    work: Document = {"handler": outside}
    graph = graph_of(
        {
            "fork": {"kind": "fork"},
            "a": work,
            "after": work,
            "b": WAIT,
            "both": {"kind": "join"},
        },
        edge("fork", "a"),
        edge("fork", "b"),
        edge("a", "after"),
        edge("after", "both"),
        edge("b", "both"),
    )
    done: Any = workflow_execute(book, "t", graph)
    assert "late data" in str(workflow_status(book, done.run_id)["because"])
    assert done.status == "paused"
    done = book.resume(done.run_id)
    assert "go-b" in str(workflow_status(book, done.run_id)["because"])
    workflow_signal(book, done.run_id, "go-b", 1)
    assert book.resume(done.run_id).status == "completed"
