"""Where something stands in a document, and the one line that says what is wrong there.

    flow.json: agents[1]: 'agent-b' is there twice [flow/duplicate]; …

Rule: each mistake is a `UsageError` whose place is the file and the key path, so that
whoever wrote the file finds the line without reading code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from muniment.errors import UsageError

__all__ = ["At", "WrittenObject", "near"]

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHOWN = 60
"""More of a name says no more."""


class At(NamedTuple):
    """A place in a document; a tuple, since there is one for each key of a document."""

    file: str
    """What users call the document: the path that they gave."""
    family: str
    """The first half of the rules that break here: ``flow`` or ``policy``."""
    path: str = ""
    """The keys that lead there, such as ``per_source[0].source``; empty at the top."""

    def key(self, name: str) -> At:
        """Return the place of the member *name*."""
        if not _BARE.fullmatch(name) or len(name) > _SHOWN:
            return At(self.file, self.family, f"{self.path}[{name!r:.{_SHOWN}}]")
        path = f"{self.path}.{name}" if self.path else name
        return At(self.file, self.family, path)

    def item(self, number: int) -> At:
        """Return the place of an item of a list, counted from 0."""
        return At(self.file, self.family, f"{self.path}[{number}]")

    def wrong(self, message: str, mistake: str, remedy: str = "") -> UsageError:
        """Return the error that says what is wrong here, by ``<family>/<mistake>``."""
        place = f"{self.file}: {self.path}" if self.path else self.file
        rule = f"{self.family}/{mistake}"
        return UsageError(message, rule=rule, place=place, remedy=remedy)


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """The members of an object as they are written, in order, before they are checked."""

    pairs: list[tuple[object, object]]


def near(word: str, known: Iterable[str], most: int | None = None) -> str:
    """Return what may have been meant by *word*, then all that is *known*.

    Of more than *most* names, only up to three that are near are said.
    """
    words = list(known)
    if most is not None and len(words) > most:
        found = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
        return f"did you mean {' or '.join(found)}?" if found else ""
    found = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    meant = f"did you mean {found[0]}? " if found else ""
    return f"{meant}known: {', '.join(words)}" if words else meant.strip()
