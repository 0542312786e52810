"""A number of a bundle has the value that it is spelled with, for all three verifiers.

The key holder spells numbers otherwise, and closes the bundle over that.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forge import RUN, Row
from forged import b64
from forged_bundles import Bundled
from muniment.encoding.canonical import canonical
from muniment.errors import MunimentError
from spoiled_bundles import write
from three_verifiers import NEEDS_NODE, Verifiers
from worlds import World

pytestmark = NEEDS_NODE
Files = dict[str, bytes]
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|(-?[0-9][0-9.eE+-]*)')
PAYLOAD, WITHHELD, VIEW = "events.intoto.jsonl", "withheld.jsonl", "run.json"


def spellings(told: str) -> Iterator[str]:
    """Yield other spellings: of the number, of what rounds to it, of others near it."""
    yield from (f"{told}.0", f"{told}e0", f"{told}E+0", f"{told}0e-1")
    yield from (f"{told}.{'0' * 400}", f"{told}.{'0' * 19}1", f"{told}.0e-0")
    yield from (f"{told}e-99999", f"{told}e99999", f"-{told}", f"-{told}.0")
    yield from (f"{int(told) - 1}.{'9' * 30}", f"{int(told) + 1}", f"{2**53 + 1}")
    yield from ("1" * 4_300, "1" * 4_301, "1" * 6_000, f"-{'1' * 6_000}")
    yield from ("0e999999", "1e-99999", "-0", "true", f'"{told}"', "[" * 70 + "]" * 70)


def numbers(text: str) -> Iterator[re.Match[str]]:
    """Yield the numbers in JSON."""
    return (one for one in TOKENS.finditer(text) if one[1])


def respelled(text: str, at: int, other: str) -> str:
    """Return *text* with another spelling of its number *at*."""
    one = list(numbers(text))[at]
    return text[: one.start()] + other + text[one.end() :]


def is_same(one: str, other: str) -> bool:
    """Tell whether both are one integer: no fraction, no exponent, however it is signed."""
    whole = re.fullmatch("-?[0-9]{1,4300}", other)
    return whole is not None and int(one) == int(other)


def is_canonical(other: str) -> bool:
    """Tell whether *other* is spelled as canonical JSON is."""
    try:
        return canonical(json.loads(other)) == other.encode()
    except (ValueError, MunimentError):
        return False


class Told:
    """The bundle of a run, one of whose events is withheld, with one change in it."""

    def __init__(self, folder: Path, change: Callable[[str, str], str]) -> None:
        """Tell of a run; *change* gets each text with numbers, and what it is."""
        self.change, self.world = change, World(folder)
        self.texts: dict[str, str] = {}
        self.world.start()
        self.noted({"text": "x"})
        hidden = self.world.note("withheld", run=RUN)
        self.world.forge.end_run(RUN)
        bundle = self.bundle = Bundled(self.world, spoil=self.early)
        bundle.rows = [one for one in bundle.chosen() if one is not hidden]
        self.hidden = hidden

    def made(self, what: str, text: str) -> bytes:
        """Return what is written in the place of *text*."""
        self.texts[what] = text
        return self.change(what, text).encode()

    def noted(self, data: dict[str, Any]) -> Row:
        """Append a note whose payload is spelled otherwise."""
        forge = self.world.forge
        statement = forge.statement("note.added", data, run=RUN)
        payload = self.made(PAYLOAD, canonical(statement).decode())
        return forge.put(payload, forge.key("writer"), "note.added", RUN)

    def early(self, files: Files) -> Files:
        """Change what the closing event covers."""
        row, place = self.hidden, json.loads(self.hidden.payload)["predicate"]
        ordinal = place["muniment"]["ordinal"]
        told = {"leaf": b64(row.hash), "ordinal": ordinal, "scope": "", "seq": row.seq}
        line = self.made(WITHHELD, canonical(told).decode()) + b"\n"
        proofs = files["proofs.jsonl"] + self.bundle._proof(row)
        lines = proofs.decode().split("\n")
        lines[2] = self.made("proofs.jsonl", lines[2]).decode()
        proofs = "\n".join(lines).encode()
        files = {**files, WITHHELD: line, "proofs.jsonl": proofs}
        view = json.loads(self.bundle._view(files))
        shown = {**view, "withheld": {"blobs": 0, "events": 1}}
        return {**files, VIEW: self.made(VIEW, json.dumps(shown, indent=2))}


def as_it_is(_: str, text: str) -> str:
    """Change nothing."""
    return text


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Give the bundle without a change."""
    told = Told(tmp_path_factory.mktemp("honest"), as_it_is)
    told.bundle.files()
    return told


def judged(
    three: Verifiers, place: Path, change: Callable[[str, str], str]
) -> tuple[tuple[int, int, int], str]:
    """Return what all three say of the bundle with that change."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # whoever forges reads what no verifier does
    try:
        files = Told(place / "world", change).bundle.files()
    finally:
        sys.set_int_max_str_digits(most)
    return three.codes(write(place / "bundle", files))


def named_by_all(said: str, name: str) -> bool:
    """Tell whether each of the three names the file."""
    return all(name in one for one in said.split(" | ", 2))


def other_text(which: str, other: str) -> Callable[[str, str], str]:
    """Return a change: the whole text of *which* is another one."""
    return lambda what, text: other if what == which else text


@pytest.mark.parametrize("which", [VIEW, PAYLOAD, WITHHELD, "proofs.jsonl"])
def test_each_spelling_of_each_number(
    honest: Told, three: Verifiers, tmp_path: Path, which: str
) -> None:
    """No other spelling is taken, but of a view one that is the same integer."""
    codes, said = judged(three, tmp_path / "honest", as_it_is)
    assert codes == (0, 0, 0), said
    text, same = honest.texts[which], 0
    for at, one in enumerate(numbers(text)):
        for number, other in enumerate(spellings(one[1])):
            if which != VIEW and is_canonical(other):
                continue  # another number, which is judged by rules of its own
            changed = respelled(text, at, other)
            place = tmp_path / f"{at}-{number}"
            codes, said = judged(three, place, other_text(which, changed))
            taken = which == VIEW and is_same(one[1], other)
            assert codes == ((0, 0, 0) if taken else (1, 1, 1)), (other, codes, said)
            # each of the three names the file, however it failed
            assert taken or named_by_all(said, which), (other, said)
            same += taken
    assert (same > 0) is (which == VIEW)


UNKNOWN = {
    **{f"the number {one[:9]}": (one, 3) for one in ("4.0", "1e-99999", "1e400", "-0")},
    "as many digits as any Python reads": ("1" * 4_300, 3),
    "more digits": ("1" * 4_301, 1),
    "more digits, signed": ("-" + "1" * 4_301, 1),
    "a long fraction": ("1." + "1" * 9_000, 3),
    "nested as deep as canonical JSON": ("[" * 63 + "1" + "]" * 63, 3),
    "nested deeper": ("[" * 64 + "]" * 64, 1),
    "objects, nested deeper": ('{"a":' * 64 + "1" + "}" * 64, 1),
    "nested as deep as a file is long": ("[" * 1_000_000 + "]" * 1_000_000, 1),
    "half a character": (r'"\ud800"', 3),
    "no number": ("NaN", 1),
    "no number of JSON": ("01", 1),
    "a text of escapes": ('"' + r"\n" * 4_000_000 + '"', 3),
    "a text like a number": ('"4.0 : , 5"', 3),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_member_that_is_not_known(
    honest: Told, three: Verifiers, tmp_path: Path, what: str
) -> None:
    """What runtimes read in different ways is refused; of all else nobody can tell."""
    value, code = UNKNOWN[what]
    text = '{"later": ' + value + "," + honest.texts[VIEW][1:]
    codes, said = judged(three, tmp_path, other_text(VIEW, text))
    assert codes == (code, code, code), said
    assert named_by_all(said, VIEW), said


KNOWN = ("name", "error_type", "labels", "marks", "withheld", "types")


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_member_of_another_kind(
    honest: Told, three: Verifiers, tmp_path: Path, what: str
) -> None:
    """Whatever stands in the place of a text, an object or an array: the file is named."""
    for name in KNOWN:
        view = json.loads(honest.texts[VIEW])
        text = json.dumps({**view, name: "PLACE"}).replace('"PLACE"', UNKNOWN[what][0])
        codes, said = judged(three, tmp_path / name, other_text(VIEW, text))
        assert codes == (1, 1, 1), (name, said)
        assert named_by_all(said, VIEW), said
