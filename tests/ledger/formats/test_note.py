"""Signed notes: read as golang.org/x/mod/sumdb/note reads them, or refused by name."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import MunimentError, WrongError
from muniment.formats.signed_note import (
    MAX_SIGNATURES,
    Note,
    NoteSignature,
    decode_text,
    log_id,
    parse_vkey,
    vkey,
)
from muniment.keys.ed25519 import PrivateKey

KEY = PrivateKey.from_seed(bytes(range(32)))
OTHER = PrivateKey.from_seed(bytes(32))
NAME = "example.com/log"
TEXT = "a text — of two\nlines\n"


def vectors() -> dict[str, Any]:
    """Return the public vectors of signed notes, or skip where there are none."""
    beside = Path(__file__).parents[4] / "shared" / "vectors"
    root = Path(os.environ.get("MUNIMENT_VECTORS") or beside)
    path = root / "signed-note" / "notes.json"
    if not path.is_file():
        pytest.skip("no public vectors: set MUNIMENT_VECTORS")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def signed(text: str, key: PrivateKey = KEY, name: str = NAME) -> NoteSignature:
    """Return the line by which *key* signs *text*."""
    mark = log_id(name, key.public)[:4]
    return NoteSignature(name, mark, key.sign(text.encode()))


GOOD = Note(TEXT, (signed(TEXT),)).to_bytes()
LINE = signed(TEXT).line().encode()


def accepts(data: bytes) -> bool:
    """Tell whether *data* is a note signed by `KEY`."""
    try:
        return Note.parse(data).verify(NAME, [KEY.public]) == KEY.public
    except MunimentError:
        return False


def test_public_notes_are_judged_as_published() -> None:
    """Each published note is opened, left unsigned or refused as its vector says."""
    cases = vectors()["open"]
    for case in cases:
        message = base64.b64decode(case["message_b64"])
        keys = [parse_vkey(text) for text in case["vkeys"]]
        try:
            note = Note.parse(message)
            found = [name for name, key in keys if note.verify(name, [key])]
        except WrongError as error:
            assert not case["ok"], case["name"]
            assert error.rule.startswith("note/")  # noqa: PT017 - both ends are fine
        else:
            assert bool(found) == case["ok"], case["name"]
            assert found == (case["verified"] or [])
            assert note.to_bytes() == message
    assert len(cases) == 14


def test_a_public_note_is_signed_to_the_same_bytes() -> None:
    """Signing the published text with the published key gives the published note."""
    case = vectors()["sign"]
    name, public = parse_vkey(case["vkey"])
    seed = base64.b64decode(case["skey"].split("+", 4)[4])[1:]
    key = PrivateKey.from_seed(seed)
    assert key.public == public
    note = Note(case["text"], (signed(case["text"], key, name),))
    assert note.to_bytes().decode() == case["signed"]


def test_public_verifier_keys() -> None:
    """Good ones are printed back; bad ones, cut ones and changed ones are refused."""
    data = vectors()["vkeys"]
    for text in data["good"]:
        assert vkey(*parse_vkey(text)) == text
    bad = [case["vkey"] for case in data["bad"] if not case.get("generator")]
    good = data["good"][0]
    bad += [good[:end] for end in range(len(good))]
    bad += [good[start:] for start in range(1, len(good))]
    bad += [
        good[:place] + chr(ord(good[place]) + 1) + good[place + 1 :]
        for place in range(len(good))
    ]
    for text in bad:
        with pytest.raises(MunimentError, match=r"\[(vkey|key)/"):
            parse_vkey(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "vkey/shape"),
        ("a+0011223+AA==", "vkey/shape"),
        ("a+001122FF+AA==", "vkey/shape"),
        ("+00112233+AQ==", "vkey/name"),
        ("a b+00112233+AQ==", "vkey/name"),
        ("a\x00b+00112233+AQ==", "vkey/name"),
        ("a\ud800+00112233+AQ==", "vkey/name"),
        ("a+00112233+AR==", "vkey/base64"),
        ("a+00112233+", "vkey/algorithm"),
        (
            "a+00112233+" + base64.b64encode(b"\2" + bytes(32)).decode(),
            "vkey/algorithm",
        ),
        ("a+00112233+AQ==", "key/length"),
        ("a+00112233+" + base64.b64encode(b"\1" + bytes(32)).decode(), "key/low-order"),
        (vkey("b", KEY.public).replace("b+", "a+", 1), "vkey/mark"),
    ],
)
def test_each_fault_of_a_verifier_key_has_its_own_rule(text: str, rule: str) -> None:
    """A refusal says which part of the key is off."""
    with pytest.raises(MunimentError, match=rf"\[{rule}\]"):
        parse_vkey(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u3000b", "a\x07"])
def test_a_name_that_no_line_can_carry_is_not_printed(name: str) -> None:
    """The printers refuse what the parsers would not read."""
    with pytest.raises(WrongError, match="vkey/name"):
        vkey(name, KEY.public)
    with pytest.raises(WrongError, match="note/name"):
        NoteSignature(name, bytes(4), bytes(64))


def test_several_lines_verify_each_for_its_own_key() -> None:
    """Lines of strangers are kept and ignored; each known one is found."""
    stranger = NoteSignature("witness.example", b"abcd", bytes(72))
    note = Note(TEXT, (stranger, signed(TEXT), signed(TEXT, OTHER)))
    assert Note.parse(note.to_bytes()) == note
    assert note.verify(NAME, [OTHER.public]) == OTHER.public
    assert note.verify(NAME, [OTHER.public, KEY.public]) == KEY.public
    assert note.verify("witness.example", [KEY.public]) is None
    assert note.verify(NAME, []) is None


def test_a_text_may_have_blank_lines() -> None:
    """The last blank line ends the text, and only that."""
    for text in ("\n", "\n\n", "a\n\nb\n", f"a\n\n{LINE.decode()}"):
        note = Note(text, (signed(text),))
        assert Note.parse(note.to_bytes()) == note
        assert accepts(note.to_bytes())


def test_a_wrong_line_of_a_known_key_spoils_the_note() -> None:
    """One good signature does not outweigh a bad one that claims a known key."""
    bad = NoteSignature(NAME, log_id(NAME, OTHER.public)[:4], bytes(64))
    note = Note(TEXT, (signed(TEXT), bad))
    assert note.verify(NAME, [KEY.public]) == KEY.public
    with pytest.raises(WrongError, match=rf"{OTHER.public.keyid} is wrong.*note/sign"):
        note.verify(NAME, [KEY.public, OTHER.public])


def test_a_signature_under_another_name_does_not_count() -> None:
    """The mark binds the name, so a key signs for one log only."""
    note = Note(TEXT, (signed(TEXT, KEY, "example.com/other"),))
    assert note.verify(NAME, [KEY.public]) is None
    moved = NoteSignature(NAME, note.signatures[0].mark, note.signatures[0].signature)
    assert Note(TEXT, (moved,)).verify(NAME, [KEY.public]) is None


def test_no_flipped_bit_survives() -> None:
    """Each bit of a note counts: refused by name, or no known key signed it."""
    assert accepts(GOOD)
    for place in range(len(GOOD) * 8):
        bad = bytearray(GOOD)
        bad[place // 8] ^= 1 << place % 8
        assert not accepts(bytes(bad))


@given(st.data())
def test_no_mutated_note_verifies(data: st.DataObject) -> None:
    """Any few bytes changed, cut or added in the text or the line: not accepted."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(GOOD) - 1)] * 2)))
    bad = GOOD[:start] + data.draw(st.binary(max_size=4)) + GOOD[end:]
    assert accepts(bad) == (bad == GOOD)


NAMES = st.text(min_size=1, max_size=8).filter(
    lambda text: "+" not in text and not any(c.isspace() or c < " " for c in text)
)
TEXTS = st.text(st.characters(codec="utf-8", min_codepoint=32) | st.just("\n")).map(
    lambda text: text + "\n"
)


@given(
    TEXTS, st.lists(st.tuples(NAMES, st.binary(min_size=5, max_size=70)), min_size=1)
)
def test_what_is_printed_is_read_again(
    text: str, lines: list[tuple[str, bytes]]
) -> None:
    """Any note that can be constructed has exactly one spelling."""
    signatures = [NoteSignature(name, value[:4], value[4:]) for name, value in lines]
    note = Note(text, tuple(signatures[:MAX_SIGNATURES]))
    assert Note.parse(note.to_bytes()) == note


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"\n", b"\n\n", "— ".encode(), b"a ", LINE, b"a"])).map(
        b"".join
    )
)
def test_the_parser_refuses_or_prints_the_same(data: bytes) -> None:
    """Arbitrary bytes are wrong, or are exactly what the printer writes."""
    try:
        note = Note.parse(data)
    except WrongError as error:
        assert error.rule.startswith("note/")  # noqa: PT017 - both ends are fine
    else:
        assert note.to_bytes() == data


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "final-newline"),
        (b"text", "final-newline"),
        (b"text\n", "blank-line"),
        (b"text\n\n", "unsigned"),
        (b"\xff\n\n" + LINE, "encoding"),
        (b"a\tb\n\n" + LINE, "control"),
        (b"a\r\n\n" + LINE, "control"),
        (b"text\n\n" + LINE[:-1], "final-newline"),
        (b"text\n\nx" + LINE, "line"),
        (b"text\n\n" + LINE.replace("—".encode(), b"-"), "line"),
        (b"text\n\n" + LINE + b"more\n", "line"),
        (b"text\n\n" + "— name\n".encode(), "line"),
        (b"text\n\n" + "—  AAAAAAA=\n".encode(), "name"),
        (b"text\n\n" + "— a+b AAAAAAA=\n".encode(), "name"),
        (b"text\n\n" + "— a AAAAAAA\n".encode(), "base64"),
        (b"text\n\n" + "— a AAAAAAB=\n".encode(), "base64"),
        (b"text\n\n" + "— a b AAAAAAA=\n".encode(), "base64"),
        (b"text\n\n" + "— a AAAAAA==\n".encode(), "short"),
        (b"text\n\n" + "— a \n".encode(), "short"),
        (b"text\n\n" + LINE * 101, "too-many"),
        (b"x" * 1_000_001, "too-long"),
    ],
)
def test_each_fault_has_its_own_rule(data: bytes, rule: str) -> None:
    """A refusal says which rule of a note is broken."""
    with pytest.raises(WrongError, match=rf"\[note/{rule}\]"):
        Note.parse(data)


def test_the_largest_note_is_read() -> None:
    """A hundred signature lines are the limit, not beyond it."""
    note = Note(TEXT, (signed(TEXT),) * MAX_SIGNATURES)
    assert Note.parse(note.to_bytes()) == note


@pytest.mark.parametrize(
    ("text", "count", "rule"),
    [
        ("", 1, "final-newline"),
        ("text", 1, "final-newline"),
        ("a\x00\n", 1, "control"),
        ("a\ud800\n", 1, "control"),
        ("text\n", 0, "unsigned"),
        ("text\n", 101, "too-many"),
    ],
)
def test_what_no_note_can_carry_is_not_constructed(
    text: str, count: int, rule: str
) -> None:
    """A note that could not be read again is refused before it is written."""
    with pytest.raises(WrongError, match=rf"\[note/{rule}\]"):
        Note(text, (signed(TEXT),) * count)


def test_text_is_bounded_utf8() -> None:
    """Both spellings of a text pass the same checks."""
    assert decode_text("é\n", "x") == decode_text("é\n".encode(), "x") == "é\n"
    with pytest.raises(WrongError, match="x/control"):
        decode_text("\x1b[31m", "x")
