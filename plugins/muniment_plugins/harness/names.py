"""Names that people look up, and the error if nothing has that name.

    >>> result.hypothesis("smal")
    UnknownName: no hypothesis is called 'smal' [harness/unknown]; known: small, better

Rules:

- The error lists the known names, the nearest first. It is also a ``KeyError``.
- A name counts as misspelt only if it can hardly be meant: it differs in capitals, an
  underscore, two swapped letters, or one letter too many or too few within a longer
  name. Plurals, suffixes, digits and other beginnings make different names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Never, TypeVar

from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["NamedItems", "UnknownName", "known_first", "mistaken_for", "unknown"]

_K = TypeVar("_K")
_V = TypeVar("_V")
_WITHIN = re.compile(r"(?<=[^_])_+(?=[^_])")
_PAIR = 2
_CASED, _SHORT, _MIDDLING, _LONG = 3, 4, 5, 6
"""The least number of letters of a name in which each class of mistake is assumed."""


class UnknownName(HarnessRefused, KeyError):
    """Nothing has this name; the remedy lists the names there are."""


class NamedItems(dict[_K, _V]):
    """A dict that lists the names it knows when it is asked for another.

    It can be made from pairs alone, as `dataclasses.asdict` makes dicts.
    """

    def __init__(
        self,
        members: Mapping[_K, _V] | Iterable[tuple[_K, _V]] = (),
        what: str = "member",
        place: str = "",
    ) -> None:
        super().__init__(members)
        self._what, self._place = what, place

    def __missing__(self, name: object) -> Never:
        raise unknown(self._what, name, self, self._place)


def unknown(
    what: str, name: object, known: Iterable[object], place: str = ""
) -> UnknownName:
    """Return the error that says that no *what* is called *name*."""
    listed = known_first(name, known)
    return UnknownName(
        f"no {what} is called {name!r}",
        rule="harness/unknown",
        place=place,
        remedy=f"known: {', '.join(listed)}" if listed else "there is none at all",
    )


def known_first(name: object, known: Iterable[object]) -> list[str]:
    """Return the *known* names, those close to *name* first."""
    import difflib  # noqa: PLC0415 - only when a name is unknown

    listed = [str(one) for one in known]
    near = difflib.get_close_matches(str(name), listed, n=len(listed) or 1)
    return [*near, *(one for one in listed if one not in near)]


def mistaken_for(
    name: str, fixed: Iterable[str], own: Iterable[str] = ()
) -> str | None:
    """Return the name that *name* surely misspells, if any.

    Args:
        name: what was written.
        fixed: names that no user chose: a lost last letter counts as a mistake too, as
            does a wrong letter in a long name.
        own: names that users chose, which may include both ``mode`` and ``model``.

    """
    for one in fixed:
        if _misspells(name, one, _SHORT) or _cuts(name, one) or _replaces(name, one):
            return one
    return next((one for one in own if _misspells(name, one, _MIDDLING)), None)


def _misspells(name: str, meant: str, least: int) -> bool:
    """Tell whether *name* is *meant* in another style, or with one mistake inside.

    A mistake is letters swapped, lost or added; a swap counts from *least* letters on.
    """
    here, there = _plain(name), _plain(meant)
    if here == there:
        return name != meant and len(there) >= _CASED
    gone, come = _parted(here, there)
    if len(gone) == len(come) > 1:
        return gone == come[::-1] and len(there) >= least
    return len(gone + come) == 1 and len(there) >= _MIDDLING


def _cuts(name: str, meant: str) -> bool:
    """Tell whether *name* is *meant* without its last letter, and not its singular."""
    return name == meant[:-1] and len(meant) >= _SHORT and not meant.endswith("s")


def _replaces(name: str, meant: str) -> bool:
    gone, come = _parted(name, meant)
    return len(gone) == len(come) == 1 and len(meant) >= _LONG


def _parted(name: str, other: str) -> tuple[str, str]:
    """Return the letters by which two names differ between their beginnings and ends.

    Both are empty if the beginnings or ends differ, or if signs other than letters do:
    then the names are a family, or two words.
    """
    length = min(len(name), len(other))
    start = next((n for n in range(length) if name[n] != other[n]), length)
    most = length - start
    end = next((n for n in range(most) if name[-1 - n] != other[-1 - n]), most)
    gone, come = name[start : len(name) - end], other[start : len(other) - end]
    swapped = len(gone) == len(come) == _PAIR
    inside = start and (end or swapped) and (gone + come).isalpha()
    return (gone, come) if inside else ("", "")


def _plain(name: str) -> str:
    """Return *name* without its style: capitals, and underscores inside."""
    return _WITHIN.sub("", name.lower())
