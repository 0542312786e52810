"""The step that runs the code on transformed data, and lets no test pass emptily.

    property.tested {"name": "perm", "transform": "permute_rows", "metric": "total",
                     "passed": true, "difference": 0.0, "tolerance": 1e-06}

Rules:

- A property is tested on the reversal and on several seeded permutations; the largest
  difference counts. Seeds, metrics and differences of each case are recorded.
- An unknown transform, and one that leaves the data as it was, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

from muniment_plugins.harness.cases import Case
from muniment_plugins.harness.claims import Property
from muniment_plugins.harness.execution import run_code
from muniment_plugins.harness.references import Function, recall, refer
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.relations import largest_difference
from muniment_plugins.harness.surroundings import Surroundings, here
from muniment_plugins.harness.transforms import BUILT_IN, Permute, Variant, variants

__all__ = ["TestProperties", "run_metamorphic_tests"]

_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class TestProperties:
    """Tests every property of the spec."""

    __test__: ClassVar[bool] = False
    name: ClassVar[str] = "run_metamorphic_tests"
    transforms: Mapping[str, Function] = field(default_factory=dict[str, Function])
    tolerance: float = 1e-6
    permutations: int = 8

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with one ``<name>_pass`` metric for each property.

        Raises:
            HarnessRefused: a property could only pass emptily.
            BoundedExecutionError: the code broke on transformed data.

        """
        around = run or here()
        passes = {
            f"{prop.name}_pass": self._test(prop, case, around)
            for prop in case.the_spec().relations
        }
        return replace(case, metrics={**case.metrics, **passes})

    def _test(self, prop: Property, case: Case, around: Surroundings) -> bool:
        before = case.the_outputs()
        tolerance = self.tolerance if prop.tolerance is None else prop.tolerance
        made = self._variants(prop, case.data, around)
        after = run_code(around, case, [variant.data for variant in made])
        cases = [
            {
                "seed": variant.seed,
                "after": outputs,
                "difference": largest_difference(prop, before, outputs),
            }
            for variant, outputs in zip(made, after, strict=True)
        ]
        difference = max(cast("float", one["difference"]) for one in cases)
        passed = difference <= tolerance
        fact: dict[str, object] = {
            "name": prop.name,
            "transform": prop.transform,
            "metric": prop.metric,
            "tolerance": tolerance,
            "difference": difference,
            "passed": passed,
            "details": {"before": dict(before), "cases": cases},
        }
        around.record("property.tested", fact)
        return passed

    def _variants(
        self, prop: Property, data: object, around: Surroundings
    ) -> list[Variant]:
        def draw() -> int:
            return int(around.random() * _SEEDS)

        made = variants(self._transform(prop), data, draw, self.permutations)
        if not made:
            raise HarnessRefused(
                f"{prop.transform} left the data as it was; the test would be vacuous",
                rule="harness/vacuous",
                place=f"property {prop.name}",
                remedy="give more or other rows, or another transform",
            )
        return made

    def _transform(self, prop: Property) -> Permute | Function | None:
        known: dict[str, Permute | Function | None] = {**BUILT_IN, **self.transforms}
        if prop.transform not in known:
            raise HarnessRefused(
                f"Unknown metamorphic transform: {prop.transform}",
                rule="harness/transform",
                place=f"property {prop.name}",
                remedy=f"use one of {', '.join(sorted(known))}, or pass your own in "
                "transforms=",
            )
        return known[prop.transform]

    def describe(self) -> dict[str, object]:
        """Return the step as JSON; transforms are named, not carried."""
        return {
            "step": self.name,
            "transforms": {name: refer(one) for name, one in self.transforms.items()},
            "tolerance": self.tolerance,
            "permutations": self.permutations,
        }

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Self:
        """Return the step that *described* says."""
        named = cast("Mapping[str, Mapping[str, object]]", described["transforms"])
        return cls(
            {name: recall(one) for name, one in named.items()},
            cast("float", described["tolerance"]),
            cast("int", described["permutations"]),
        )


def run_metamorphic_tests(
    *,
    transforms: Mapping[str, Function] | None = None,
    tolerance: float = 1e-6,
    permutations: int = 8,
) -> TestProperties:
    """Return the step that tests the spec's properties.

    Args:
        transforms: your own, by name; each gets a copy of the data.
        tolerance: absolute, for properties that name none.
        permutations: how many orders a permutation is tried in, the reversal included.

    Raises:
        HarnessRefused: there would be no test, or none could fail.

    """
    if permutations < 1 or not 0 <= tolerance < float("inf"):
        raise HarnessRefused(
            f"tolerance {tolerance} and {permutations} permutations test nothing",
            rule="harness/property",
            place="run_metamorphic_tests",
            remedy="give tolerance >= 0 and permutations >= 1",
        )
    return TestProperties(dict(transforms or {}), tolerance, permutations)
