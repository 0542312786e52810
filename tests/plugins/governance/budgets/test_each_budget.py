"""Each budget, exhausted under each action, on a real ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from governed_programs import (
    ANSWER,
    Provider,
    asking,
    entropy,
    opened,
    policy,
    swallowing,
)
from muniment import Run
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.governance.governed import governed

BUDGETS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "count": ("entropy_budget", entropy(max_count=3)),
    "weight": ("entropy_budget", entropy(max_weight=48)),
    "slice count": (
        "entropy_budget",
        entropy(
            per_source=[
                {"source": "external_oracle", "max_magnitude": "high", "max_count": 3}
            ]
        ),
    ),
    "effects": ("execution_budget", {"effect_limit": 3}),
    "effects of a kind": ("execution_budget", {"effect_limits": {"llm": 3}}),
    "tokens": ("execution_budget", {"token_limit": 15}),
    "cost": ("execution_budget", {"cost_limit": 0.75}),
    # run.started, policy.adopted, and two events for each effect
    "events": ("execution_budget", {"trace_event_limit": 9}),
}
ACTIONS = ("halt", "degrade", "mark_non_certifiable")


def terms(name: str, action: str) -> dict[str, object]:
    """Return the members of a policy with the budget *name* and this action."""
    key, budget = BUDGETS[name]
    instead = {"fallback": {"answer": "no"}} if action == "degrade" else {}
    return {key: {**budget, "exhaustion_action": action, **instead}}


def facts_of(ledger: Ledger, run: str) -> list[str]:
    """Return the types of what the plugin stated in *run*."""
    return [
        one.type for one in ledger.events(run=run) if one.scope == "plugin/governance"
    ]


@pytest.mark.parametrize("name", BUDGETS)
def test_halt_stops_before_the_effect(tmp_path: Path, name: str) -> None:
    """The provider is called three times; the fourth call is never made.

    The run fails with the budget's name, and its record replays to that without the
    plugin.
    """
    provider = Provider()
    program = asking(provider)
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(**terms(name, "halt"))):
            done = ledger.execute(program)
        assert (done.status, len(provider.calls)) == ("failed", 3)
        assert "BudgetExhausted" in str(done.error)
        assert facts_of(ledger, done.run_id) == ["policy.adopted", "budget.exhausted"]
        assert verify(ledger.path, home=ledger.home).ok
    with Ledger.open(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=()
    ) as bare:
        assert replay(bare, done.run_id, program).verdict == "acceptable"
    assert len(provider.calls) == 3


@pytest.mark.parametrize("name", BUDGETS)
def test_halt_holds_where_the_program_swallows_it(tmp_path: Path, name: str) -> None:
    """However often it asks, nothing more is performed, and the run fails."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(**terms(name, "halt"))):
            done = ledger.execute(swallowing(provider))
        assert (done.status, len(provider.calls)) == ("failed", 3)
        assert replay(ledger, done.run_id, swallowing(provider)).ok


@pytest.mark.parametrize("name", BUDGETS)
def test_degrade_takes_the_declared_fallback(tmp_path: Path, name: str) -> None:
    """Three calls are made, the others are answered by the fallback; each says so."""
    provider = Provider()
    program = asking(provider)
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(**terms(name, "degrade"))):
            done = ledger.execute(program)
        assert done.value == [ANSWER, ANSWER, ANSWER, "no", "no"]
        assert len(provider.calls) == 3
        assert facts_of(ledger, done.run_id) == [
            "policy.adopted",
            "budget.exhausted",
            "effect.degraded",
            "effect.degraded",
        ]
        answered = [
            one.raw["answered_by"]
            for one in ledger.events(run=done.run_id, type="llm.completed")
        ]
        assert answered[-1]["name"] == "governance"  # type: ignore[index,call-overload]
        assert answered[-1]["fallback"] == "answer"  # type: ignore[index,call-overload]
    with Ledger.open(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=()
    ) as bare:
        assert replay(bare, done.run_id, program).verdict == "acceptable"


@pytest.mark.parametrize("name", BUDGETS)
def test_a_mark_goes_on_and_stays(tmp_path: Path, name: str) -> None:
    """All calls are made, and the run carries the mark, once."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(**terms(name, "mark_non_certifiable"))):
            done = ledger.execute(asking(provider))
        assert (done.status, len(provider.calls)) == ("completed", 5)
        summary = ledger.project(RunSummaries, run=done.run_id)
        assert summary.marks == ["non_certifiable"]
        assert facts_of(ledger, done.run_id).count("run.marked") == 1
        again = replay(ledger, done.run_id, asking(provider))
        assert (again.verdict, again.findings) == ("non_certifiable", ())


@pytest.mark.parametrize("action", ACTIONS)
def test_time_is_a_budget(tmp_path: Path, action: str) -> None:
    """Once the run has taken its seconds, the next effect is what the action says."""
    provider = Provider()
    instead = {"fallback": "skip"} if action == "degrade" else {}
    limit = {"wall_time_limit": 0.2, "exhaustion_action": action, **instead}

    def program(run: Run) -> list[object]:
        first = run.effect("llm", 1, provider)
        run.sleep(0.25)
        return [first, run.effect("llm", 2, provider)]

    with opened(tmp_path) as ledger:
        with governed(ledger, policy(execution_budget=limit)):
            done = ledger.execute(program)
        calls = {"halt": 1, "degrade": 1, "mark_non_certifiable": 2}
        assert len(provider.calls) == calls[action]
        assert done.ok is (action != "halt")
        marked = action != "degrade"  # the timer took more than was left
        expected = "non_certifiable" if marked else "acceptable"
        assert replay(ledger, done.run_id, program).verdict == expected


def test_what_was_never_allowed_halts_whatever_the_action(tmp_path: Path) -> None:
    """A source that is not listed is no exhaustion: it is refused before it happens."""
    provider = Provider()
    budget = {
        "allowed_sources": ["data"],
        "max_magnitude": "high",
        "exhaustion_action": "degrade",
        "fallback": "skip",
    }
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(entropy_budget=budget)):
            done = ledger.execute(asking(provider))
        assert (done.status, provider.calls) == ("failed", [])
        assert "PolicyViolated" in str(done.error)


def test_nothing_stops_under_an_unsafe_policy(tmp_path: Path) -> None:
    """Violations are noted once each, the run completes, and is marked from its start."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        with governed(
            ledger, policy(mode="unsafe", execution_budget={"effect_limit": 2})
        ):
            done = ledger.execute(asking(provider))
        assert (done.status, len(provider.calls)) == ("completed", 5)
        assert facts_of(ledger, done.run_id) == [
            "policy.adopted",
            "run.marked",
            "violation.noted",
        ]


def test_strict_machines_run_nothing_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ``MUNIMENT_STRICT`` is 1, an unsafe policy is refused, and nothing written."""
    monkeypatch.setenv("MUNIMENT_STRICT", "1")
    with opened(tmp_path) as ledger:
        size = ledger.head.size
        with (
            governed(ledger, policy(mode="unsafe")),
            pytest.raises(RefusedError, match="MUNIMENT_STRICT forbids"),
        ):
            ledger.execute(asking(Provider()))
        assert ledger.head.size == size


@pytest.mark.parametrize(
    ("limit", "answer", "unknown"),
    [
        ({"token_limit": 100}, {"text": "yes", "cost": {"usd": "0.1"}}, "tokens"),
        ({"cost_limit": 100}, {"text": "yes", "usage": {"input_tokens": 1}}, "cost"),
    ],
)
def test_an_answer_that_says_nothing_exhausts(
    tmp_path: Path, limit: dict[str, object], answer: object, unknown: str
) -> None:
    """Nobody can tell what is left after an answer without tokens or cost."""
    provider = Provider(answer)
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(execution_budget=limit)):
            done = ledger.execute(asking(provider))
        assert len(provider.calls) == 1
        assert f"do not say their {unknown}" in str(done.error)


def test_what_is_not_governed_is_left_alone(tmp_path: Path) -> None:
    """A run outside the context has no label, no facts of the plugin, and no limit."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(provider))
        assert facts_of(ledger, done.run_id) == []
        (started,) = ledger.events(run=done.run_id, type="run.started")
        assert started.raw["labels"] == {}
