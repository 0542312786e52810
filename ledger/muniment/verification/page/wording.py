r"""How values of the record are written for people, in one line or in a block.

    0.123456789       0.123457              a number with a fraction has six digits
    {"a": [1, null]}  {"a":[1,null]}        what is no text, number or word is canonical JSON
    "two\nlines"      two↵lines             unless it has lines of its own: ``block``

Rules: nothing in the text acts on a page or a terminal; what is long is cut, and says how
much is missing and where all of it is. Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

import re

from muniment.encoding.canonical import JsonValue, canonical

__all__ = [
    "IS_ABSENT",
    "IS_ERASED",
    "IS_LARGE",
    "IS_WITHHELD",
    "MISSING",
    "VERDICTS",
    "number_of",
    "shown",
]

IS_ERASED = "erased"
IS_ABSENT = "not in this bundle"
IS_WITHHELD = "withheld"
"""The ledger may have it, and what the page was written from has not."""
IS_LARGE = "too large for a page"
MISSING = (IS_ERASED, IS_ABSENT, IS_WITHHELD, IS_LARGE)

IN_BLOCK, IN_LINE = 4_000, 300
"""How many characters are shown, with lines of their own and in one."""
VERDICT = {"true": "holds", "false": "refuted", "null": "undecided"}
VERDICTS = frozenset(VERDICT.values())
TAGS = {
    "$int": re.compile("-?(?:0|[1-9][0-9]*)"),
    "$float": re.compile(r"-?(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)|nan"),
}
"""How a number is spelled that JSON has not; anything else is no number."""
HIDDEN = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800"
    "\u3000\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff]"
)
"""Controls, spaces but the plain one, marks of direction, private and invisible characters."""


def shown(value: JsonValue, form: str, event: object = None) -> str:
    """Return *value* as *form* shows it: ``line``, ``block`` or ``verdict``.

    Whatever else it is called is a line, too: ``name`` and ``path`` show the way to it.
    """
    if (tag := number_of(value)) is not None:
        text = tag
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, str):
        text = value or "(empty)"
    else:
        text = canonical(value).decode()
    if form == "verdict" and (value is None or isinstance(value, bool)):
        return VERDICT[text]
    text = visible(cut(text, IN_BLOCK if form == "block" else IN_LINE, event))
    return text if form == "block" else text.replace("\n", "\u21b5")


def number_of(value: JsonValue) -> str | None:
    """Return the text of a tagged number; None if it is none, or not spelled as one."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((tag, text),) = value.items()
    form = TAGS.get(tag)
    told = isinstance(text, str) and form is not None and form.fullmatch(text)
    return str(text) if told else None


def visible(text: str) -> str:
    """Return *text* with Python's escapes for whatever shows nothing, or acts on a page.

    These are fixed ranges, so that every runtime says the same, whatever its Unicode is.
    """
    return HIDDEN.sub(lambda one: one[0].encode("unicode_escape").decode(), text)


def cut(text: str, most: int, event: object) -> str:
    """Return *text*, or its first *most* characters, and how many more there are."""
    if len(text) <= most:
        return text
    where = "" if event is None else f": muniment events show {event} --full"
    return f"{text[:most]}\u2026 ({len(text) - most:,} more characters{where})"
