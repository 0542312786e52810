"""Where something stands in a document, and the one line that says what is wrong there.

    flow.json: agents[1]: 'agent-b' is there twice [flow/duplicate]; …

Rule: each mistake is a `UsageError` whose place is the file and the key path, so that
whoever wrote the file finds the line without reading code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from muniment.errors import UsageError

__all__ = ["At", "WrittenObject", "near"]

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHOWN = 60
"""More of a name says no more."""


@dataclass(frozen=True, slots=True)
class At:
    """A place in a document."""

    file: str
    """What users call the document: the path that they gave."""
    family: str
    """The first half of the rules that break here: ``flow`` or ``policy``."""
    path: str = ""
    """The keys that lead there, such as ``per_source[0].source``; empty at the top."""

    def key(self, name: str) -> At:
        """Return the place of the member *name*."""
        if not _BARE.fullmatch(name) or len(name) > _SHOWN:
            return replace(self, path=f"{self.path}[{name!r:.{_SHOWN}}]")
        dot = "." if self.path else ""
        return replace(self, path=f"{self.path}{dot}{name}")

    def item(self, number: int) -> At:
        """Return the place of an item of a list, counted from 0."""
        return replace(self, path=f"{self.path}[{number}]")

    def wrong(self, message: str, mistake: str, remedy: str = "") -> UsageError:
        """Return the error that says what is wrong here, by ``<family>/<mistake>``."""
        place = f"{self.file}: {self.path}" if self.path else self.file
        rule = f"{self.family}/{mistake}"
        return UsageError(message, rule=rule, place=place, remedy=remedy)


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """The members of an object as they are written, in order, before they are checked."""

    pairs: list[tuple[object, object]]


def near(word: str, known: Iterable[str]) -> str:
    """Return what may have been meant by *word*, then all that is *known*."""
    words = list(known)
    found = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    meant = f"did you mean {found[0]}? " if found else ""
    return f"{meant}known: {', '.join(words)}" if words else meant.strip()
