"""Classes are values by registered name, or not at all."""

from __future__ import annotations

import dataclasses
from typing import Any

import pydantic
import pytest

from drawn_values import Counted, Reply, Ticket
from muniment.encoding.codec import ValueTypes, decode, encode, settle
from muniment.errors import (
    CannotTellError,
    MunimentError,
    UsageError,
    ValueRefused,
)


@dataclasses.dataclass
class Growing:
    """A dataclass that is not what it was given."""

    size: int

    def __post_init__(self) -> None:
        """Grow."""
        self.size += 1


@dataclasses.dataclass
class Stuffed(dict[str, int]):
    """A dataclass that holds items beside its fields."""

    size: int


@dataclasses.dataclass
class Derived:
    """A dataclass that does not keep what it was given."""

    size: dataclasses.InitVar[int]


class Private(pydantic.BaseModel):
    """A model with state that is not a field."""

    _secret: int = 1


class Text(str):
    """A kind of str."""

    __slots__ = ()


TYPES = (
    ValueTypes()
    .with_type(Ticket, "test.Ticket")
    .with_type(Counted)
    .with_type(Reply, "test.Reply")
)


def test_types_that_do_not_come_back_are_refused() -> None:
    """A class whose constructor changes its fields is refused when it turns up."""
    types = ValueTypes().with_type(Growing, "growing")
    with pytest.raises(ValueRefused, match=r"does not come back .*\[value/rebuild\]"):
        encode([Growing(1)], types)


def test_cached_properties_need_not_come_back() -> None:
    """Derived state of an instance is not a reason to refuse it."""
    counted = Counted("ab")
    assert counted.upper == "AB"
    counted.length = 99
    assert settle([counted], TYPES) == [counted]


def test_a_record_says_nothing_to_import() -> None:
    """A name that nobody registered here cannot be told, and nothing is imported."""
    with pytest.raises(CannotTellError, match=r"'os\.system'.*\[value/unregistered\]"):
        decode({"$object": ["os.system", "true"]}, TYPES)


def test_fields_added_since_take_their_defaults() -> None:
    """An older record of a dataclass or model is read with today's defaults."""
    assert decode({"$object": ["test.Ticket", {"number": 1}]}, TYPES) == Ticket(1)
    reply = decode({"$object": ["test.Reply", {"text": "a"}]}, TYPES)
    assert reply == Reply(body="a")


@pytest.mark.parametrize(
    "register",
    [
        lambda: TYPES.with_type(Growing, "test.Ticket"),
        lambda: TYPES.with_type(Ticket, "test.Other"),
        lambda: TYPES.with_type(Growing, "no name"),
        lambda: TYPES.with_type(object),
        lambda: TYPES.with_type(dict, "dict", parts=list, build=dict),
        lambda: TYPES.with_type(bytes),
        lambda: TYPES.with_type(Stuffed),
        lambda: TYPES.with_type(Private),
        lambda: TYPES.with_type(Derived),
        lambda: TYPES.with_type(Text, "text"),
        lambda: TYPES.with_type(Text, "text", parts=str),
    ],
)
def test_registrations_that_cannot_work_are_refused(register: Any) -> None:
    """A name belongs to one class, and a class that says nothing needs functions."""
    with pytest.raises(UsageError, match=r"\[value/register\]"):
        register()


def test_registering_twice_changes_nothing() -> None:
    """The same class under the same name is not a conflict; the old set stays."""
    assert TYPES.with_type(Ticket, "test.Ticket").names == TYPES.names
    assert ValueTypes().names == ()
    with pytest.raises(ValueRefused, match="Ticket"):
        encode(Ticket(1))


def test_all_errors_are_muniments() -> None:
    """A parts function of a registered class cannot raise through the encoder."""

    def fail(_: object) -> object:
        raise RuntimeError("no")

    types = ValueTypes().with_type(Text, "text", parts=fail, build=Text)
    with pytest.raises(MunimentError, match="cannot be taken apart: no"):
        encode(Text("a"), types)
