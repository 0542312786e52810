"""Loops that converse in a session: what was said before, compaction, calls left open."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tools import ALLOWED, calls, tools
from muniment import hookimpl, replay
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.workflow import (
    agent_loop,
    run_record,
    workflow_execute,
    workflow_validate,
)
from muniment_plugins.workflow.sessions import agent_session_snapshot
from muniment_plugins.workflow.sessions.inside import RunSession
from workflow_stages import Document, chain

Scripts = Callable[..., Ledger]
READ = calls(("read", {"path": "a"}))


class Reader:
    """A model that reads six files, one after the other, whatever it forgot."""

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer by the last file whose text it was told."""
        if request["model"] == "test:short":
            return {"text": "It read some files."}
        found = re.findall(r"text of f(\d)", str(request["messages"][-1]["content"]))
        number = int(found[-1]) + 1 if found else 1
        if number > 6:
            return {"text": "Done."}
        return calls(("read", {"path": f"f{number}"}))


LONG = {"role": "user", "content": "word " * 800}


def agent(kind: str = "stage", **more: object) -> Document:
    """Return a node that loops, in the session desk."""
    policy = {"model": "test:a", "session_id": "desk", **more.pop("policy", {})}  # type: ignore[dict-item]
    return {
        "kind": kind,
        "mode": "agent",
        "tools": tools(),
        "model_policy": policy,
        "approval_policy": ALLOWED,
        **more,
    }


def told(ledger: Ledger, session: str) -> list[tuple[str, str]]:
    """Return roles and texts of a session."""
    found = agent_session_snapshot(ledger, session)
    assert found is not None
    return [(one["role"], one["content"]) for one in found["messages"]]


def requests(ledger: Ledger, run: str) -> list[Any]:
    """Return what models were asked."""
    asked = ledger.events(run=run, type="llm.requested")
    return [ledger.resolve(one)["request"] for one in asked]


def test_two_nodes_share_a_session(scripted: Scripts) -> None:
    """The second loop begins with all that the first one said, its calls included."""
    ledger = scripted({1: READ, 2: "Read.", 3: "Done."})
    graph = chain(first=agent(prompt="Read a."), second=agent(prompt="And?"))
    done = workflow_execute(ledger, "t", graph)
    assert done.status == "completed", done.error

    roles = [role for role, _ in told(ledger, "desk")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    last = requests(ledger, done.run_id)[-1]["messages"]
    assert [one["role"] for one in last] == roles[:-1]
    assert last[1]["tool_calls"][0]["name"] == "read"
    shown = ledger.events(run=done.run_id, type="context.selected")
    names: Any = [one.data for one in shown if one.scope == "second.1/turn.1"]
    assert names[0]["selected"][1:] == [f"desk/m{number}" for number in range(1, 6)]
    assert replay(ledger, done.run_id).verdict == "acceptable"

    again = workflow_execute(ledger, "t", chain(third=agent(prompt="More?")))
    assert again.status == "completed", again.error
    assert len(told(ledger, "desk")) == 8


def test_a_call_that_was_left_open(scripted: Scripts) -> None:
    """A loop that ends before its calls are performed says so in the conversation."""
    ledger = scripted({1: READ, 2: "Done."})
    failing = agent(policy={"max_tool_calls": 0})
    done = workflow_execute(ledger, "t", chain(first=failing))
    assert done.status == "failed"
    open_call = ("tool", "error: no result: the loop ended, max_tool_calls")
    assert told(ledger, "desk")[-1] == open_call
    assert workflow_execute(ledger, "t", chain(second=agent())).status == "completed"


def test_a_call_that_a_dead_run_left_open(scripted: Scripts) -> None:
    """A loop, and a single call of a model, answer a call that nobody came to answer."""
    for mode in ("agent", "llm"):
        ledger = scripted({1: "Done.", 2: "Done."})
        with ledger.run("r") as run, RunSession.join(run, f"desk-{mode}") as session:
            session.inject(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "c7", "name": "read", "arguments": {}}],
                }
            )
        node = agent(mode=mode, policy={"session_id": f"desk-{mode}"})
        if mode == "llm":
            node = {**node, "prompt": "Go on."}
            del node["tools"], node["approval_policy"]
        done = workflow_execute(ledger, "t", chain(act=node))
        assert done.status == "completed", done.error
        (asked,) = requests(ledger, done.run_id)
        assert asked["messages"][1]["tool_call_id"] == "c7"
        roles = [role for role, _ in told(ledger, f"desk-{mode}")]
        assert roles == ["assistant", "tool", "user", "assistant"]
        assert replay(ledger, done.run_id).verdict == "acceptable"
        ledger.close()


def test_a_judge_says_nothing(scripted: Scripts) -> None:
    """A verifier that loops is shown the session, and adds nothing to it."""
    ledger = scripted({1: "Done.", 2: READ, 3: "PASS"})
    graph = chain(act=agent(), judge=agent("verify", verify={"rubric": "Well?"}))
    done = workflow_execute(ledger, "t", graph)
    assert done.status == "completed", done.error
    assert len(told(ledger, "desk")) == 2
    assert requests(ledger, done.run_id)[1]["messages"][1]["content"] == "Done."


def test_what_is_private_stays_apart(scripted: Scripts) -> None:
    """What a model says beside its answer is private, or is not kept if the node says so."""
    usage = {"reasoning": "I think."}
    for shown, kept in (("public", False), (None, True)):
        ledger = scripted({1: "Done."}, usage)
        said = {} if shown is None else {"output_visibility": shown}
        done = workflow_execute(ledger, "t", chain(act=agent(**said)))
        assert done.status == "completed", done.error
        found: Any = agent_session_snapshot(ledger, "desk")
        assert "think" not in str(found)
        written = ledger.events(run=done.run_id, type="session.message_appended")
        texts = [str(ledger.resolve(one)) for one in written]
        assert any("I think." in one for one in texts) == kept
        ledger.close()


@pytest.mark.parametrize("named", [True, False])
def test_a_loop_is_compacted_between_turns(scripted: Scripts, *, named: bool) -> None:
    """Over its threshold, the conversation is compacted before a turn; nothing is lost."""
    ledger = scripted(Reader())
    for number in range(1, 7):
        Path(f"f{number}").write_text(f"text of f{number} " * 100)
    node = agent(
        auto_compact={"enabled": True, "token_threshold": 30, "keep_last": 3},
        policy={} if named else {"session_id": None},
    )
    done = workflow_execute(ledger, "t", chain(act=node))
    assert done.status == "completed", done.error
    compacted = list(ledger.events(run=done.run_id, type="session.compacted"))
    assert compacted
    assert str(compacted[0].scope).endswith("/compaction")
    longest = max(len(one["messages"]) for one in requests(ledger, done.run_id))
    assert longest < 13
    session = "desk" if named else f"act.1@{done.run_id}"
    assert told(ledger, session)[-1] == ("assistant", "Done.")
    (record,) = run_record(ledger, done.run_id)["stages"]
    assert len(record["agent"]["turns"]) == 7
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_a_summary_by_a_model_is_no_turn(scripted: Scripts) -> None:
    """A model that summarises is asked in a scope of its own, and turns keep their model."""
    ledger = scripted(Reader())
    policy = {
        "enabled": True,
        "token_threshold": 30,
        "keep_last": 2,
        "compact_strategy": "llm",
        "summarize_model": "test:short",
    }
    done = workflow_execute(ledger, "t", chain(act=agent(auto_compact=policy)))
    assert {one["model"] for one in requests(ledger, done.run_id)} == {
        "test:a",
        "test:short",
    }
    (record,) = run_record(ledger, done.run_id)["stages"]
    assert {one["model"] for one in record["agent"]["turns"]} == {"test:a"}
    assert replay(ledger, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize(
    "more", [{"output_visibility": "public"}, {"auto_compact": {}}]
)
def test_what_would_be_about_no_session(more: Document) -> None:
    """A loop without a session says nothing about one, unless it is to be compacted."""
    node = agent(**more)
    del node["model_policy"]["session_id"]
    found = [one.code for one in workflow_validate(chain(act=node)).errors]
    assert found == ([] if "auto_compact" in more else ["SESSION_MISSING"])


def test_in_a_program(scripted: Scripts) -> None:
    """A loop of a program goes on in a session of the run, which it leaves as it was."""
    ledger = scripted({1: READ, 2: "Read.", 3: "Again."})

    def main(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            one = agent_loop(
                run, "Read a.", model="test:a", tools=tools(), session=session
            )
            session.inject({"role": "user", "content": "Aside."})
            two = agent_loop(run, "And?", model="test:a", session=session)
        return [one.text, two.text, len(two.messages)]

    done = ledger.execute(main)
    assert done.result == ["Read.", "Again.", 7]
    assert len(told(ledger, "desk")) == 7
    (aside,) = (
        one
        for one in ledger.events(run=done.run_id, type="session.message_appended")
        if not one.scope
    )
    assert aside.data["role"] == "user"
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


def test_a_program_is_compacted(scripted: Scripts) -> None:
    """Without a session of the caller's, a loop that is compacted has one of its own."""
    ledger = scripted({1: "Done."})
    policy = {"enabled": True, "token_threshold": 30, "keep_last": 1}

    def main(run: Run) -> object:
        prompt = [LONG, {"role": "assistant", "content": "Yes?"}, LONG]
        return agent_loop(run, prompt, model="test:a", auto_compact=policy).text

    done = ledger.execute(main)
    assert done.result == "Done."
    assert list(ledger.events(run=done.run_id, type="session.compacted"))
    assert told(ledger, f"agent.1@{done.run_id}")[-1] == ("assistant", "Done.")

    def mistyped(run: Run) -> object:
        return agent_loop(run, "x", model="test:a", auto_compact={"keep_lst": 1}).text

    failed = ledger.execute(mistyped)
    assert "keep_lst" in str(failed.error)
    assert not list(ledger.events(run=failed.run_id, type="llm.requested"))


def test_who_summarises(scripted: Scripts) -> None:
    """A loop that names nobody who summarises has its own model do it, as a node has."""
    ledger = scripted({1: "Done."})
    policy = {
        "enabled": True,
        "token_threshold": 30,
        "keep_last": 1,
        "compact_strategy": "llm",
    }

    def main(run: Run) -> object:
        prompt = [LONG, {"role": "assistant", "content": "Yes?"}, LONG]
        return agent_loop(run, prompt, model="test:a", auto_compact=policy).text

    done = ledger.execute(main)
    assert done.result == "Done."
    assert [one["model"] for one in requests(ledger, done.run_id)] == ["test:a"] * 2
    assert list(ledger.events(run=done.run_id, type="session.compacted"))
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


@pytest.mark.parametrize(
    ("given", "rule", "place"),
    [
        ({"session": "desk"}, "workflow/session", "session"),
        ({"session": {"id": "desk"}}, "workflow/session", "session"),
        ({"auto_compact": True}, "workflow/value", "auto_compact"),
        ({"auto_compact": [1]}, "workflow/value", "auto_compact"),
    ],
)
def test_what_is_no_session(
    scripted: Scripts, given: dict[str, Any], rule: str, place: str
) -> None:
    """The name of a session, or a policy that is none, is refused before anything is asked."""
    ledger = scripted({1: "Done."})

    def main(run: Run) -> object:
        return agent_loop(run, "x", model="test:a", **given).text

    failed = ledger.execute(main)
    error: Any = failed.error
    assert error.rule == rule
    assert str(error.place).endswith(place)
    assert error.remedy
    assert not list(ledger.events(run=failed.run_id, type="llm.requested"))
