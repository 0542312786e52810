"""Names of tools, and the patterns that match them.

    "read_*"         every tool whose name begins so
    "read_*&*_file"  every tool that both parts match

Rules:

- A name is ASCII, so that none looks like another one: letters, digits and ``_.:/-``.
- ``*`` is any text, ``?`` one character; nothing else is special, upper and lower case
  differ, and a pattern is never a search: it matches the whole name.
- A list of patterns matches what one of them matches. The meet of two lists matches
  exactly what both match; it is associative, commutative and idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.documents.places import At
from muniment.documents.shapes import Text
from muniment.errors import RefusedError

__all__ = [
    "TOOL_NAME",
    "TOOL_PATTERN",
    "folded",
    "glob_match",
    "matches_any",
    "matches_name",
    "meet",
    "normal_pattern",
    "normal_patterns",
]

_MOST = 400
"""Combinations of patterns with wildcards: comparing more takes too long."""

TOOL_NAME = Text(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,127}", "read_file")
"""The shape of a tool's name."""
TOOL_PATTERN = Text(r"[A-Za-z0-9_.:/*?-]{1,128}(&[A-Za-z0-9_.:/*?-]{1,128})*", "read_*")
"""The shape of a pattern."""

_All = frozenset[str]
"""Patterns that all match; empty for ``*``."""


def folded(name: str) -> str:
    """Return *name* without what people and hosts confuse: case and separators."""
    return name.lower().translate(str.maketrans("-.:/", "____"))


def glob_match(pattern: str, text: str) -> bool:
    """Tell whether *pattern* matches all of *text*, in time of at most their product."""
    at = read = 0
    star, resume = -1, 0
    while read < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, read
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[read]):
            at, read = at + 1, read + 1
        elif star >= 0:
            resume += 1
            at, read = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")


def matches_name(pattern: str, name: str) -> bool:
    """Tell whether every part of *pattern* matches *name*."""
    return all(glob_match(part, name) for part in pattern.split("&"))


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Tell whether one of *patterns* matches *name*."""
    return any(matches_name(one, name) for one in patterns)


def normal_pattern(pattern: str, at: At) -> str:
    """Return *pattern* in its one spelling.

    Raises:
        UsageError: it can match nothing, since its parts are names that differ.

    """
    found = _reduced(_parts(pattern))
    if found is None:
        raise at.wrong(
            f"{pattern!r} matches nothing", "pattern", "its parts contradict each other"
        )
    return _spelled(found)


def normal_patterns(patterns: Iterable[str], at: At) -> tuple[str, ...]:
    """Return *patterns* in their spelling, sorted, without those that add nothing.

    Raises:
        UsageError: one of them can match nothing.

    """
    spelled = [normal_pattern(one, at.item(n)) for n, one in enumerate(patterns)]
    return _sorted(map(_parts, spelled))


def meet(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns, in normal form, that match what both lists match.

    Raises:
        RefusedError: they are too many to be compared.

    """
    mine, theirs = _split(one), _split(other)
    found = {
        frozenset({name})
        for names, patterns in ((mine[0], theirs), (theirs[0], mine))
        for name in names
        if name in patterns[0] or matches_any(map(_spelled, patterns[1]), name)
    }
    if len(mine[1]) * len(theirs[1]) > _MOST:
        raise RefusedError(
            f"the tool patterns have more than {_MOST} combinations",
            rule="workflow/patterns",
            remedy="write fewer patterns, or the names of the tools",
        )
    return _sorted(found | {a | b for a in mine[1] for b in theirs[1]})


def _is_name(pattern: str) -> bool:
    return not {"*", "?"} & set(pattern)


def _parts(pattern: str) -> _All:
    parts = {_collapsed(part) for part in pattern.split("&")}
    return frozenset(parts - {"*"})


def _collapsed(part: str) -> str:
    while "**" in part:
        part = part.replace("**", "*")
    return part


def _spelled(parts: _All) -> str:
    return "&".join(sorted(parts)) or "*"


def _reduced(parts: _All) -> _All | None:
    """Return the name alone where *parts* have one; None if they match nothing."""
    names = [part for part in parts if _is_name(part)]
    if not names:
        return parts
    matched = all(glob_match(part, names[0]) for part in parts)
    return frozenset({names[0]}) if matched else None


def _split(patterns: Iterable[str]) -> tuple[set[str], set[_All]]:
    """Return the names among *patterns*, and the patterns with wildcards."""
    parts = [_parts(pattern) for pattern in patterns]
    names = {_spelled(one) for one in parts if one and all(map(_is_name, one))}
    return names, {one for one in parts if not one or not all(map(_is_name, one))}


def _sorted(found: Iterable[_All]) -> tuple[str, ...]:
    """Return the spellings of *found* without alternatives that another one covers."""
    whole = set(found)
    if frozenset() in whole:
        return ("*",)
    wild = {one for one in whole if not any(map(_is_name, one))}
    kept = [
        one for one in whole if one not in wild or not any(part < one for part in wild)
    ]
    return tuple(sorted(map(_spelled, kept)))
