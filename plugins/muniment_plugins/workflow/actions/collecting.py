"""Where in a plan its actions are, one after the other, with what they inherit.

    {"steps": [{…}, {…}]}                       actions of a list
    {"steps": [{…}], "tasks": [{…}]}            of several: `CONTAINERS`, then `GROUPS`
    {"plan": {"tasks": [{…}]}}                  deeper down
    {"batches": [{"phase": "research", "actions": [{…}]}]}     each after the one before
    {"phases": [{"name": "research", "steps": [{…}]}]}         the same
    {"research": [{…}], "execute": [{…}], "verify": [{…}]}
    {"title": "Fix it"}                         the plan is its only action

Rules:

- An action that has actions of its own is a group: these take its place, with its phase,
  tools and target paths if they name none, after what it depends on; who depends on the
  group depends on all of it.
- Batches and phases are an order, so they stand beside no other list.
- What is neither a text nor an object is no action, and is refused with its place. What of
  a plan is no action is kept: nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.actions.words import (
    CONTAINERS,
    GROUPS,
    NESTED,
    ORDERED,
    PHASE_KEYS,
    phase_named,
)

__all__ = [
    "MOST_ACTIONS",
    "Collected",
    "FoundAction",
    "FoundGroup",
    "collected",
    "first_key",
    "first_text",
]

Object = Mapping[str, JsonValue]
MOST_ACTIONS = 1000
_DEEPEST = 14
"""Each group takes two levels of the 32 that a document has."""
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class FoundAction:
    """An action as it is written, and the groups that it is in."""

    said: Object
    at: At
    phase: str | None
    groups: tuple[FoundGroup, ...] = ()
    """The groups around it, the outermost one first."""
    batch: int | None = None
    """Which of the plan's batches or phases it is in, from 0; None if it has none."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundGroup:
    """A group of actions, which other actions may depend on as a whole."""

    said: Object
    """What it says, apart from its actions."""
    at: At


@dataclass(frozen=True, slots=True)
class Collected:
    """The actions of a plan, and what it says beside them."""

    source: str
    """The name of its form: the keys under which the actions are."""
    actions: list[FoundAction]
    given: Object


@dataclass(frozen=True, slots=True)
class _Part:
    source: str
    rows: Iterator[FoundAction]
    given: Object = field(default_factory=dict[str, JsonValue])


def first_key(said: Object, keys: tuple[str, ...]) -> str | None:
    """Return the first of *keys* under which *said* has a text, or a number."""
    for key in keys:
        value = said.get(key)
        if isinstance(value, str) and value.strip():
            return key
        if isinstance(value, int | float) and not isinstance(value, bool):
            return key
    return None


def first_text(said: Object, keys: tuple[str, ...]) -> str | None:
    """Return the first text, or number, that *said* has under one of *keys*."""
    key = first_key(said, keys)
    return None if key is None else str(said[key]).strip()


def collected(plan: JsonValue, at: At, phase: str | None) -> Collected:
    """Return the actions of *plan* in order, and what else it says.

    Raises:
        UsageError: it has none, too many, or one that is no action.

    """
    part = _part(plan, at, phase, 0)
    found: list[FoundAction] = []
    for one in part.rows:
        if len(found) == MOST_ACTIONS:
            raise at.wrong(
                f"it has more than {MOST_ACTIONS} actions", "plan-size", "plan in parts"
            )
        found.append(one)
    if not found:
        raise at.wrong("it has no action", "plan-empty", "write steps")
    return Collected(part.source, found, part.given)


def _part(plan: JsonValue, at: At, phase: str | None, depth: int) -> _Part:
    if isinstance(plan, str):
        return _Part("text", iter([FoundAction(_of_text(plan), at, phase)]))
    if isinstance(plan, list):
        return _Part("list", _listed(plan, at, phase, (), 0))
    said = cast("Object", plan)
    parts: dict[str, _Part] = {}
    for key in (*CONTAINERS, *ORDERED, *GROUPS):  # JSON has no order of members
        one = _member(key, said.get(key), at.key(key), phase, depth)
        if one is not None:
            parts[key] = one
    if not parts:
        return _Part("action", iter([FoundAction(said, at, phase)] if said else []))
    for key in ORDERED:
        if key in parts and len(parts) > 1:
            raise at.key(key).wrong(
                f"it stands beside {', '.join(one for one in parts if one != key)}: "
                "which actions come when?",
                "plan",
                "write the actions in one of them",
            )
    sources = [one.source for one in parts.values()]
    source = "phases" if parts.keys() <= {*GROUPS} else "+".join(sources)
    given = {key: value for key, value in said.items() if key not in parts}
    given |= {key: dict(one.given) for key, one in parts.items() if one.given}
    rows = chain.from_iterable(one.rows for one in parts.values())
    return _Part(source, rows, given)


def _member(
    key: str, value: JsonValue, at: At, phase: str | None, depth: int
) -> _Part | None:
    """Return the actions that a plan has under *key*; None if it means something else."""
    if key in GROUPS and isinstance(value, list | dict | str):
        rows: list[JsonValue] = value if isinstance(value, list) else [value]
        return _Part(key, _listed(rows, at, key, (), 0))
    if key not in (*CONTAINERS, *ORDERED):
        return None
    if isinstance(value, list):
        listed = _ordered if key in ORDERED else _rows
        return _Part(key, listed(value, at, phase))
    if isinstance(value, dict) and depth < _DEEPEST:
        inner = _part(value, at, phase, depth + 1)
        return _Part(f"{key}.{inner.source}", inner.rows, inner.given)
    return None


def _of_text(text: str) -> Object:
    """Return the action that a *text* is."""
    first = text.strip().split("\n", 1)[0]
    return {"title": first[:_LONGEST_TITLE], "instruction": text.strip()}


def _rows(rows: list[JsonValue], at: At, phase: str | None) -> Iterator[FoundAction]:
    return _listed(rows, at, phase, (), 0)


def _ordered(rows: list[JsonValue], at: At, phase: str | None) -> Iterator[FoundAction]:
    """Yield the actions of batches, or phases, each with the number of its own."""
    for number, row in enumerate(rows):
        here = at.item(number)
        named = row.get("name", row.get("title")) if isinstance(row, dict) else None
        word = isinstance(named, str) and len(named.split()) == 1
        own = (phase_named(named) if word else None) or phase
        if isinstance(row, list):
            around = FoundGroup({}, here)
            found = _listed(row, here, own, (around,), 1)
        else:
            found = _listed([row], at, own, (), 0, first=number)
        for one in found:
            yield FoundAction(one.said, one.at, one.phase, one.groups, number)


def _listed(
    rows: list[JsonValue],
    at: At,
    phase: str | None,
    groups: tuple[FoundGroup, ...],
    depth: int,
    first: int = 0,
) -> Iterator[FoundAction]:
    for number, row in enumerate(rows, first):
        here = at.item(number)
        if isinstance(row, str) and row.strip():
            yield FoundAction(_of_text(row), here, phase, groups)
        elif isinstance(row, dict):
            yield from _one(row, here, phase, groups, depth)
        else:
            raise here.wrong(
                "it is no action", "plan", "write a text, or an object with a title"
            )


def _lists(said: Object, key: str) -> bool:
    return isinstance(said.get(key), list) and bool(said[key])


def _one(
    said: Object, at: At, phase: str | None, groups: tuple[FoundGroup, ...], depth: int
) -> Iterator[FoundAction]:
    inner = {
        key: cast("list[JsonValue]", said[key]) for key in NESTED if _lists(said, key)
    }
    if not inner:
        yield FoundAction(said, at, phase, groups)
        return
    words = (phase_named(said.get(one)) for one in PHASE_KEYS)
    own = next((one for one in words if one is not None), phase)
    rest = {key: value for key, value in said.items() if key not in inner}
    around = (*groups, FoundGroup(rest, at))
    for key, rows in inner.items():
        if depth == _DEEPEST:
            raise at.key(key).wrong(
                f"groups nest deeper than {_DEEPEST}", "plan", "make it flatter"
            )
        yield from _listed(rows, at.key(key), own, around, depth + 1)
