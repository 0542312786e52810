"""A fork of a run says what it says in a session of its own, whichever event it begins at."""

from __future__ import annotations

from typing import Any

import pytest

from conversing import Counting, answers, shown, talk
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from muniment_plugins.workflow.session_types import session_series
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_inject,
    agent_session_open,
)
from muniment_plugins.workflow.sessions.streams import count_of
from workflow_stages import Document, chain

SESSIONS = ("desk", "other")


def held(**more: Any) -> Document:
    """Return a node that writes a fork of the session if another run has it."""
    node = talk(**more)
    node["model_policy"]["session_held"] = "fork"
    return node


def below(name: str, node: Document | None = None) -> Document:
    """Return a node whose work is a run of its own, in which the node *name* does *node*."""
    inner = talk() if node is None else node
    return {"kind": "subagent", "graph": chain(**{name: inner})}


GRAPHS: dict[str, Document] = {
    "two nodes": chain(a=talk(), b=talk()),
    "two sessions": chain(a=talk(), b=talk("other")),
    "a node and a child": chain(a=talk("other"), b=below("c")),
    "two children": chain(a=below("c"), b=below("d")),
    "a child of a child": chain(a=below("c", below("d")), b=below("e")),
    "a child in the session of its parent": chain(a=talk(), b=below("c", held())),
}


def known(ledger: Ledger) -> dict[str, tuple[int, list[str]]]:
    """Return how many events each session has, and what the model said in it."""
    return {
        name: (count, answers(ledger, name))
        for name in SESSIONS
        if (count := count_of(ledger, session_series(name)))
    }


def told(ledger: Ledger, run: str) -> dict[str | None, str]:
    """Return what the model said in a run and in those below, by the node."""
    runs = [run]
    for one in runs:
        runs += ledger.children(one)
    events = [e for one in runs for e in ledger.events(run=one, type="llm.completed")]
    found: list[tuple[str | None, Any]] = [(e.scope, ledger.resolve(e)) for e in events]
    return {scope: one["value"]["text"] for scope, one in found}


@pytest.mark.parametrize("before", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("shape", GRAPHS)
def test_at_each_event(desk: Ledger, shape: str, before: bool) -> None:
    """No session changes, nobody is kept from one, and what is said is what was said."""
    if before:
        agent_session_open(desk, "desk")
        agent_session_inject(desk, "desk", {"role": "user", "content": "x"})
    done = workflow_execute(desk, "t", GRAPHS[shape])
    assert done.status == "completed", done.error
    was, said = known(desk), told(desk, done.run_id)
    for event in list(desk.events(run=done.run_id)):
        fork = desk.fork(done.run_id, at=event.seq)
        assert fork.error is None, (event.seq, event.type)
        assert known(desk) == was, (event.seq, event.type)
        again = told(desk, fork.run_id)
        assert again.items() <= said.items(), (event.seq, event.type)
        assert replay(desk, fork.run_id, children=True).verdict == "acceptable"
    later = workflow_execute(desk, "t", GRAPHS[shape])
    assert later.status == "completed", later.error


def test_what_was_said_meanwhile(desk: Ledger) -> None:
    """A fork begins with what its origin began with, whatever others said since."""
    done = workflow_execute(desk, "t", GRAPHS["two nodes"])
    agent_session_inject(desk, "desk", {"role": "user", "content": "later"})
    whole = shown(desk, "desk")
    fork = desk.fork(done.run_id, at=next(desk.events(run=done.run_id)).seq)
    mine = [one["content"] for one in shown(desk, f"desk@{fork.run_id}")]
    assert mine == [one["content"] for one in whole[:-1]]
    again = desk.fork(fork.run_id, at=next(desk.events(run=fork.run_id)).seq)
    same = [one["content"] for one in shown(desk, f"desk@{again.run_id}")]
    assert same == mine
    assert shown(desk, "desk") == whole


@pytest.mark.parametrize("is_there", [False, True])
def test_where_the_origin_never_asked(desk: Ledger, is_there: bool) -> None:
    """A fork has the session as it was at its event; empty, if there was none."""
    allowed: list[str] = []

    def need(_: object) -> str:
        if not allowed:
            raise ValueError("not yet")
        return "done"

    def program(run: Run) -> list[object]:
        run.effect("tool", {"name": "need"}, need)
        with RunSession.join(run, "desk") as session:
            session.inject({"role": "user", "content": "mine"})
            return [one["content"] for one in session.messages()]

    if is_there:
        agent_session_open(desk, "desk")
        agent_session_inject(desk, "desk", {"role": "user", "content": "first"})
    failed = desk.execute(program)
    assert failed.status == "failed"
    asked = next(desk.events(run=failed.run_id, type="tool.requested")).seq
    if not is_there:
        agent_session_open(desk, "desk")
    agent_session_inject(desk, "desk", {"role": "user", "content": "later"})
    whole, count = shown(desk, "desk"), count_of(desk, session_series("desk"))
    allowed.append("")
    first = next(desk.events(run=failed.run_id)).seq
    for at in (first, asked):
        fork = desk.fork(failed.run_id, at=at, program=program)
        assert fork.ok, fork.error
        assert fork.value == (["first", "mine"] if is_there else ["mine"])
        mine = [one["content"] for one in shown(desk, f"desk@{fork.run_id}")]
        assert mine == fork.value
        assert replay(desk, fork.run_id, program).verdict == "acceptable"
    assert shown(desk, "desk") == whole
    assert count_of(desk, session_series("desk")) == count


def test_a_fork_that_is_resumed(desk: Ledger, model: Counting) -> None:
    """What a fork is resumed to say is in its own session, too."""
    failing: list[object] = [True]

    def stops(_: object) -> str:
        if failing:
            raise ValueError("not yet")
        return "done"

    def program(run: Run) -> list[object]:
        with RunSession.join(run, "desk") as session:
            session.inject({"role": "user", "content": "one"})
            run.effect("tool", {"name": "stop"}, stops)
            session.inject({"role": "user", "content": "two"})
            return [one["content"] for one in session.messages()]

    del model
    failed = desk.execute(program)
    first = next(desk.events(run=failed.run_id)).seq
    fork = desk.fork(failed.run_id, at=first, program=program)
    assert fork.status == "failed"
    count = count_of(desk, session_series("desk"))
    failing.clear()
    done = desk.resume(fork.run_id, program)
    assert done.value == ["one", "two"], done.error
    assert count_of(desk, session_series("desk")) == count
    assert [one["content"] for one in shown(desk, "desk")] == ["one"]
    assert replay(desk, fork.run_id, program).verdict == "acceptable"
