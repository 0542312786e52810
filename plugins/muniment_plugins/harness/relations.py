"""Whether the metrics of two executions agree, for the property that asks.

Rules:

- A property that names a metric compares that one; without a name it compares every
  number, and both executions must return the same ones.
- A metric that is missing, or is no number, is refused: nothing passes for want of
  something to compare.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment_plugins.harness.claims import Property
from muniment_plugins.harness.execution import numeric
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["largest_difference"]

_BEYOND = 1e300


def largest_difference(
    prop: Property, before: Mapping[str, object], after: Mapping[str, object]
) -> float:
    """Return how far the compared metrics lie apart at most.

    Raises:
        HarnessRefused: there is nothing to compare.

    """
    names = _compared(prop, before, after)
    return max(_apart(before[name], after[name]) for name in names)


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
        if not isinstance(value, int | float):
            kind = type(value).__name__
            raise _refused(prop, f"{prop.metric} is a {kind} and not a number")
    return [prop.metric]


def _apart(one: object, other: object) -> float:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        raise TypeError("only numbers are compared")
    apart = abs(one - other)
    return float(apart) if apart < _BEYOND else _BEYOND


def _refused(prop: Property, message: str) -> HarnessRefused:
    return HarnessRefused(
        message,
        rule="harness/metric",
        place=f"property {prop.name}",
        remedy="name a number that the code returns",
    )
