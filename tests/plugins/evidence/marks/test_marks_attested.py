"""Nothing that was found in a run that is not certifiable is attested as passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attested import predicates, verdicts
from bundled import evidence_plugins
from deciding import answer, approver, asks
from marked_runs import MARK, WAYS, Marked
from muniment import Run
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment_plugins.evidence import attest
from muniment_plugins.evidence.attestations.attestation import attestations


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give an empty ledger, with the evidence plugin alone."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as one:
        yield one


def attested(ledger: Ledger, run: str, kind: str) -> dict[str, Any]:
    """Return the predicate of the statement that is signed about *run*."""
    (one,) = attest(ledger, run, [kind])
    told: dict[str, Any] = one.statement["predicate"]
    return told


@pytest.mark.parametrize("way", WAYS)
def test_a_test_result(marked: Marked, way: str) -> None:
    """The same verdict passes without the mark, and is undecided with it."""
    told = attested(marked.ledger, marked.runs[way], "test-result")
    assert told["result"] == "FAILED"
    assert told["passedTests"] == told["warnedTests"] == told["failedTests"] == []
    assert told["muniment"]["undecided"] == ["so"]
    without = attested(marked.ledger, marked.runs["none"], "test-result")
    assert (without["result"], without["passedTests"]) == ("PASSED", ["so"])


@pytest.mark.parametrize("way", WAYS)
def test_a_simple_verification_result(marked: Marked, way: str) -> None:
    """The record verifies and is whole; of its verdicts, nothing is said to have passed."""
    passed = "MUNIMENT_VERDICTS_PASSED"
    told = attested(marked.ledger, marked.runs[way], "svr")
    assert passed not in told["properties"]
    assert "MUNIMENT_RECORD_VERIFIED" in told["properties"]
    assert passed in attested(marked.ledger, marked.runs["none"], "svr")["properties"]


def _marking(said: list[bool | None], mark: str) -> Any:
    stating = verdicts(*said)

    def program(run: Run) -> str:
        run.mark(mark, "so")
        return stating(run)

    return program


def test_what_failed_has_failed(ledger: Ledger) -> None:
    """A mark makes nothing better: what was refuted stays refuted."""
    run = ledger.execute(_marking([True, False, None], MARK)).run_id
    told = attested(ledger, run, "test-result")
    assert told["failedTests"] == ["h1"]
    assert told["muniment"]["undecided"] == ["h0", "h2"]


def test_provenance_names_the_mark(ledger: Ledger) -> None:
    """Who wrote a program is true of a marked run, too; the statement says the mark."""
    run = ledger.execute(_marking([True], MARK)).run_id
    told = attested(ledger, run, "slsa")
    assert told["muniment"]["marks"] == [MARK]


def test_another_mark_fails_nothing(ledger: Ledger) -> None:
    """Only *non_certifiable* says something of verdicts; every mark is named."""
    run = ledger.execute(_marking([True], "looked_at")).run_id
    told = attested(ledger, run, "test-result")
    assert (told["result"], told["muniment"]["marks"]) == ("PASSED", ["looked_at"])


def _asks_marked(run: Run) -> object:
    run.mark(MARK, "by hand")
    return asks(run)


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_what_people_decided(ledger: Ledger, outcome: str) -> None:
    """No verified level, whatever people said; what they said is beside that."""
    ann = approver(ledger, "ann")
    run = ledger.execute(_asks_marked).run_id
    answer(ledger, ann, outcome)
    assert ledger.resume(run, _asks_marked).ok
    told = attested(ledger, run, "vsa")
    assert (told["verificationResult"], told["verifiedLevels"]) == (
        "FAILED",
        ["FAILED"],
    )
    assert told["muniment"]["outcome"] == outcome
    assert told["muniment"]["marks"] == [MARK]
    assert predicates(ledger, run)["verification_summary"]["predicate"] == told


def test_a_mark_that_comes_later(ledger: Ledger) -> None:
    """What was signed before a mark is outdated, and given out no more."""

    def program(run: Run) -> None:
        run.record(
            "verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True}
        )
        run.pause("for a look")
        run.mark(MARK, "by hand")

    run = ledger.execute(program).run_id
    attest(ledger, run, ["svr"])
    assert predicates(ledger, run)
    assert ledger.resume(run, program).ok
    told = attested(ledger, run, "test-result")
    assert told["result"] == "FAILED"
    assert {*predicates(ledger, run)} == {"test-result"}


def test_a_lie_that_leaves_the_mark_out(ledger: Ledger) -> None:
    """A key holder who signs PASSED about a marked run: the export refuses it."""
    run = ledger.execute(_marking([True], MARK)).run_id
    attest(ledger, run, ["test-result"])
    (one,) = attestations(ledger, run)
    told = dict(one.statement["predicate"])
    own = dict(told["muniment"])
    del own["ledger"]
    passed = {**told, "result": "PASSED", "passedTests": ["h0"], "muniment": own}
    ledger.append_statement(
        "attestation.issued", one.statement["predicateType"], passed, one.subjects
    )
    with pytest.raises(WrongError) as raised:
        ledger.export(run, "in-toto")
    assert raised.value.rule == "attestation/differs"
