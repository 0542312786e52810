"""Sessions in runs: killed, resumed, replayed and forked as everything in a run is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from children import is_killed
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow.runtime.half_answers import CUT
from muniment_plugins.workflow.sessions import (
    RunSession,
    agent_session_compact,
    agent_session_inject,
    agent_session_open,
    agent_session_snapshot,
)

WHY = ", and why?" * 20


class Conversation:
    """Writes six messages, asks for a summary, and writes two more."""

    def __init__(self, ledger: Ledger, log: Path) -> None:
        self.ledger, self.log = ledger, log

    def __call__(self, run: Any) -> list[str]:
        """Converse."""
        with RunSession.join(run, "desk") as desk:
            for number in range(3):
                desk.inject({"role": "user", "content": f"question {number}{WHY}"})
                told = run.effect("tool", {"n": number}, self.answer)
                desk.inject({"role": "assistant", "content": told, "reasoning": "hm"})
            desk.compact(
                {
                    "keep_last": 2,
                    "compact_strategy": "custom",
                    "custom_compactor": self.sum,
                }
            )
            desk.inject({"role": "user", "content": "last"})
            return [one["content"] for one in desk.messages()]

    def answer(self, request: object) -> str:
        """Answer, and note that it did."""
        number = cast("Mapping[str, Any]", request)["n"]
        with self.log.open("a") as file:
            file.write(f"{number}\n")
        return f"answer {number}"

    def sum(self, messages: Any) -> str:
        """Summarise, and note it."""
        with self.log.open("a") as file:
            file.write("sum\n")
        return f"{len(messages)} messages"


SAID = [
    "[4 earlier messages, by the strategy custom]\n4 messages",
    f"question 2{WHY}",
    "answer 2",
    "last",
]


def texts(ledger: Ledger, session: str) -> list[str]:
    """Return what a session says."""
    found = agent_session_snapshot(ledger, session)
    assert found is not None
    return [one["content"] for one in found["messages"]]


def test_replayed(book: Ledger, place: Path) -> None:
    """A replay asks nobody, reads no session, and comes to the same."""
    program = Conversation(book, place / "log")
    done = book.execute(program)
    agent_session_inject(book, "desk", {"role": "user", "content": "since"})
    size = book.head.size
    report = replay(book, done.run_id, program)

    assert done.value == SAID
    assert report.ok, report
    assert book.head.size == size
    assert (place / "log").read_text() == "0\n1\n2\nsum\n"


@pytest.mark.parametrize("commit", range(11))
def test_killed(book: Ledger, place: Path, commit: int) -> None:
    """Killed at any commit and resumed, it says the same, and asks nothing twice."""
    log = place / "log"
    killed = is_killed(
        book.path,
        lambda opened: opened.execute(Conversation(opened, log)),
        commit,
        plugins=("workflow",),
    )
    runs = list(book.runs())
    if killed and runs:
        done = book.resume(runs[0].id, Conversation(book, log), repeat=["tool"])
        assert done.value == SAID
        assert texts(book, "desk") == SAID
        lines = log.read_text().split()
        assert sorted(set(lines)) == ["0", "1", "2", "sum"]
        completed = [
            one.raw for one in book.events(type="tool.completed,compaction.completed")
        ]
        assert len(completed) == 4
        claims = list(book.events(type="session.claimed"))
        assert len(claims) == 1
    elif not killed:
        assert texts(book, "desk") == SAID


def test_forked_at_each_event(book: Ledger, place: Path) -> None:
    """A fork of the run has a fork of its session, wherever it begins."""
    program = Conversation(book, place / "log")
    agent_session_open(book, "desk")
    agent_session_inject(book, "desk", {"role": "system", "content": "Be brief."})
    done = book.execute(program)
    whole = texts(book, "desk")
    assert whole == ["Be brief.", *SAID]
    joined = next(book.events(run=done.run_id, type="session_claim.completed")).seq
    for event in list(book.events(run=done.run_id, from_seq=joined)):
        if event.type.startswith("run."):
            continue
        fork = book.fork(done.run_id, at=event.seq, program=program)
        assert fork.error is None
        assert texts(book, f"desk@{fork.run_id}") == whole
    assert texts(book, "desk") == whole


def test_summaries_by_models_are_effects(book: Ledger, place: Path) -> None:
    """Outside of a run the model is asked in a run of its own, whose record has it."""
    answers = place / "answers.json"
    answers.write_text(json.dumps(["They ask for a refund."]))
    with Ledger.open(
        book.path, home=book.home, plugins=("workflow", "providers")
    ) as opened:
        agent_session_open(opened, "desk")
        for number in range(6):
            agent_session_inject(
                opened, "desk", {"role": "user", "content": f"question {number}{WHY}"}
            )
        left = agent_session_compact(
            opened,
            "desk",
            {
                "keep_last": 2,
                "compact_strategy": "llm",
                "summarize_model": f"scripted:{answers}",
            },
        )
        assert left == 3
        assert "They ask for a refund." in texts(opened, "desk")[0]
        (asked,) = opened.events(type="llm.requested")
        request = cast("Mapping[str, str]", opened.value(asked.data["request"]))  # type: ignore[arg-type]
        assert "question 3" in request["prompt"]
        assert asked.run is not None
        agent_session_inject(opened, "desk", {"role": "user", "content": "on"})


@pytest.mark.parametrize(
    "more",
    [
        *({"finish_reason": one} for one in CUT),
        {"finish_reason": "stop", "refusal": "No."},
    ],
    ids=str,
)
def test_half_a_summary(
    book: Ledger, tmp_path: Path, more: Mapping[str, object]
) -> None:
    """A summary that a model did not finish, or a refusal, stands for no messages.

    What is made of the messages themselves does, and the event says which strategy did.
    """
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([{"text": "They asked for", **more}]))
    policy: dict[str, object] = {"keep_last": 2, "compact_strategy": "llm"}
    policy["summarize_model"] = f"scripted:{answers}"

    def program(run: Any) -> str:
        with RunSession.join(run, "desk") as desk:
            for number in range(6):
                desk.inject({"role": "user", "content": f"question {number}"})
                result = {"role": "tool", "tool_call_id": "c", "content": WHY * 20}
                desk.inject(result)
            desk.compact(policy)
            return str(desk.messages()[0]["content"])

    with Ledger.open(
        book.path, home=book.home, plugins=("workflow", "providers")
    ) as opened:
        done = opened.execute(program)
        said = str(done.value)
        (step,) = opened.events(type="session.compacted")
        assert step.data["strategy"] == "observation_mask"
        assert "by the strategy observation_mask" in said
        assert "question 3" in said
        assert "They asked for" not in said
        assert replay(opened, done.run_id, program=program).verdict == "acceptable"


ROLES: Mapping[str, Mapping[str, object]] = {
    "user": {"role": "user"},
    "assistant": {"role": "assistant"},
    "tool": {"role": "tool", "tool_call_id": "c1"},
    "system": {"role": "system"},
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("how", ["session", "effects", "lane", "nothing"])
def test_what_carries_what_is_private(book: Ledger, role: str, how: str) -> None:
    """What is said where effects are private is so unless it says that it is public."""

    def program(run: Any) -> None:
        with RunSession.join(run, "desk") as desk:
            if how == "session":
                desk.inject(
                    {"role": "user", "content": "hush", "visibility": "private"}
                )
            elif how != "nothing":
                run.keep_private(effects=how == "effects")
            told = run.effect("tool", 1, lambda _: "told")
            for more in ({}, {"visibility": "public"}, {"visibility": "private"}):
                desk.inject({**ROLES[role], "content": told, **more})

    done = book.execute(program)
    assert done.error is None
    found = list(book.events(run=done.run_id, type="session.message_appended"))[-3:]
    unsaid = "public" if how == "nothing" else "private"
    said = "private" if how == "lane" else "public"  # all of such a lane is private
    assert [one.raw["visibility"] for one in found] == [unsaid, said, "private"]
    assert replay(book, done.run_id, program=program).verdict == "acceptable"


def test_records_from_before_what_is_private_now(book: Ledger) -> None:
    """A record that says of a message that it is public says so, and replays."""
    said = ["public", None]

    def program(run: Any) -> None:
        with RunSession.join(run, "desk") as desk:
            desk.inject({"role": "user", "content": "hush", "visibility": "private"})
            told = run.effect("tool", 1, lambda _: "told")
            desk.inject({"role": "assistant", "content": told}, said[0])

    done = book.execute(program)
    said.pop(0)
    assert replay(book, done.run_id, program=program).verdict == "acceptable"
    found = list(book.events(run=done.run_id, type="session.message_appended"))
    assert [one.raw["visibility"] for one in found] == ["private", "public"]
