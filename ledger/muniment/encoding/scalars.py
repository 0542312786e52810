"""The small tagged values: each is one string that has exactly one spelling.

    {"$float": "3.0"}       {"$int": "9007199254740993"}    {"$bytes": "aGk="}
    {"$decimal": "1.50"}    {"$complex": "1.0 -0.0"}        {"$timedelta": "1500000"}
    {"$date": "2026-11-20"} {"$time": "07:23:41+01:00"}     {"$uuid": "…"}
    {"$datetime": "2026-10-25T02:30:00+01:00[CET];fold=1"}

Rules:

- `Scalar.write` gives the string, `Scalar.read` the value; a string is malformed unless
  `write` gives the same string for the value that `read` returns.
- Time zones are fixed offsets (``datetime.timezone``), with their name if they have
  one. Zones by region depend on the reader's time zone database and are refused.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

__all__ = ["SCALARS_BY_CLASS", "SCALARS_BY_TAG", "Scalar"]

# Python reads at most 4300 digits unless told otherwise; 2^14284 has 4300.
_MAX_BITS = 14_284
_FOLD = ";fold=1"


@dataclass(frozen=True, slots=True)
class Scalar:
    """One tag: its class, and how its instances are written and read.

    `write` raises ValueError with the reason for an instance that has no form.
    """

    tag: str
    cls: type
    write: Callable[[Any], str]
    read: Callable[[str], object]


def _write_int(value: int) -> str:
    if value.bit_length() > _MAX_BITS:
        raise ValueError("an integer of more than 4300 digits; send it as bytes")
    return str(value)


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _read_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _write_decimal(value: decimal.Decimal) -> str:
    # The current context may spell exponents with a small e.
    return decimal.Context(capitals=1).to_sci_string(value)


def _write_complex(value: complex) -> str:
    return f"{value.real!r} {value.imag!r}"


def _read_complex(text: str) -> complex:
    real, imag = text.split(" ")
    return complex(float(real), float(imag))


def _write_timedelta(value: dt.timedelta) -> str:
    return str((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds)


def _read_timedelta(text: str) -> dt.timedelta:
    return dt.timedelta(microseconds=int(text))


def _write_clock(value: dt.datetime | dt.time) -> str:
    return value.isoformat() + _zone_name(value.tzinfo) + _FOLD * value.fold


def _zone_name(zone: dt.tzinfo | None) -> str:
    if zone is None:
        return ""
    if type(zone) is not dt.timezone:
        raise ValueError(
            f"a time zone of class {type(zone).__name__}, whose offsets may change;"
            " use value.astimezone(datetime.timezone.utc)"
        )
    offset = zone.utcoffset(None)
    if offset.microseconds:
        # CPython reads +00:00:00.000001 as UTC.
        raise ValueError("the zone's offset has a fraction of a second")
    name = zone.tzname(None)
    unnamed = dt.timezone(offset).tzname(None)
    return "" if name == unnamed else f"[{name}]"


def _parts_of_clock(text: str) -> tuple[str, str | None, int]:
    plain = text.removesuffix(_FOLD)
    fold = int(plain != text)
    plain, bracket, name = plain.partition("[")
    if bracket and not name.endswith("]"):
        raise ValueError("the name of the zone does not end")
    return plain, name[:-1] if bracket else None, fold


def _named(zone: dt.tzinfo | None, name: str | None) -> dt.tzinfo | None:
    offset = zone.utcoffset(None) if zone is not None else None
    return zone if name is None or offset is None else dt.timezone(offset, name)


def _read_datetime(text: str) -> dt.datetime:
    plain, name, fold = _parts_of_clock(text)
    value = dt.datetime.fromisoformat(plain)
    return value.replace(tzinfo=_named(value.tzinfo, name), fold=fold)


def _read_time(text: str) -> dt.time:
    plain, name, fold = _parts_of_clock(text)
    value = dt.time.fromisoformat(plain)
    return value.replace(tzinfo=_named(value.tzinfo, name), fold=fold)


_SCALARS = (
    Scalar("$bytes", bytes, _write_bytes, _read_bytes),
    Scalar("$complex", complex, _write_complex, _read_complex),
    Scalar("$date", dt.date, dt.date.isoformat, dt.date.fromisoformat),
    Scalar("$datetime", dt.datetime, _write_clock, _read_datetime),
    Scalar("$decimal", decimal.Decimal, _write_decimal, decimal.Decimal),
    Scalar("$float", float, repr, float),
    Scalar("$int", int, _write_int, int),
    Scalar("$time", dt.time, _write_clock, _read_time),
    Scalar("$timedelta", dt.timedelta, _write_timedelta, _read_timedelta),
    Scalar("$uuid", uuid.UUID, str, uuid.UUID),
)

SCALARS_BY_CLASS: Final[Mapping[type, Scalar]] = MappingProxyType(
    {scalar.cls: scalar for scalar in _SCALARS}
)
SCALARS_BY_TAG: Final[Mapping[str, Scalar]] = MappingProxyType(
    {scalar.tag: scalar for scalar in _SCALARS}
)
