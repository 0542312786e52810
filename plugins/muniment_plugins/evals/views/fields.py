"""Fields of a record that assertions are about: what leads there, and how it compares.

    field_of(record, "stages.check.verification.ok")     Found(True)
    field_of(record, "artifacts.0.data.secret")          Found(why="… was erased")

Rules:

- A path leads through the record: ``stages.verify.outcome``, ``usage.total_cost``,
  ``stages.act.1.attempts.0.status``; a node stands for its last visit.
- At or below what was erased nobody can tell anything, by whatever operator; nor whether
  something is missing in a record of which something was erased. Nor is anything told at or
  below what is private, not even whether it is there: the answer would be public.
- What is missing is absent if that which would have it is there. Of a stage that the run
  has not, nobody can tell which fields it lacks; of a node that the graph has not, nobody
  can tell whether it was visited.
- Values compare as JSON: 1 is 1.0, and neither true nor "1". What is of another type differs,
  which shows nothing: nobody can tell whether ``not-equals`` holds.
- A number of tokens or of costs that a record lacks is not known: nobody can tell.
- A sum of tokens or costs that lacks some calls is at least what it is; how much it is, and
  whether it is below a limit, nobody can tell.
- Numbers compare exactly; a decimal text, as costs are, is a number where they are ordered.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from muniment_plugins.evals.views.patterns import PATTERNS, TookTooLong
from muniment_plugins.evals.views.rows import Row, as_row, listed, part
from muniment_plugins.evals.views.sealed import (
    IS_PRIVATE,
    Private,
    has_erased,
    has_private,
)
from muniment_plugins.evals.views.stage_keys import named_by
from muniment_plugins.workflow.records.contents import is_erased

__all__ = ["OPS", "ORDERS", "UNORDERED", "field_answer", "number_of", "stage_of"]

ORDERS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "less": operator.lt,
    "at-most": operator.le,
    "more": operator.gt,
    "at-least": operator.ge,
}
"""What compares numbers."""
OPS = (
    *("equals", "not-equals", "contains", "not-contains", "matches"),
    *(*ORDERS, "exists", "absent"),
)
"""How a field is compared."""
UNORDERED = frozenset({"exists", "absent"})
"""Those that compare with nothing."""
_DECIMAL = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")
_AT_LEAST = ("more", "at-least")
_PARTIAL = {
    **dict.fromkeys(
        ("input_tokens", "output_tokens", "other_tokens"),
        ("uncounted_calls", "the tokens of {} calls are not known"),
    ),
    "total_cost": ("unpriced_calls", "the price of {} calls is not known"),
}
"""A sum of a usage → what says of how many calls it lacks the number, and in which words."""
_UNSTATED = (("usage", "total_cost"), ("agent", "tokens"), ("agent", "cost_usd"))
"""Numbers that a record lacks where nobody knows them."""
_NOT_STATED = "no answer states it"
_USAGES = ("usage", "answered_usage")
_ERASED = "what it would look at was erased"


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a path led."""

    value: Any = None
    missing: bool = False
    why: str | None = None
    """Why nobody can tell what is there; of what is missing, whether it is absent."""


def stage_of(rows: list[Row], named: str) -> Row | None:
    """Return the stage that *named* means: by its id, else the last visit of a node."""
    by_id = next((one for one in rows if one["id"] == named), None)
    if by_id is not None:
        return by_id
    visits = [one for one in rows if one["node_id"] == named]
    return visits[-1] if visits else None


def number_of(value: Any) -> Decimal | None:
    """Return *value* as a number: exactly, and a decimal text, too; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        found = Decimal(str(value))
        return found if found.is_finite() else None
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return Decimal(value)
    return None


def field_answer(record: Mapping[str, Any], probe: Mapping[str, Any]) -> Row:
    """Return how the value at a path of *record* compares; plain ones are told."""
    found = _led(record, probe["path"].split("."))
    op = probe["op"]
    why = _untold(record, found, op)
    if why is not None:
        return {"found": None, "looked_at": 1, "why": why}
    if found.missing:
        why = None if op in UNORDERED else _unstated(record, probe["path"].split("."))
        if why is not None:
            return {"found": None, "looked_at": 1, "why": why}
        return {"found": op == "absent", "looked_at": 1, "actual": "(nothing)"}
    if op in UNORDERED:
        return {"found": op == "exists", "looked_at": 1}
    return _compared(record, probe, found.value)


def _untold(record: Mapping[str, Any], found: _Found, op: str) -> str | None:
    """Return why nobody can tell what was *found*, or whether it is there."""
    if found.missing and listed(record, "erased"):
        return _ERASED
    if found.why is not None and (op == "absent" or not found.missing):
        return found.why
    if found.missing or op in UNORDERED:
        return None
    if has_private(found.value):
        return IS_PRIVATE
    return _ERASED if has_erased(found.value) else None


def _compared(record: Mapping[str, Any], probe: Mapping[str, Any], value: Any) -> Row:
    """Return how a *value* that is there compares."""
    holds, why = _holds(probe["op"], value, probe.get("expected"))
    lacking = _lacking(record, probe["path"].split("."))
    if lacking is not None and not (holds and probe["op"] in _AT_LEAST):
        return {"found": None, "looked_at": 1, "why": lacking}
    answer: Row = {"found": holds, "looked_at": 1}
    if why is not None:
        answer["why"] = why
    if isinstance(value, bool | int | float):
        answer["actual"] = value
    return answer


def _led(record: Mapping[str, Any], keys: list[str]) -> _Found:
    """Return where *keys* lead to."""
    here: Any = record
    while keys:
        if isinstance(here, Private) or is_erased(here):
            return _ended(here)
        if isinstance(here, list):
            rows = cast("list[object]", here)
            found = _item(record, rows, keys)
            if found.why is not None or found.missing:
                return found
            here = found.value
        elif isinstance(here, dict):
            members, key = cast("Row", here), keys.pop(0)
            if key not in members:
                return _Found(missing=True)
            here = members[key]
        else:
            return _Found(missing=True)
    return _ended(here)


def _ended(here: Any) -> _Found:
    """Return what a path leads to whose last value, or one above it, is *here*."""
    if isinstance(here, Private):
        return _Found(why=IS_PRIVATE)
    return _Found(why=_ERASED) if is_erased(here) else _Found(here)


def _lacking(record: Mapping[str, Any], keys: list[str]) -> str | None:
    """Return why the sum at *keys* is not the whole of it; None if it is, or is no sum."""
    if len(keys) < 2 or keys[-1] not in _PARTIAL or keys[-2] not in _USAGES:  # noqa: PLR2004 - of a usage
        return None
    name, words = _PARTIAL[keys[-1]]
    count = as_row(_led(record, keys[:-1]).value).get(name, 0)
    return words.format(count) if count else None


def _unstated(record: Mapping[str, Any], keys: list[str]) -> str | None:
    """Return why there is no number at *keys*; None if a record lacks none there."""
    lacking = _lacking(record, keys)
    if lacking is None and tuple(keys[-2:]) in _UNSTATED:
        return _NOT_STATED
    return lacking


def _item(record: Mapping[str, Any], rows: list[object], keys: list[str]) -> _Found:
    """Return the item that the first of *keys* mean; take these keys away."""
    key = keys.pop(0)
    if key.isdecimal():
        if int(key) < len(rows):
            return _Found(rows[int(key)])
        why = f"there is no item {key}, of which it could be told"
        return _Found(missing=True, why=why if keys else None)
    if rows is not record["stages"]:
        return _Found(why="it is a list: name an item by its number")
    stages = cast("list[Row]", rows)
    more = named_by([key, *keys], {one["id"] for one in stages}) - 1
    key = ".".join([key, *keys[:more]])
    del keys[:more]
    found = stage_of(stages, key)
    if found is not None:
        return _Found(found)
    return _no_stage(record, key, below=bool(keys))


def _no_stage(record: Mapping[str, Any], named: str, *, below: bool) -> _Found:
    """Return what can be told of a stage that the run has not."""
    nodes = part(part(record, "metadata"), "node_digests")
    last = named.rpartition("/")[2]
    node, _, visit = last.rpartition(".")
    known = last in nodes or (node in nodes and visit.isdecimal())
    why = f"the run has no stage {named}" if below else None
    return _Found(missing=True, why=why if known else f"the graph has no node {last}")


# -- how it compares -----------------------------------------------------------------------


def _holds(op: str, actual: Any, expected: Any) -> tuple[bool | None, str | None]:
    """Return whether it holds, and why nobody can tell."""
    if op in ORDERS:
        one, other = number_of(actual), number_of(expected)
        if one is None or other is None:
            return False, None
        return ORDERS[op](one, other), None
    if op == "matches":
        return _matches(actual, str(expected))
    if op.endswith("equals"):
        holds, why = _same(actual, expected), _apart(actual, expected)
    else:
        holds, why = _contains(actual, expected)
    if not op.startswith("not-"):
        return bool(holds), None
    return (None, why) if why is not None else (not holds, None)


def _matches(actual: Any, pattern: str) -> tuple[bool | None, str | None]:
    if not isinstance(actual, str):
        return False, None
    try:
        return PATTERNS.search(pattern, actual), None
    except TookTooLong as error:
        return None, str(error)


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values of JSON are equal."""
    if _kind(one) != _kind(other):
        return False
    if isinstance(one, list):
        rows = cast("list[object]", one)
        return len(rows) == len(other) and all(map(_same, rows, other))
    if isinstance(one, dict):
        members, theirs = cast("Row", one), cast("Row", other)
        return members.keys() == theirs.keys() and all(
            _same(value, theirs[name]) for name, value in members.items()
        )
    return bool(one == other)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a number"


def _apart(actual: Any, expected: Any) -> str | None:
    """Return why *actual* cannot be compared with what is *expected*."""
    if actual is None or _kind(actual) == _kind(expected):
        return None
    return f"it is {_kind(actual)}, not {_kind(expected)}: they cannot be compared"


def _contains(actual: Any, expected: Any) -> tuple[bool, str | None]:
    if isinstance(actual, list):
        rows = cast("list[object]", actual)
        if rows and all(_kind(one) != _kind(expected) for one in rows):
            return False, f"it has no item that is {_kind(expected)}"
        return any(_same(one, expected) for one in rows), None
    if isinstance(actual, str | dict) and isinstance(expected, str):
        return expected in cast("Any", actual), None
    if actual is None:
        return False, None
    return False, f"{_kind(actual)} does not contain {_kind(expected)}"
