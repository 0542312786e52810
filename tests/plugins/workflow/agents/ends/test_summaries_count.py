"""What a loop asks models for counts, summaries of its conversation, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from agent_tools import calls, tools
from muniment import hookimpl, replay
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.workflow import agent_loop, run_record, workflow_execute
from workflow_stages import chain

Scripts = Callable[..., Ledger]
TURN, SUM = 10, 1000
"""The tokens of an answer, and of a summary; the cents, too."""
LONG = {"role": "user", "content": "word " * 200}


def priced(tokens: int) -> dict[str, Any]:
    """Return what an answer says that it took."""
    usage = {"input_tokens": tokens - 1, "output_tokens": 1}
    return {"usage": usage, "cost": {"usd": f"{tokens}"}}


class Summing:
    """A model that reads file after file, and one that sums up what was said."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = summary

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer; nothing depends on how often it was asked."""
        if request["model"] == "test:sum":
            if "error" in self._summary:
                raise OSError(self._summary["error"])
            return dict(self._summary)
        if str(request["messages"]).count("text of") > 2:
            return {"text": "Done.", **priced(TURN)}
        read = [
            ("read", {"path": f"p{number}{len(str(request))}"}) for number in range(4)
        ]
        return {**calls(*read), **priced(TURN)}


def compacting(**more: Any) -> dict[str, Any]:
    """Return a policy that is due before the first turn, and asks a model."""
    return {
        "enabled": True,
        "token_threshold": 100,
        "keep_last": 1,
        "compact_strategy": "llm",
        "summarize_model": "test:sum",
        **more,
    }


class Came(NamedTuple):
    """What a loop with limits came to."""

    reason: str
    turns: int
    tokens: int | None
    cost: str | None


def looped(ledger: Ledger, **options: Any) -> Came:
    """Run a loop whose conversation is compacted; its replay comes to the same."""

    def program(run: Run) -> list[Any]:
        done = agent_loop(
            run,
            [LONG, {**LONG, "content": "Read."}],
            model="test:a",
            tools=tools(),
            auto_compact=compacting(),
            options=options,
        )
        cost = None if done.cost_usd is None else f"{done.cost_usd}"
        return [done.reason, done.turns, done.tokens, cost]

    done = ledger.execute(program)
    assert done.status == "completed", done.error
    report = replay(ledger, done.run_id, program=program)
    assert report.verdict == "acceptable", str(report)
    result: Any = done.result
    came = Came(*result)
    record: list[Any] = [
        one.data.get("about", {}) for one in ledger.events(type="llm.completed")
    ]
    if all("usage" in one for one in record):
        assert came.tokens == sum(sum(one["usage"].values()) for one in record)
    return came


GOOD = {"text": "Sum.", **priced(SUM)}
DECLINED = {"text": "word " * 900, **priced(SUM)}


@pytest.mark.parametrize("summary", [GOOD, DECLINED], ids=["made", "declined"])
@pytest.mark.parametrize(
    ("limit", "reason"),
    [("max_total_tokens", "max_total_tokens"), ("max_cost_usd", "max_cost")],
)
@pytest.mark.parametrize(
    ("most", "ends"), [(SUM, True), (SUM + 1, False), (50 * SUM, False)]
)
def test_summaries_count(
    scripted: Scripts,
    summary: Any,
    limit: str,
    reason: str,
    most: int,
    ends: bool,
) -> None:
    """A limit that a summary uses up ends the loop before it asks; else it goes on.

    So does one whose summary is declined, since it would save nothing.
    """
    came = looped(scripted(Summing(summary)), **{limit: most})
    if ends:
        assert came == (reason, 1, SUM, f"{SUM}")
    else:
        assert came.reason == ("answered" if most > 10 * SUM else reason)
        assert came.tokens is not None
        assert came.tokens > SUM


@pytest.mark.parametrize(
    ("limit", "reason"),
    [("max_total_tokens", "usage_unknown"), ("max_cost_usd", "cost_unknown")],
)
def test_summaries_that_do_not_say(scripted: Scripts, limit: str, reason: str) -> None:
    """What a summary took that does not say it is unknown, and ends a limited loop."""
    silent = Summing({"text": "Sum."})
    assert looped(scripted(silent), **{limit: 5}) == (reason, 1, None, None)
    assert looped(scripted(silent)).reason == "answered"


@pytest.mark.parametrize("summary", [GOOD, DECLINED], ids=["made", "declined"])
def test_stages_and_loops_agree(scripted: Scripts, summary: Any) -> None:
    """A stage took what its loop took: answers and summaries, made or declined."""
    ledger = scripted(Summing(summary))
    node = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "prompt": "word " * 200,
        "auto_compact": compacting(),
    }
    done = workflow_execute(ledger, "t", chain(act=node))
    (stage,) = run_record(ledger, done.run_id)["stages"]
    usage = stage["usage"]
    asked: list[Any] = [
        one.data["about"] for one in ledger.events(type="llm.requested")
    ]
    assert "test:sum" in [one["model"] for one in asked]
    assert stage["agent"]["tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert stage["agent"]["cost_usd"] == usage["total_cost"]


def test_summaries_that_fail(scripted: Scripts) -> None:
    """What a summary took that failed nobody knows."""
    ledger = scripted(Summing({"error": "overloaded"}))

    def program(run: Run) -> str:
        prompt = [LONG, {**LONG, "content": "Read."}]
        given: Any = {"model": "test:a", "auto_compact": compacting()}
        return agent_loop(run, prompt, **given).text

    assert ledger.execute(program).status == "failed"
    (end,) = ledger.events(type="agent.ended")
    assert (end.data["reason"], end.data.get("tokens")) == ("failed", None)
    assert "cost_usd" not in end.data
