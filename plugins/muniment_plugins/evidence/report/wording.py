"""How values of the record are written for people, in one line or in a block.

Rules: nothing in the text acts on a page or a terminal; what is long is cut, and says how
much is missing and where all of it is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from muniment.encoding.visible import clean

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue

__all__ = ["ABSENT", "ERASED", "VERDICTS", "WITHHELD", "shown"]

ERASED = "erased"
ABSENT = "not in this bundle"
WITHHELD = "withheld"
"""The ledger may have it, and what the page was written from has not."""

_LIMITS = {"block": 4_000}
_LINE = 300
_WORDS = {"true": "holds", "false": "refuted", "null": "undecided"}
VERDICTS = frozenset(_WORDS.values())


def shown(value: JsonValue, form: str, event: object = None) -> str:
    """Return *value* as *form* shows it: ``line``, ``block`` or ``verdict``.

    Whatever else it is called is a line, too: ``name`` and ``path`` show the way to it.
    """
    if isinstance(value, dict) and value.keys() == {"$float"}:
        text = str(value["$float"])
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, str):
        text = value or "(empty)"
    else:
        text = json.dumps(value, ensure_ascii=False)
    if form == "verdict":
        return _WORDS.get(text, clean(_cut(text, _LINE, event)))
    text = clean(_cut(text, _LIMITS.get(form, _LINE), event))
    return text if form == "block" else text.replace("\n", "\u21b5")


def _cut(text: str, most: int, event: object) -> str:
    if len(text) <= most:
        return text
    where = "" if event is None else f": muniment events show {event} --full"
    return f"{text[:most]}\u2026 ({len(text) - most:,} more characters{where})"
