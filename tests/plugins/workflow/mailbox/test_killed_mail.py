"""A run that is killed wherever it takes mail takes each letter once, and comes to the same."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from children import Child, Report, is_killed, start
from mailing import answers, receives, waits
from muniment import replay
from muniment.errors import RefusedError, RunFenced
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    workflow_execute,
    workflow_mail,
    workflow_pause,
    workflow_query,
    workflow_signal,
    workflow_status,
    workflow_update,
)
from muniment_plugins.workflow.api import ready_workflow
from workflow_stages import Document, chain, says

PLUGINS = ("workflow",)
BOX: Document = {"signals": ["note"], "updates": {"budget": answers}}
WHOLE: Document = {
    **chain(
        begin={"handler": receives, "metadata": {"letter": "begin"}},
        a={"handler": says},
        b={"handler": receives},
        c={"handler": says},
    ),
    "mailbox": BOX,
}
COMMITS = 17
"""How many commits the run takes after its pause."""


def paused(book: Ledger) -> str:
    """Return a run that waits for its first letter, and has all letters now."""
    done = workflow_execute(book, "t", WHOLE, seed="5eed")
    assert done.status == "paused"
    for name, value in (("note", "one"), ("note", "two"), ("go", 3), ("begin", 1)):
        workflow_signal(book, done.run_id, name, value)
    with pytest.raises(Exception, match="nobody has answered"):
        workflow_update(book, done.run_id, "budget", 40, timeout_s=0)
    workflow_signal(book, done.run_id, "stray")
    return done.run_id


@cache
def uninterrupted(digests: tuple[()] = ()) -> list[Any]:
    """Return a place for what all runs of this module come to."""
    return [*digests]


@pytest.mark.parametrize("commit", range(COMMITS))
def test_killed_while_it_takes_mail(book: Ledger, commit: int) -> None:
    """Killed after any commit and resumed, it takes every letter once; the end is equal."""
    run = paused(book)
    killed = is_killed(book.path, lambda one: one.resume(run), commit, plugins=PLUGINS)
    assert killed
    done = book.resume(run)
    assert done.status == "completed", done.error
    taken = Counter(
        letter
        for event in book.events(run=run, type="mail.completed")
        for letter in event.data.get("about", {}).get("mail", [])  # type: ignore[attr-defined]
    )
    rows = workflow_mail(book, run)
    assert taken == Counter(one["hash"] for one in rows)
    assert [(one["name"], one["state"]) for one in rows] == [
        ("note", "taken"),
        ("note", "taken"),
        ("go", "taken"),
        ("begin", "taken"),
        ("budget", "answered"),
        ("stray", "undelivered"),
    ]
    assert len([*book.events(run=run, type="update.answered")]) == 1
    report = replay(book, run)
    assert (report.verdict, report.result_digest) == ("acceptable", done.result_digest)
    known = uninterrupted()
    known.append(artifacts_of(done.value))
    assert known[0] == known[-1]


def artifacts_of(value: Any) -> list[tuple[str, Any]]:
    """Return the ids and texts of a result, of whatever place they were made in."""
    return sorted(
        (one["kind"], str(one.get("text", one.get("data"))))
        for one in value["artifacts"]
    )


def walking_elsewhere(book: Ledger, seconds: int = 30) -> Child:
    """Walk a graph that waits for a letter in another process, which tells its status."""
    graph = chain(
        w={"handler": waits, "metadata": {"seconds": seconds}}, z={"handler": says}
    )

    def walk(report: Report) -> None:
        with Ledger.open(book.path, plugins=PLUGINS) as mine:
            report(workflow_execute(mine, "t", graph).status)

    return start(walk)


def test_an_open_run_of_another_process(book: Ledger) -> None:
    """A run that waits in another process takes what this one sends, and answers it."""
    child = walking_elsewhere(book)
    run = begun(book)
    assert workflow_query(book, run) == {
        **workflow_status(book, run),
        "at": ["w"],
        "status": "open",
    }
    assert workflow_update(book, run, "go", {"n": 1}, timeout_s=30) == {"got": {"n": 1}}
    assert child.end() == (0, ["completed"])
    assert replay(book, run).verdict == "acceptable"


def test_a_pause_of_another_process(book: Ledger) -> None:
    """A run is paused from another process at its next node, and its process ends."""
    child = walking_elsewhere(book)
    run = begun(book)
    workflow_pause(book, run, "lunch")
    workflow_signal(book, run, "go")
    assert child.end() == (0, ["paused"])
    assert book.resume(run).status == "completed"


def test_a_canceled_run_takes_none(book: Ledger) -> None:
    """Who waits in a run that somebody cancels stops waiting, and takes nothing."""
    graph = chain(w={"handler": waits, "metadata": {"seconds": 60}})

    def walk(report: Report) -> None:
        with Ledger.open(book.path, plugins=PLUGINS) as mine:
            try:
                workflow_execute(mine, "t", graph)
            except RunFenced as error:
                report(error.rule)

    child = start(walk)
    run = begun(book)
    book.cancel(run)
    began = time.monotonic()
    workflow_signal(book, run, "go")
    child.end()
    assert time.monotonic() - began < 30
    assert [one["state"] for one in workflow_mail(book, run)] == ["undelivered"]
    assert not [*book.events(run=run, type="mail.completed")]


def test_a_fenced_owner_takes_none(book: Ledger, place: Path) -> None:
    """Once another process took a run over, only that one takes its mail."""
    first = walking_elsewhere(book, 60)
    run = begun(book)

    def take(report: Report) -> None:
        with Ledger.open(book.path, plugins=PLUGINS) as mine:
            report(mine.resume(run, take_over=True).status)

    second = start(take)
    until(lambda: [*book.events(run=run, type="run.resumed")])
    time.sleep(0.3)  # so that both wait now
    workflow_signal(book, run, "go", 1)
    assert second.end() == (0, ["completed"])
    code, said = first.end()
    assert "completed" not in said, (code, said)
    assert len([*book.events(run=run, type="mail.completed")]) == 1
    assert [one["state"] for one in workflow_mail(book, run)] == ["taken"]
    assert place.is_dir()


def test_two_senders_at_once(book: Ledger) -> None:
    """What several processes send at once is taken once each, none is lost."""
    run = workflow_execute(
        book, "t", {**chain(w={"handler": receives}), "mailbox": BOX}
    ).run_id

    def send(_: Report) -> None:
        with Ledger.open(book.path, plugins=PLUGINS) as mine:
            for number in range(10):
                workflow_signal(mine, run, "note", number)

    children = [start(send) for _ in range(4)]
    assert [one.end()[0] for one in children] == [0] * 4
    workflow_signal(book, run, "go")
    assert book.resume(run).status == "completed"
    rows = workflow_mail(book, run)
    # No node came after the one that waited: what it did not want is said to be left.
    assert Counter(one["state"] for one in rows) == {"taken": 1, "undelivered": 40}


def test_mail_in_asynchronous_graphs(book: Ledger) -> None:
    """Where handlers are awaited, they wait for letters without holding the others up."""
    graph = chain(w={"handler": awaits}, z={"handler": says})
    program = ready_workflow(book, "t", graph)

    async def walk() -> str:
        running = asyncio.create_task(book.aexecute(program, params=program.params()))
        while not [*book.events(type="mail.requested")]:  # noqa: ASYNC110 - events of a ledger
            await asyncio.sleep(0.01)
        run = next(book.events(type="workflow.started")).run
        workflow_signal(book, str(run), "go", "soon")
        done = await running
        assert done.status == "completed"
        return done.run_id

    run = asyncio.run(walk())
    assert [one["state"] for one in workflow_mail(book, run)] == ["taken"]


async def awaits(run: Any, stage: Any) -> Any:
    """Wait for a letter."""
    del run
    mail = await stage.mail.areceive("go", timeout_s=30)
    return str(mail.payload)


def test_without_a_key_nothing_is_sent(book: Ledger) -> None:
    """Only who may write to the ledger writes to its runs."""
    run = workflow_execute(book, "t", chain(a={"handler": says})).run_id
    with (
        Ledger.open(book.path, plugins=PLUGINS, readonly=True) as mine,
        pytest.raises(RefusedError),
    ):
        workflow_signal(mine, run, "go")


def begun(book: Ledger) -> str:
    """Return the run of another process that waits for mail."""
    until(lambda: [*book.events(type="mail.requested")])
    return str(next(book.events(type="workflow.started")).run)


def until(there: Any) -> None:
    """Wait until *there* gives something."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)
