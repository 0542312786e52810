"""A session has one writer at a time: others are refused, or write a fork of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from children import Child, start
from muniment import EffectFailed
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_ancestry,
    agent_session_archive,
    agent_session_fork,
    agent_session_inject,
    agent_session_open,
    agent_session_reset,
    agent_session_snapshot,
    agent_session_trim,
)
from muniment_plugins.workflow.sessions.outside import OutsideSession

Write = Callable[[Ledger], object]


def user(text: str) -> dict[str, Any]:
    """Return a message."""
    return {"role": "user", "content": text}


def texts(ledger: Ledger, session: str) -> list[str]:
    """Return what a session says."""
    found = agent_session_snapshot(ledger, session)
    assert found is not None
    return [one["content"] for one in found["messages"]]


WRITES: list[Write] = [
    lambda ledger: agent_session_inject(ledger, "desk", user("no")),
    lambda ledger: agent_session_trim(ledger, "desk", 0),
    lambda ledger: agent_session_reset(ledger, "desk"),
    lambda ledger: agent_session_archive(ledger, "desk"),
]


@pytest.mark.parametrize("write", WRITES)
def test_nobody_writes_what_a_run_has(book: Ledger, write: Write) -> None:
    """While a run has a session every other write is refused, and names the run."""
    agent_session_open(book, "desk")
    with book.run("first") as run, RunSession.join(run, "desk") as desk:
        desk.inject(user("mine"))
        with pytest.raises(RefusedError, match=run.id) as refused:
            write(book)
        desk.inject(user("mine, too"))
    assert refused.value.rule == "session/held"
    assert texts(book, "desk") == ["mine", "mine, too"]


def test_a_second_run_is_refused(book: Ledger) -> None:
    """So is a run that would join it."""
    with book.run("first") as run, RunSession.join(run, "desk") as desk:
        desk.inject(user("mine"))
        with book.run("second") as other, pytest.raises(EffectFailed, match=run.id):
            RunSession.join(other, "desk")


def test_a_second_run_forks(book: Ledger) -> None:
    """Or it writes a fork, as it was when the run joined."""
    with book.run("first") as run, RunSession.join(run, "desk") as desk:
        desk.inject(user("before"))
        desk.run.effect(
            "data", {}, lambda _: None
        )  # a fact is there with the next effect
        with (
            book.run("second") as other,
            RunSession.join(other, "desk", held="fork") as fork,
        ):
            fork.inject(user("theirs"))
        desk.inject(user("mine"))

    assert texts(book, "desk") == ["before", "mine"]
    assert texts(book, fork.id) == ["before", "theirs"]
    told = agent_session_ancestry(book, fork.id)
    assert told == {"parent_id": "desk", "child_ids": [], "root_id": "desk"}


def test_once_in_a_run(book: Ledger) -> None:
    """A run has it open once; after it let go it goes on where it was."""
    with book.run("first") as run:
        with RunSession.join(run, "desk") as desk:
            desk.inject(user("one"))
            with pytest.raises(RefusedError, match="session/open"):
                RunSession.join(run, "desk")
        with RunSession.join(run, "desk") as again:
            assert again.messages() == [user("one")]
            again.inject(user("two"))
    assert texts(book, "desk") == ["one", "two"]


def test_branches_of_a_run(book: Ledger) -> None:
    """What goes on at once in a run has forks, each by the name of its branch."""
    with book.run("first") as run, RunSession.join(run, "desk") as desk:
        desk.inject(user("before"))
        branches = [desk.branch(run.scope(f"b/{n}"), f"desk~b/{n}") for n in range(2)]

        def work(branch: RunSession) -> None:
            for number in range(20):
                branch.inject(user(f"{branch.id} {number}"))
                branch.run.effect("data", {"n": number}, lambda _: None)

        threads = [threading.Thread(target=work, args=(one,)) for one in branches]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        desk.inject(user("after"))
        rid = run.id

    assert texts(book, "desk") == ["before", "after"]
    for number in range(2):
        name = f"desk~b/{number}"
        said = ["before", *(f"{name} {n}" for n in range(20))]
        assert texts(book, f"{name}@{rid}") == said
    children = agent_session_ancestry(book, "desk")
    assert children is not None
    assert sorted(children["child_ids"]) == [f"desk~b/{n}@{rid}" for n in range(2)]


def test_threads_outside_of_runs(book: Ledger) -> None:
    """Of threads that read the same moment one writes, and the others are refused."""
    agent_session_open(book, "desk")
    read = [OutsideSession.of(book, "desk") for _ in range(6)]
    refused: list[str] = []

    def write(number: int) -> None:
        try:
            read[number].inject(user(str(number)))
        except RefusedError as error:
            refused.append(error.rule)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert refused == ["session/written-meanwhile"] * 5
    assert len(texts(book, "desk")) == 1


def test_processes(book: Ledger, place: Path) -> None:
    """Processes that join one session at once never interleave: each has it whole, or not."""

    def converse(report: object) -> None:
        del report
        with Ledger.open(book.path, plugins=("workflow",)) as opened:
            (place / f"here-{threading.get_native_id()}").touch()
            while not (place / "go").exists():
                pass
            # Of those that come while another one has it, each is refused.
            with (
                opened.run("converse") as run,
                suppress(EffectFailed),
                RunSession.join(run, "desk") as desk,
            ):
                for number in range(8):
                    desk.inject(user(f"{run.id} {number}"))
                    run.effect("data", {"n": number}, lambda _: None)

    children: list[Child] = [start(converse) for _ in range(3)]
    (place / "go").touch()
    for one in children:
        assert one.end() == (0, [])

    said = [one.split() for one in texts(book, "desk")]
    runs = list(dict.fromkeys(run for run, _ in said))
    assert said == [[run, str(n)] for run in runs for n in range(8)]
    assert runs


def test_processes_that_fork(book: Ledger, place: Path) -> None:
    """Those that fork write all, each in a session of its own."""

    def converse(report: object) -> None:
        del report
        with Ledger.open(book.path, plugins=("workflow",)) as opened:
            while not (place / "go").exists():
                pass
            with (
                opened.run("converse") as run,
                RunSession.join(run, "desk", held="fork") as desk,
            ):
                for number in range(5):
                    desk.inject(user(f"{run.id} {number}"))
                    run.effect("data", {"n": number}, lambda _: None)

    children: list[Child] = [start(converse) for _ in range(2)]
    (place / "go").touch()
    for one in children:
        assert one.end() == (0, [])

    for run in book.runs():
        mine = f"desk~{run.id}"
        names = [mine] if book_has(book, mine) else ["desk"]
        said = [one for one in texts(book, names[0]) if one.startswith(run.id)]
        assert said == [f"{run.id} {n}" for n in range(5)]


def book_has(ledger: Ledger, session: str) -> bool:
    """Tell whether there is such a session."""
    return agent_session_snapshot(ledger, session) is not None


def test_what_a_run_adds_later_is_a_fork(book: Ledger) -> None:
    """A failed run that is resumed after somebody else wrote changes no moment of theirs."""
    calls: list[int] = []

    def program(run: Any) -> str:
        with RunSession.join(run, "desk") as desk:
            desk.inject(user("mine"))
            run.effect("tool", {}, flaky)
            desk.inject(user("later"))
        return "done"

    def flaky(_: object) -> str:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("down")
        return "up"

    done = book.execute(program)
    assert done.status == "failed"
    agent_session_inject(book, "desk", user("theirs"))
    before = agent_session_snapshot(book, "desk")
    done = book.resume(done.run_id, program)

    assert done.status == "completed"
    assert agent_session_snapshot(book, "desk") == before
    assert texts(book, "desk") == ["mine", "theirs"]
    assert texts(book, f"desk@{done.run_id}") == ["mine", "later"]


def test_a_part_is_read_and_forked(book: Ledger) -> None:
    """What a run wrote has a name, is written by nobody, and can be forked."""
    with book.run("first") as run, RunSession.own(run, "node:act") as own:
        own.inject(user("mine"))
        name = f"node:act@{run.id}"
    with pytest.raises(Exception, match="agent_session_fork"):
        agent_session_inject(book, name, user("no"))
    fork = agent_session_fork(book, name, "mine")
    agent_session_inject(book, fork, user("on"))
    assert texts(book, fork) == ["mine", "on"]
