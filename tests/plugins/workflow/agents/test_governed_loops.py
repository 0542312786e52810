"""A loop under a policy: what is spent ends the run there, in threads and in tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import ALLOWED, Model, calls, performed, tools
from deciding import answer, approver
from governed_programs import policy
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.amendments import amend, amendment_of
from muniment_plugins.governance.governed import governed
from muniment_plugins.workflow import agent_loop, run_record, workflow_execute

SCRIPT = {
    1: calls(("read", {"path": "a"})),
    2: calls(*[("read", {"path": f"p{n}"}) for n in range(4)]),
    3: "Done.",
}


@pytest.fixture
def book(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger that knows loops and budgets."""
    del place
    plugins = Plugins(("workflow", "governance"), extra={"model": Model(SCRIPT)})
    where = tmp_path / "ledger.db"
    with Ledger.create(where, home=tmp_path / "home", plugins=plugins) as made:
        yield made


def terms(**limits: int) -> Any:
    """Return a policy that allows so many effects of each kind."""
    budget = {"effect_limits": limits, "exhaustion_action": "halt"}
    return policy(execution_budget=budget)


def node(*, later: bool) -> dict[str, Any]:
    """Return a graph of one loop, with a retry that must not be made."""
    return {
        "nodes": {
            "act": {
                "mode": "agent",
                "tools": tools(later=later),
                "model_policy": {"model": "test:a"},
                "approval_policy": ALLOWED,
                "retry_policy": {"max_attempts": 3},
            }
        }
    }


@pytest.mark.parametrize("later", [False, True], ids=["threads", "tasks"])
@pytest.mark.parametrize(
    ("limits", "asked", "reads"), [({"llm": 2}, 2, 5), ({"tool": 3}, 2, 3)]
)
def test_a_budget_ends_a_loop(
    book: Ledger, limits: dict[str, int], asked: int, reads: int, later: bool
) -> None:
    """Nothing is asked or performed beyond it; after an amendment it goes on from there."""
    key = approver(book, "ann")
    with governed(book, terms(**limits)):
        done = workflow_execute(book, "t", node(later=later))
    run = done.run_id
    assert done.status == "failed"
    assert "is spent" in str(done.error)
    counted = [one.partition(" ")[0] for one in performed()]
    assert (counted.count("asked"), counted.count("read")) == (asked, reads)
    (ended,) = book.events(run=run, type="agent.ended")
    assert ended.data["reason"] == "failed"
    tried = [one.raw for one in book.events(type="node.attempted")]
    assert all(one["attempt"] == 1 and "wait_s" not in one for one in tried)
    assert replay(book, run).verdict == "acceptable"

    wider = terms(**dict.fromkeys(limits, 20))
    waiting = book.execute(
        amend, params=amendment_of(*governing_of(book, run), wider, None)
    )
    answer(book, key)
    assert book.resume(waiting.run_id).ok
    more = asyncio.run(book.aresume(run)) if later else book.resume(run)
    assert more.status == "completed", more.error
    counted = [one.partition(" ")[0] for one in performed()]
    assert (counted.count("asked"), counted.count("read")) == (3, 5)
    (row,) = run_record(book, run)["stages"]
    assert row["agent"]["reason"] == "answered"
    assert [len(one["calls"]) for one in row["agent"]["turns"]] == [1, 4, 0]


def test_a_refusal_of_a_plugin_is_told(book: Ledger) -> None:
    """A tool that a policy degrades is answered by it, and the loop goes on."""
    budget = {"effect_limits": {"tool": 1}, "exhaustion_action": "degrade"}
    given = policy(execution_budget={**budget, "fallback": {"answer": "not read"}})

    def program(run: Run) -> list[str]:
        done = agent_loop(run, "x", model="test:a", tools=tools())
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    with governed(book, given):
        done = book.execute(program)
    assert done.status == "completed", done.error
    assert done.result == ["text of a", *["not read"] * 4]
