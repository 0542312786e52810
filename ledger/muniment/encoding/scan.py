"""Checks many values at once: all of one depth together, without a call for each.

    fits([[1, 0.5], [2, 1.5]], 1, are_ascii, are_fractions)     True

Rules:

- Only the exact types of JSON fit, and names and floats must pass the caller's checks.
  Texts and integers are not checked, since orjson refuses those that it cannot write.
- A container is checked once on each level, so one that contains itself, or is in many
  places, takes no longer than others. But it would be written in each place: a value
  that grows without end that way does not fit, since orjson would take all memory or
  end the process.
- orjson must not meet anything unchecked: an enumeration without a value makes it end
  the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import isfinite
from typing import Any, TypeAlias

__all__ = ["MANY", "are_fractions", "fits"]

MANY = 16
"""From this many on, checking all together is faster than one by one."""

Names: TypeAlias = Callable[[Iterable[str]], bool]
Floats: TypeAlias = Callable[[Sequence[float]], bool]

_COPIES = 1 << 28
"""An upper bound on how often one container may be written, estimated quickly."""

_SCALARS: frozenset[type[object]] = frozenset({bool, float, int, str, type(None)})
_KNOWN = _SCALARS | {dict, list}
_VALUES: Callable[[dict[Any, Any]], Iterable[Any]] = dict[Any, Any].values


def fits(values: list[Any], room: int, names: Names, floats: Floats) -> bool:
    """Tell whether all *values* are JSON, at most *room* containers deep.

    *names* is asked about all names and *floats* about all floats of a level.
    """
    copies = 1
    while True:
        kinds: set[type[object]] = set(map(type, values))
        if not kinds <= _KNOWN:
            return False
        if float in kinds and not floats(_of(float, values, kinds)):
            return False
        if kinds <= _SCALARS:
            return True
        if not room:
            return False
        room -= 1
        found = _of(dict, values, kinds), _of(list, values, kinds)
        objects, lists = map(_once, found)
        copies *= sum(map(len, found)) - len(objects) - len(lists) + 1
        if copies > _COPIES or not _are_named(objects, names):
            return False
        if not objects and len(lists) == 1:
            values = lists[0]  # it may be long
            continue
        values = [*chain.from_iterable(map(_VALUES, objects))]
        values += chain.from_iterable(lists)


def are_fractions(floats: Sequence[float]) -> bool:
    """Tell whether all *floats* are finite, and none is an integer."""
    # Only finite numbers have a finite sum; very large ones may have none.
    finite = isfinite(sum(floats)) or all(map(isfinite, floats))
    return finite and not any(map(float.is_integer, floats))


def _of(kind: type[object], values: list[Any], kinds: set[type[object]]) -> list[Any]:
    if kind not in kinds:
        return []
    if len(kinds) == 1:
        return values
    return [value for value in values if type(value) is kind]


def _once(containers: list[Any]) -> list[Any]:
    if len({*map(id, containers)}) == len(containers):
        return containers
    return [*{id(one): one for one in containers}.values()]


def _are_named(objects: list[dict[Any, Any]], names: Names) -> bool:
    """Tell whether all names are texts that *names* lets pass, each looked at once.

    One that only equals a text may go unseen here: orjson refuses it as a name.
    """
    found = set[Any]().union(*objects)
    return set(map(type, found)) <= {str} and names(found)
