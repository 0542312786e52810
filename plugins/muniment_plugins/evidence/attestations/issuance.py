"""Statements about runs are signed and recorded, each once.

    attest(ledger, "01JD3", ["test-result", "svr"])

Rules:

- The record of the run is verified first; for decisions of people so is the whole
  ledger, since their answers are in no run.
- The same record gives the same statement: one that was issued before, and is true still,
  is found again, and nothing is appended.
- All that were asked for are derived before the first is signed.
- A program whose text was erased gets no new statement: its digest is the writer's word,
  and nobody can compare it. What was stated before holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muniment import verify
from muniment.errors import CannotTellError, RefusedError, UsageError, WrongError
from muniment.formats.statement import MAX_PAYLOAD, timestamp
from muniment_plugins.evidence.attestations.attestation import (
    Attestation,
    attestations,
)
from muniment_plugins.evidence.attestations.predicates import (
    PREDICATE_KINDS,
    PlannedStatement,
)
from muniment_plugins.evidence.attestations.record import AttestedRun
from muniment_plugins.evidence.raw_record import root_of, verified_record
from muniment_plugins.evidence.vocabulary import ATTESTED

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["attest", "true_attestations"]

_OF_PEOPLE = "vsa"
_SUBJECT, _HEAD = 100, 3000
"""More bytes than a subject takes beside its name, and an event beside its data."""


def attest(ledger: Ledger, run: str, kinds: Iterable[str]) -> list[Attestation]:
    """Sign what the record of *run* says, in standard predicates, and record it.

    Args:
        ledger: open for writing, unless all of it was attested before.
        run: the run's id, or a unique prefix.
        kinds: of ``slsa``, ``svr``, ``test-result`` and ``vsa``.

    Returns:
        The statements, by kind in the order of *kinds*; there is one of each but ``vsa``,
        of which there is one for each decision.

    Raises:
        UsageError: there is no such run, or kind.
        RefusedError: the record has nothing to say in a predicate.
        CannotTellError: a program was erased, or no checkpoint covers the run.
        KeyRefused: no key here signs events.
        WrongError: the record does not verify.

    """
    asked = [*dict.fromkeys(kinds)]
    for kind in asked:
        if kind not in PREDICATE_KINDS:
            raise UsageError(
                "there is no such predicate",
                rule="attestation/predicate",
                place=kind,
                remedy=f"known are: {', '.join(PREDICATE_KINDS)}",
            )
    record = AttestedRun.of(ledger, ledger.run_id(run))
    verified_record(ledger, record.run)
    if _OF_PEOPLE in asked:
        _require_decisions(ledger)
    made = timestamp(datetime.now(UTC))
    plans = {kind: PREDICATE_KINDS[kind].derive(record, made) for kind in asked}
    known = true_attestations(ledger, record.run)
    wanted = [
        _again(record, kind, index, known) or plan
        for kind, planned in plans.items()
        for index, plan in enumerate(planned)
    ]
    for one in wanted:
        if isinstance(one, PlannedStatement):
            _require_texts(record, one)
            _require_room(record, one)
    return [
        one if isinstance(one, Attestation) else _issue(ledger, one) for one in wanted
    ]


def true_attestations(ledger: Ledger, run: str) -> list[Attestation]:
    """Return the statements about *run* as it is now, in the order of the log.

    Raises:
        WrongError: one is not signed, or does not follow from the record.

    """
    record = AttestedRun.of(ledger, run)
    found = [
        one for one in attestations(ledger, record.run) if one.last == record.last.seq
    ]
    for one in found:
        one.require_true(ledger)
    return found


def _again(
    record: AttestedRun, kind: str, index: int, known: Sequence[Attestation]
) -> Attestation | None:
    for one in known:
        if one.kind == kind:
            plan = PREDICATE_KINDS[kind].derive(record, one.made)[index]
            if plan.payload(record.ledger.id) == one.envelope.payload:
                return one
    return None


def _require_texts(record: AttestedRun, plan: PlannedStatement) -> None:
    """Require the text of each program that *plan* is about."""
    for code in record.codes():
        if code.subject in plan.subject and code.erased(record.ledger):
            raise CannotTellError(
                "the text of a program was erased, so its digest cannot be compared",
                rule="attestation/erased",
                place=f"event {code.event.seq}",
                remedy="attest `svr`, which is about no program",
            )


def _require_room(record: AttestedRun, plan: PlannedStatement) -> None:
    """Require that an event can hold *plan*, beside what it is about."""
    about = sum(len(name.encode()) + _SUBJECT for name, _ in plan.subject)
    size = len(plan.payload(record.ledger.id)) + about + _HEAD
    if size > MAX_PAYLOAD:
        raise RefusedError(
            f"the statement takes {size} bytes, and an event has {MAX_PAYLOAD} at most",
            rule="attestation/size",
            place=f"run {record.run}",
            remedy="attest `svr`, which lists neither tests nor programs",
        )


def _issue(ledger: Ledger, plan: PlannedStatement) -> Attestation:
    return Attestation.of(
        ledger.append_statement(
            ATTESTED, plan.predicate_type, plan.predicate, plan.subject
        )
    )


def _require_decisions(ledger: Ledger) -> None:
    """Require the whole ledger to verify: whoever answered signed, and was enrolled."""
    report = verify(ledger.path, keys=[root_of(ledger)], home=ledger.home)
    for found in report.findings:
        raise WrongError(
            f"the ledger does not verify: {found.message}",
            rule=found.rule,
            seq=found.seq,
            place=found.place,
            remedy="`muniment verify` says more; nothing was signed",
        )
