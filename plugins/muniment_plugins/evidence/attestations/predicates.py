"""The statements that follow from the record of a run, by predicate.

    PREDICATE_KINDS["svr"].derive(record, "2026-11-25T21:36:23.000000Z")

Rules:

- A statement says nothing that the record does not: what is not there is refused, never
  guessed. The same record and time give the same statement.
- It names the events that it rests on and how many others there are, in the member
  ``muniment`` of its predicate, the only one that is not in the predicate's own
  specification.
- A run that is marked says so in each of its statements. One that is *non_certifiable* has
  no PASSED and no verified level in any of them.
- Digests of subjects are those of bytes that somebody can have: a program as a file, a
  payload, a blob of the evidence bundle.

Specifications: in-toto test-result v0.1, SVR v0.2; SLSA provenance v1, VSA v1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from muniment.errors import RefusedError
from muniment.formats.lifecycle import MARKED, STARTED
from muniment.formats.statement import about, predicate_statement
from muniment_plugins.evidence.attestations.outcomes import TestOutcomes

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.attestations.record import AttestedRun

__all__ = ["PREDICATE_KINDS", "PlannedStatement", "PredicateKind"]

Members = dict[str, "JsonValue"]
BUILD = "urn:muniment:build:synthesis:v1"
_BY_MODELS = ("llm", "repair")
_OF_ANSWERS = ("event", "key", "outcome")
_TAG = re.compile(r"sha256:([0-9a-f]{64})")
_ORIGIN = ("fork", "parent", "replay_of")


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement that can be signed."""

    predicate_type: str
    predicate: Members
    subject: Sequence[tuple[str, str]]

    def payload(self, ledger: str) -> bytes:
        """Return the bytes that *ledger* signs for it."""
        told = self.predicate["muniment"]
        own: Members = {**(told if isinstance(told, dict) else {}), "ledger": ledger}
        subjects = about(self.subject)
        whole: Members = {**self.predicate, "muniment": own}
        return predicate_statement(self.predicate_type, whole, subjects)


@dataclass(frozen=True, slots=True)
class PredicateKind:
    """A predicate, and what a run has to say in it."""

    uri: str
    derive: Callable[[AttestedRun, str], Sequence[PlannedStatement]] = field(repr=False)
    """Record and time → the statements.

    Raises:
        RefusedError: the record has nothing to say in this predicate.
    """


def _test_results(record: AttestedRun, made: str) -> list[PlannedStatement]:
    if not record.concluded:
        raise _refused(
            record,
            "open-run",
            f"the run is {record.summary.status}, and more verdicts may follow",
            "`muniment resume` it first, or attest `svr`",
        )
    outcomes = TestOutcomes.of(record)
    if not outcomes.events:
        raise _refused(
            record,
            "no-verdict",
            "the run judged no hypothesis and tested no property",
            "attest `svr`, or judge a hypothesis: see docs/how-to/verdicts.md",
        )
    codes = record.codes()
    # A verdict names no program: of several, nobody knows which one it is about.
    tested = [codes[0].subject] if len(codes) == 1 else []
    predicate: Members = {
        "configuration": _configuration(outcomes.events),
        "failedTests": [*outcomes.failed],
        "passedTests": [*outcomes.passed],
        "result": outcomes.result,
        "warnedTests": [*outcomes.warned],
    }
    cited = [*outcomes.events, *(one.event for one in codes)]
    more: Members = {
        "superseded": [
            one.seq for one in outcomes.events if one.seq in record.superseded
        ],
        "undecided": [*outcomes.undecided],
    }
    return [
        _planned(
            record,
            made,
            "test-result",
            predicate,
            [*tested, record.subject],
            cited,
            more,
        )
    ]


def _configuration(events: Sequence[Event]) -> list[JsonValue]:
    """Return who judged: each verifier once, with the digest of its source."""
    found: dict[tuple[str, str], JsonValue] = {}
    for event in events:
        name, source = event.raw.get("verifier"), event.raw.get("source")
        if isinstance(name, str):
            told = _TAG.fullmatch(source) if isinstance(source, str) else None
            digest = told[1] if told else ""
            judge: Members = {"name": name}
            if digest:
                judge["digest"] = {"sha256": digest}
            found.setdefault((name, digest), judge)
    return [*found.values()]


def _simple_results(record: AttestedRun, made: str) -> list[PlannedStatement]:
    outcomes = TestOutcomes.of(record)
    held: dict[str, bool] = {
        "MUNIMENT_RECORD_VERIFIED": True,
        "MUNIMENT_RECORD_WHOLE": record.concluded,
        "MUNIMENT_RUN_COMPLETED": outcomes.completed,
        "MUNIMENT_VERDICTS_PASSED": bool(outcomes.events)
        and outcomes.result == "PASSED",
    }
    predicate: Members = {
        "properties": [name for name, holds in held.items() if holds],
        "timeCreated": made,
        "verifier": {"id": _ledger_uri(record), "policies": []},
    }
    return [_planned(record, made, "svr", predicate, [record.subject], outcomes.events)]


def _provenances(record: AttestedRun, made: str) -> list[PlannedStatement]:
    codes = [one for one in record.codes() if one.origin in _BY_MODELS]
    if not codes:
        raise _refused(
            record,
            "no-synthesis",
            "the run accepted no program that a model wrote",
            "a program that was given to the run was made elsewhere: attest `test-result`",
        )
    calls = record.counted("llm.requested", "llm.completed")
    models = {
        name
        for one in calls
        if isinstance(told := one.raw.get("about"), dict)
        and isinstance(name := told.get("model"), str)
    }
    specs = record.counted("spec.issued")
    ended = {} if record.summary.ended is None else {"finishedOn": record.summary.ended}
    predicate: Members = {
        "buildDefinition": {
            "buildType": BUILD,
            "externalParameters": {
                "models": [*sorted(models)],
                "origins": {one.subject[0]: one.origin for one in codes},
                "program": record.summary.name,
            },
            "resolvedDependencies": [
                {
                    "digest": {"sha256": record.subject[1].removeprefix("sha256:")},
                    "name": record.subject[0],
                    "uri": f"{_ledger_uri(record)}:run:{record.run}",
                }
            ],
        },
        "runDetails": {
            "builder": {"id": _ledger_uri(record)},
            "metadata": {
                "invocationId": record.run,
                "startedOn": record.events[0].time,
                **ended,
            },
        },
    }
    cited = [*calls, *specs, *(one.event for one in codes)]
    subject = [one.subject for one in codes]
    return [_planned(record, made, "slsa", predicate, subject, cited)]


def _summaries(record: AttestedRun, made: str) -> list[PlannedStatement]:
    asked = {one.hash: one for one in record.counted("decision.asked")}
    reached = [
        one
        for one in record.counted("decision.reached")
        if str(one.raw.get("asked")) in asked
    ]
    if not reached:
        raise _refused(
            record,
            "no-decision",
            "no decision of people was reached in the run, so no policy was applied",
            "see docs/how-to/decisions.md",
        )
    found: list[PlannedStatement] = []
    for number, one in enumerate(reached, 1):
        # Each says how many there are: whoever is shown one knows what to ask for.
        counted: Members = {"decision": {"number": number, "of": len(reached)}}
        question = asked[str(one.raw["asked"])]
        found.append(_summary(record, made, question, one, counted))
    return found


def _summary(
    record: AttestedRun, made: str, asked: Event, reached: Event, counted: Members
) -> PlannedStatement:
    outcome = reached.raw.get("outcome")
    approved = outcome == "approved" and record.certifiable
    subject = asked.raw["subject"]
    commitment = str(subject["$blob"]) if isinstance(subject, dict) else ""
    answers = reached.raw.get("answers")
    # Without what people wrote: a statement goes to whoever wants to see it.
    said: list[JsonValue] = [
        {name: one[name] for name in _OF_ANSWERS if name in one}
        for one in (answers if isinstance(answers, list) else [])
        if isinstance(one, dict)
    ]
    predicate: Members = {
        "policy": {
            "digest": {"sha256": sha256(asked.payload).hexdigest()},
            "uri": f"{_ledger_uri(record)}:event:{asked.seq}",
        },
        "resourceUri": f"{_ledger_uri(record)}:run:{record.run}",
        "timeVerified": reached.time,
        "verificationResult": "PASSED" if approved else "FAILED",
        # No level of SLSA was looked at; names of others may stand here.
        "verifiedLevels": ["MUNIMENT_PEOPLE_APPROVED" if approved else "FAILED"],
        "verifier": {"id": _ledger_uri(record)},
    }
    subjects = [(f"event-{asked.seq}/subject", commitment)]
    more: Members = {"answers": said, **counted}
    if not record.certifiable:
        more["outcome"] = outcome  # what people said, which the result does not
    cited = [asked, reached]
    return _planned(record, made, "vsa", predicate, subjects, cited, more)


def _planned(  # noqa: PLR0913, PLR0917 - the parts of one statement
    record: AttestedRun,
    made: str,
    kind: str,
    predicate: Members,
    subject: Sequence[tuple[str, str]],
    cited: Sequence[Event],
    more: Mapping[str, JsonValue] | None = None,
) -> PlannedStatement:
    """Return a statement with what every one has: where it comes from, and what is left."""
    first, last = record.events[0], record.last
    seqs = {first.seq, last.seq, *(one.seq for one in cited)}
    origin: Members = {}
    if first.type == STARTED:
        origin = {name: first.raw[name] for name in _ORIGIN if first.raw.get(name)}
    marks: Members = {}
    if record.summary.marks:
        marks = {"marks": [*record.summary.marks]}
        seqs |= {one.seq for one in record.events if one.type == MARKED}
    own: Members = {
        "coverage": record.coverage(seqs),
        "events": [*sorted(seqs)],
        "last": {"leaf": last.hash, "seq": last.seq},
        "made": made,
        "run": record.run,
        "status": record.summary.status,
        **origin,
        **marks,
        **(more or {}),
    }
    uri = PREDICATE_KINDS[kind].uri
    return PlannedStatement(uri, {**predicate, "muniment": own}, subject)


def _ledger_uri(record: AttestedRun) -> str:
    return f"urn:muniment:ledger:{record.ledger.id}"


def _refused(record: AttestedRun, what: str, message: str, remedy: str) -> RefusedError:
    return RefusedError(
        message, rule=f"attestation/{what}", place=f"run {record.run}", remedy=remedy
    )


PREDICATE_KINDS: Mapping[str, PredicateKind] = {
    "slsa": PredicateKind("https://slsa.dev/provenance/v1", _provenances),
    "svr": PredicateKind("https://in-toto.io/attestation/svr/v0.2", _simple_results),
    "test-result": PredicateKind(
        "https://in-toto.io/attestation/test-result/v0.1", _test_results
    ),
    "vsa": PredicateKind("https://slsa.dev/verification_summary/v1", _summaries),
}
"""The predicates by the names that people type."""
