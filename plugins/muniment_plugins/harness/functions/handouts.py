"""Copies of what the user's functions are given, and of what they return.

    handed([1, 2])      another [1, 2]          kept(answer)    the answer as recorded
    ctx["rows"]         another copy for each call

Rules:

- Nothing is shared: a step that changes its data in place, or keeps it and changes it
  later, changes its own copy, never the record or what others are given.
- Copies are what the record would give back; a value without an exact form is refused.
- A value of the context is copied when a function asks for it, not before.
- Functions stay as they are; claims and specs are rebuilt from their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.codec import settle, written
from muniment.encoding.copies import duplicate
from muniment.encoding.registry import ValueTypes
from muniment.errors import ValueRefused
from muniment_plugins.harness.claim import Claim, Spec
from muniment_plugins.harness.names import NamedItems
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["NO_TYPES", "Given", "Told", "alike", "handed", "holds_functions", "kept"]

NO_TYPES = ValueTypes()


@dataclass(frozen=True, slots=True)
class Given:
    """A copy that the caller made already, and wants to recognise."""

    value: object


class Told(Mapping[str, object]):
    """The context of one call: everything known, by name, read-only."""

    __slots__ = ("_given", "_types", "known")

    def __init__(
        self, known: Mapping[str, object], types: ValueTypes = NO_TYPES
    ) -> None:
        self.known = NamedItems(known, "value of the context")
        """The values themselves, for code that only sends them on."""
        self._types = types
        self._given: dict[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name not in self._given:
            copy = handed(self.known[name], self._types, name)
            self._given.setdefault(name, copy)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def __or__(self, other: Mapping[str, object]) -> dict[str, object]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, object]) -> dict[str, object]:
        return {**other, **self}

    def __repr__(self) -> str:
        return repr(dict(self.known))


def handed(
    value: object, types: ValueTypes = NO_TYPES, place: str = "argument"
) -> object:
    """Return a copy of *value* for code that may change it.

    Raises:
        HarnessRefused: it has no exact form; *place* names the value.

    """
    if isinstance(value, Told | Given):
        return value.value if isinstance(value, Given) else value
    try:
        return _again(value, types)
    except ValueRefused as refusal:
        raise HarnessRefused(
            f"{place} cannot be recorded: {refusal.message}",
            rule="harness/value",
            place=refusal.place,
            remedy="give JSON values, NumPy arrays or Arrow tables",
        ) from refusal


def _again(value: object, types: ValueTypes) -> object:
    if isinstance(value, Claim | Spec):
        read = Spec.recorded if isinstance(value, Spec) else Claim.of
        return read(cast("Mapping[str, object]", settle(value.to_json())))
    if callable(value):
        return value
    if holds_functions(value):
        members = cast("Mapping[str, object]", value)
        return {name: _again(one, types) for name, one in members.items()}
    return duplicate(value, types)


def kept(value: object, types: ValueTypes = NO_TYPES) -> object:
    """Return a given *value* as the record would give it back.

    Raises:
        ValueRefused: it has no exact form.

    """
    if isinstance(value, Claim | Spec) or callable(value):
        return _again(value, types)
    if holds_functions(value):
        members = cast("Mapping[str, object]", value)
        return {name: kept(one, types) for name, one in members.items()}
    return settle(value, types)


def alike(one: object, other: object, types: ValueTypes = NO_TYPES) -> bool:
    """Tell whether two values are the same in a record, including their types."""
    return written(one, types)[1] == written(other, types)[1]


def holds_functions(value: object) -> bool:
    """Tell whether *value* is a mapping that holds functions."""
    if not isinstance(value, Mapping):
        return False
    return any(map(callable, cast("Mapping[str, object]", value).values()))
