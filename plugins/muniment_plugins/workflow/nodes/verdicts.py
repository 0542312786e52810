"""The word of a judge: what a model's answer to a rubric means.

    PASS                       passes          **PASS**: it is polite     passes
    FAIL, it is rude           fails           pass                       no verdict
    PASS or FAIL: FAIL         no verdict      It is a PASS               no verdict

Rules:

- The first word is PASS or FAIL, in capitals; marks around it (``**``, quotes, a colon)
  are no part of it.
- The other word does not stand in the same line: an answer with both says neither.
- Whatever is no verdict fails, and says so.
"""

from __future__ import annotations

import re

from muniment.encoding.canonical import JsonValue

__all__ = ["judged_row", "word_of"]

_SHOWN = 2000
_FIRST = re.compile(r"[^\w\n-]*(PASS|FAIL)(?![\w-])")
_OTHER = {"PASS": re.compile(r"\bFAIL\b"), "FAIL": re.compile(r"\bPASS\b")}


def word_of(answer: str) -> str | None:
    """Return the word with which a judge answers, ``PASS`` or ``FAIL``; None if neither."""
    found = _FIRST.match(answer)
    if found is None:
        return None
    word, rest = found[1], answer[found.end() :].partition("\n")[0]
    return None if _OTHER[word].search(rest) else word


def judged_row(answer: str) -> dict[str, JsonValue]:
    """Return the check that a judge's *answer* stands for."""
    word, said = word_of(answer), answer[:_SHOWN]
    return {
        "kind": "rubric",
        "ok": word == "PASS",
        "expected": "PASS",
        "actual": said if word is not None else f"no verdict: {said}",
    }
