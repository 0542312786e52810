"""A loop of a model and its tools: what is told, what is held, and why it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent_tools import ALLOWED, calls, performed, tools
from muniment import MunimentError, Run, replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    AgentDone,
    agent_aloop,
    agent_loop,
    agent_records,
)

Scripts = Callable[..., Ledger]
READ = calls(("read", {"path": "a"}))
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def looped(ledger: Ledger, **more: Any) -> tuple[AgentDone, str]:
    """Run a loop, replay it with nothing asked or performed; return its end and run."""
    found: list[AgentDone] = []

    def program(run: Run) -> str:
        given = {"tools": tools(), "approval_policy": ALLOWED, **more}
        found.append(agent_loop(run, "Do it.", model="test:a", **given))
        return found[-1].text

    done = ledger.execute(program)
    assert done.status == "completed", done.error
    before = performed()
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert performed() == before
    assert found[0] == found[1]
    return found[0], done.run_id


def test_calls_and_an_answer(scripted: Scripts) -> None:
    """Calls are performed, and told in the order of the answer; then the text is the end."""
    ledger = scripted(
        {
            1: calls(("edit", {"path": "b", "text": "x"}), ("read", {"path": "a"})),
            2: "Done.",
        }
    )
    done, run = looped(ledger)

    assert (done.reason, done.ok, done.text) == ("answered", True, "Done.")
    assert (done.turns, done.calls, done.denied, done.failed) == (2, 2, 0, 0)
    told = [one["content"] for one in done.messages if one["role"] == "tool"]
    assert told == ['{"path":"b","size":1}', "text of a"]
    scopes = [one.scope for one in ledger.events(run=run, type="tool.requested")]
    assert sorted(str(one) for one in scopes) == [
        "agent.1/turn.1/call.0",
        "agent.1/turn.1/call.1",
    ]


def test_what_is_wrong_is_told(scripted: Scripts) -> None:
    """Unknown tools, wrong arguments and errors are told to the model, and recorded."""
    ledger = scripted(
        {
            1: calls(
                ("raed", {"path": "a"}),
                ("read", {"path": 3}),
                ("read", {}),
                ("burst", {"why": "broken"}),
            ),
            2: {"tool_calls": [{"id": "x", "name": "read", "arguments": "{not json"}]},
            3: "Sorry.",
        }
    )
    done, run = looped(ledger)

    told = [str(one["content"]) for one in done.messages if one["role"] == "tool"]
    assert "did you mean read" in told[0]
    assert "argument_invalid (path): 3 is not of type 'string'" in told[1]
    assert "'path' is a required property" in told[2]
    assert told[3] == "error: ValueError: broken"
    assert "the arguments are no object" in told[4]
    assert (done.denied, done.failed, done.calls) == (4, 1, 5)
    (record,) = agent_records(ledger, run)
    first = record["turns"][0]["calls"]
    assert [one["status"] for one in first] == ["denied", "denied", "denied", "failed"]
    assert [one.get("code") for one in first] == [
        "unknown_tool",
        "argument_invalid",
        "argument_invalid",
        None,
    ]
    assert performed().count("burst broken") == 1
    assert record["reason"] == "answered"


def test_what_nobody_allowed_is_denied(scripted: Scripts) -> None:
    """Without an approval policy nothing but reading is performed; the ceiling holds."""
    script = {
        1: calls(("edit", {"path": "b", "text": "x"}), ("read", {"path": "c"})),
        2: "Ok.",
    }
    limit = {"tool": "read", "arg_key": "path", "arg_patterns": ["a*"]}
    done, run = looped(
        scripted(script),
        approval_policy={},
        capability_policy={"tool_arg_constraints": [limit]},
    )
    assert (done.denied, done.reason) == (2, "answered")
    assert not [one for one in performed() if not one.startswith("asked")]
    assert run


@pytest.mark.parametrize(
    ("script", "options", "reason", "turns"),
    [
        ({1: READ}, {"max_repeats": 2}, "no_progress", 3),
        ({1: READ}, {"max_iterations": 2}, "max_iterations", 2),
        ({1: READ}, {"max_tool_calls": 0}, "max_tool_calls", 1),
        ({1: READ}, {"max_tool_calls": 1}, "max_tool_calls", 2),
        ({1: READ}, {"max_total_tokens": 20}, "max_total_tokens", 2),
        ({1: READ}, {"max_cost_usd": 0.015}, "max_cost", 2),
        ({1: "No end."}, {"done_sentinel": "DONE"}, "max_nudges", 4),
        ({1: "a", 2: "b. DONE"}, {"done_sentinel": "DONE"}, "done", 2),
        (
            {1: READ, 2: "x"},
            {"stop_after_successful_tools": ["read"]},
            "stopped_by_tool",
            1,
        ),
        (
            {1: "x", 2: READ, 3: "y"},
            {"require_successful_tools": ["read"]},
            "answered",
            3,
        ),
        (
            {1: "x"},
            {"require_successful_tools": ["read"], "max_nudges": 0},
            "max_nudges",
            1,
        ),
        ({1: {"text": "half", "finish_reason": "length"}}, {}, "cut_off", 1),
        ({1: {"text": "", "finish_reason": "content_filter"}}, {}, "filtered", 1),
    ],
)
def test_ends(
    scripted: Scripts, script: Any, options: Any, reason: str, turns: int
) -> None:
    """Each limit ends the loop where it says, with a reason that the record has."""
    usage = {"usage": {"input_tokens": 7, "output_tokens": 4}, "cost": {"usd": "0.01"}}
    ledger = scripted(script, usage)
    done, run = looped(ledger, options=options)

    assert (done.reason, done.turns) == (reason, turns)
    assert done.tokens == 11 * turns
    assert str(done.cost_usd) == f"{turns / 100:.2f}"
    (ended,) = ledger.events(run=run, type="agent.ended")
    assert (ended.data["reason"], ended.data["turns"]) == (reason, turns)
    asked = list(ledger.events(run=run, type="llm.requested"))
    assert len(asked) == turns


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_total_tokens": 10**6}, "usage_unknown"),
        ({"max_cost_usd": 100}, "cost_unknown"),
    ],
)
def test_what_cannot_be_counted_ends(
    scripted: Scripts, options: Any, reason: str
) -> None:
    """A limit that cannot be held is no licence: the loop ends before the next call."""
    done, _ = looped(scripted({1: READ}), options=options)
    assert (done.reason, done.turns) == (reason, 1)
    assert not [one for one in performed() if one.startswith("read")]


@pytest.mark.parametrize(
    ("script", "reason", "codes"),
    [
        ({1: '{"n": 1}'}, "answered", []),
        ({1: 'Here:\n```json\n{"n": 1}\n```'}, "answered", []),
        (
            {1: "four", 2: '{"n": "4"}', 3: '{"n": 1}'},
            "answered",
            ["not_json", "schema"],
        ),
        ({1: "four"}, "max_repairs", ["not_json", "not_json"]),
        ({1: '{"n": NaN}', 2: '{"n": 1}'}, "answered", ["not_json"]),
    ],
)
def test_a_value(scripted: Scripts, script: Any, reason: str, codes: Any) -> None:
    """A last answer that does not fit is told so, so many times, and never passes."""
    ledger = scripted(script)
    done, run = looped(ledger, schema=SCHEMA)

    assert done.reason == reason
    assert done.value == ({"n": 1} if done.ok else None)
    facts = ledger.events(run=run, type="agent.corrected")
    assert [one.data["code"] for one in facts] == codes


def test_each_prompt_is_told_from_the_record(scripted: Scripts) -> None:
    """Before each call it is stated which messages are in, by where the record has them."""
    shown = {"id": "code", "kind": "resource", "text": "if a < b: ..."}
    ledger = scripted({1: READ, 2: "x", 3: "Done. END"})
    _, run = looped(ledger, artifacts=[shown], options={"done_sentinel": "END"})

    facts = list(ledger.events(run=run, type="context.selected"))
    assert [one.data["selected"] for one in facts] == [
        ["code", "task"],
        ["code", "task", "turn.1", "turn.1/call.0"],
        ["code", "task", "turn.1", "turn.1/call.0", "turn.2", "turn.2/told"],
    ]
    asked = [
        ledger.resolve(one) for one in ledger.events(run=run, type="llm.requested")
    ]
    requests: list[Any] = [one["request"] for one in asked]
    assert [len(one["messages"]) for one in requests] == [1, 3, 5]
    assert "if a &lt; b" in requests[0]["messages"][0]["content"]


def test_ids_of_calls(scripted: Scripts) -> None:
    """Calls that a provider gives no ids, or one id twice, get ids of their own."""
    row = {"name": "read", "arguments": {"path": "a"}}
    done, _ = looped(
        scripted(
            {1: {"tool_calls": [row, {**row, "id": "x"}, {**row, "id": "x"}]}, 2: "y"}
        )
    )
    ids = [one["tool_call_id"] for one in done.messages if one["role"] == "tool"]
    assert len({*ids}) == 3


def test_loops_of_a_lane(scripted: Scripts) -> None:
    """Each loop has a scope of its own; one goes on with the conversation of another."""
    ledger = scripted({1: "One.", 2: "Two."})

    def program(run: Run) -> list[str]:
        first = agent_loop(run, "Do it.", model="test:a")
        more = [*first.messages, {"role": "user", "content": "And?"}]
        second = agent_loop(run, more, model="test:a")
        third = agent_loop(run, "Else.", model="test:a", name="other")
        return [first.text, second.text, third.text]

    done = ledger.execute(program)
    assert done.result == ["One.", "Two.", "One."]
    scopes = [one["scope"] for one in agent_records(ledger, done.run_id)]
    assert scopes == ["agent.1", "agent.2", "other.1"]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_awaited(scripted: Scripts) -> None:
    """Tools may be coroutine functions, or not; the record is the same kind of record."""
    script = {
        1: calls(
            *[("read", {"path": f"p{n}"}) for n in range(4)],
            ("edit", {"path": "b", "text": "x"}),
        ),
        2: "Done.",
    }
    ledger = scripted(script)

    async def program(run: Run) -> str:
        given: Any = {"tools": tools(later=True), "approval_policy": ALLOWED}
        done = await agent_aloop(run, "Do it.", model="test:a", **given)
        assert done.calls == 5
        return done.text

    done = asyncio.run(ledger.aexecute(program))
    assert (done.status, done.result) == ("completed", "Done."), done.error
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    assert len([one for one in performed() if one.startswith("read")]) == 4


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"optoins": {}}, "did you mean options"),
        ({"options": {"max_turns": 3}}, "max_turns"),
        ({"options": {"max_iterations": 0}}, "max_iterations"),
        ({"options": {"require_successful_tools": ["raed"]}}, "did you mean read"),
        ({"options": {"nudge": "x", "max_nudges": 0}}, "nobody is nudged"),
        (
            {"options": {"stop_after_successful_tools": ["read"]}, "schema": SCHEMA},
            "stop_after_successful_tools",
        ),
        ({"schema": {"type": "objekt"}}, "objekt"),
        ({"tools": [{"name": "x"}]}, "nobody performs the tool x"),
        ({"tools": [{"name": "x", "handler": "nowhere:f"}]}, "nowhere"),
        ({"name": "a/b"}, "name"),
    ],
)
def test_refused_before_anything_is_asked(
    scripted: Scripts, given: Any, says: str
) -> None:
    """What is wrong is refused with its place, and no model is asked."""
    ledger = scripted({1: "x"})

    def program(run: Run) -> str:
        return agent_loop(run, "x", model="test:a", **{"tools": tools(), **given}).text

    done = ledger.execute(program)
    assert isinstance(done.error, MunimentError)
    assert says in str(done.error)
    assert not list(ledger.events(run=done.run_id, type="llm.requested"))


def test_coroutines_must_be_awaited(scripted: Scripts) -> None:
    """A loop that is not awaited refuses coroutine functions, and says what to do."""
    ledger = scripted({1: "x"})
    done = ledger.execute(
        lambda run: agent_loop(run, "x", model="test:a", tools=tools(later=True)).text
    )
    assert isinstance(done.error, UsageError)
    assert "agent_aloop" in done.error.remedy


@pytest.mark.parametrize(
    "answer", [{}, {"text": None}, {"tool_calls": [{"id": "x"}]}, [1]]
)
def test_unreadable_answers(scripted: Scripts, answer: Any) -> None:
    """An answer with neither text nor calls fails, and is never taken for the last one."""
    ledger = scripted({1: answer} if isinstance(answer, dict) else {1: {"text": 4}})
    done = ledger.execute(lambda run: agent_loop(run, "x", model="test:a").text)
    assert done.status == "failed"
    assert "neither a text nor calls" in str(done.error)
    (ended,) = ledger.events(run=done.run_id, type="agent.ended")
    assert ended.data["reason"] == "failed"
