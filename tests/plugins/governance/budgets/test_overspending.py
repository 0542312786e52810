"""Beyond is beyond: whatever the table says is overspent, the record and the marks say."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from governed_programs import entropy, policy
from muniment import Run
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.governed import governed

ACTIONS = ("halt", "degrade", "mark_non_certifiable")
MANY = {"input_tokens": 1_000_000, "output_tokens": 10}


def answering(answer: object) -> Callable[[Run], object]:
    """Return a program that asks once, and gets *answer*."""
    return lambda run: run.effect("llm", 1, lambda _: answer)


def slow(run: Run) -> object:
    """Take more time than there is, in an effect."""
    return run.effect("tool", 1, lambda _: time.sleep(0.6))


def slow_at_the_end(run: Run) -> None:
    """Take more time than there is, after the last effect."""
    run.effect("tool", 1, lambda _: 1)
    time.sleep(0.6)


def talking(run: Run) -> None:
    """State more than there is room for."""
    for number in range(20):
        run.record("note.added", {"text": str(number)})


def insisting(run: Run) -> object:
    """Ask again and again inside an effect, and say so."""

    def perform(_: object) -> str:
        with run.scope("retries") as lane:
            for attempt in (1, 2, 3, 4):
                lane.record("llm.attempted", {"attempt": attempt})
        return "yes"

    return run.effect("llm", 1, perform)


Ways = dict[str, tuple[str, dict[str, object], Callable[[Run], object]]]
WAYS: Ways = {
    "tokens": ("execution", {"token_limit": 50}, answering({"usage": MANY})),
    "no tokens": ("execution", {"token_limit": 50}, answering("no usage at all")),
    "cost": ("execution", {"cost_limit": 1}, answering({"cost": {"usd": "9.5"}})),
    "no cost": ("execution", {"cost_limit": 1}, answering({"usage": MANY})),
    "time": ("execution", {"wall_time_limit": 0.5}, slow),
    "time at the end": ("execution", {"wall_time_limit": 0.5}, slow_at_the_end),
    "events": ("execution", {"trace_event_limit": 9}, talking),
    "effects": ("execution", {"effect_limit": 2}, insisting),
    "of a kind": ("execution", {"effect_limits": {"llm": 2}}, insisting),
    "count": ("entropy", entropy(max_count=2), insisting),
    "weight": ("entropy", entropy(max_weight=40), insisting),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_overspent_is_stated_and_marked(
    tmp_path: Path, way: str, action: str
) -> None:
    """Once, as *overspent*; the run is marked unless the budget degrades.

    A run that called another has the mark of that one, and so has each above it.
    """
    member, budget, program = WAYS[way]
    instead = {"fallback": "skip"} if action == "degrade" else {}
    rules = policy(
        **{f"{member}_budget": {**budget, "exhaustion_action": action, **instead}}
    )

    def above(run: Run) -> object:
        return run.call(program)

    for top in (program, lambda run: run.call(above)):
        path = tmp_path / ("alone" if top is program else "called")
        path.mkdir()
        with Ledger.create(
            path / "l.db", home=path / "h", plugins=("governance", "providers")
        ) as ledger:
            with governed(ledger, rules):
                done = ledger.execute(top)
            assert done.ok
            table = budget_table(ledger, done.run_id)
            assert table is not None
            beyond = {
                one.limit.partition(" ")[0]
                for one in table.rows
                if one.spent > one.allowed or one.unknown
            }
            stated = list(ledger.events(run=done.run_id, type="budget.exhausted"))
            assert beyond
            assert {one.raw["limit"] for one in stated} == beyond
            assert len(stated) == len(beyond)
            assert {one.raw["action"] for one in stated} == {"overspent"}
            marks = {
                mark
                for one in ledger.runs()
                for mark in (_marks(ledger, one.id) or [""])
            }
            assert marks == ({""} if action == "degrade" else {"non_certifiable"})
            verdict = "acceptable" if action == "degrade" else "non_certifiable"
            assert replay(ledger, done.run_id, top).verdict == verdict


def _marks(ledger: Ledger, run: str) -> list[str]:
    return ledger.project(RunSummaries, run=run).marks


def test_each_run_above_a_marked_one_is_marked(tmp_path: Path) -> None:
    """At whatever depth, once it ends; a run beside it is not."""
    marking = {"effect_limit": 1, "exhaustion_action": "mark_non_certifiable"}

    def low(run: Run) -> object:
        return [run.effect("tool", number, lambda one: one) for number in range(3)]

    def middle(run: Run) -> object:
        return run.call(low)

    def upper(run: Run) -> object:
        return run.call(middle)

    def quiet(_: Run) -> int:
        return 1

    def top(run: Run) -> object:
        return [run.call(quiet), run.call(upper)]

    path = tmp_path / "ledger.db"
    with Ledger.create(path, home=tmp_path / "h", plugins=("governance",)) as ledger:
        with governed(ledger, policy(execution_budget=marking)):
            ledger.execute(top)
        marks = {one.name: _marks(ledger, one.id) for one in ledger.runs()}
    every = {name: ["non_certifiable"] for name in ("top", "upper", "middle", "low")}
    assert marks == {**every, "quiet": []}


@pytest.mark.parametrize("depth", [1, 2])
def test_the_table_of_a_fork_has_what_its_origin_spent(
    tmp_path: Path, depth: int
) -> None:
    """It says what the refusal says: nothing is left."""

    def program(run: Run) -> object:
        return [run.effect("tool", number, lambda one: one) for number in range(6)]

    path = tmp_path / "ledger.db"
    with Ledger.create(path, home=tmp_path / "h", plugins=("governance",)) as ledger:
        with governed(ledger, policy(execution_budget={"effect_limit": 4})):
            run = ledger.execute(program).run_id
        for _ in range(depth):
            last = [one.seq for one in ledger.events(run=run, type="tool.completed")]
            done = ledger.fork(run, at=last[-1], program=program)
            run = done.run_id
            table = budget_table(ledger, run)
            assert table is not None
            (row,) = table.rows
            assert (row.spent, row.allowed) == (4, 4)
            assert "4 of 4 is spent" in str(done.error)
