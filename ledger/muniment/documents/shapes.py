"""Shapes: what a document may say, declared once and checked key by key.

    ObjectShape(required={"flow_id": Text(), "agents": Items(Text())},
                optional={"replay_mode": Choice(("strict", "bounded"))})

Rules:

- A check ends at the first mistake, which names file, key path and what to write.
- Unknown keys come first, since a key that is missing may be one that is misspelled.
- A key that may be left out may also be ``null``: both mean that it is not given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue, canonical

__all__ = [
    "Anything",
    "Choice",
    "Entries",
    "Flag",
    "Items",
    "Numeric",
    "ObjectShape",
    "OneOf",
    "Shaped",
    "Text",
    "Whole",
]

_LONGEST = 10_000
"""Characters of a text, items of a list: more is a mistake."""


class Shaped(Protocol):
    """A shape that a value can have."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse *value* if it has another shape.

        Raises:
            UsageError: it has; the message names the place *at*.

        """
        ...


def _type_of(value: object) -> str:
    """Return what the format's users call the type of *value*."""
    if value is None:
        return "null"
    names: Mapping[type, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def _mistyped(value: JsonValue, wanted: str, at: At) -> Exception:
    return at.wrong(f"it is {_type_of(value)}, not {wanted}", "type", f"write {wanted}")


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse nothing."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty."""

    form: str = ""
    """A regular expression that all of it matches, if given."""
    example: str = ""
    """A text of that form."""
    longest: int = _LONGEST
    """The most characters that it may have."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if not isinstance(value, str):
            raise _mistyped(value, "a text", at)
        if not value.strip():
            raise at.wrong("the text is empty", "value", "write a text")
        if len(value) > self.longest:
            raise at.wrong(
                f"the text is too long: {len(value)} characters",
                "value",
                f"write at most {self.longest}",
            )
        if self.form and not re.fullmatch(self.form, value):
            raise at.wrong(
                f"{value!r:.80} does not have this form",
                "value",
                f"write it like {self.example}",
            )


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse every other word, and what is no text."""
        if not isinstance(value, str):
            raise _mistyped(value, f"one of {', '.join(self.words)}", at)
        if value not in self.words:
            raise at.wrong(
                f"{value!r:.80} means nothing here", "enum", near(value, self.words)
            )


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    least: int = 0

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if type(value) is not int:
            raise _mistyped(value, f"a whole number from {self.least}", at)
        if value < self.least:
            raise at.wrong(
                f"{value} is below {self.least}", "value", "write a larger number"
            )


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number within bounds."""

    least: float = 0
    most: float | None = None

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        upper = "" if self.most is None else f" to {self.most}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _mistyped(value, f"a number from {self.least}{upper}", at)
        beyond = self.most is not None and value > self.most
        if value < self.least or beyond or not isfinite(value):
            raise at.wrong(
                f"{value} is out of bounds", "value", f"from {self.least}{upper}"
            )


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if not isinstance(value, bool):
            raise _mistyped(value, "true or false", at)


@dataclass(frozen=True, slots=True)
class Items:
    """A list of values of one shape."""

    shape: Shaped
    least: int = 0
    unique: bool = False
    """Whether no item may be there twice."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse another type, an item of another shape, a list that is too short."""
        if not isinstance(value, list):
            raise _mistyped(value, "a list", at)
        if len(value) > _LONGEST:
            raise at.wrong(f"it has more than {_LONGEST} items", "value")
        if len(value) < self.least:
            raise at.wrong("the list is empty", "value", "name at least one")
        seen: set[bytes] = set()
        for number, one in enumerate(value):
            self.shape.check(one, at.item(number))
            if self.unique and canonical(one) in seen:
                raise at.item(number).wrong(
                    f"{one!r:.80} is there twice", "duplicate", "keep one of them"
                )
            seen |= {canonical(one)} if self.unique else set()


@dataclass(frozen=True, slots=True)
class Entries:
    """An object with names of the user's own, whose values have one shape."""

    shape: Shaped

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse another type, and members of another shape."""
        if not isinstance(value, dict):
            raise _mistyped(value, "an object", at)
        for name, one in value.items():
            self.shape.check(one, at.key(name))


@dataclass(frozen=True, slots=True)
class OneOf:
    """A short form that is a text, or a long one that is an object."""

    text: Shaped
    members: Shaped

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse what has neither form."""
        if isinstance(value, dict):
            self.members.check(value, at)
        elif isinstance(value, str):
            self.text.check(value, at)
        else:
            raise _mistyped(value, "a text or an object", at)


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """An object with these members and no others."""

    required: Mapping[str, Shaped] = field(default_factory=dict[str, Shaped])
    optional: Mapping[str, Shaped] = field(default_factory=dict[str, Shaped])

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse unknown, missing and misshapen members, in this order."""
        if not isinstance(value, dict):
            raise _mistyped(value, "an object", at)
        for name in value:
            if name not in self.required and name not in self.optional:
                known = [*self.required, *self.optional]
                raise at.key(name).wrong(
                    "nothing reads this key", "unknown-key", near(name, known)
                )
        for name, shape in self.required.items():
            if name not in value:
                words = (
                    f": {', '.join(shape.words)}" if isinstance(shape, Choice) else ""
                )
                raise at.key(name).wrong(
                    "it is missing", "missing-key", f"write it{words}"
                )
        for name, one in value.items():
            if name in self.required:
                self.required[name].check(one, at.key(name))
            elif one is not None:
                self.optional[name].check(one, at.key(name))
