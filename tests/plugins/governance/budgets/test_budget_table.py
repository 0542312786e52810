"""The budget table is a fold over events, and says what a real performer was asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governed_programs import ANSWER, Provider, entropy, opened, policy
from muniment import (
    EffectFailed,
    Event,
    GateAnswer,
    Run,
    RunFacts,
    hookimpl,
)
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.governance.budgets.governor import governor_of
from muniment_plugins.governance.budgets.spending import Spending
from muniment_plugins.governance.budgets.table import BudgetTable, budget_table
from muniment_plugins.governance.governed import governed

KINDS = ("llm", "tool", "data")
STEP = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("fails"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("refused"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("unkept"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("answered"), st.sampled_from(KINDS), st.integers(0, 5)),
    st.tuples(st.just("pause"), st.just(""), st.just(0)),
    st.tuples(st.just("raise"), st.just(""), st.just(0)),
)
Step = tuple[str, str, int]
BRANCH = st.lists(STEP, max_size=5)
CALLS = st.lists(st.tuples(st.sampled_from(["here", "child"]), BRANCH), max_size=3)
ACTIONS = st.sampled_from(["halt", "degrade", "mark_non_certifiable"])


class Raised(Exception):
    """What the drawn programs raise, once for each place."""


class Meddler:
    """Refuses requests, refuses answers, and answers; keeps the live accounts."""

    def __init__(self) -> None:
        self.live: dict[str, Any] = {}

    @hookimpl
    def before_effect(self, request: Any, facts: RunFacts) -> GateAnswer | str | None:
        """Do as the request says."""
        governor = governor_of(facts)
        assert governor is not None
        self.live["accounts"] = governor.accounts
        if request[0] == "refused":
            return "not this one"
        return GateAnswer("kept") if request[0] == "answered" else None

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, Any]) -> str | None:
        """Refuse to keep some answers."""
        refused = event_type.endswith(".completed") and data.get("value") == "unkept"
        return "not this answer" if refused else None


class Performer:
    """A real performer, which counts by kind how often it was called."""

    def __init__(self) -> None:
        self.called: dict[str, int] = {}

    def of(self, kind: str) -> Any:
        """Return the performer of *kind*."""

        def perform(request: Any) -> object:
            self.called[kind] = self.called.get(kind, 0) + 1
            if request[0] == "fails":
                raise OSError("down")
            return "unkept" if request[0] == "unkept" else ANSWER

        return perform


def branch(
    performer: Performer, steps: list[Step], once: set[tuple[str, int]], where: str
) -> Any:
    """Return a program that takes *steps*, and goes on whatever fails."""

    def program(run: Run) -> str:
        for at, (what, kind, number) in enumerate(steps):
            if what == "pause":
                run.pause("for the night")
            elif what == "raise":
                if (where, at) not in once:
                    once.add((where, at))
                    raise Raised(where)
            else:
                with suppress(EffectFailed):
                    run.effect(kind, [what, number], performer.of(kind))
        return "done"

    return program


def whole(performer: Performer, calls: list[tuple[str, list[Step]]]) -> Any:
    """Return a program with *calls*, some of them as runs of their own."""
    once: set[tuple[str, int]] = set()

    def program(run: Run) -> list[object]:
        got: list[object] = []
        for number, (where, steps) in enumerate(calls):
            part = branch(performer, steps, once, str(number))
            if where == "child":
                got.append(run.call(part, name=f"part {number}"))
            else:
                with run.scope(f"part/{number}") as lane:
                    got.append(part(lane))
        return got

    return program


def without_events(spending: Spending) -> tuple[object, ...]:
    """Return what *spending* says of effects, without the events of the run's end."""
    return (
        spending.counts,
        spending.weights,
        spending.kinds,
        spending.tokens,
        spending.unmetered,
        spending.cost,
        spending.unpriced,
    )


@settings(max_examples=40)
@given(CALLS, ACTIONS, st.integers(0, 6), st.booleans())
def test_a_fold_counts_what_was_performed(
    calls: list[tuple[str, list[Step]]], action: str, most: int, gives_up: bool
) -> None:
    """The table has the live governor's numbers, and says how often providers were asked.

    The programs are random: they are refused, fail, fall back, pause, are resumed, and call
    others. Unless a mark is all that happens, no provider is asked more than the limit says.
    """
    instead = {"fallback": "skip"} if action == "degrade" else {}
    budget = entropy(max_count=most, exhaustion_action=action, **instead)
    meddler, performer = Meddler(), Performer()
    with TemporaryDirectory() as place:
        tmp_path = Path(place)
        plugins = Plugins(("governance",), extra={"meddler": meddler})
        with Ledger.create(
            tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
        ) as ledger:
            program = whole(performer, calls)
            with governed(ledger, policy(entropy_budget=budget)):
                done = ledger.execute(program)
            table = agreed(ledger, done.run_id, performer, meddler)
            for _ in range(0 if gives_up else 12):
                halted = any(
                    one.raw["action"] == "halt"
                    for one in ledger.events(type="budget.exhausted")
                )
                if done.ok or halted:
                    break
                done = ledger.resume(done.run_id, program)
                table = agreed(ledger, done.run_id, performer, meddler)
        with Ledger.open(tmp_path / "l.db", home=tmp_path / "home", plugins=()) as bare:
            again = budget_table(bare, done.run_id)
            assert again is not None
            assert again.rows == table.rows
    if action != "mark_non_certifiable":
        assert sum(performer.called.values()) <= most


def agreed(
    ledger: Ledger, run: str, performer: Performer, meddler: Meddler
) -> BudgetTable:
    """Return the table of *run*, compared with what was called and with the live one."""
    table = budget_table(ledger, run)
    assert table is not None
    spent = table.accounts.own.spending
    assert spent.kinds == performer.called
    (row,) = table.rows
    assert (row.limit, row.spent) == ("max_count", sum(performer.called.values()))
    live = meddler.live.pop("accounts", None)
    if live is not None:
        assert without_events(live.own.spending) == without_events(spent)
        assert live.own.spending.events == spent.events
    return table


def test_each_limit_has_its_row(tmp_path: Path) -> None:
    """Counts, weights, tokens, cost, time, events: what is spent, and of how much."""
    provider = Provider()
    bounds = {
        "effect_limit": 9,
        "effect_limits": {"llm": 5, "tool": 2},
        "token_limit": 50,
        "cost_limit": 2.5,
        "wall_time_limit": 60,
        "trace_event_limit": 90,
    }
    budget = entropy(
        max_weight=100,
        per_source=[
            {"source": "external_oracle", "max_magnitude": "high", "max_count": 7}
        ],
    )

    def program(run: Run) -> None:
        run.effect("llm", 1, provider)
        run.effect("llm", 2, provider)
        run.effect("tool", 3, lambda _: "done")

    with opened(tmp_path) as ledger:
        rules = policy(execution_budget=bounds, entropy_budget=budget)
        with governed(ledger, rules):
            run = ledger.execute(program).run_id
        table = budget_table(ledger, run)
        assert table is not None
        assert (table.policy, table.digest) == ("tested", rules.digest)
        found = {one.limit: (one.spent, one.allowed) for one in table.rows}
        took, _ = found.pop("wall_time_limit")
        assert 0 <= took < 60
        events: list[Event] = list(ledger.events(run=run))
        assert found == {
            "max_weight": (16 + 16 + 4, 100),
            "max_count of external_oracle": (3, 7),
            "effect_limit": (3, 9),
            "effect_limits.llm": (2, 5),
            "effect_limits.tool": (1, 2),
            "token_limit": (10, 50),
            "cost_limit": (0.5, 2.5),
            "trace_event_limit": (len(events), 90),
        }


def test_a_child_shows_the_table_of_its_root(tmp_path: Path) -> None:
    """Whoever looks at a run that another one called sees what both have spent."""
    provider = Provider()

    def child(run: Run) -> object:
        return run.effect("llm", 1, provider)

    def program(run: Run) -> object:
        return [run.effect("llm", 0, provider), run.call(child)]

    with opened(tmp_path) as ledger:
        with governed(ledger, policy(entropy_budget=entropy(max_count=3))):
            run = ledger.execute(program).run_id
        (called,) = ledger.children(run)
        tables = [budget_table(ledger, one) for one in (run, called)]
        shown = [None if one is None else one.to_json() for one in tables]
        assert shown[0] == shown[1]
        assert tables[0] is not None
        assert [one.spent for one in tables[0].rows] == [2]


@pytest.mark.parametrize("answer", ["yes", {"text": "yes"}])
def test_what_nobody_knows_is_said(tmp_path: Path, answer: object) -> None:
    """An answer without its tokens uses the limit up: the row says how many there are."""
    provider = Provider(answer)
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(execution_budget={"token_limit": 100})):
            run = ledger.execute(lambda run: run.effect("llm", 1, provider)).run_id
        table = budget_table(ledger, run)
        assert table is not None
        (row,) = table.rows
        assert (row.spent, row.unknown, row.is_used_up) == (0, 1, True)


def test_a_run_without_a_policy_has_no_table(tmp_path: Path) -> None:
    """There is nothing that it was allowed."""
    with opened(tmp_path) as ledger:
        run = ledger.execute(lambda run: run.effect("llm", 1, lambda _: "yes")).run_id
        assert budget_table(ledger, run) is None
