"""What engines cannot decide, people decide, who sign; and a run waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver, key
from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.verification.verify import verify
from muniment_plugins.governance import load_flow, load_policy, start_flow


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with this plugin."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as made:
        yield made


def escalated(ledger: Ledger, place: Path, **policy: object) -> Done:
    """Run the flow whose reasoner guesses, until it asks."""
    document = sum_document()
    document["parts"]["writer"]["reasoner"] = "agents:guess"
    done = start_flow(
        ledger,
        load_flow(write_flow(place, document)),
        load_policy(write_policy(place, **policy)),
    )
    assert done.is_paused, done.error
    return done


def told(ledger: Ledger, run: str) -> list[tuple[object, object, object]]:
    """Return the verdicts that were arbitrated."""
    return [
        (one.raw["target"], one.raw["status"], one.raw["decided_by"])
        for one in ledger.events(run=run, type="verification.arbitrated")
    ]


ESCALATING: dict[str, Any] = {"failure_mode": "escalate"}


def test_approved(ledger: Ledger, place: Path) -> None:
    """An approval lets the flow go on; both verdicts are kept, and it replays."""
    ann = approver(ledger, "ann")
    done = escalated(ledger, place, **ESCALATING)
    (asked,) = ledger.pending()
    assert "step/1-writer" in asked.prompt
    answer(ledger, ann, reason="seen by hand")
    ended = ledger.resume(done.run_id)
    assert ended.ok, ended.error
    assert told(ledger, done.run_id)[1:3] == [
        ("step/1-writer", "fail", "engines"),
        ("step/1-writer", "pass", "people"),
    ]
    assert replay(ledger, done.run_id).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_denied(ledger: Ledger, place: Path) -> None:
    """A denial fails the flow, and says that people denied it."""
    ann = approver(ledger, "ann")
    done = escalated(ledger, place, **ESCALATING)
    answer(ledger, ann, "denied", "no")
    ended = ledger.resume(done.run_id)
    assert ended.status == "failed"
    assert "step/1-writer: verification failed: people denied it" in str(ended.error)
    assert told(ledger, done.run_id)[-1] == ("step/1-writer", "fail", "people")
    assert replay(ledger, done.run_id).verdict == "acceptable"


def test_a_quorum_of_the_named(ledger: Ledger, place: Path) -> None:
    """The policy names whose answers count, and how many have to agree."""
    ann, bob, eve = (approver(ledger, name) for name in ("ann", "bob", "eve"))
    keys = [one.public.keyid for one in (ann, bob)]
    approvers = {"quorum": 2, "keys": keys}
    done = escalated(ledger, place, approvers=approvers, **ESCALATING)
    answer(ledger, ann)
    with pytest.raises(Exception, match=r"not among|not asked|may not"):
        answer(ledger, eve)
    assert ledger.resume(done.run_id).is_paused
    answer(ledger, bob)
    assert ledger.resume(done.run_id).ok
    assert key("ann").public.keyid == keys[0]


def test_rules_that_escalate(ledger: Ledger, place: Path) -> None:
    """A rule of escalate_on asks people, whatever its severity."""
    ann = approver(ledger, "ann")
    rules = ["claim_requires_evidence", "confidence_in_range"]
    rules += ["bundle_evidence_ids_match_inputs", "claim_mentions_artifact_hash"]
    done = escalated(ledger, place, escalate_on=rules)
    assert told(ledger, done.run_id)[-1] == ("step/1-writer", "escalate", "engines")
    answer(ledger, ann)
    assert ledger.resume(done.run_id).ok


def test_a_resume_before_the_decision_costs_nothing(
    ledger: Ledger, place: Path
) -> None:
    """Nothing polls: a resume that is too early writes nothing and calls nobody."""
    approver(ledger, "ann")
    done = escalated(ledger, place, **ESCALATING)
    calls, head = (place / "calls").read_text(), ledger.head
    assert ledger.resume(done.run_id).is_paused
    assert (ledger.head, (place / "calls").read_text()) == (head, calls)
