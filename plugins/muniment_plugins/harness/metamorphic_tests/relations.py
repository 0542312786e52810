"""Whether the metrics of two executions have the relation that a property names.

    invariant     unchanged                     before 6.0, after 6.0
    equivariant   changed as the data was       scale by 2: before 6.0, after 12.0
    monotone      changed in one direction      drop_rows: before 6.0, after 5.0

Rules:

- A property that names a metric compares that one; otherwise it compares every number,
  and both executions must return the same ones.
- A metric that is missing, or is neither a number nor a list of numbers, is refused:
  nothing passes because there is nothing to compare.
- Values that cannot be subtracted (NaN, unequal infinities, lists of unequal length)
  differ by None, and do not pass. NaN and NaN agree if the property says so.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment_plugins.harness.metamorphic_tests.transforms import Transform, Variant
from muniment_plugins.harness.metamorphic_tests.vacuity import could_fail
from muniment_plugins.harness.property import Property
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.steps.execution import numeric

__all__ = ["Observed", "Relation"]


@dataclass(frozen=True, slots=True)
class Observed:
    """The outcome of one variant, and the largest difference; None if there is none."""

    passed: bool
    difference: float | None
    could_fail: bool = True
    """Whether another outcome would have failed; see `vacuity`."""
    demands: bool = True
    """Whether it could have, and the metric had to change by more than is allowed."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A property with all its defaults resolved."""

    prop: Property
    name: str
    direction: str | None
    tolerance: float
    rtol: float

    @classmethod
    def of(
        cls, prop: Property, transform: Transform, tolerance: float, rtol: float
    ) -> Relation:
        """Return the relation that *prop* asks of *transform*.

        Raises:
            HarnessRefused: the transform has no such relation, or needs a direction.

        """
        usual = "monotone" if prop.direction is not None else transform.relations[0]
        name = prop.relation or usual
        direction = prop.direction or transform.direction
        if name not in transform.relations:
            known = " or ".join(transform.relations)
            raise _refused(prop, f"{prop.transform} is {known}, not {name}")
        if name == "monotone" and direction is None:
            raise _refused(prop, "it does not say if the metric grows or falls")
        return cls(
            prop,
            name,
            direction if name == "monotone" else None,
            tolerance if prop.tolerance is None else prop.tolerance,
            rtol if prop.rtol is None else prop.rtol,
        )

    def look(
        self,
        before: Mapping[str, object],
        after: Mapping[str, object],
        new: Variant,
        change: Callable[[], float] = lambda: 0.0,
    ) -> Observed:
        """Return how the metrics *after* compare with those *before*.

        *change* returns the largest change that the transform made to a value.

        Raises:
            HarnessRefused: there is nothing to compare.

        """
        seen: list[Observed] = []
        demands = False
        for name in _compared(self.prop, before, after):
            expected = self._expected(before[name], new)
            pairs = _pairs(expected, after[name])
            found = [self._compare(one, other, change) for one, other in pairs]
            could = any(one.could_fail for one in found)
            demands = demands or (could and self._demands(before[name], expected))
            seen += found
        apart = [one.difference for one in seen]
        largest = (
            None if None in apart else max(cast("list[float]", apart), default=0.0)
        )
        could_fail = any(one.could_fail for one in seen)
        return Observed(all(one.passed for one in seen), largest, could_fail, demands)

    def _demands(self, before: object, expected: object) -> bool:
        """Tell whether a metric that stays as it was would fail, if it had to change.

        One that may stay demands what every test does: see `vacuity`.
        """
        pairs = list(_pairs(before, expected))
        apart = [
            math.inf if one is None or other is None else _apart(one, other)
            for one, other in pairs
        ]
        if not any(apart):
            return True
        return any(
            not change <= self._allowed(one or 0, other or 0)
            for change, (one, other) in zip(apart, pairs, strict=True)
        )

    def _allowed(self, one: float, other: float) -> float:
        """Return the largest difference between two numbers that passes."""
        larger = min(max(_size(one), _size(other)), sys.float_info.max)
        return max(self.tolerance, self.rtol * larger)

    def _expected(self, value: object, new: Variant) -> object:
        if self.name != "equivariant":
            return value
        if new.expected is None:
            raise _refused(self.prop, "the parts of the data have orders of their own")
        return new.expected(value)

    def _compare(
        self, one: float | None, other: float | None, change: Callable[[], float]
    ) -> Observed:
        if one is None or other is None:
            return Observed(passed=False, difference=None)
        if _is_nan(one) or _is_nan(other):
            agree = self.prop.equal_nan and _is_nan(one) and _is_nan(other)
            return Observed(agree, 0.0 if agree else None)
        larger = min(max(_size(one), _size(other)), sys.float_info.max)
        allowed = self._allowed(one, other)
        could = could_fail(allowed, larger, change)
        if one == other or self._is_right_way(one, other):
            return Observed(passed=True, difference=0.0, could_fail=could)
        apart = _apart(one, other)
        if not math.isfinite(apart):
            return Observed(passed=False, difference=None)
        return Observed(apart <= allowed, apart, could)

    def _is_right_way(self, before: float, after: float) -> bool:
        grew = after > before
        return self.direction == ("increasing" if grew else "decreasing")


def _compared(
    prop: Property, before: Mapping[str, object], after: Mapping[str, object]
) -> list[str]:
    if prop.metric is None:
        first, second = numeric(before), numeric(after)
        if not first or first.keys() != second.keys():
            missing = ", ".join(sorted(first.keys() ^ second.keys())) or "every number"
            raise _refused(prop, f"{missing} is missing from an execution")
        return list(first)
    for outputs in (before, after):
        if prop.metric not in outputs:
            known = ", ".join(outputs) or "nothing"
            raise _refused(prop, f"the code returns no {prop.metric}, but {known}")
        value = outputs[prop.metric]
        if not _is_numeric(value):
            kind = type(value).__name__
            raise _refused(prop, f"{prop.metric} is of type {kind} and not a number")
    return [prop.metric]


def _is_numeric(value: object) -> bool:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return bool(items) and all(map(_is_numeric, items))
    return isinstance(value, int | float)


def _pairs(one: object, other: object) -> Iterator[tuple[float | None, float | None]]:
    """Yield the numbers in the same places; (None, None) if a place has no partner."""
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        if len(items) != len(others):
            yield None, None
        for left, right in zip(items, others, strict=False):
            yield from _pairs(left, right)
    elif isinstance(one, int | float) and isinstance(other, int | float):
        yield one, other
    else:
        yield None, None


def _is_nan(number: object) -> bool:
    return isinstance(number, float) and math.isnan(number)


def _apart(one: float, other: float) -> float:
    try:
        return float(abs(one - other))
    except OverflowError:  # an integer beyond every float
        return math.inf


def _size(number: float) -> float:
    return _apart(number, 0)


def _refused(prop: Property, message: str) -> HarnessRefused:
    return HarnessRefused(
        message,
        rule="harness/metric",
        place=f"property {prop.name}",
        remedy="name a number that the code returns, and a relation that it has",
    )
