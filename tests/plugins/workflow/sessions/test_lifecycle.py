"""The verbs of sessions: open, inject, trim, fork, archive, compact, restore, reset."""

from __future__ import annotations

from typing import Any, cast

import pytest

from muniment.errors import CannotTellError, MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow.session_types import SessionFact
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_abandon,
    agent_session_ancestry,
    agent_session_archive,
    agent_session_close,
    agent_session_compact,
    agent_session_current_id,
    agent_session_exists,
    agent_session_fork,
    agent_session_fork_at,
    agent_session_inject,
    agent_session_length,
    agent_session_open,
    agent_session_reset,
    agent_session_restore,
    agent_session_resume,
    agent_session_snapshot,
    agent_session_trim,
)
from muniment_plugins.workflow.sessions.views import session_rows


def say(ledger: Ledger, session: str, *texts: str) -> None:
    """Say something."""
    for text in texts:
        agent_session_inject(ledger, session, {"role": "user", "content": text})


def told(ledger: Ledger, session: str, **how: Any) -> list[str]:
    """Return what a session says."""
    found = agent_session_snapshot(ledger, session, **how)
    assert found is not None
    return [one["content"] for one in found["messages"]]


def state(ledger: Ledger, session: str) -> str:
    """Return its state."""
    found = agent_session_snapshot(ledger, session)
    assert found is not None
    return str(found["state"])


def test_p14_open_inject_trim_fork(book: Ledger) -> None:
    """To open is idempotent; branches are independent; a fork says where it comes from."""
    assert agent_session_open(book, "desk") == "desk"
    say(book, "desk", "a", "b", "c")
    assert agent_session_open(book, "desk") == "desk"
    assert agent_session_length(book, "desk") == 3

    agent_session_fork(book, "desk", "left")
    agent_session_fork_at(book, "desk", 1, "right")
    agent_session_fork(book, "left", "leaf")
    say(book, "left", "left")
    say(book, "right", "right")
    assert agent_session_trim(book, "desk", 1) == 1

    assert told(book, "desk") == ["c"]
    assert told(book, "left") == ["a", "b", "c", "left"]
    assert told(book, "right") == ["a", "right"]
    assert agent_session_ancestry(book, "desk") == {
        "parent_id": None,
        "child_ids": ["left", "right"],
        "root_id": "desk",
    }
    assert agent_session_ancestry(book, "leaf") == {
        "parent_id": "left",
        "child_ids": [],
        "root_id": "desk",
    }
    found = cast("Any", agent_session_snapshot(book, "right"))
    assert found["branched_at_event_index"] == 4


def test_p9_lifecycle(book: Ledger) -> None:
    """Fork, archive, resume, compact, restore and reset, each with its state and count."""
    agent_session_open(book, "desk")
    letters = [one * 400 for one in "abcdefg"]
    say(book, "desk", *letters[:6])
    agent_session_fork(book, "desk", "fork")
    assert state(book, "fork") == "forked"
    say(book, "fork", letters[6])
    assert state(book, "fork") == "active"

    agent_session_archive(book, "fork", "done")
    assert state(book, "fork") == "archived"
    with pytest.raises(RefusedError, match="archived"):
        say(book, "fork", "h")
    agent_session_resume(book, "fork")
    say(book, "fork", "h")

    agent_session_compact(
        book, "fork", {"keep_last": 3, "compact_strategy": "truncate"}
    )
    assert agent_session_length(book, "fork") == 4
    at = 2  # opened, and one said
    assert agent_session_restore(book, "fork", at) == 7
    assert told(book, "fork") == letters
    agent_session_reset(book, "fork")
    assert told(book, "fork") == []
    say(book, "fork", "new")
    assert told(book, "fork") == ["new"]
    agent_session_abandon(book, "fork")
    assert state(book, "fork") == "abandoned"
    agent_session_close(book, "desk")
    assert state(book, "desk") == "archived"
    assert told(book, "desk") == letters[:6]


def test_p18_states_and_texts(book: Ledger) -> None:
    """A transcript has its state, its events, and the visible or the whole of its texts."""
    agent_session_open(book, "desk")
    message = {"role": "assistant", "content": "hi", "reasoning": "they are kind"}
    agent_session_inject(book, "desk", message)
    say(book, "desk", "there")
    agent_session_trim(book, "desk", 2)  # nothing to do
    agent_session_reset(book, "desk")
    found = cast("Any", agent_session_snapshot(book, "desk", at=3))
    whole = cast("Any", agent_session_snapshot(book, "desk", at=3, private=True))

    assert (found["_type"], found["version"]) == ("transcript", 2)
    assert [one["content"] for one in found["messages"]] == ["hi", "there"]
    assert "they are" not in str(found)
    assert whole["messages"][0]["private"] == {"reasoning": "they are kind"}
    kinds = [one["kind"] for one in found["events"]]
    assert kinds == ["opened", "message_appended", "message_appended", "reset"]
    assert [one["position"] for one in found["events"]] == [1, 2, 3, 4]


def test_current(book: Ledger) -> None:
    """The session that a run opened last is the current one."""
    assert agent_session_current_id() is None
    with book.run("r") as run:
        assert agent_session_current_id() is None
        with RunSession.join(run, "desk"):
            with RunSession.own(run, "node:act"):
                assert agent_session_current_id() == "node:act"
            assert agent_session_current_id() == "desk"
        assert agent_session_current_id() is None


def test_nothing_is_there(book: Ledger) -> None:
    """Who asks is answered; who wants to change it is refused."""
    assert not agent_session_exists(book, "desk")
    assert agent_session_snapshot(book, "desk") is None
    assert agent_session_ancestry(book, "desk") is None
    with pytest.raises(CannotTellError, match="session/unknown"):
        agent_session_length(book, "desk")
    with pytest.raises(CannotTellError, match="session/unknown"):
        say(book, "desk", "a")
    with pytest.raises(CannotTellError, match="session/unknown"):
        agent_session_fork(book, "desk")


def test_ids(book: Ledger) -> None:
    """An id is drawn if none is given; a fork takes no id that is there."""
    first = agent_session_open(book)
    assert agent_session_exists(book, first)
    agent_session_open(book, "desk")
    with pytest.raises(RefusedError, match="session/exists"):
        agent_session_fork(book, first, "desk")
    for name in ("", "a b", "a@b", "x" * 161, "a\n"):
        with pytest.raises(UsageError, match="session/name"):
            agent_session_open(book, name or " ")


@pytest.mark.parametrize("at", [0, 3, -1])
def test_moments_that_are_none(book: Ledger, at: int) -> None:
    """A moment that there was not is refused."""
    agent_session_open(book, "desk")
    say(book, "desk", "a")
    with pytest.raises(UsageError, match="session/position"):
        agent_session_restore(book, "desk", at)
    with pytest.raises(MunimentError):
        agent_session_fork(book, "desk", "fork", at=at)


def test_forged_events_are_named(book: Ledger) -> None:
    """An event that builds on what is not there is named, whoever wrote it."""
    agent_session_open(book, "desk")
    forged = {"session": "desk", "at": 9, "kept": 0, "counted": 1}
    event = book.append("session.restored", SessionFact(forged))
    with pytest.raises(MunimentError, match=f"event {event.seq}"):
        agent_session_snapshot(book, "desk")
    (row,) = session_rows(book)
    assert row["state"] == "wrong"
    assert f"event {event.seq}" in row["error"]
    loop = {"session": "loop", "source": "loop", "at": 1, "counted": 0}
    event = book.append("session.opened", SessionFact(loop))
    with pytest.raises(MunimentError, match=f"event {event.seq}"):
        agent_session_snapshot(book, "loop")
