"""What a terminal would act on, or not show, is written as an escape.

    U+009B in a text is shown as Python writes it, in JSON as JSON writes it: of equal
    value for whoever reads it.

Rules:

- Controls (C0, DEL, C1), bidirectional overrides, separators, unassigned and private
  code points, surrogates, and whatever Unicode lets a renderer leave out.
- JSON is escaped wherever it goes: a program that reads it gets the same value.
"""

from __future__ import annotations

import re

__all__ = ["clean", "escaped_json"]

_INVISIBLE = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0000-\U000e0fff]"
)
"""What counts as printable, and shows nothing (Default_Ignorable_Code_Point)."""


def clean(text: object) -> str:
    """Return *text* with what a terminal would act on shown instead of obeyed."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(
        char
        if char == "\n" or _is_shown(char)
        else char.encode("unicode_escape").decode()
        for char in shown
    )


def escaped_json(text: str) -> str:
    """Return the JSON *text* with the same value, and nothing that a terminal acts on.

    Line feeds stay: outside of strings they are space, and inside there are none.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char == "\n" or _is_shown(char) else _units(char) for char in text
    )


def _is_shown(char: str) -> bool:
    return char.isprintable() and _INVISIBLE.match(char) is None


def _units(char: str) -> str:
    """Return *char* as JSON escapes it: one UTF-16 unit, or two."""
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
