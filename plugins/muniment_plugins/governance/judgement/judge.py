"""The one judge: what was observed, against what was expected, under terms.

    judgement = judge(record_of(ledger, one), record_of(ledger, other), Terms("bounded"))
    judgement.verdict              "acceptable_with_warnings"
    judgement.first_divergence     JudgedDifference("fact", "evidence", …), or None

Rules:

- It is a function of two records and the terms, whatever they come from: a replay, two
  runs, a fork, a trace from elsewhere.
- Child runs of two recorded runs are compared with them, call by call, and their
  differences weigh what they would in runs of their own.
- The verdict is ``unacceptable`` if a difference blocks, else ``acceptable``, with
  warnings if anything differs. If a run that was compared was marked, it is ``non_certifiable``,
  whatever the mode: the record itself says that no verdict on it may be relied upon.
- The *confidence* is the first acceptability that accepts all differences; None if none
  does, or if the program was stopped.
- A run that failed and fails again in the same way is like any other that ends equally.
- If nothing was compared, and nothing rejects, or if what differs may come of a plugin
  that is not active, no verdict is possible. A run that was cut off has no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.replays.report import Verdict
from muniment_plugins.governance.documents.words import ACCEPTABILITIES, Acceptability
from muniment_plugins.governance.judgement.acceptability import (
    accepted_by,
    blocks,
    weight,
)
from muniment_plugins.governance.judgement.contradictions import (
    lost_among,
    new_among,
)
from muniment_plugins.governance.judgement.differences import (
    JudgedDifference,
    Looked,
    differences_of,
)
from muniment_plugins.governance.judgement.terms import Terms

if TYPE_CHECKING:
    from muniment_plugins.governance.judgement.record import ComparedRun

__all__ = ["CERTIFIED_BY_NOBODY", "Judgement", "judge"]

Claims: TypeAlias = AbstractSet[tuple[str, str]]
"""Claims or pieces of evidence: each an id with what it is."""

CERTIFIED_BY_NOBODY: Final = "non_certifiable"
"""The mark of a run on which no verdict may be relied upon."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge says, and why."""

    expected: str
    """The run that is the measure."""
    observed: str
    """The run that was judged by it; for a replay the same."""
    terms: Terms
    verdict: Verdict
    confidence: Acceptability | None
    compared: Mapping[str, int]
    """How many facts, effects, outcomes and results were looked for, with those inside of
    effects and of child runs; and in how many child runs."""
    claim_overlap: float
    """The share of the expected claims that were observed, 1 if none was expected."""
    evidence_overlap: float
    """The same of pieces of evidence, by id and digest; it is said, and not judged."""
    contradiction_delta: int
    """How many contradictions were observed that were not expected; if there is none, how
    many were expected and not observed, as a negative number."""
    differences: tuple[JudgedDifference, ...]
    blocking: tuple[JudgedDifference, ...]
    """Those that reject."""
    marks: tuple[tuple[str, str], ...] = ()
    """Why nobody can certify it: marks with their reasons."""

    @property
    def ok(self) -> bool:
        """Whether the verdict accepts what was observed."""
        return self.verdict in ("acceptable", "acceptable_with_warnings")

    def is_accepted_by(self, acceptability: Acceptability) -> bool:
        """Tell whether *acceptability* accepts all that differs, in the mode bounded."""
        known = ACCEPTABILITIES.index
        return self.confidence is not None and known(self.confidence) <= known(
            acceptability
        )

    @property
    def exit_code(self) -> int:
        """0 when accepted, else 1."""
        return 0 if self.ok else 1

    @property
    def first_divergence(self) -> JudgedDifference | None:
        """The first difference of the record that is more than a warning."""
        return next((one for one in self.differences if not one.warns), None)

    @property
    def decisive(self) -> JudgedDifference | None:
        """The first difference that rejects."""
        return next(iter(self.blocking), None)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the judgement as plain JSON."""
        return {
            "expected": self.expected,
            "observed": self.observed,
            "verdict": self.verdict,
            **self.terms.to_json(),
            "confidence": self.confidence,
            "compared": dict(self.compared),
            "claim_overlap": self.claim_overlap,
            "evidence_overlap": self.evidence_overlap,
            "contradiction_delta": self.contradiction_delta,
            "first_divergence": _json(self.first_divergence),
            "decisive": _json(self.decisive),
            "blocking": len(self.blocking),
            "differences": [one.to_json() for one in self.differences],
            "marks": [{"mark": mark, "reason": why} for mark, why in self.marks],
        }


def judge(expected: ComparedRun, observed: ComparedRun, terms: Terms) -> Judgement:
    """Judge *observed* by *expected*.

    Raises:
        CannotTellError: nothing could be compared, or a plugin is missing without which
            what differs cannot be told from what is never compared.

    """
    pairs = list(_pairs(expected, observed))
    found = sorted(
        (one for pair in pairs for one in _found(pair, terms)),
        key=lambda one: one.position,
    )
    compared = _summed(pairs)
    blocking = tuple(one for one in found if blocks(one, terms))
    if not (blocking or any(compared.values())):
        raise _nothing(expected)
    runs = [run for pair in pairs for run in (pair.expected, pair.observed)]
    if blocking:
        _require_declared(runs)
    marks = tuple(dict.fromkeys(mark for run in runs for mark in run.marks))
    verdict: Verdict = "acceptable_with_warnings" if found else "acceptable"
    if blocking:
        verdict = "unacceptable"
    if any(mark == CERTIFIED_BY_NOBODY for mark, _ in marks):
        verdict = CERTIFIED_BY_NOBODY
    weights = [weight(one, terms) for one in found]
    return Judgement(
        expected.run,
        observed.run,
        terms,
        verdict,
        None if observed.stopped else accepted_by(weights),
        compared,
        pairs[0].overlap,
        _share(expected.evidence, observed.evidence),
        pairs[0].delta,
        tuple(found),
        blocking,
        marks,
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs that were compared: those that are judged, or two that these called."""

    expected: ComparedRun
    observed: ComparedRun
    looked: Looked
    below: bool = False

    @property
    def overlap(self) -> float:
        """The share of the expected claims that were observed."""
        return _share(self.expected.claims.keys(), self.observed.claims.keys())

    @property
    def delta(self) -> int:
        """How many contradictions are new; or, less than 0, how many went instead."""
        now, was = self.observed.contradictions, self.expected.contradictions
        return new_among(now, was) or -lost_among(now, was)


def _pairs(
    expected: ComparedRun, observed: ComparedRun, *, below: bool = False
) -> Iterator[_Pair]:
    """Compare the two runs, and those that two calls came to which belong together."""
    looked = differences_of(expected, observed)
    yield _Pair(expected, observed, looked, below)
    for one, other in looked.called:
        mine, theirs = expected.children.get(one), observed.children.get(other)
        if mine is not None and theirs is not None:
            yield from _pairs(mine, theirs, below=True)


def _found(pair: _Pair, terms: Terms) -> Iterator[JudgedDifference]:
    """Yield what differs; the parameters of a child run were those of its call."""
    overlap, delta = pair.overlap, pair.delta
    for one in (
        *_decided(pair.looked, pair.observed, terms),
        *_measures(pair.looked, overlap, pair.expected, delta),
    ):
        if not pair.below:
            yield one
        elif one.about != "params":
            yield replace(one, run=pair.expected.run)


def _summed(pairs: list[_Pair]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for pair in pairs:
        total.update(pair.looked.compared)
    return {**total, "child_runs": len(pairs) - 1}


def _decided(
    looked: Looked, observed: ComparedRun, terms: Terms
) -> Iterator[JudgedDifference]:
    """Yield what says something; that a stopped program has no end may say nothing.

    A strict replay stops it at the first difference, and a guard stops what it refuses.
    """
    quiet = observed.stopped and (terms.mode == "strict" or bool(observed.attempts))
    said = [one for one in looked.found if not (quiet and one.what == "end")]
    yield from said if any(not one.warns for one in said) else looked.found


def _share(expected: Claims, observed: Claims) -> float:
    """Return how much of what was expected was observed; all of it if that is nothing."""
    return len(expected & observed) / len(expected) if expected else 1.0


def _measures(
    looked: Looked, overlap: float, expected: ComparedRun, delta: int
) -> Iterator[JudgedDifference]:
    """Yield that claims were lost, and that contradictions came, or only went.

    Each comes right after the first difference from which it follows.
    """
    if overlap < 1:
        found = JudgedDifference("measure", "claim", "", None, "overlap", 1.0, overlap)
        yield _after(found, looked, "claim")
    if delta:
        known = expected.contradictions.total()
        found = JudgedDifference(
            "measure", "contradiction", "", None, "known", known, known + min(delta, 0)
        )
        if delta > 0:
            found = replace(found, field="new", expected=0, got=delta)
        yield _after(found, looked, "verification")


def _after(found: JudgedDifference, looked: Looked, about: str) -> JudgedDifference:
    caused = next((one for one in looked.found if one.about == about), None)
    if caused is None:
        return replace(
            found, position=looked.found[-1].position if looked.found else (0, 0)
        )
    seq, rank = caused.position
    return replace(found, seq=caused.seq, scope=caused.scope, position=(seq, rank + 1))


def _nothing(expected: ComparedRun) -> CannotTellError:
    return CannotTellError(
        "the record holds nothing that could be compared",
        rule="judgement/nothing",
        place=f"run {expected.run}",
        remedy="a run without facts, effects and a result says nothing; if it is open, "
        "let it end first",
    )


def _require_declared(runs: list[ComparedRun]) -> None:
    for one in runs:
        for seq, kind in one.undeclared:
            raise CannotTellError(
                f"the record has {kind} events, which no active plugin declares",
                rule="judgement/plugin",
                place=f"run {one.run}, event {seq}",
                remedy="install or activate the plugin that does",
            )


def _json(one: JudgedDifference | None) -> JsonValue:
    return None if one is None else one.to_json()
