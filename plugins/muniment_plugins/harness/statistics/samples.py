"""What a verdict is based on: the metrics of all replicates of a condition.

    Samples({0: {"rmse": 1.5}, 1: {"rmse": 1.4}})       {'rmse': [1.5, 1.4]}

Rules:

- Values are paired by replicate, never by their place in a list, because a failed
  replicate leaves a gap. If one side lacks a value, the pairing is refused; no
  replicate is left out.
- Replicates are copies of each other if they had the same data and the same values. A
  replicate with other data, or with other values because of its seed, is not a copy.
- The same rows in another order are the same data, and give the same values but for
  rounding. In plans before the third edition both had to be the same exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import NoReturn, TypeAlias, cast

from muniment.encoding.registry import ValueTypes
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.functions.handouts import handed
from muniment_plugins.harness.names import NamedItems
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["Measured", "Pairs", "Samples", "Trial", "copied", "paired", "pairs_of"]

Measured: TypeAlias = "Mapping[str, Sequence[object]]"
"""Metric → its value in each replicate."""

_ROUNDING = 1e-9


class Samples(NamedItems[str, list[object]]):
    """Metric → its value in each replicate that measured it; ``rows`` names them."""

    def __init__(
        self,
        rows: Mapping[int, Mapping[str, object]],
        data: Mapping[int, str] | None = None,
        *,
        rounds: bool = False,
    ) -> None:
        super().__init__({}, "metric")
        self.rows = dict(rows)
        self.data = dict(data or {})
        """Replicate → digest of its data, if it is known."""
        self.rounds = rounds
        """Whether the same data may give values that differ by rounding."""
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


def copied(samples: Measured, types: ValueTypes) -> Measured:
    """Return copies of *samples*, which the receiver may change."""
    if not isinstance(samples, Samples):
        return cast("Measured", handed(dict(samples), types, "what was measured"))
    rows = {
        number: {name: handed(one, types, name) for name, one in row.items()}
        for number, row in samples.rows.items()
    }
    return Samples(rows, samples.data, rounds=samples.rounds)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The values of one metric in two conditions, replicate by replicate."""

    values: Sequence[tuple[object, object]]
    apart: Sequence[tuple[object, object]]
    """The values without copies."""

    @property
    def copies(self) -> int:
        """How many copies there are."""
        return len(self.values) - len(self.apart)


def pairs_of(baseline: Measured, condition: Measured, metric: str) -> Pairs:
    """Return the values of *metric* in both conditions, none left out.

    Raises:
        HarnessRefused: a replicate has no value in one of them, or the values cannot
            be paired.

    """
    if not (isinstance(baseline, Samples) and isinstance(condition, Samples)):
        values = paired(baseline, condition, metric)
        return Pairs(values, values)
    found: dict[int, tuple[object, object]] = {}
    alike: dict[object, list[int]] = {}
    for one in sorted(baseline.rows.keys() | condition.rows.keys()):
        rows = baseline.rows.get(one, {}), condition.rows.get(one, {})
        for name, row in zip(("the baseline", "the condition"), rows, strict=True):
            if metric not in row:
                _refuse_gap(f"replicate {one} of {name} measured no {metric}")
        found[one] = rows[0][metric], rows[1][metric]
        data = baseline.data.get(one), condition.data.get(one)
        alike.setdefault(one if None in data else data, []).append(one)
    apart: list[int] = []
    for group in alike.values():
        first = found[group[0]]
        equal = _nearly if baseline.rounds else eq
        same = all(all(map(equal, found[one], first)) for one in group)
        apart += group[:1] if same else group
    return Pairs([*found.values()], [found[one] for one in sorted(apart)])


def _nearly(one: object, other: object) -> bool:
    """Tell whether two values are equal, but for rounding if they are numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one == other
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one == other
    try:
        return math.isclose(one, other, rel_tol=_ROUNDING)
    except OverflowError:  # an integer beyond every float
        return one == other


def _refuse_gap(message: str) -> NoReturn:
    raise HarnessRefused(
        message,
        rule="harness/metric",
        place="the replicates",
        remedy="measure it in every replicate; none is left out of a verdict",
    )


def paired(
    baseline: Measured, condition: Measured, metric: str
) -> list[tuple[object, object]]:
    """Return the values of *metric* in the replicates that both have.

    Raises:
        HarnessRefused: the values cannot be paired.

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
