"""What a verdict stands on: the metrics of all replicates of a condition.

    Samples({0: {"rmse": 1.5}, 1: {"rmse": 1.4}})       {'rmse': [1.5, 1.4]}

Rule: values are paired by their replicate, never by their place in a list, since a
replicate that failed leaves a gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from muniment_plugins.harness.claims import Claim
from muniment_plugins.harness.naming import Known
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["Measured", "Samples", "Trial", "paired"]

Measured: TypeAlias = "Mapping[str, Sequence[object]]"
"""Metric → its value in each replicate."""


class Samples(Known[str, list[object]]):
    """Metric → its value in each replicate that measured it; ``rows`` says which."""

    def __init__(self, rows: Mapping[int, Mapping[str, object]]) -> None:
        super().__init__({}, "metric")
        self.rows = dict(rows)
        for metrics in self.rows.values():
            for name, value in metrics.items():
                self.setdefault(name, []).append(value)


@dataclass(frozen=True, slots=True)
class Trial:
    """A condition on its way to a verdict."""

    condition: str
    samples: Samples
    claim: Claim | None = None

    @property
    def inputs(self) -> list[str]:
        """The scopes whose ``metrics.measured`` a verdict reads."""
        return [f"{self.condition}/replicate/{number}" for number in self.samples.rows]


def paired(
    baseline: Measured, condition: Measured, metric: str
) -> list[tuple[object, object]]:
    """Return the values of *metric* in the replicates that both have.

    Raises:
        HarnessRefused: nobody can tell which values belong together.

    """
    if isinstance(baseline, Samples) and isinstance(condition, Samples):
        both = baseline.rows.keys() & condition.rows.keys()
        rows = [(baseline.rows[one], condition.rows[one]) for one in sorted(both)]
        return [(a[metric], b[metric]) for a, b in rows if metric in a and metric in b]
    first, second = baseline.get(metric, ()), condition.get(metric, ())
    if len(first) != len(second):
        raise HarnessRefused(
            f"{len(first)} and {len(second)} values of {metric} cannot be paired",
            rule="harness/metric",
            remedy="measure as many replicates of each",
        )
    return list(zip(first, second, strict=True))
