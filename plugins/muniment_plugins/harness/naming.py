"""Names that people look up, and what they are told where nothing has that name.

    >>> result.hypothesis("smal")
    UnknownName: no hypothesis is called 'smal' [harness/unknown]; known: small, better

Rules:

- What is known is named, the nearest name first. The error is a ``KeyError``, too.
- A name is near another by a letter too many, too few, or in another place; names that
  differ by a digit or a suffix are a family, and meant.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Never, TypeVar

from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["Known", "UnknownName", "known_first", "mistaken_for", "unknown"]

_K = TypeVar("_K")
_V = TypeVar("_V")
_ALIKE = 0.8
_REPLACED = 0.82
"""How alike two names are where one has another letter: one of six or more."""


class UnknownName(HarnessRefused, KeyError):
    """Nothing has this name; what has one is in the remedy."""


class Known(dict[_K, _V]):
    """A dict that says which names it knows when it is asked for another."""

    def __init__(self, members: Mapping[_K, _V], what: str, place: str = "") -> None:
        super().__init__(members)
        self._what, self._place = what, place

    def __missing__(self, name: object) -> Never:
        raise unknown(self._what, name, self, self._place)


def unknown(
    what: str, name: object, known: Iterable[object], place: str = ""
) -> UnknownName:
    """Return the error that no *what* is called *name*."""
    listed = known_first(name, known)
    return UnknownName(
        f"no {what} is called {name!r}",
        rule="harness/unknown",
        place=place,
        remedy=f"known: {', '.join(listed)}" if listed else "there is none at all",
    )


def known_first(name: object, known: Iterable[object]) -> list[str]:
    """Return *known* names, those that are near to *name* first."""
    listed = [str(one) for one in known]
    near = difflib.get_close_matches(str(name), listed, n=len(listed) or 1)
    return [*near, *(one for one in listed if one not in near)]


def mistaken_for(
    name: str, fixed: Iterable[str], own: Iterable[str] = ()
) -> str | None:
    """Return the name that *name* was probably meant to be, if any.

    Args:
        name: what was written.
        fixed: names that nobody chose; another letter in one of them is a mistake, too.
        own: names that were chosen, which may well be families: ``share_a``, ``share_b``.

    """
    replaced = difflib.get_close_matches(name, list(fixed), n=1, cutoff=_REPLACED)
    if replaced and len(replaced[0]) == len(name):
        return replaced[0]
    return next((one for one in [*fixed, *own] if _misspells(name, one)), None)


def _misspells(name: str, other: str) -> bool:
    """Tell whether the letters are the same, but for one too many or too few."""
    here, there = Counter(name.lower()), Counter(other.lower())
    apart = [*(here - there).elements(), *(there - here).elements()]
    if set(apart) <= {"_"}:
        return name != other
    one = len(apart) == 1 and apart[0].isalpha() and min(len(name), len(other)) > 2  # noqa: PLR2004 - of two letters any one is another name
    return one and difflib.SequenceMatcher(None, name, other).ratio() >= _ALIKE
