"""Whatever ends a loop, what it says of itself is what its record shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_tools import ALLOWED, Model, calls, check_numbers, tools
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.governed import governed
from muniment_plugins.providers import tool_server
from muniment_plugins.workflow import (
    agent_aloop,
    tool_define,
)
from muniment_plugins.workflow.agents.loop.endings import ENDINGS

Scripts = Callable[..., Ledger]
READ = ("read", {"path": "a"})
LIMIT = {"tool": "edit", "arg_key": "path", "arg_patterns": ["a*"]}
KINDS = ("tool", "llm", "agent.turn", "data")

called = st.one_of(
    st.builds(lambda n: ("read", {"path": f"p{n}"}), st.integers(0, 2)),
    st.sampled_from(
        [
            READ,
            ("edit", {"path": "b", "text": "x"}),
            ("burst", {"why": "broken"}),
            ("raed", {}),
            ("read", {"path": 3}),
            ("nap", {"s": 0}),
            ("nap", {"s": 0.03}),
            ("refuse", {}),
            ("accept", {}),
        ]
    ),
)
finish = st.sampled_from(["tool_calls"] * 4 + ["length", "content_filter", "stop"])
spent = st.sampled_from(
    [
        {},
        {
            "usage": {"input_tokens": 2, "output_tokens": 1},
            "cost": {"usd": "0.01"},
        },
        {
            "usage": {"input_tokens": 2**60, "output_tokens": 1},
            "cost": {"usd": "1e70000"},
        },
        {"usage": {"total_tokens": 5}, "cost": {"usd": "1e999999999"}},
        {"usage": {"input_tokens": -1, "output_tokens": 9}, "cost": {"usd": -1}},
    ]
)
answers = st.one_of(
    st.builds(
        lambda some, reason, more: {**calls(*some), "finish_reason": reason, **more},
        st.lists(called, min_size=1, max_size=4),
        finish,
        spent,
    ),
    st.builds(
        lambda text, reason, more: {"text": text, "finish_reason": reason, **more},
        st.sampled_from(
            ["", "No.", '{"n": 1}', "DONE", "It is DONE", '{"n": 1, "n": 2}']
        ),
        finish,
        spent,
    ),
    st.sampled_from([{}, {"text": 5}, {"text": "\ud800"}, OSError("overloaded")]),
)
options = st.fixed_dictionaries(
    {"max_iterations": st.integers(1, 4)},
    optional={
        "max_total_tokens": st.integers(1, 9),
        "max_cost_usd": st.sampled_from([0.01, 0.02]),
        "max_tool_calls": st.integers(0, 5),
        "max_repeats": st.integers(1, 2),
        "max_nudges": st.integers(0, 1),
        "max_concurrent_tools": st.integers(1, 3),
        "done_sentinel": st.just("DONE"),
        "require_successful_tools": st.just(["read"]),
        "stop_after_successful_tools": st.just(["accept"]),
    },
)
budgets = st.none() | st.tuples(st.sampled_from(KINDS), st.integers(0, 4))
cancels = st.none() | st.sampled_from([0.0, 0.005, 0.02])
SCRIPT: dict[int, Any] = {1: "x"}


class Shop:
    """A server of a tool that says error, and one that does not."""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Shop]:
        """Connect."""
        yield self

    async def list_tools(self) -> Any:
        """List both."""
        types: Any = pytest.importorskip("mcp.types")
        rows = [
            {"name": one, "inputSchema": {"type": "object"}}
            for one in ("refuse", "accept")
        ]
        return types.ListToolsResult.model_validate({"tools": rows})

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Answer after others had a turn."""
        del arguments
        types: Any = pytest.importorskip("mcp.types")
        await asyncio.sleep(0.01)
        content = [{"type": "text", "text": name}]
        return types.CallToolResult.model_validate(
            {"content": content, "isError": name == "refuse"}
        )


async def nap(s: float) -> str:
    """Take a while."""
    await asyncio.sleep(s)
    return "awake"


def shelf_tools() -> Any:
    """Return the tools of loops, and one that takes a while."""
    said = {
        "parameters": {"s": {"type": "number"}},
        "handler": nap,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tools(), "nap", "Take a while", said)


@pytest.fixture
def shelf(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger whose model answers what was drawn."""
    del place
    plugins = Plugins(("workflow", "governance"), extra={"model": Model(SCRIPT)})
    home = tmp_path / "home"
    with Ledger.create(tmp_path / "l.db", home=home, plugins=plugins) as made:
        yield made


def limited(
    ledger: Ledger, budget: tuple[str, int] | None, run: Callable[[], Any]
) -> Any:
    """Return what *run* returns, under a budget that halts it."""
    if budget is None:
        return run()
    kind, most = budget
    said: Any = {
        "spec_version": "v1",
        "policy_id": "p",
        "execution_budget": {
            "effect_limits": {kind: most},
            "exhaustion_action": "halt",
        },
    }
    with governed(ledger, GovernancePolicy.from_document(said, "p")):
        return run()


@given(
    st.lists(answers, min_size=1, max_size=4), options, st.booleans(), budgets, cancels
)
@example([calls(READ)] * 3, {"max_iterations": 3}, False, ("tool", 1), None)
@example([calls(("nap", {"s": 1}), READ)], {"max_iterations": 3}, False, None, 0.05)
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_numbers(
    shelf: Ledger,
    drawn: list[Any],
    limits: Any,
    valued: bool,
    budget: tuple[str, int] | None,
    seconds: float | None,
) -> None:
    """Turns, calls, denials, failures, corrections, tokens and cost are those that it shows.

    So is what the program is told; and a replay comes to the same, but for timeouts.
    """
    SCRIPT.clear()
    SCRIPT.update(enumerate(drawn, 1))
    more: Any = {"schema": {"type": "object", "required": ["n"]}} if valued else {}
    if "stop_after_successful_tools" in limits and valued:
        del limits["stop_after_successful_tools"]
    told: list[Any] = []

    async def looped(run: Run) -> str:
        async with tool_server(Shop().connect) as server:
            done = await agent_aloop(
                run,
                "Do it.",
                model="test:a",
                tools=shelf_tools(),
                servers=[server],
                approval_policy={
                    "auto_approve": [*ALLOWED["auto_approve"], "refuse", "accept"]
                },
                capability_policy={"tool_arg_constraints": [LIMIT]},
                options=limits,
                **more,
            )
        told.append(done)
        return done.reason

    async def program(run: Run) -> str:
        try:
            async with asyncio.timeout(seconds):
                return await looped(run)
        except TimeoutError:
            run.record("note.added", {"text": "after"})
            return "cancelled"

    done = limited(shelf, budget, lambda: asyncio.run(shelf.aexecute(program)))
    check_numbers(shelf)
    ends = [one.data for one in shelf.events(run=done.run_id, type="agent.ended")]
    for one in told:
        (end,) = ends
        assert one.reason in ENDINGS
        for name in ("reason", "turns", "calls", "denied", "failed", "tokens"):
            assert getattr(one, name) == end.get(name)
        cost = None if one.cost_usd is None else f"{one.cost_usd:f}"
        assert cost == end.get("cost_usd")
        assert cost is None or len(cost) < 50
    if done.status == "failed":
        assert getattr(done.error, "rule", None), done.error
    elif done.result == "cancelled" and ends:
        assert ends[0]["reason"] == "cancelled"
    if seconds is None:  # else it is a race what the timeout of a replay cancels
        report = replay(shelf, done.run_id, program=program)
        assert report.verdict == "acceptable", report
