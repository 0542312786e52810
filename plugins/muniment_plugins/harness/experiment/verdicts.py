"""The verdicts of a run, and the hypotheses left open, with the reason.

    half    verdict.reached       {"hypothesis": "better", "passed": true, …}
    half    hypothesis.unjudged   {"hypothesis": "better", "rule": "harness/replicates"}

Rules:

- Every registered hypothesis is judged or left open. A failed replicate never drops a
  verdict silently: the fact names the replicate.
- If an effect failed, nothing is stated, because a resume performs it again. The same
  holds for p-values of the same family, which depend on each other.
- P-values are adjusted within their family: see `holm`.
- A condition is judged by one claim, and an id means one claim in all conditions: else a
  verdict on the weaker one would be told as one on the other.
- Runs of the first edition replay as they were judged: one verdict at a time, and none
  for conditions that were not measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment_plugins.harness.experiment.condition import Condition, Failed, told
from muniment_plugins.harness.experiment.failures import LACKING
from muniment_plugins.harness.preregistration.one_claim import two_claims
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.statistics.holm import in_family
from muniment_plugins.harness.statistics.verifiers import Hypothesis, judged_by
from muniment_plugins.harness.steps.weakest_isolation import weakest

if TYPE_CHECKING:
    from muniment.runs.run import Run
    from muniment_plugins.harness.experiment.plan import ExperimentPlan

__all__ = ["Verdicts"]

Pair = tuple[Hypothesis, Condition]
_ONE_CLAIM = 3
"""From this edition on, an id means one claim."""


@dataclass(slots=True)
class Verdicts:
    """The verdicts on hypotheses, and the failures of verifiers."""

    program: ExperimentPlan
    conditions: list[Condition]
    said: dict[str, dict[str, object]] = field(
        default_factory=dict[str, dict[str, object]]
    )
    """Hypothesis → condition → what its verifier said."""
    missed: list[Failed] = field(default_factory=list[Failed])

    def reach(self, run: Run) -> None:
        """Judge everything that was registered, and record it."""
        pairs = list(self._registered())
        if self.program.edition == 1:
            pairs = [pair for pair in pairs if not any(self._lacking(pair))]
        if not pairs:
            return
        beside = self.program.beside(run) if not run.replays else {}
        levels = self.program.held(run) if not run.replays else dict[str, str]()
        reached: list[tuple[Pair, dict[str, object]]] = []
        for pair in pairs:
            fact = self._one(pair)
            if fact is not None and self.program.edition == 1:
                self._state(pair, fact, beside, levels)
            elif fact is not None:
                reached.append((pair, fact))
        for pair, fact in self._in_family(pairs, reached):
            self._state(pair, fact, beside, levels)

    def _registered(self) -> Iterator[Pair]:
        """Yield each hypothesis with each condition on which it is judged."""
        for hypothesis in self.program.hypotheses:
            for one in judged_by(hypothesis.verifier.compares, self.conditions):
                yield hypothesis, one

    def _against(self, pair: Pair) -> Condition:
        hypothesis, condition = pair
        return self.conditions[0] if hypothesis.verifier.compares else condition

    def _lacking(self, pair: Pair) -> Iterator[Condition]:
        """Yield the incomplete conditions among those that a verdict needs."""
        stands_on = {id(one): one for one in (self._against(pair), pair[1])}
        return (one for one in stands_on.values() if not one.whole)

    def _waits(self, pair: Pair) -> bool:
        """Tell whether a resume may complete what is missing."""
        return any(
            failed.by_effect
            for one in self._lacking(pair)
            for failed in one.failures.values()
        )

    def _one(self, pair: Pair) -> dict[str, object] | None:
        """Return the fact that judges *pair*; None if there is none."""
        hypothesis, condition = pair
        for lacking in self._lacking(pair):
            if not self._waits(pair):
                condition.leave_open(hypothesis, _gap(lacking))
            return None
        mixed = self._mixed(condition)
        fact = (
            condition.reach(hypothesis, self._against(pair))
            if mixed is None
            else condition.leave_open(hypothesis, mixed)
        )
        if isinstance(fact, Failed):
            self.missed.append(fact)
            return None
        return fact

    def _mixed(self, condition: Condition) -> HarnessRefused | None:
        """Return why no single claim can judge *condition*, if so."""
        if self.program.edition < _ONE_CLAIM:
            return None
        every = [claim for one in self.conditions for claim in one.stated]
        return two_claims(condition.stated, every)

    def _in_family(
        self, pairs: list[Pair], reached: list[tuple[Pair, dict[str, object]]]
    ) -> list[tuple[Pair, dict[str, object]]]:
        """Return *reached* with adjusted p-values; omit those that may still change."""
        judges = {
            hypothesis.name
            for (hypothesis, _), fact in reached
            if fact["p_value"] is not None
        }
        done = {(pair[0].name, pair[1].name) for pair, _ in reached}
        missing = [
            pair
            for pair in pairs
            if pair[0].name in judges and (pair[0].name, pair[1].name) not in done
        ]
        if any(map(self._waits, missing)):
            return [(pair, fact) for pair, fact in reached if fact["p_value"] is None]
        facts = in_family([fact for _, fact in reached], len(missing))
        return [(pair, fact) for (pair, _), fact in zip(reached, facts, strict=True)]

    def _state(
        self,
        pair: Pair,
        fact: Mapping[str, object],
        beside: Mapping[str, object],
        levels: Mapping[str, str],
    ) -> None:
        """Record the verdict on *pair*, and what accompanies it."""
        hypothesis, condition = pair
        level = weakest(levels.get(c.name) for c in (self._against(pair), condition))
        condition.lane.record("verdict.reached", {**fact, **beside, "level": level})
        self.said.setdefault(hypothesis.name, {})[condition.name] = fact["result"]


def _gap(condition: Condition) -> HarnessRefused:
    """Return the refusal that says what *condition* did not measure."""
    first = condition.first_failure()
    if first is None:
        raise AssertionError("a condition that lacks nothing is whole")
    number, failed = first
    others = len(condition.failures) - 1
    more = f", and {others} more" if others else ""
    return HarnessRefused(
        f"replicate {number} of {condition.name} was not measured{more}: "
        f"{told(failed.error)['message']}",
        rule=LACKING,
        place=condition.name,
        remedy="mend what failed and run it again; no replicate is left out of a verdict",
    )
