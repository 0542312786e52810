"""Escaping characters that a terminal or a page would act on, or not show.

    U+009B in a text is shown as Python escapes it, in JSON as JSON escapes it, so that
    its value stays the same.

Rules:

- Escaped are controls (C0, DEL, C1), bidirectional overrides, separators, unassigned
  and private code points, surrogates, and whatever Unicode lets a renderer leave out.
- JSON is escaped wherever it goes: a program that reads it gets the same value.
"""

from __future__ import annotations

import re

__all__ = ["clean", "escaped_json"]

_INVISIBLE = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0000-\U000e0fff]"
)
"""Characters that count as printable but show nothing: Default_Ignorable_Code_Point."""

_NOT_PLAIN = re.compile(r"[^\n -~]")
"""Characters that need a closer look; most of a text has none."""


def clean(text: object) -> str:
    """Return *text* with escapes for everything that a terminal would act on."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():
        return shown
    return _NOT_PLAIN.sub(_spelled, shown)


def escaped_json(text: str) -> str:
    """Return the JSON *text* with the same value, and nothing that a terminal acts on.

    Line feeds stay: outside strings they are whitespace, and inside there are none.
    """
    return _NOT_PLAIN.sub(_units, text)


def _is_shown(char: str) -> bool:
    return char.isprintable() and _INVISIBLE.match(char) is None


def _spelled(found: re.Match[str]) -> str:
    """Return the Python escape of a character."""
    char = found[0]
    return char if _is_shown(char) else char.encode("unicode_escape").decode()


def _units(found: re.Match[str]) -> str:
    """Return the JSON escape of a character: one UTF-16 unit, or two."""
    char = found[0]
    if _is_shown(char):
        return char
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
