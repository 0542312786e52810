"""Verdicts about flows: none replaces another, and each has its consequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment_plugins.governance import load_flow, load_policy, start_flow


def run(ledger: Ledger, place: Path, flow: Any = None, **policy: object) -> Done:
    """Run the flow of two steps under a policy with these members."""
    manifest = load_flow(write_flow(place, flow))
    return start_flow(ledger, manifest, load_policy(write_policy(place, **policy)))


def guessing() -> dict[str, Any]:
    """Return the flow, whose reasoner guesses."""
    document = sum_document()
    document["parts"]["writer"]["reasoner"] = "agents:guess"
    return document


def statuses(ledger: Ledger, run: str) -> list[tuple[str, str]]:
    """Return what was arbitrated: target and status."""
    found = ledger.events(run=run, type="verification.arbitrated")
    return [(str(one.raw["target"]), str(one.raw["status"])) for one in found]


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    """Give a ledger with this plugin."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as made:
        yield made


def test_what_fails_fails_the_flow(ledger: Ledger, place: Path) -> None:
    """A step that is judged to fail fails the flow, status and all, and replays so."""
    done = run(ledger, place, guessing())
    assert done.status == "failed"
    assert "step/1-writer: verification failed: claim_requires_evidence" in str(
        done.error
    )
    assert statuses(ledger, done.run_id)[-1] == ("step/1-writer", "fail")
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_to_the_end_and_failed(ledger: Ledger, place: Path) -> None:
    """With failure_mode continue, the other steps are taken, and no verdict is lost."""
    done = run(ledger, place, guessing(), failure_mode="continue")
    assert done.status == "failed"
    assert statuses(ledger, done.run_id) == [
        ("step/0-reader", "abstain"),
        ("step/1-writer", "fail"),
        ("flow", "pass"),
    ]
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_unsafe_goes_on_and_is_marked(ledger: Ledger, place: Path) -> None:
    """Under an unsafe policy violations are noted, and the run can never be certified."""
    done = run(ledger, place, guessing(), mode="unsafe")
    assert done.ok, done.error
    noted = [
        one.raw["rule"]
        for one in ledger.events(run=done.run_id, type="violation.noted")
    ]
    assert "confidence_in_range" in noted
    marks = {
        one.raw["mark"] for one in ledger.events(run=done.run_id, type="run.marked")
    }
    assert marks == {"non_certifiable"}
    assert replay(ledger, done.run_id).verdict == "non_certifiable"


def test_strict_wants_reasons(ledger: Ledger, place: Path) -> None:
    """At the level strict a step that reasons about nothing fails."""
    done = run(ledger, place, verification_level="strict")
    assert "missing_bundle: the step reasoned about nothing" in str(done.error)


CHECKS = """
def modest(subject, most):
    return [f"{one['claim_id']} is too sure" for one in subject["bundle"]["claims"]
            if one["confidence"] > most]


def has_sum(subject):
    return any("sum" in one["content"] for one in subject["artifacts"])


def total(subject):
    return None if len(subject["bundles"]) == 1 else "not one bundle"


def broken(subject):
    raise KeyError("x")
"""


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (
            [{"rule_id": "modest", "check": "checks:modest", "parameters": 0.95}],
            "completed",
        ),
        (
            [{"rule_id": "modest", "check": "checks:modest", "parameters": 0.5}],
            "failed",
        ),
        (
            [{"rule_id": "sum", "check": "checks:has_sum", "target": "artifact"}],
            "failed",
        ),
        (
            [{"rule_id": "total", "check": "checks:total", "target": "flow"}],
            "completed",
        ),
        ([{"rule_id": "broken", "check": "checks:broken"}], "failed"),
    ],
)
def test_rules_of_a_policy(
    ledger: Ledger, place: Path, rules: list[dict[str, Any]], status: str
) -> None:
    """A policy has rules of its own, as functions; they are found again for a replay."""
    (place / "checks.py").write_text(CHECKS)
    done = run(ledger, place, rules=rules)
    assert done.status == status, done.error
    if rules[0]["rule_id"] == "broken":
        assert "step/1-writer: the engine content raised KeyError: 'x'" in str(
            done.error
        )
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_gates(ledger: Ledger, place: Path) -> None:
    """A gate of the flow has to hold, whatever the policy makes of its rule."""
    (place / "checks.py").write_text(CHECKS)
    lenient = [
        {"rule_id": rule, "severity": "info"}
        for rule in ("confidence_in_range", "claim_requires_evidence", "signed_bundle")
    ]
    flow = {**guessing(), "verification_gates": ["confidence_in_range"]}
    done = run(ledger, place, flow, rules=lenient, verification_level="none")
    assert "confidence_in_range" in str(done.error)
    flow = sum_document(verification_gates=["checks:has_nothing"])
    with pytest.raises(
        Exception, match=r"verification_gates\[0\]: there is no has_nothing"
    ):
        run(ledger, place, flow)
    flow = sum_document(verification_gates=["confidence_in_rage"])
    with pytest.raises(Exception, match=r"did you mean confidence_in_range\?"):
        run(ledger, place, flow)


class Polite:
    """A plugin with an engine."""

    @hookimpl(optionalhook=True)
    def verification_engines(self) -> dict[str, Any]:
        """Offer the engine."""
        return {"polite": polite}


def polite(subject: Any) -> Any:
    """Want a please in each claim."""
    bundle = subject["bundle"]
    if bundle is None:
        return None
    return [
        {"rule": "polite", "detail": one["claim_id"], "severity": "warning"}
        for one in bundle["claims"]
        if "please" not in one["statement"]
    ]


def test_engines_of_plugins(tmp_path: Path, place: Path) -> None:
    """A policy may name an engine that a plugin offers; its violations are recorded."""
    plugins = Plugins(("governance",), extra={"polite": Polite()})
    with Ledger.create(
        tmp_path / "own.db", home=tmp_path / "own-home", plugins=plugins
    ) as own:
        done = run(own, place, engines=["content", "polite"])
        assert done.ok, done.error
        judged = [
            own.resolve(one)
            for one in own.events(run=done.run_id, type="verification.judged")
        ]
        (made,) = [one for one in judged if one["engine"] == "polite"]
        assert made["status"] == "pass"
        assert made["violations"][0]["status"] == "noted"  # type: ignore[index]
        with pytest.raises(Exception, match=r"engines\[0\]: no plugin offers"):
            run(own, place, engines=["polit"])
