"""Constraints of arguments: which texts the calls of some tools may give.

    {"tool": "run", "arg_key": "command", "arg_patterns": ["git status", "ls *"]}

Rules:

- A constrained argument must be there: **absent, null or an empty list is refused**,
  since what the tool does then is its own default, which nobody constrained.
- It is a text, a number, a truth value, or a list of these; each must match a pattern.
  Numbers and truth values match as JSON writes them. Anything else is refused.
- Without ``arg_key`` every argument of the call is held to the patterns, and there must
  be one. A dotted key leads into objects and through lists, each item of which must have
  it.
- A value that was given by an alias of the argument must match as well, but does not
  stand for it: a gate first writes the names that the tool itself declares.
- ``*`` is any text and ``?`` one character; ``[`` is itself. Values with control or
  invisible characters, or more than 65,536 of them, match nothing, and a ``..`` between separators matches only a
  pattern without wildcards. Patterns read texts, not shells: ``git *`` allows ``git x; rm y``,
  so write commands out, or give the tool a list of arguments.
- No patterns allow nothing. Constraints of two policies both hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import Items, ObjectShape, Text
from muniment.encoding.canonical import JsonValue, canonical
from muniment_plugins.workflow.ceilings.annotations import meanings
from muniment_plugins.workflow.ceilings.names import (
    TOOL_PATTERN,
    glob_match,
    matches_name,
    normal_pattern,
)

__all__ = [
    "ARG_CONSTRAINT",
    "ArgConstraint",
    "GivenValues",
    "changed_at",
    "read_constraint",
    "values_at",
]

_UPWARDS = re.compile(r"(?:^|[\s/\\'\"=])\.\.(?:$|[\s/\\'\"])")
_LONGEST = 1 << 16
"""Characters of a constrained value: comparing more takes too long."""
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")

ARG_CONSTRAINT = ObjectShape(
    {"tool": TOOL_PATTERN, "arg_patterns": Items(Text(), unique=True)},
    {"arg_key": Text()},
)
"""The shape of a constraint."""


@dataclass(frozen=True, slots=True, order=True)
class ArgConstraint:
    """What the calls of some tools may give."""

    tool: str
    """A pattern of names."""
    arg_key: str
    """The argument, dotted where it is inside another; empty for every argument."""
    arg_patterns: tuple[str, ...]

    def document(self) -> dict[str, JsonValue]:
        """Return the constraint as a JSON object in normal form."""
        made: dict[str, JsonValue] = {
            "tool": self.tool,
            "arg_patterns": [*self.arg_patterns],
        }
        return {**made, "arg_key": self.arg_key} if self.arg_key else made

    def concerns(self, tool: str) -> bool:
        """Tell whether the calls of *tool* are held to it."""
        return matches_name(self.tool, tool)

    def fault(
        self,
        arguments: Mapping[str, JsonValue],
        aliases: Mapping[str, frozenset[str]],
    ) -> str:
        """Return why *arguments* are refused; empty if they are not."""
        if not self.arg_key:
            given = [*arguments.values()]
            absent = all(one is None for one in given)
        else:
            found = values_at(arguments, self.arg_key)
            absent = not found.complete
            given = [*found.values, *self._by_alias(arguments, aliases)]
        if absent:
            return "the argument is constrained, and is not there"
        wrong = next((one for one in given if not self._admits(one)), None)
        return "" if wrong is None else f"{wrong!r:.60} matches none of the patterns"

    def _by_alias(
        self,
        arguments: Mapping[str, JsonValue],
        aliases: Mapping[str, frozenset[str]],
    ) -> Iterator[JsonValue]:
        for alias in aliases:
            if self.arg_key in meanings(aliases, alias):
                yield from values_at(arguments, alias).values

    def _admits(self, value: JsonValue) -> bool:
        if value is None:
            return True
        if isinstance(value, list):
            return bool(value) and all(
                isinstance(one, str | int | float) and self._admits(one)
                for one in value
            )
        if isinstance(value, dict):
            return False
        text = value if isinstance(value, str) else canonical(value).decode()
        if len(text) > _LONGEST:
            return False
        return any(_matches(pattern, text) for pattern in self.arg_patterns)


@dataclass(frozen=True, slots=True)
class GivenValues:
    """What a call gives under a name."""

    values: tuple[JsonValue, ...]
    """Without nulls."""
    complete: bool
    """Whether there is one wherever the name leads."""


def values_at(arguments: Mapping[str, JsonValue], name: str) -> GivenValues:
    """Return what *arguments* give under *name*.

    A dotted name is looked for as it is, and as a way into objects, of which lists may
    have many.
    """
    found = _inside(dict(arguments), tuple(name.split(".")))
    plain = arguments.get(name) if "." in name else None
    literal = () if plain is None else (plain,)
    values = tuple(one for one in found if one is not None)
    whole = bool(found) and len(values) == len(found)
    return GivenValues((*values, *literal), whole or (bool(literal) and not values))


def changed_at(
    arguments: Mapping[str, JsonValue], name: str, change: Callable[[str], str]
) -> dict[str, JsonValue]:
    """Return *arguments* with the texts changed that `values_at` finds under *name*.

    Also those in a list there.
    """
    names = tuple(name.split("."))
    made = cast("dict[str, JsonValue]", _changed(dict(arguments), names, change))
    if "." in name and name in made:
        made[name] = _changed(made[name], (), change)
    return made


def _changed(
    value: JsonValue, names: tuple[str, ...], change: Callable[[str], str]
) -> JsonValue:
    if isinstance(value, str):
        return value if names else change(value)
    if isinstance(value, list):
        return [_changed(one, names, change) for one in value]
    if not isinstance(value, dict) or not names or names[0] not in value:
        return value
    return {**value, names[0]: _changed(value[names[0]], names[1:], change)}


def _inside(value: JsonValue, names: tuple[str, ...]) -> list[JsonValue]:
    if isinstance(value, list) and names:
        return [one for item in value for one in _inside(item, names)] or [None]
    if not names:
        return [None if value == [] else value]
    if not isinstance(value, dict):
        return [None]
    return _inside(value.get(names[0]), names[1:])


def _matches(pattern: str, text: str) -> bool:
    if pattern == text:
        return True
    if any(unicodedata.category(one) in _INVISIBLE for one in text):
        return False
    return not _UPWARDS.search(text) and glob_match(pattern, text)


def read_constraint(value: JsonValue, at: At) -> ArgConstraint:
    """Return the constraint in *value*, whose shape was checked.

    Raises:
        UsageError: its pattern of tools matches nothing.

    """
    said = cast("Mapping[str, JsonValue]", value)
    patterns = cast("list[str]", said["arg_patterns"])
    return ArgConstraint(
        tool=normal_pattern(cast("str", said["tool"]), at.key("tool")),
        arg_key=cast("str", said.get("arg_key") or ""),
        arg_patterns=tuple(sorted(patterns)),
    )
