r"""How deep a text of JSON or TOML nests, told before anybody parses it.

    {"a": [[1]]}        3
    "a" = "[[[["        1: brackets in a text, or in a comment, are none
    a.b.c = 1           3: a part of a key is a table

Rules:

- The scan takes time in proportion to the text, whatever the text is: each pattern takes
  what it began, even where the end of that is missing, so no place is read twice.
- It knows words, not the grammar: what it lets pass, the parser may still refuse.
"""

from __future__ import annotations

import re

from muniment.documents.places import At

__all__ = ["DEEPEST", "refuse_deep_json", "refuse_deep_toml", "too_deep"]

DEEPEST = 32
"""How deep a document nests at most."""
_JSON = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]++|[\]}]++', re.DOTALL)
_TOML = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?+'
    r"|'''(?:[^']++|'(?!''))*+(?:''')?+"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'[^'\n]*+'?+"
    r"|\#[^\n]*+|[\[{]++|[\]}]++|[\n=,]|\.",
    re.DOTALL,
)


def refuse_deep_json(text: str, at: At) -> None:
    """Refuse a *text* of JSON that nests too deep.

    Raises:
        UsageError: it does.

    """
    depth = 0
    for found in _JSON.finditer(text):
        depth += _levels(found[0])
        if depth > DEEPEST:
            raise too_deep(at)


def refuse_deep_toml(text: str, at: At) -> None:
    """Refuse a *text* of TOML that nests too deep, or has a key of too many parts.

    Raises:
        UsageError: it does.

    """
    depth = dots = 0
    for found in _TOML.finditer(text):
        word = found[0]
        depth += _levels(word)
        dots = dots + 1 if word == "." else dots if word[0] in "\"'" else 0
        if depth > DEEPEST or dots >= DEEPEST:
            raise too_deep(at)


def _levels(word: str) -> int:
    """Return how many levels deeper a *word* leads; less than none if it closes some."""
    if word[0] in "[{":
        return len(word)
    return -len(word) if word[0] in "]}" else 0


def too_deep(at: At) -> Exception:
    """Return the refusal of what nests too deep."""
    return at.wrong(f"it nests deeper than {DEEPEST}", "depth", "make it flatter")
