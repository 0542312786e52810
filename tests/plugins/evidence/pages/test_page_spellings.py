"""How values and words are spelled on pages: alike in Python, and in JavaScript."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment.verification.page.computed import BundleEnd, ComputedValue
from muniment.verification.page.nesting import has_other_characters
from muniment.verification.page.quotes import (
    LeadsNowhere,
    decoded,
    plain,
    tagged,
    total,
)
from muniment.verification.page.wording import number_of, shown, visible
from three_verifiers import NEEDS_NODE, NODE, PROGRAM

CHANCE = Random(3)  # noqa: S311 - no secret


def in_node(name: str, given: list[Any]) -> list[Any]:
    """Return what the function of the JavaScript verifier makes of each."""
    program = (
        f"import {{ spellings }} from {json.dumps(str(PROGRAM))};"
        "let told = ''; for await (const one of process.stdin) told += one;"
        f"const all = JSON.parse(told).map((one) => spellings.{name}(one) ?? null);"
        "process.stdout.write(JSON.stringify(all));"
    )
    line = [str(NODE), "--input-type=module", "-e", program]
    done = subprocess.run(
        line, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


@NEEDS_NODE
def test_every_character() -> None:
    """Whatever the Unicode of either runtime knows of it: the ranges are fixed."""
    every = [chr(one) for one in range(0x110000) if not 0xD800 <= one < 0xE000]
    assert in_node("visible", every) == [visible(one) for one in every]
    assert in_node("hasOtherCharacters", every) == [
        has_other_characters(one) for one in every
    ]


@NEEDS_NODE
def test_numbers_with_six_digits() -> None:
    """Ties, exponents, the smallest and the largest."""
    floats = [struct.unpack("d", CHANCE.randbytes(8))[0] for _ in range(4_000)]
    floats += [
        CHANCE.randrange(10**7) / 2 ** CHANCE.randrange(24) for _ in range(4_000)
    ]
    floats += [100000.5, 1000005.0 + 0.5, 5e-324, 1.5, 0.0001, 0.00001, 999999.5]
    floats = [one for one in floats if math.isfinite(one)]
    floats = [one for one in floats if one != int(one) or abs(one) >= 2**53]
    assert in_node("sixDigits", floats) == [shown(one, "line") for one in floats]


@NEEDS_NODE
def test_sums_and_means() -> None:
    """Of integers and floats, tagged and not, below and beyond what JSON holds."""
    sorts: list[Callable[[], float]] = [
        lambda: CHANCE.randrange(-(2**53), 2**53),
        lambda: CHANCE.randrange(-(2**80), 2**80),
        lambda: float(CHANCE.randrange(2**53)),
        lambda: CHANCE.uniform(-1, 1),
        lambda: struct.unpack("d", CHANCE.randbytes(8))[0],
    ]
    groups = [
        [encode(sort()) for _ in range(CHANCE.randrange(1, 6))]
        for _ in range(2_000)
        for sort in [CHANCE.choice(sorts)]
    ]
    for name in ("sum", "mean"):
        told = in_node(name, groups)
        for group, answer in zip(groups, told, strict=True):
            numbers: Any = [plain(one) for one in group]
            whole = total(numbers) if name == "sum" else total(numbers) / len(numbers)
            assert canonical(answer) == canonical(tagged(whole)), (name, group)


TAGS = {
    **dict.fromkeys(["0x10", "", "1_0", "01", "+1", "1.0", " 1"], "$int"),
    **dict.fromkeys(
        ["0.001 (significant)", "infinity", "1_0.0", ".5", "NaN"], "$float"
    ),
}


@pytest.mark.parametrize("text", TAGS)
def test_what_is_no_tagged_number(text: str) -> None:
    """It is shown as the JSON that it is, and counts as nothing."""
    value: Any = {TAGS[text]: text}
    assert number_of(value) is None
    assert plain(value) == value
    assert shown(value, "line") == canonical(value).decode()


@NEEDS_NODE
def test_what_is_a_tagged_number_is_alike() -> None:
    """Each spelling, in both."""
    good = ["1.0", "-0.0", "1e+300", "5e-324", "inf", "-inf", "nan", "9007199254740993"]
    values: list[Any] = [{TAGS[one]: one} for one in TAGS]
    values += [{"$float": one} for one in good] + [{"$int": good[-1]}, {"$int": 1}, {}]
    assert in_node("numberTold", values) == [number_of(one) for one in values]


@pytest.mark.parametrize(
    "content",
    [b"1.0", b"-0.0", b"NaN", b'{"a":1,"a":2}', b"\xef\xbb\xbf1", b"1 ", b"[" * 70],
    ids=repr,
)
def test_json_that_is_not_canonical_leads_nowhere(content: bytes) -> None:
    """Each runtime would read something else in it."""
    with pytest.raises(LeadsNowhere):
        decoded(content)
    with pytest.raises(LeadsNowhere):
        decoded(b'{"n":1' + b"0" * 400 + b"}")


@pytest.mark.parametrize("rule", ["sum", "mean"])
def test_no_number_is_passed_over_in_content_that_is_odd(rule: str) -> None:
    """What one runtime reads as a number and another does not spoils the whole."""
    marks = {"data-rule": rule, "data-path": "/n/x", "data-run": "01"}
    computed = ComputedValue(marks)
    chain = {"seq": 1, "run": "01", "type": "note.added"}
    end = BundleEnd(9, "", (), (), (), ())
    reference: Any = {"n": {"$blob": "sha256:0", "size": 9}}
    computed.take(chain, reference, lambda _: decoded(b'{"x":1}'))
    assert computed.value(end) == 1
    computed.take(chain, reference, lambda _: decoded(b'{"x":1.0}'))
    with pytest.raises(LeadsNowhere):
        computed.value(end)


@pytest.mark.parametrize("value", ["true", "null", 1, 0, "holds"])
def test_only_a_verdict_is_shown_as_one(value: Any) -> None:
    """A text is itself, and so is a number."""
    assert shown(value, "verdict") == str(value)
    assert shown(True, "verdict") == "holds"
