r"""How values of the record are written for people, in one line or in a block.

    0.123456789       0.123457              a number with a fraction has six digits
    {"a": [1, null]}  {"a":[1,null]}        what is no text, number or word is canonical JSON
    "two\nlines"      two↵lines             unless it has lines of its own: ``block``

Rules: nothing in the text acts on a page or a terminal; what is long is cut, and says how
much is missing and where all of it is. Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.visible import clean

__all__ = [
    "IS_ABSENT",
    "IS_ERASED",
    "IS_LARGE",
    "IS_WITHHELD",
    "MISSING",
    "VERDICTS",
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


def shown(value: JsonValue, form: str, event: object = None) -> str:
    """Return *value* as *form* shows it: ``line``, ``block`` or ``verdict``.

    Whatever else it is called is a line, too: ``name`` and ``path`` show the way to it.
    """
    if isinstance(tag := number_of(value), str):
        text = tag
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, str):
        text = value or "(empty)"
    else:
        text = canonical(value).decode()
    if form == "verdict" and text in VERDICT:
        return VERDICT[text]
    text = clean(cut(text, IN_BLOCK if form == "block" else IN_LINE, event))
    return text if form == "block" else text.replace("\n", "\u21b5")


def number_of(value: JsonValue) -> object:
    """Return the text of a tagged number."""
    if isinstance(value, dict) and value.keys() in ({"$float"}, {"$int"}):
        return next(iter(value.values()))
    return None


def cut(text: str, most: int, event: object) -> str:
    """Return *text*, or its first *most* characters, and how many more there are."""
    if len(text) <= most:
        return text
    where = "" if event is None else f": muniment events show {event} --full"
    return f"{text[:most]}\u2026 ({len(text) - most:,} more characters{where})"
