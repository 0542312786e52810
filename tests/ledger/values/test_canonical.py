"""Canonical JSON: one value, one byte string, the same as everybody else's."""

from __future__ import annotations

import math
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    JsonValue,
    canonical,
    parse,
    parse_canonical,
    sha256_tag,
)
from muniment.errors import MunimentError, ValueRefused, WrongError

REPOSITORY = Path(__file__).parents[3]
VECTORS = Path(
    os.environ.get("MUNIMENT_VECTORS") or REPOSITORY.parent / "shared" / "vectors"
)
NODE = shutil.which("node")

patient = settings(deadline=None, max_examples=300)


def _reads_back(number: float) -> bool:
    # Between 2^53 and 10^21 a float is spelled as an integer that JSON readers round.
    return abs(number) <= MAX_INTEGER or abs(number) >= 1e21 or math.isnan(number)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-MAX_INTEGER, MAX_INTEGER),
    st.floats(allow_nan=False, allow_infinity=False).filter(_reads_back),
    st.decimals(-1000, 1000, places=3).map(float),
    st.text(),
)
NAMES = st.text(max_size=6) | st.text('ab\x7f\x80é€\ufb33\U0001f600\n"\\', max_size=3)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(NAMES, inner, max_size=5)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("name", ["arrays", "french", "unicode", "values"])
def test_public_vectors(name: str) -> None:
    """The published RFC 8785 inputs give the published outputs."""
    if "MUNIMENT_VECTORS" not in os.environ and not VECTORS.is_dir():
        pytest.skip("MUNIMENT_VECTORS is not set")
    given_bytes = (VECTORS / "jcs" / "input" / f"{name}.json").read_bytes()
    expected = (VECTORS / "jcs" / "output" / f"{name}.json").read_bytes()
    assert canonical(parse(given_bytes)) == expected
    assert parse_canonical(expected) == parse(given_bytes)


@patient
@given(JSON)
def test_the_same_bytes_as_rfc8785(value: JsonValue) -> None:
    """Whatever path a value takes, the reference implementation agrees."""
    assert canonical(value) == rfc8785.dumps(value)


@patient
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64))
    | st.lists(st.floats(1e-7, 1e-3))
    | st.lists(st.floats(1e14, 1e23) | st.integers(-MAX_INTEGER, MAX_INTEGER))
)
def test_many_numbers_are_the_same_bytes(numbers: list[float | int]) -> None:
    """Lists of one kind, which take a shorter path, agree with the reference as well."""
    large = [one for one in numbers if MAX_INTEGER < abs(one) < 1e21]
    if large:
        with pytest.raises(ValueRefused, match="integer"):
            canonical(numbers)  # type: ignore[arg-type] # a list of numbers
    else:
        assert canonical(numbers) == rfc8785.dumps(numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 2**53, -(2**53), 2**70])
def test_one_wrong_number_among_many(wrong: float) -> None:
    """It is refused with its place, whatever stands around it."""
    for others in ([1, 2], [0.5, 1.5], [1, 0.5, "a"]):
        with pytest.raises(ValueRefused, match=rf"\$\[{len(others)}\]"):
            canonical([*others, wrong])


@patient
@given(JSON)
def test_reading_is_the_inverse_of_writing(value: JsonValue) -> None:
    """Canonical bytes read as the value they were made of, and only as that."""
    data = canonical(value)
    again = parse_canonical(data)
    assert again == value
    assert canonical(again) == data


@patient
@given(st.dictionaries(NAMES, SCALARS, min_size=2), st.randoms())
def test_the_order_of_members_leaves_no_trace(
    value: dict[str, JsonValue], shuffler: random.Random
) -> None:
    """Two dicts with equal members have one byte string."""
    names = list(value)
    shuffler.shuffle(names)
    assert canonical({name: value[name] for name in names}) == canonical(value)


@patient
@given(JSON, st.data())
def test_any_other_spelling_is_wrong(value: JsonValue, data: st.DataObject) -> None:
    """One space anywhere outside a string, and the bytes are no longer canonical."""
    text = canonical([value]).decode()
    place = data.draw(st.sampled_from([0, 1, len(text) - 1, len(text)]))
    with pytest.raises(WrongError, match=r"\[canonical/form\]"):
        parse_canonical(f"{text[:place]} {text[place:]}".encode())


@patient
@given(st.binary())
def test_arbitrary_bytes_fail_only_as_documented(data: bytes) -> None:
    """Reading bytes that nobody wrote raises a wrong, nothing else."""
    try:
        value = parse_canonical(data)
    except WrongError as error:
        assert error.rule  # noqa: PT017 - either outcome is right
    else:
        assert canonical(value) == data


@pytest.mark.parametrize(
    "data",
    [
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b"1.0",
        b"1e0",
        b"-0",
        b"-0.0",
        b"100000000000000000000000",
        b'"\\u0061"',
        b'"\\/"',
        b'"\\u000A"',
        b"[1, 2]",
        b"[1]\n",
        b'{"\xef\xac\xb3":1,"\xf0\x9f\x98\x80":2}',
    ],
)
def test_valid_json_in_another_form_is_wrong(data: bytes) -> None:
    """What parsers read alike is still wrong where the spelling is not the one."""
    parse(data)
    with pytest.raises(WrongError, match=r"\[canonical/form\]"):
        parse_canonical(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"NaN", b"[1,]", b'"\xff"', b"\xef\xbb\xbf1", b"01", b"'a'"],
)
def test_bytes_that_are_no_json_are_wrong(data: bytes) -> None:
    """Broken syntax, broken UTF-8 and byte order marks are named as no JSON."""
    with pytest.raises(WrongError, match=r"\[canonical/json\]"):
        parse_canonical(data)


def _nested(levels: int) -> JsonValue:
    value: JsonValue = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "rule", "place"),
    [
        ({"a": [0, math.nan]}, "float", "$.a[1]"),
        (math.inf, "float", "$"),
        ([-math.inf], "float", "$[0]"),
        ([2**53], "integer", "$[0]"),
        ({"a": -(2**53)}, "integer", "$.a"),
        ([(1, 2)], "type", "$[0]"),
        ({"a": b"x"}, "type", "$.a"),
        ({"a": {1: 2}}, "key", "$.a"),
        (_nested(65), "depth", None),
        ("\ud800", "surrogate", ""),
        ({"\udfff": 1}, "surrogate", ""),
        ([1.5, "\ud83d"], "surrogate", ""),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "value",
)
def test_refusals_name_rule_and_place(
    value: JsonValue, rule: str, place: str | None
) -> None:
    """What has no canonical form is refused by rule and place."""
    with pytest.raises(ValueRefused, match=rf"\[canonical/{rule}\]") as refusal:
        canonical(value)
    assert place is None or refusal.value.place == place


def test_sixty_four_levels_are_enough() -> None:
    """The deepest value is written and read; one level more is refused both ways."""
    value = _nested(MAX_DEPTH)
    assert parse_canonical(canonical(value)) == value
    deeper = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    with pytest.raises(WrongError, match=r"\[canonical/depth\]"):
        parse_canonical(deeper)


def test_very_deep_bytes_end_in_an_error() -> None:
    """A hundred thousand brackets are wrong; they exhaust no stack."""
    with pytest.raises(MunimentError, match="canonical/"):
        parse_canonical(b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize("number", [2.0**53, -(2.0**53), 1e20])
def test_floats_that_read_as_unsafe_integers_are_refused(number: float) -> None:
    """A float whose only spelling is an integer beyond 2^53 - 1 is never written."""
    with pytest.raises(ValueRefused, match=r"\[canonical/integer\]"):
        canonical([number])


def test_normalisation_forms_stay_apart() -> None:
    """A composed and a decomposed letter are two strings; nothing is normalised."""
    assert canonical("é") != canonical("e\u0301")


def test_digests_carry_their_algorithm() -> None:
    """A digest says what made it."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_tag(b"") == f"sha256:{empty}"


def _doubles(count: int) -> list[float]:
    # Every bit pattern, ordinary decimals, and the neighbours of all powers of ten.
    source = random.Random(8785)  # noqa: S311 - test data
    bits = (source.getrandbits(64).to_bytes(8, "big") for _ in range(count))
    numbers = [struct.unpack(">d", pattern)[0] for pattern in bits]
    numbers += [round(source.uniform(-1e6, 1e6), n % 9) for n in range(count)]
    powers = [float(f"1e{exponent}") for exponent in range(-323, 309)]
    numbers += powers + [math.nextafter(power, 0) for power in powers]
    numbers += [math.nextafter(power, math.inf) for power in powers]
    numbers += [0.0, -0.0, 5e-324, 2.0**53 - 1, -1e21]
    return [n for n in numbers if math.isfinite(n) and _reads_back(n)]


@pytest.mark.skipif(NODE is None, reason="node is not on PATH")
def test_numbers_are_those_of_ecmascript() -> None:
    """Every double is written as JSON.stringify of a JavaScript engine writes it."""
    numbers = _doubles(10_000)
    script = (
        "const bytes = require('fs').readFileSync(0);"
        "const lines = [];"
        "for (let at = 0; at < bytes.length; at += 8)"
        "  lines.push(JSON.stringify(bytes.readDoubleBE(at)));"
        "process.stdout.write(lines.join('\\n'));"
    )
    done = subprocess.run(
        [str(NODE), "-e", script],
        input=struct.pack(f">{len(numbers)}d", *numbers),
        capture_output=True,
        check=True,
    )
    assert [canonical(number) for number in numbers] == done.stdout.split(b"\n")
