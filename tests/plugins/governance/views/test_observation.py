"""Observations: what a policy would have stopped, in runs that it did not govern."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest

from governed_programs import Provider, asking, entropy, opened, policy
from muniment import Run
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.views.observation import observe

BUDGETS: dict[str, dict[str, object]] = {
    "max_count": {"entropy_budget": entropy(max_count=3)},
    "max_weight": {"entropy_budget": entropy(max_weight=48)},
    "effect_limits.llm": {"execution_budget": {"effect_limits": {"llm": 3}}},
    "effect_limit": {"execution_budget": {"effect_limit": 3}},
    "token_limit": {"execution_budget": {"token_limit": 15}},
    "cost_limit": {"execution_budget": {"cost_limit": 0.75}},
}


def seen(ledger: Ledger, run: str, rules: GovernancePolicy) -> dict[str, Any]:
    """Return what an observation of *run* says, after replaying it."""
    done = observe(ledger, run, rules)
    assert replay(ledger, done.run_id).verdict == "acceptable"
    noted = [
        (one.raw["target"], one.raw["rule"])
        for one in ledger.events(run=done.run_id, type="violation.noted")
    ]
    return {**cast("dict[str, Any]", done.value), "noted": noted}


@pytest.mark.parametrize("limit", BUDGETS)
def test_the_first_effect_beyond_a_limit_is_named(tmp_path: Path, limit: str) -> None:
    """The event is the request of the fourth call, which the budget would have stopped."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        fourth = [
            one.seq for one in ledger.events(run=done.run_id, type="llm.requested")
        ][3]
        said = seen(ledger, done.run_id, policy(**BUDGETS[limit]))
    assert (said["within"], said["violations"]) == (False, 1)
    assert said["noted"] == [(f"event {fourth}", f"budget/{limit}")]


def test_a_run_within_its_policy_is_within(tmp_path: Path) -> None:
    """Nothing is noted, and the observed run is as it was."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        before = [one.hash for one in ledger.events(run=done.run_id)]
        said = seen(ledger, done.run_id, policy(execution_budget={"effect_limit": 5}))
        assert [one.hash for one in ledger.events(run=done.run_id)] == before
    assert (said["within"], said["noted"], said["events"]) == (True, [], len(before))


CLAIM = {
    "claim_id": "c1",
    "statement": "it is so",
    "confidence": 2.0,
    "supported_by": [],
}


@pytest.mark.parametrize(
    ("claims", "verdict"), [([CLAIM], "fail"), ([], "abstain")], ids=["one", "none"]
)
def test_what_was_reasoned_is_judged(
    tmp_path: Path, claims: list[dict[str, object]], verdict: str
) -> None:
    """Claims without evidence fail by the rules in the box; no claim passes nothing."""

    def program(run: Run) -> None:
        run.record(
            "reasoning.recorded",
            {
                "bundle_id": "b1",
                "producer": "writer",
                "claim_ids": [one["claim_id"] for one in claims],
                "evidence_ids": [],
                "digest": "sha256:" + "0" * 64,
                "claims": claims,
                "steps": [],
            },
        )

    with opened(tmp_path) as ledger:
        done = ledger.execute(program)
        done.raise_failure()
        said = seen(ledger, done.run_id, policy())
    assert said["within"] is (verdict == "abstain")
    assert said["verdicts"]["event 2"] == verdict
    assert ("pass" in said["verdicts"].values()) is bool(claims)


def test_an_edited_record_is_not_judged(tmp_path: Path) -> None:
    """A row that does not verify is named; nothing is recorded about it."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        path = ledger.path
    database = sqlite3.connect(path)
    found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    triggers = database.execute(found).fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    edited = "replace(CAST(payload AS TEXT), 'llm', 'lmm')"
    edit = f"UPDATE event SET payload = CAST({edited} AS BLOB) WHERE run = ?"
    database.execute(edit, (done.run_id,))
    for _, sql in triggers:
        database.execute(sql)
    database.commit()
    database.close()
    with Ledger.open(path, home=tmp_path / "home", plugins=("governance",)) as ledger:
        size = ledger.head.size
        with pytest.raises(WrongError):
            observe(ledger, done.run_id, policy())
        assert ledger.head.size == size
