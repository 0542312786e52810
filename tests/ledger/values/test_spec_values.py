"""The specification pages print bytes that the code writes and reads."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from muniment.encoding.canonical import canonical, parse, parse_canonical
from muniment.encoding.codec import ValueTypes, decode, encode
from muniment.errors import WrongError

SPEC = Path(__file__).parents[3] / "docs" / "spec"


@dataclasses.dataclass(frozen=True)
class Ticket:
    """The class of the examples."""

    number: object


TYPES = ValueTypes().with_type(Ticket, "acme.Ticket")


def _block(page: str, kind: str) -> list[str]:
    text = (SPEC / page).read_text(encoding="utf-8")
    block = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0]
    return str(block).rstrip("\n").split("\n")


@pytest.mark.parametrize("line", _block("canonical.md", "vectors"))
def test_canonical_vectors(line: str) -> None:
    """Each text on the left has exactly the bytes on the right."""
    text, expected = line.split(" -> ")
    assert canonical(parse(text.encode())) == expected.encode()
    assert parse_canonical(expected.encode()) == parse(text.encode())


@pytest.mark.parametrize("line", _block("canonical.md", "wrong"))
def test_texts_that_are_not_canonical(line: str) -> None:
    """Each of the page's counterexamples is called wrong."""
    with pytest.raises(WrongError, match="canonical/"):
        parse_canonical(line.encode())


def test_the_canonical_example() -> None:
    """The page's first example is canonical, and as long as the page says."""
    (example,) = _block("canonical.md", "")[:1]
    assert canonical(parse_canonical(example.encode())) == example.encode()
    said = f"These are {len(example.encode())} bytes"
    assert said in (SPEC / "canonical.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", _block("values.md", "vectors"))
def test_value_vectors(line: str) -> None:
    """Each of the page's encoded values is read, and written the same."""
    value = decode(parse(line.encode()), TYPES)
    assert canonical(encode(value, TYPES)) == canonical(parse(line.encode()))


@pytest.mark.parametrize("line", _block("values.md", "wrong"))
def test_values_that_are_wrong(line: str) -> None:
    """Each of the page's malformed values is called wrong."""
    with pytest.raises(WrongError, match="value/"):
        decode(parse(line.encode()), TYPES)


def test_the_values_example() -> None:
    """The page's first example reads as the page says."""
    encoded = parse("\n".join(_block("values.md", "")).encode())
    value = decode(encoded, TYPES)
    assert isinstance(value, dict)
    assert sorted(value) == ["$ref", "amount", "image", "pair", "seen", "ticket"]
    assert value["ticket"] == Ticket(7)
    assert encode(value, TYPES) == encoded
