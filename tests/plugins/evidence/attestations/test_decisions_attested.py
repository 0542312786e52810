"""A decision of people is a verification summary, and only if their answers verify."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from attested import predicates
from deciding import answer, approver, asks, signed
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.evidence import attest


@pytest.mark.parametrize(
    ("outcome", "result", "levels"),
    [
        ("approved", "PASSED", ["MUNIMENT_PEOPLE_APPROVED"]),
        ("denied", "FAILED", ["FAILED"]),
    ],
)
def test_what_people_decided(
    ledger: Ledger, outcome: str, result: str, levels: list[str]
) -> None:
    """The policy is the question, the subject what was decided on; words are left out."""
    ann = approver(ledger, "ann")
    run = ledger.execute(asks).run_id
    given = answer(ledger, ann, outcome, "between us")
    assert ledger.resume(run, asks).ok
    (summary,) = attest(ledger, run, ["vsa"])
    assert summary.result == result
    (asked,) = ledger.events(run=run, type="decision.asked")
    (reached,) = ledger.events(run=run, type="decision.reached")
    assert summary.subjects == [
        (f"event-{asked.seq}/subject", asked.raw["subject"]["$blob"])  # type: ignore[index, call-overload]
    ]
    told = predicates(ledger, run)["verification_summary"]["predicate"]
    assert told["verifiedLevels"] == levels
    assert told["policy"]["digest"] == {"sha256": sha256(asked.payload).hexdigest()}
    assert told["timeVerified"] == reached.time
    assert told["muniment"]["answers"] == [
        {
            "event": given.hash,
            "key": ann.public.keyid,
            "outcome": outcome,
        }
    ]
    assert "between us" not in json.dumps(told)
    assert "I have read it" not in json.dumps(told)


def test_while_nobody_answered(ledger: Ledger) -> None:
    """There is no decision yet."""
    approver(ledger, "ann")
    run = ledger.execute(asks).run_id
    with pytest.raises(RefusedError) as raised:
        attest(ledger, run, ["vsa"])
    assert raised.value.rule == "attestation/no-decision"


def test_each_decision_has_its_own(ledger: Ledger) -> None:
    """Two questions, two answers, two statements."""

    def program(run: object) -> list[str]:
        return [run.decide(one, "?").outcome for one in ("a", "b")]  # type: ignore[attr-defined]

    ann = approver(ledger, "ann")
    run = ledger.execute(program).run_id
    for outcome in ("approved", "denied"):
        (pending,) = ledger.pending()
        ledger.answer(signed(pending, ann, outcome))
        ledger.resume(run, program)
    first = attest(ledger, run, ["vsa"])
    assert [one.result for one in first] == ["PASSED", "FAILED"]
    assert attest(ledger, run, ["vsa"]) == first
    counts = [one.statement["predicate"]["muniment"]["decision"] for one in first]
    assert counts == [{"number": 1, "of": 2}, {"number": 2, "of": 2}]
    assert len(ledger.export(run, "in-toto").splitlines()) == 2
