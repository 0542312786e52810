"""What ends a loop, and what does not: sentinels, limits, answers cut off, cancellations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tools import ALLOWED, calls, performed, tools
from muniment import Run, replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    AgentDone,
    agent_loop,
    agent_records,
)
from muniment_plugins.workflow.agents.loop.answers import (
    AgentAnswer,
    AgentCall,
    before_sentinel,
    spent,
)

Scripts = Callable[..., Ledger]
READ = calls(("read", {"path": "a"}))
OBJECT = {"type": "object"}
words = st.text("DONE abc.!?\n*`\"'{}[]:", max_size=12)


def looped(ledger: Ledger, **more: Any) -> Any:
    """Run a loop, and replay it; return its end."""
    found: list[AgentDone] = []

    def program(run: Run) -> str:
        said: dict[str, Any] = {"tools": tools(), "approval_policy": ALLOWED, **more}
        found.append(agent_loop(run, "Do it.", model="test:a", **said))
        return found[-1].text

    done = ledger.execute(program)
    assert done.status == "completed", done.error
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
    return found[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DONE", ""),
        ("All is well.\nDONE", "All is well."),
        ("Well. DONE.\n", "Well."),
        ("Well.\n**DONE**", "Well."),
        ('{"left": 2} DONE', '{"left": 2}'),
        ("It is NOT DONE yet, I need the tool", None),
        ("Is it DONE?", None),
        ("UNDONE", None),
        ("DONELLI", None),
        ("done", None),
        ('{"left": "DONE"}', None),
        ('"DONE"', None),
    ],
)
def test_sentinels(text: str, left: str | None) -> None:
    """The sentinel is the last word or line of an answer, and nothing else."""
    assert before_sentinel(text, "DONE") == left


@given(words, words)
def test_nothing_but_the_end_counts(before: str, after: str) -> None:
    """What is left is the beginning of the text, which ends with the sentinel."""
    text = f"{before}DONE{after}"
    left = before_sentinel(text, "DONE")
    if left is not None:
        assert text.strip().startswith(left)
        assert text.rstrip(" \n.!*`").endswith("DONE")
    if after.strip(" \n.!*`"):
        assert left is None or "DONE" in after
    assert before_sentinel(f"{before}\nDONE", "DONE") == before.strip()


def test_values_keep_the_sentinel(scripted: Scripts) -> None:
    """A value that holds the sentinel stays as it is, and is no end."""
    answers = {1: '{"left": "DONE"}', 2: '{"left": "DONE"}\nDONE'}
    done = looped(scripted(answers), schema=OBJECT, options={"done_sentinel": "DONE"})
    assert (done.reason, done.turns) == ("done", 2)
    assert (done.value, done.text) == ({"left": "DONE"}, '{"left": "DONE"}')


@pytest.mark.parametrize(
    ("reason", "ends"), [("length", "cut_off"), ("content_filter", "filtered")]
)
def test_calls_that_may_lack_a_part(scripted: Scripts, reason: str, ends: str) -> None:
    """What is called by an answer that is not whole is not performed, and is denied."""
    ledger = scripted({1: {**READ, "finish_reason": reason}})
    done = looped(ledger)
    assert (done.reason, done.calls, done.denied) == (ends, 1, 1)
    assert not [one for one in performed() if one.startswith("read")]
    (record,) = agent_records(ledger, next(iter(ledger.runs())).id)
    (call,) = record["turns"][0]["calls"]
    assert (call["code"], call["place"]) == ("loop_ended", ends)


def test_calls_that_are_not_there(scripted: Scripts) -> None:
    """An empty answer that says it calls tools is no last one: the model is told so."""
    empty = {"text": "", "finish_reason": "tool_calls"}
    ledger = scripted({1: empty, 2: "It is well."})
    done = looped(ledger)
    assert (done.reason, done.turns) == ("answered", 2)
    (fact,) = ledger.events(type="agent.corrected")
    assert fact.data["code"] == "calls_missing"
    assert (
        looped(scripted({1: empty}), options={"max_nudges": 1}).reason == "max_nudges"
    )


def test_a_key_twice(scripted: Scripts) -> None:
    """An object with a key twice is no value: nobody can tell which one is meant."""
    ledger = scripted({1: '{"n": 1, "n": 2}', 2: '{"n": 2}'})
    done = looped(ledger, schema=OBJECT)
    assert (done.value, done.turns) == ({"n": 2}, 2)
    told = [str(one["content"]) for one in done.messages if one["role"] == "user"]
    assert "the key 'n' twice" in told[-1]


@pytest.mark.parametrize("limit", [{"max_iterations": 1}, {"max_total_tokens": 5}])
def test_who_is_not_asked_again_is_told_nothing(scripted: Scripts, limit: Any) -> None:
    """No correction is stated that no model was told."""
    usage = {"usage": {"input_tokens": 7, "output_tokens": 4}}
    ledger = scripted({1: "No object."}, usage)
    done = looped(ledger, schema=OBJECT, options=limit)
    assert done.reason == next(iter(limit))
    assert not list(ledger.events(type="agent.corrected"))
    assert done.messages[-1]["role"] == "assistant"


def answer(*named: tuple[str, Any]) -> AgentAnswer:
    """Return an answer that calls these."""
    rows = [AgentCall(at, str(at), *one) for at, one in enumerate(named)]
    return AgentAnswer("", tuple(rows))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=2) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner)
    ),
    max_leaves=4,
)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), json_values), max_size=4), st.randoms()
)
def test_the_same_calls(named: list[tuple[str, Any]], by: Any) -> None:
    """Calls are the same in any order, with members in any order, and with 1 for 1.0."""

    def other(value: Any) -> Any:
        if isinstance(value, dict):
            rows = [(name, other(one)) for name, one in value.items()]
            by.shuffle(rows)
            return dict(rows)
        if isinstance(value, list):
            return [other(one) for one in value]
        if type(value) is int and abs(value) < 2**53:
            return float(value)
        return value

    turned = [(name, other(value)) for name, value in named]
    by.shuffle(turned)
    assert answer(*turned).asked == answer(*named).asked
    assert answer(*named, ("c", 1)).asked != answer(*named).asked
    assert answer(*named, ("c", 1)).asked != answer(*named, ("c", True)).asked


def test_repeats_in_another_order(scripted: Scripts) -> None:
    """Another order is no progress."""
    one, two = ("read", {"path": "a"}), ("read", {"path": "b"})
    script = {1: calls(one, two), 2: calls(two, one)}
    done = looped(scripted(script), options={"max_repeats": 1})
    assert (done.reason, done.turns) == ("no_progress", 2)


ODD = [
    True,
    "1e999999999",
    "1e70000",
    "-1",
    "NaN",
    "sNaN",
    -0.5,
    10**4000,
    "9" * 99,
    [1],
]


@pytest.mark.parametrize(
    "cost", [*ODD, "1e-999990", 1e300, math.inf, "0x1", " ", None], ids=type
)
def test_costs_that_nobody_can_have(scripted: Scripts, cost: Any) -> None:
    """Such a cost is unknown: a limit ends the loop as it does then, else nothing does."""
    assert spent({"cost": {"usd": cost}})[1] is None
    if isinstance(cost, float) and math.isinf(cost):
        return  # a record has no such number
    if type(cost) is int and cost > 2**60:
        return
    usage = {"cost": {"usd": cost}}
    assert looped(scripted({1: READ, 2: "x"}, usage)).reason == "answered"
    done = looped(scripted({1: READ, 2: "x"}, usage), options={"max_cost_usd": 5})
    assert (done.reason, done.cost_usd) == ("cost_unknown", None)


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 2**60, "output_tokens": 1},
        {"input_tokens": -1, "output_tokens": 9},
        {"input_tokens": 1, "output_tokens": 1, "total_tokens": -5},
        {"input_tokens": True, "output_tokens": 1},
        {"input_tokens": 1.5, "output_tokens": 1},
        [1],
    ],
)
def test_tokens_that_are_no_counts(usage: Any) -> None:
    """What is no count, or said beside one, is not known."""
    assert spent({"usage": usage})[0] is None


@given(json_values, json_values)
def test_what_is_spent_is_bounded(one: Any, two: Any) -> None:
    """Whatever a provider says, tokens are counts and costs are money, or unknown."""
    usage = {"input_tokens": one, "output_tokens": two, "total_tokens": one}
    tokens, cost = spent({"usage": usage, "cost": {"usd": two}})
    assert tokens is None or 0 <= tokens < 2**54
    assert cost is None or (cost == 0 or 1e-13 < cost < 1e10)
    assert cost is None or len(f"{cost:f}") < 50


def test_an_answer_that_is_not_recorded(scripted: Scripts) -> None:
    """What it took is unknown, not nothing."""
    usage = {"usage": {"input_tokens": 7, "output_tokens": 4}, "cost": {"usd": "3"}}
    ledger = scripted({1: {"text": "\ud800"}}, usage)
    done = ledger.execute(lambda run: agent_loop(run, "x", model="test:a").text)
    assert done.status == "failed"
    (end,) = ledger.events(type="agent.ended")
    assert (end.data["reason"], end.data["turns"]) == ("failed", 1)
    assert end.data.get("tokens") is None
    assert end.data.get("cost_usd") is None


PROMPTS: list[Any] = [{"role": "user", "content": "x"}, 5, None, ["x"], "\ud800"]
PROMPTS += [[{"role": "alien", "content": "x"}]]
SCHEMAS: list[Any] = [5, True, False, "x", [], {"const": math.nan}]
ARGUMENTS: list[dict[str, Any]] = [
    *({"schema": one} for one in SCHEMAS),
    {"base": 5},
    {"tool_annotations": 5},
    {"options": []},
    {"options": {"max_cost_usd": math.nan}},
    {"options": {"temperature": math.inf}},
    {"system": 5},
    {"servers": 5},
    {"model": ""},
    {"model": 5},
    *({"prompt": one} for one in PROMPTS),
]


@pytest.mark.parametrize("given", ARGUMENTS, ids=repr)
def test_odd_arguments(scripted: Scripts, given: Any) -> None:
    """What a loop cannot be given is refused by rule, with place and remedy."""
    ledger = scripted({1: "x"})
    name = next(iter(given))

    def program(run: Run) -> str:
        said = {"prompt": "x", "model": "test:a", **given}
        return agent_loop(run, said.pop("prompt"), **said).text

    error = ledger.execute(program).error
    assert isinstance(error, UsageError), error
    assert error.rule.startswith("workflow/")
    assert name in error.place
    assert error.remedy
    assert not list(ledger.events(type="agent.turn.requested"))
