"""Who judges a hypothesis: a function over the metrics of all replicates.

    metamorphic            every tested property passed in every replicate
    metamorphic()          the same

Rule: a verifier that finds nothing to judge refuses; it never says yes for want of a
no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias, cast

from muniment_plugins.harness.references import Function, refer
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["Hypothesis", "Samples", "Verifier", "judge_properties", "metamorphic"]

Samples: TypeAlias = "Mapping[str, Sequence[object]]"
"""Metric → its value in each replicate."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """A judging function ``(baseline, condition) -> {…}``; calling it changes nothing.

    What it returns says in ``passed``, or in a member that ends in ``_ok``, if the
    hypothesis holds.
    """

    function: Function

    def __call__(self) -> Self:
        """Return this verifier: it has nothing to set."""
        return self

    def judge(self, baseline: Samples, condition: Samples) -> Mapping[str, object]:
        """Return what the function says of *condition* against *baseline*."""
        return cast("Mapping[str, object]", self.function(baseline, condition))

    @staticmethod
    def of(verifier: Verifier | Function) -> Verifier:
        """Return *verifier*, a plain function wrapped."""
        return verifier if isinstance(verifier, Verifier) else Verifier(verifier)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A name, and who judges it."""

    name: str
    verifier: Verifier

    def verdict(self, baseline: Samples, condition: Samples) -> dict[str, object]:
        """Return the data of ``verdict.reached``."""
        result = dict(self.verifier.judge(baseline, condition))
        said = [result["passed"]] if "passed" in result else None
        oks = [value for name, value in result.items() if name.endswith("_ok")]
        judged = said or oks
        judge = refer(self.verifier.function)
        return {
            "hypothesis": self.name,
            "verifier": judge["import"],
            "passed": all(judged) if judged else None,
            "result": result,
            "source": judge.get("source"),
        }

    def describe(self) -> dict[str, object]:
        """Return the hypothesis as JSON."""
        return {"name": self.name, "verifier": refer(self.verifier.function)}


def judge_properties(baseline: Samples, condition: Samples) -> dict[str, object]:
    """Say of each tested property if it passed in every replicate, and if all did.

    Raises:
        HarnessRefused: no property was tested.

    """
    del baseline
    passes: dict[str, object] = {
        name: all(values) and bool(values)
        for name, values in condition.items()
        if name.endswith("_pass")
    }
    if not passes:
        raise HarnessRefused(
            "no property was tested, so none can hold",
            rule="harness/vacuous",
            place="metamorphic",
            remedy="give the spec properties, and the pipeline run_metamorphic_tests()",
        )
    return {"metamorphic_ok": all(passes.values()), **passes}


metamorphic = Verifier(judge_properties)
