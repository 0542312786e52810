"""Each sentence of `canonical.md` that demands something is enforced."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge import Forge
from muniment.encoding.canonical import canonical, parse_canonical
from muniment.errors import ValueRefused, WrongError
from normative import SPEC, Page, judged, rules

PAGE = Page("canonical")
PLACEHOLDER = b'"HERE"'


def holding(value: bytes, *, name: bool = False) -> Forge:
    """Return a ledger with one event whose payload holds the JSON text *value*."""
    forge = Forge("one").open()
    data: dict[str, Any] = {"HERE": 1} if name else {"text": "HERE"}
    about = [{"digest": {"sha256": "ab" * 32}, "name": "another"}]
    statement = forge.statement("x.noted", data, subject=about)
    payload = canonical(statement).replace(PLACEHOLDER, value)
    forge.add_bytes(payload, statement, forge.key("writer"))
    return forge


def refused(value: Any, rule: str) -> None:
    """Require that a writer refuses *value*."""
    with pytest.raises(ValueRefused) as caught:
        canonical(value)
    assert caught.value.rule == rule


def misread(data: bytes) -> None:
    """Require that a reader calls *data* wrong."""
    with pytest.raises(WrongError):
        parse_canonical(data)


@PAGE.demands("names of members included, MUST be a sequence of Unicode scalar values")
def surrogates_in_a_ledger(folder: Path) -> None:
    """Write a lone surrogate as a value and as a name, escaped and as bytes."""
    spellings = (rb'"\ud800"', b'"\xed\xa0\x80"', rb'"\udc00\ud800"')
    for number, text in enumerate(spellings):
        for name in (False, True):
            place = folder / f"{number}{name}"
            place.mkdir()
            assert "event/canonical" in rules(holding(text, name=name), place)


@PAGE.demands("A writer MUST refuse a lone surrogate")
def surrogates_by_a_writer(_: Path) -> None:
    """Ask for the bytes of one, at every place that a string may have."""
    for value in ("\ud800", {"\udfff": 1}, [["a\udc00b"]], {"é": {"x": "\ud83d"}}):
        refused(value, "canonical/surrogate")


@PAGE.demands("Strings MUST NOT be normalised")
def a_normalised_string(folder: Path) -> None:
    """Compose what was signed decomposed."""
    decomposed = "e\u0301"
    assert parse_canonical(canonical(decomposed)) == decomposed
    forge = holding(json.dumps(decomposed, ensure_ascii=False).encode())
    (intact := folder / "intact").mkdir()
    assert judged(forge, intact).ok
    row = forge.rows[-1]
    composed = unicodedata.normalize("NFC", row.payload.decode()).encode()
    assert composed != row.payload
    forge.rows[-1] = replace(row, payload=composed)
    assert "event/leaf-hash" in rules(forge, folder)


@PAGE.demands("A number MUST be finite.")
def no_finite_number(folder: Path) -> None:
    """Write what other parsers read as such."""
    for text in (b"NaN", b"Infinity", b"-Infinity", b"1e400"):
        (place := folder / text.decode()).mkdir()
        assert "event/canonical" in rules(holding(text), place)
    for number in ("nan", "inf", "-inf"):
        refused(float(number), "canonical/float")


@PAGE.demands("without fraction and exponent MUST lie within")
def a_large_integer(folder: Path) -> None:
    """Write the first integers that are too large, as every type."""
    for number in (2**53, -(2**53), 10**20):
        (place := folder / str(number)).mkdir()
        assert "event/canonical" in rules(holding(str(number).encode()), place)
        refused(number, "canonical/integer")
        refused(float(number), "canonical/integer")
    largest = 2**53 - 1
    assert parse_canonical(canonical([largest, -largest])) == [largest, -largest]


@PAGE.demands("Arrays and objects MUST NOT be nested deeper than 64.")
def too_deep(folder: Path) -> None:
    """Nest once more than may be; the statement itself has three levels of it."""
    assert rules(holding(b"[" * 62 + b"]" * 62), folder) == {"event/canonical"}
    (intact := folder / "intact").mkdir()
    assert judged(holding(b"[" * 61 + b"]" * 61), intact).ok
    deep: Any = 1
    for _ in range(65):
        deep = {"a": deep}
    refused(deep, "canonical/depth")


@PAGE.demands("The names of an object MUST be distinct.")
def a_name_twice(folder: Path) -> None:
    """Say one thing to a parser that takes the first, another to the others."""
    assert "event/canonical" in rules(holding(b'{"a":1,"a":2}'), folder)
    misread(b'{"a":1,"a":1}')


@PAGE.demands("The bytes MUST be those of [RFC 8785]")
def other_spellings(folder: Path) -> None:
    """Write each thing that the section forbids, one at a time."""
    spellings = (
        rb'"\u0061"',
        rb'"\/"',
        rb'"\u000A"',
        rb'"\u001F"',
        b"[1, 2]",
        b"1.0",
        b"-0",
        b"1E5",
        b"1e5",
        b'{"b":1,"a":2}',
        '{"\ufb33":1,"\U0001f600":2}'.encode(),
    )
    for number, text in enumerate(spellings):
        (place := folder / str(number)).mkdir()
        assert "event/canonical" in rules(holding(text), place), text
        misread(text)
    for text in (b"\xef\xbb\xbf1", b"1\n", b" 1", "1".encode("utf-16")):
        misread(text)


@PAGE.demands("A verifier MUST check hashes and signatures over the bytes as they are")
def bytes_of_the_same_value(folder: Path) -> None:
    """Store another spelling of the value that was signed and hashed."""
    forge = holding(b'"sound"')
    row = forge.rows[-1]
    spaced = json.dumps(json.loads(row.payload), sort_keys=True).encode()
    forge.rows[-1] = replace(row, payload=spaced)
    found = rules(forge, folder)
    assert {"event/leaf-hash", "event/signature"} & found


@PAGE.demands("stored, MUST NOT parse them before")
def bytes_that_cannot_be_parsed(folder: Path) -> None:
    """Change the signature of an event that no parser reads: that is said as well."""
    forge = holding(b'"sound"')
    forge.put(b"\xff{", forge.key("writer"))
    row = forge.rows[-1]
    forge.rows[-1] = replace(row, signature=bytes(64))
    assert "event/leaf-hash" in rules(forge, folder)


@PAGE.demands("then MUST require that writing the parsed value gives the same bytes")
def a_space(folder: Path) -> None:
    """Sign a payload of another spelling than its value has."""
    forge = holding(b'"sound" ')
    assert rules(forge, folder) == {"event/canonical"}


@PAGE.demands("A reader MUST refuse bytes that are not JSON, or that exceed the limits")
def no_json(folder: Path) -> None:
    """Hand over what is none, and what no value may be."""
    for data in (b"", b"{", b"\xff", b"[1,]", b"'a'", b"01", b"// 1", b"[" * 99_999):
        misread(data)
    for data in (b"9007199254740992", b"[" * 65 + b"]" * 65, rb'"\ud800"'):
        misread(data)
    forge = Forge("one").open()
    forge.put(b"{", forge.key("writer"))
    assert "event/canonical" in rules(forge, folder)


@pytest.mark.parametrize("name", PAGE.cases)
def test_a_sentence_is_enforced(name: str, tmp_path: Path) -> None:
    """What breaks the sentence alone is found or refused."""
    PAGE.cases[name](tmp_path)


def test_each_sentence_has_its_case() -> None:
    """No MUST of the page is without a case, no case without its sentence."""
    assert not PAGE.strangers()
    assert not PAGE.unmet()


def test_a_new_sentence_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that is added, changed or left out does not pass unseen."""
    page = Page("canonical", {}, {})
    assert len(page.unmet()) == (SPEC / "canonical.md").read_text().count("MUST") - 2
    page.add("a", "A number MUST be finite.", lambda _: None)
    page.add("b", "A number MUST be round.", lambda _: None)
    page.add("c", "Negative zero is `0`.", lambda _: None)
    assert page.strangers() == ["A number MUST be round.", "Negative zero is `0`."]
    text = PAGE.text + " A new one MUST be met."
    monkeypatch.setattr(Page, "text", text)
    assert (
        [one for one in PAGE.unmet() if "A new one MUST" in one] == PAGE.unmet() != []
    )
