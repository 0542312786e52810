"""The verdicts of a run: what is judged of what, and what is left open, with the reason.

    half    verdict.reached       {"hypothesis": "better", "passed": true, …}
    half    hypothesis.unjudged   {"hypothesis": "better", "rule": "harness/replicates"}

Rules:

- Everything that was registered is judged or left open. A replicate that failed takes no
  verdict away in silence: the fact says which it was.
- A failure by an effect leaves nothing stated, since a resume performs it again; so are
  p-values of the same family, which depend on each other.
- P-values stand within their family: see `families`.
- Runs of the first edition replay as they were judged: one verdict by one, and none of
  conditions that were not measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muniment_plugins.harness.conditions import Condition, Failed, told
from muniment_plugins.harness.failing import LACKING
from muniment_plugins.harness.families import in_family
from muniment_plugins.harness.levels import weakest
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.verifiers import Hypothesis, judged_by

if TYPE_CHECKING:
    from muniment.lanes import Lane
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = ["Verdicts"]

Pair = tuple[Hypothesis, Condition]


@dataclass(slots=True)
class Verdicts:
    """What was said of each hypothesis, and what could not be said."""

    program: ExperimentProgram
    conditions: list[Condition]
    said: dict[str, dict[str, object]] = field(
        default_factory=dict[str, dict[str, object]]
    )
    """Hypothesis → condition → what its verifier said."""
    missed: list[Failed] = field(default_factory=list[Failed])

    def reach(self, run: Lane) -> None:
        """Judge everything that was registered, and record it."""
        pairs = list(self._registered())
        if self.program.edition == 1:
            pairs = [pair for pair in pairs if not any(self._lacking(pair))]
        if not pairs:
            return
        beside = self.program.beside(run) if run.mode != "replay" else {}
        levels = self.program.held(run) if run.mode != "replay" else dict[str, str]()
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
        """Yield what is to be judged of what."""
        for hypothesis in self.program.hypotheses:
            for one in judged_by(hypothesis.verifier.compares, self.conditions):
                yield hypothesis, one

    def _against(self, pair: Pair) -> Condition:
        hypothesis, condition = pair
        return self.conditions[0] if hypothesis.verifier.compares else condition

    def _lacking(self, pair: Pair) -> Iterator[Condition]:
        """Yield the conditions that a verdict stands on and that are not whole."""
        stands_on = {id(one): one for one in (self._against(pair), pair[1])}
        return (one for one in stands_on.values() if not one.whole)

    def _waits(self, pair: Pair) -> bool:
        """Tell whether a resume may bring what is lacking."""
        return any(
            failed.by_effect
            for one in self._lacking(pair)
            for failed in one.failures.values()
        )

    def _one(self, pair: Pair) -> dict[str, object] | None:
        """Return what is said of *pair*; None where nothing is."""
        hypothesis, condition = pair
        for lacking in self._lacking(pair):
            if not self._waits(pair):
                condition.leave_open(hypothesis, _gap(lacking))
            return None
        fact = condition.reach(hypothesis, self._against(pair))
        if isinstance(fact, Failed):
            self.missed.append(fact)
            return None
        return fact

    def _in_family(
        self, pairs: list[Pair], reached: list[tuple[Pair, dict[str, object]]]
    ) -> list[tuple[Pair, dict[str, object]]]:
        """Return what was *reached*, adjusted; without what depends on what is to come."""
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
        """Record the verdict of *pair*, and what stands beside it."""
        hypothesis, condition = pair
        level = weakest(levels.get(c.name) for c in (self._against(pair), condition))
        condition.lane.record("verdict.reached", {**fact, **beside, "level": level})
        self.said.setdefault(hypothesis.name, {})[condition.name] = fact["result"]


def _gap(condition: Condition) -> HarnessRefused:
    """Return that *condition* was not measured whole."""
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
