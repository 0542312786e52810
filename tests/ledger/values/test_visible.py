"""What acts on a terminal or a page, or shows nothing, is written as an escape."""

from __future__ import annotations

import json

import pytest

from muniment.encoding.visible import clean, escaped_json

ACTS = ["\x1b", "\x00", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\U000e0041"]


@pytest.mark.parametrize("char", ACTS)
def test_what_acts_is_escaped(char: str) -> None:
    """As Python escapes it in a text; in JSON as JSON does, with the same value."""
    assert clean(f"a{char}b\nc") == f"a{char.encode('unicode_escape').decode()}b\nc"
    written = escaped_json(json.dumps([char], ensure_ascii=False))
    assert written.isascii()
    assert json.loads(written) == [char]


def test_what_is_shown_stays() -> None:
    """Letters of all scripts, signs and line ends."""
    for text in ("plain", "Zoë, 漢字, שלום", "a\nb", ""):
        assert clean(text) == text
        assert escaped_json(text) == text
