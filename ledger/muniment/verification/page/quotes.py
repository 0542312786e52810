"""What a citation leads to, and how a page writes it: in an attribute, and beside it.

    follow(data, "/result/pairs", content)    6        an RFC 6901 pointer, through blobs
    valued(6)                                 6        its canonical JSON, or a digest of it
    reference({"data-event": "45", "data-path": "/result/pairs"})      45/result/pairs

Rules:

- A pointer goes into the data of an event, each blob in the place of its reference.
- JSON of more than 200 characters is stated by its SHA-256.
- A *change* is the first number less the second, in percent of a mean without its sign;
  each step is one of IEEE 754 doubles. *zero* and *one* are the only numbers that cite
  nothing: the ends of scales.
- A computed number that JSON has not, or not exactly, is tagged: ``{"$int": "9007…"}``.

Specification: ``docs/spec/report.md``, RFC 6901, RFC 8785.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import string
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.verification.page.wording import number_of

__all__ = [
    "CONSTANTS",
    "MOST_CONTENT",
    "LeadsNowhere",
    "OddContent",
    "as_ascii",
    "change",
    "decoded",
    "follow",
    "from_ascii",
    "is_pointer",
    "is_reference",
    "plain",
    "reference",
    "tagged",
    "total",
    "valued",
]

LONGEST = 200
"""How many characters of JSON a page repeats as they are."""
DIGITS = 300
"""An integer with more of them is not counted with exactly."""
SAFE_INTEGER = 2**53
MOST_CONTENT = 64 << 20
"""A page cites nothing in a blob of more bytes."""
CONSTANTS = {"zero": 0, "one": 1}
"""Rule → the number that it stands for."""
KEPT = frozenset(chr(one) for one in range(32, 127)) - {"%"}
IN_QUERY = frozenset(f'{string.ascii_letters}{string.digits}_.-~/:,*.[]"{{}}')
PERCENT = re.compile(rb"%([0-9A-F]{2})")
NO_ESCAPE = re.compile("~(?![01])")

Content: TypeAlias = "Callable[[Mapping[str, JsonValue]], JsonValue]"
"""Gives the content of a blob, of which it gets the reference."""


class LeadsNowhere(ValueError):
    """A path that leads nowhere, or a rule that there is not."""


class OddContent(LeadsNowhere):
    """A content that is to be JSON, and is not canonical JSON: nothing may pass it over."""


def follow(document: JsonValue, path: str, content: Content) -> JsonValue:
    """Return what the RFC 6901 pointer *path* leads to in the data *document*.

    Raises:
        LeadsNowhere: it leads nowhere. *content* may raise errors of its own.

    """
    if not path:
        members = cast("dict[str, JsonValue]", document).items()
        return {
            name: content(cast("dict[str, JsonValue]", one))
            if is_reference(one)
            else one
            for name, one in members
        }
    if not is_pointer(path):
        raise LeadsNowhere("this is no JSON pointer")
    value = document
    for depth, part in enumerate(path.split("/")[1:]):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and is_index(name, len(value)):
            value = value[int(name)]
        else:
            raise LeadsNowhere("the path leads nowhere")
        if not depth and is_reference(value):
            value = content(cast("dict[str, JsonValue]", value))
    return value


def is_pointer(path: str) -> bool:
    """Tell whether *path* is a pointer of RFC 6901, in which ``~`` begins ``~0`` or ``~1``."""
    return not path or (path.startswith("/") and NO_ESCAPE.search(path) is None)


def decoded(content: bytes, media: str = "") -> JsonValue:
    """Return what a blob holds, as JSON.

    Raises:
        OddContent: it is to be JSON, and not canonical JSON.

    """
    if not media or media.startswith("application/json"):
        return canonically(content)
    if media.startswith("text/"):
        return content.decode("utf-8", "replace")
    return {"$bytes": b64encode(content).decode()}


def canonically(content: bytes) -> JsonValue:
    """Return the value of canonical JSON; raise `OddContent` for anything else."""
    try:
        value = cast("JsonValue", json.loads(content.decode()))
        same = canonical(value) == content
    except Exception:  # noqa: BLE001 - whatever a spelling breaks, it is not that
        same, value = False, None
    if not same:
        raise OddContent("the content is not canonical JSON")
    return value


def is_reference(value: object) -> bool:
    """Tell whether *value* stands for a blob."""
    return isinstance(value, dict) and "$blob" in value


def is_index(name: str, length: int) -> bool:
    """Tell whether *name* is the number of an element, as RFC 6901 writes it."""
    if len(name) > len(str(length)) or not (name.isascii() and name.isdecimal()):
        return False
    return name == str(int(name)) and int(name) < length


def valued(value: JsonValue) -> str:
    """Return *value* as an attribute states it."""
    told = canonical(value).decode()
    if len(told) <= LONGEST:
        return told
    return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


def as_ascii(text: str) -> str:
    """Return *text* with all but printable ASCII as in a URI (RFC 6901, section 6)."""
    return percent_encoded(text, KEPT)


def from_ascii(text: str) -> str:
    """Return what `as_ascii` was given.

    Raises:
        UnicodeError: the bytes are no text.

    """
    data = text.encode()
    return PERCENT.sub(lambda found: bytes([int(found[1], 16)]), data).decode()


def percent_encoded(text: str, kept: frozenset[str]) -> str:
    """Return *text* with every other character in the bytes of its UTF-8 (RFC 3986, 2.1)."""
    if kept.issuperset(text):
        return text
    return "".join(
        one
        if one in kept
        else "".join(f"%{byte:02X}" for byte in one.encode("utf-8", "surrogatepass"))
        for one in text
    )


def reference(marks: Mapping[str, str]) -> str:
    """Return a citation as one text: ``45/result``, ``45#/time``, ``count?type=x.y``."""
    if "data-rule" in marks:
        about = [
            f"{name[5:]}={percent_encoded(one, IN_QUERY)}"
            for name, one in marks.items()
            if name.startswith("data-")
            and name not in ("data-rule", "data-as", "data-value")
        ]
        query = f"?{'&'.join(about)}" if about else ""
        return as_ascii(marks["data-rule"]) + query
    top = f"#{as_ascii(marks['data-head'])}" if "data-head" in marks else ""
    return marks["data-event"] + top + as_ascii(marks.get("data-path", ""))


def plain(value: JsonValue) -> JsonValue:
    """Return the number of a tagged float or integer; any other value as it is.

    An integer that no float comes near is infinite, as it is in every mean.
    """
    text = number_of(value)
    if text is None:
        return value
    if "$int" in cast("dict[str, JsonValue]", value) and len(text) <= DIGITS:
        return int(text)
    return float(text)


def total(numbers: Sequence[float]) -> float:
    """Return the sum, exact and then rounded once: one on every Python, in any order.

    The built-in `sum` of floats came to depend on the version with Python 3.12.
    """
    if not all(map(math.isfinite, numbers)) or not any(
        isinstance(one, float) for one in numbers
    ):
        return sum(numbers)
    exact = sum(map(Fraction, numbers), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def change(first: float, second: float, mean: float) -> float:
    """Return *first* less *second*, in percent of *mean* without its sign.

    Raises:
        LeadsNowhere: they are no finite numbers, or the mean is zero.

    """
    numbers = float(first), float(second), abs(float(mean))
    if not all(map(math.isfinite, numbers)) or not numbers[2]:
        raise LeadsNowhere("there is nothing to apply the rule to")
    return 100 * (numbers[0] - numbers[1]) / numbers[2]


def tagged(number: float) -> JsonValue:
    """Return a computed number as JSON; one that JSON has not exactly is tagged."""
    if not math.isfinite(number):
        return {"$float": str(number)}
    if abs(number) < SAFE_INTEGER:
        return int(number) if number == int(number) else number
    if isinstance(number, int):
        return {"$int": str(number)}
    return {"$float": f"{Decimal(repr(number)).normalize():e}"}
