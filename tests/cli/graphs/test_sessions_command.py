"""``muniment sessions`` lists conversations and shows them, for people and machines."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from first_hour import Newcomer
from muniment_plugins.workflow.session_types import SessionFact
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_compact,
    agent_session_fork,
    agent_session_inject,
    agent_session_open,
    agent_session_trim,
)
from terminals import on_terminal

Shell = Any
INSTALLED = str(Path(sys.executable).with_name("muniment"))
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
CALL = {"id": "c1", "name": "lookup", "arguments": {"order": 7}}


@pytest.fixture
def desk(work: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside a ledger with two sessions."""
    monkeypatch.setenv("MUNIMENT_HOME", str(work / "home"))
    monkeypatch.setenv("MUNIMENT_LEDGER", str(work / "ledger.db"))
    assert shell("init", work / "ledger.db").code == 0
    with muniment.open() as ledger:
        agent_session_open(ledger, "desk")
        for message in (
            {"role": "user", "content": "first question \x1b[31m"},
            {"role": "assistant", "tool_calls": [CALL], "reasoning": "hidden thought"},
            {"role": "tool", "tool_call_id": "c1", "content": "paid " * 200},
            {"role": "assistant", "content": "It was paid."},
            {"role": "user", "content": "second question"},
            {"role": "user", "content": "whispered", "visibility": "private"},
        ):
            agent_session_inject(ledger, "desk", message)
        policy = {"keep_last": 2, "compact_strategy": "truncate"}
        agent_session_compact(ledger, "desk", policy)
        agent_session_fork(ledger, "desk", "other", at=3)
        with ledger.run("r") as run, RunSession.join(run, "desk") as joined:
            said = {"role": "assistant", "content": "by a run"}
            joined.inject(said, "public")
    return work


def test_list(desk: Path, shell: Shell) -> None:
    """Sessions are listed; with --all what runs wrote, too; as JSON the same."""
    assert desk.is_dir()
    listed = shell("sessions")
    lines = [one.split() for one in listed.out.splitlines()]
    assert [one[:4] for one in lines[1:]] == [
        ["other", "forked", "2", lines[1][3]],
        ["desk", "active", "4", lines[2][3]],
    ]
    told = shell("sessions", "list", "--json").json
    assert [(one["id"], one["parent_id"]) for one in told] == [
        ("other", "desk"),
        ("desk", None),
    ]
    assert len(shell("sessions", "--all", "--json").json) == 3


def test_show(desk: Path, shell: Shell) -> None:
    """A page has what is said, summaries, and what was archived; private parts apart."""
    assert desk.is_dir()
    shown = shell("sessions", "show", "desk")
    assert shown.code == 0
    assert 'lookup({"order": 7})' in shown.out
    assert "4 messages archived by truncate" in shown.out
    assert "by a run" in shown.out
    assert "\x1b" not in shown.out
    for hidden in ("hidden thought", "whispered"):
        assert hidden not in shown.out
    assert "--private" in shown.err
    whole = shell("sessions", "show", "desk", "--all", "--private")
    for text in ("hidden thought", "whispered", "no longer said", "calls lookup"):
        assert text in whole.out
    earlier = shell("sessions", "show", "desk", "--at", "2", "--json").json
    assert [one["id"] for one in earlier["messages"]] == ["m1"]


def test_private_as_json(desk: Path, shell: Shell) -> None:
    """No document has what is private, unless it is asked for: with --all neither."""
    assert desk.is_dir()
    for more in ((), ("--all",)):
        told = shell("sessions", "show", "desk", "--json", *more)
        assert "hidden thought" not in told.out
        assert "whispered" not in told.out
    told = shell("sessions", "show", "desk", "--json", "--all", "--private")
    assert "hidden thought" in told.out
    assert "whispered" in told.out


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (("show", "dekk"), 3, "did you mean desk?"),
        (("show", "desk", "--at", "99"), 2, "has 9 events"),
        (("show", "desk", "--at", "0"), 2, "--at"),
        (("show",), 2, "SESSION"),
        (("shwo",), 2, "show"),
    ],
)
def test_mistakes(
    desk: Path, shell: Shell, line: tuple[str, ...], code: int, says: str
) -> None:
    """What is mistyped is one line, with what to do."""
    assert desk.is_dir()
    told = shell("sessions", *line)
    assert (told.code, says in told.err.replace("\n", " ")) == (code, True), told.err


def test_a_beginning_is_enough(desk: Path, shell: Shell) -> None:
    """A beginning that only one session has names it."""
    assert desk.is_dir()
    assert "other" in shell("sessions", "show", "oth").out


def test_none(work: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sessions a remark says how one is opened, and JSON is an empty list."""
    monkeypatch.setenv("MUNIMENT_HOME", str(work / "home"))
    monkeypatch.setenv("MUNIMENT_LEDGER", str(work / "ledger.db"))
    assert shell("init", work / "ledger.db").code == 0
    told = shell("sessions")
    assert (told.code, told.out) == (0, "")
    assert "agent_session_open" in told.err
    assert shell("sessions", "--json").json == []


@pytest.mark.parametrize("columns", [30, 60])
def test_narrow(desk: Path, columns: int) -> None:
    """On a narrow terminal no line of a page is longer than the terminal."""
    with muniment.open() as ledger:
        agent_session_inject(ledger, "desk", {"role": "user", "content": "word " * 80})
        agent_session_trim(ledger, "desk", 2)
    here = {name: os.environ[name] for name in ("MUNIMENT_HOME", "MUNIMENT_LEDGER")}
    newcomer = Newcomer(desk, desk / "home", here)
    for line in (("sessions",), ("sessions", "show", "desk", "--all")):
        said = on_terminal(newcomer, columns, *line, command=[INSTALLED])
        assert said.code == 0, said.err
        shown = [ESCAPES.sub("", one) for one in said.out.splitlines()]
        assert max(map(len, shown)) <= columns


def test_runs_show_nothing_private(desk: Path, shell: Shell) -> None:
    """The page of a run names what is private of it, and does not show it."""
    assert desk.is_dir()
    with (
        muniment.open() as ledger,
        ledger.run("thinks") as run,
        RunSession.join(run, "mind") as mind,
    ):
        mind.inject({"role": "assistant", "content": "hi", "thinking": "hidden"})
        mind.inject({"role": "user", "content": "whispered"}, "private")
    for more in ((), ("--full",), ("--json",)):
        told = shell("runs", "show", "last", *more)
        assert told.code == 0, told.err
        assert "private" in told.out
        assert "hidden" not in told.out
        assert "whispered" not in told.out


FORGED = ("x", ["a"], [None], {"id": "a"}, 5, [{"id": "a"}], [{"function": "f"}], [[1]])


@pytest.mark.parametrize("calls", FORGED)
def test_calls_of_any_shape_are_shown(desk: Path, shell: Shell, calls: object) -> None:
    """What an earlier version took as calls of tools is shown, and breaks no command."""
    assert desk.is_dir()
    with muniment.open() as ledger:
        agent_session_open(ledger, "old")
        fact = SessionFact(
            session="old",
            id="m1",
            role="assistant",
            tokens=1,
            message={"content": [7, {"text": 5}], "tool_calls": calls},
            counted=1,
        )
        ledger.append("session.message_appended", fact)
    for more in ((), ("--all",), ("--json",), ("--all", "--private"), ("--at", "2")):
        told = shell("sessions", "show", "old", *more)
        assert told.code == 0, told.err
        assert "m1" in told.out
    assert "calls" in shell("sessions", "show", "old").out


def test_a_compaction_that_was_not_done(desk: Path, shell: Shell) -> None:
    """It is told with its sizes, and nothing is said to be missing."""
    assert desk.is_dir()
    with muniment.open() as ledger:
        agent_session_open(ledger, "short")
        for text in "abc":
            agent_session_inject(ledger, "short", {"role": "user", "content": text})
        agent_session_compact(ledger, "short", {"keep_last": 1})
    told = shell("sessions", "show", "short")
    assert "not compacted by observation_mask (asked): 3 tokens would be" in told.out
    assert "--all" not in told.err
    whole = shell("sessions", "show", "short", "--all")
    assert "not compacted" in whole.out
