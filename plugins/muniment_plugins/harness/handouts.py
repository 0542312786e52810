"""What functions of the user are given, and what is kept of what they return.

    handed([1, 2])      another [1, 2]          kept(answer)    the answer as recorded
    ctx["rows"]         another copy for each call

Rules:

- Nothing is shared: a step that changes its data in place, or keeps it and changes it
  later, changes its own copy. What is recorded, and what others are given, stays.
- Given and kept is what the record gives back; what has no exact form is refused.
- A copy is made when a function asks for a value of the context, and not before.
- Functions stay as they are; claims and specs are made again of their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.errors import ValueRefused
from muniment.value_copies import duplicate
from muniment.value_types import ValueTypes
from muniment.values import settle, written
from muniment_plugins.harness.claims import Claim, Spec
from muniment_plugins.harness.naming import Known
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["NO_TYPES", "Given", "Told", "alike", "handed", "holds_functions", "kept"]

NO_TYPES = ValueTypes()


@dataclass(frozen=True, slots=True)
class Given:
    """A copy that was made already, by who wants to know it again."""

    value: object


class Told(Mapping[str, object]):
    """The context of one call: what is known, by name; nobody can write to it."""

    __slots__ = ("_given", "_types", "known")

    def __init__(
        self, known: Mapping[str, object], types: ValueTypes = NO_TYPES
    ) -> None:
        self.known = Known(known, "value of the context")
        """The values themselves, for who only sends them on."""
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
    """Return *value* for somebody who may do with it what they like.

    Raises:
        HarnessRefused: it has no exact form; *place* says which value it is.

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
    """Return *value*, which somebody gave, as the record gives it back.

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
    """Tell whether two values are the same in a record, types and all."""
    return written(one, types)[1] == written(other, types)[1]


def holds_functions(value: object) -> bool:
    """Tell whether *value* is a mapping that holds functions."""
    if not isinstance(value, Mapping):
        return False
    return any(map(callable, cast("Mapping[str, object]", value).values()))
