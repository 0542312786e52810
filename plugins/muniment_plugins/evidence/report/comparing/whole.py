"""Compares a report as a whole: with the one that is written again.

Rules:

- The same run and checkpoint give the same page. So whatever somebody changed, added, hid
  or left out is a difference, be it cited or not: a row, a section, a word, the style.
- A page of another muniment or of other plugins differs, too: it was not compared.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from muniment.encoding.visible import clean
from muniment.errors import MunimentError
from muniment_plugins.evidence.report.write import page_of

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.record import RunReader

__all__ = ["first_change"]

_SHOWN = 60


def first_change(record: RunReader, text: str, suffix: str) -> tuple[int, str] | None:
    """Return the first line of *text* that is not as a report has it, and what is."""
    try:
        again = page_of(record, suffix)
    except MunimentError as error:
        return 1, f"the report cannot be written again: {error}"
    if text == again:
        return None
    lines = zip_longest(text.split("\n"), again.split("\n"))
    changed = (pair for pair in enumerate(lines, 1) if pair[1][0] != pair[1][1])
    number, (there, here) = next(changed)
    return number, (
        "the report that is written again differs here: "
        f"it has {_part(here, there)}, the page {_part(there, here)}"
    )


def _part(line: str | None, other: str | None) -> str:
    """Return *line* from where it differs from *other*."""
    if line is None:
        return "no such line"
    pairs = enumerate(zip_longest(line, other or ""))
    at = next((number for number, (one, two) in pairs if one != two), 0)
    start = max(at - _SHOWN // 3, 0)
    return repr(clean(line[start : at + _SHOWN]))
