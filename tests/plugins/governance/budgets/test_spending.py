"""What counts as spent, and what an answer may say of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from governed_programs import Provider, asking, opened, policy
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.governance.governed import governed

LYING = [
    {"usage": {"input_tokens": -100, "output_tokens": 2}},
    {"usage": {"input_tokens": 1.5}},
    {"usage": {}},
    {"usage": None},
    {"usage": "many"},
]
CHEAP: list[object] = ["-5", "NaN", "Infinity", "-0.1", "free", "", None, {}, []]


@pytest.mark.parametrize("answer", LYING)
def test_tokens_that_cannot_be_counted_stop_the_budget(
    tmp_path: Path, answer: dict[str, object]
) -> None:
    """An answer with negative tokens, or with none, gives nothing back: it is the last."""
    provider = Provider({"text": "yes", **answer})
    limit = {"token_limit": 1000}
    with opened(tmp_path) as ledger, governed(ledger, policy(execution_budget=limit)):
        done = ledger.execute(asking(provider))
    assert (done.status, len(provider.calls)) == ("failed", 1)


@pytest.mark.parametrize("amount", CHEAP)
def test_costs_that_cannot_be_counted_stop_the_budget(
    tmp_path: Path, amount: object
) -> None:
    """The same of costs."""
    provider = Provider({"text": "yes", "cost": {"usd": amount}})
    limit = {"cost_limit": 1000}
    with opened(tmp_path) as ledger, governed(ledger, policy(execution_budget=limit)):
        done = ledger.execute(asking(provider))
    assert (done.status, len(provider.calls)) == ("failed", 1)


def test_another_attempt_inside_an_effect_counts(tmp_path: Path) -> None:
    """A performer that asks three times, and states it, spends three."""

    def program(run: Run) -> None:
        def perform(_: object) -> str:
            with run.scope("retries") as lane:
                for attempt in (1, 2, 3):
                    lane.record("llm.attempted", {"attempt": attempt})
            return "yes"

        for number in range(3):
            run.effect("llm", number, perform)

    with (
        Ledger.create(
            tmp_path / "ledger.db",
            home=tmp_path / "home",
            plugins=("governance", "providers"),
        ) as ledger,
        governed(ledger, policy(execution_budget={"effect_limits": {"llm": 4}})),
    ):
        done = ledger.execute(program)
        assert done.status == "failed"
        assert "6 of 4 is spent" in str(done.error)
