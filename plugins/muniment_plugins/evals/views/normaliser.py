r"""What is taken out of contents before they are compared: declared, and recorded.

    {"name": "muniment:run-view/1", "ignore": ["title"],
     "replace": [{"pattern": "in \\d+ ms", "with": "in N ms"}]}

Rules:

- Always replaced: the folder of the run, by ``$CWD``, where it is a whole path or the
  beginning of one; the ids of the run and of those that it called, by ``$RUN`` and
  ``$CHILD<n>``; the ids of artifacts that it was given, by ``$GIVEN<n>``. In a run that was
  called, what its caller replaces is above: ``$ABOVERUN``, ``$ABOVEGIVEN<n>``. Times,
  durations, event numbers and commitments are never looked at.
- Each text has one normal form that no other text has: a ``$`` before such a word, or before
  what becomes one, is doubled.
- ``ignore`` names parts that are not compared at all, and ``replace`` regular expressions,
  which are applied in their order, after those. One that takes too long leaves no text: what
  it should have changed equals nothing (`views.patterns`).
- A view states the normaliser by which it was made; views of two are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, cast

from muniment.documents.places import At
from muniment.documents.shapes import Anything, Choice, Items, ObjectShape, Text
from muniment.encoding.canonical import JsonValue
from muniment_plugins.evals.views.patterns import PATTERNS, compiled
from muniment_plugins.evals.views.rows import part

__all__ = ["NAME", "NORMALISER", "PARTS", "Names", "Normaliser"]

NAME = "muniment:run-view/1"
PARTS = (
    *("text", "data", "title", "error", "verification", "metadata"),
    *("graph", "task"),
)
"""The parts that a normaliser may leave out."""
NORMALISER = ObjectShape(
    optional={
        "name": Choice((NAME,)),
        "ignore": Items(Choice(PARTS), unique=True),
        "replace": Items(ObjectShape({"pattern": Text(), "with": Anything()})),
    }
)
_LEAST = 4
"""Shorter folders, such as ``/``, stand for nothing."""
_WORDS = r"(?:ABOVE)*(?:CWD|RUN|CHILD\d|GIVEN\d)"
_BEFORE = r"(?:(?<![\w./\\~@-])|(?<=://))"
"""A path begins here: no other one, and no word, goes on."""
_BEHIND = r"(?=$|[\s/\\\"'`:;,)\]}>|&?!*]|\.(?:$|[\s\"')]))"
"""A component of a path ends here."""
_ID = r"(?<![0-9A-Za-z]){}(?![0-9A-Za-z])"


@dataclass(frozen=True, slots=True)
class Normaliser:
    """A normaliser whose expressions are sound."""

    ignore: tuple[str, ...] = ()
    replace: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, value: Mapping[str, JsonValue] | None, at: At) -> Normaliser:
        """Return the normaliser in *value*, whose shape is right already.

        Raises:
            UsageError: an expression is none.

        """
        said = cast("Mapping[str, Any]", value or {})
        rows: list[tuple[str, str]] = []
        for number, one in enumerate(said.get("replace") or []):
            here = at.key("replace").item(number)
            if not isinstance(one["with"], str):
                raise here.key("with").wrong("it is no text", "type", "write a text")
            compiled(one["pattern"], one["with"], here.key("pattern"))
            rows.append((one["pattern"], one["with"]))
        return cls(tuple(sorted(said.get("ignore") or [])), tuple(rows))

    def document(self) -> dict[str, JsonValue]:
        """Return what a view states."""
        return {
            "name": NAME,
            "ignore": [*self.ignore],
            "replace": [
                {"pattern": pattern, "with": text} for pattern, text in self.replace
            ],
        }

    def compares(self, part: str) -> bool:
        """Tell whether *part* is compared."""
        return part not in self.ignore

    def of(self, record: Mapping[str, Any], around: Names | None = None) -> Names:
        """Return what stands for the names that only *record* has.

        Those of the run *around* it, which called it, are above.
        """
        folders = _folders(part(record, "execution"))
        runs = {str(record["id"]): "$RUN"}
        for number, one in enumerate(record.get("child_runs") or []):
            runs.setdefault(str(one["run_id"]), f"$CHILD{number}")
        given = (one for one in record["artifacts"] if "event" not in one)
        ids = {str(one["id"]): f"$GIVEN{number}" for number, one in enumerate(given)}
        if around is None:
            return Names(self, folders, runs, ids)
        folders = folders or around.folders
        both = _above(around.runs) | runs, _above(around.whole) | ids
        return Names(self, folders, *both)


def _above(stands: Mapping[str, str]) -> dict[str, str]:
    """Return what stands for names of a run in the runs that it called."""
    return {name: f"$ABOVE{word[1:]}" for name, word in stands.items()}


def _folders(execution: Mapping[str, Any]) -> list[str]:
    """Return what may be said for the folder of a run: absolute paths, the longest first."""
    said = (execution.get(name) for name in ("folder", "cwd"))
    texts = {one.rstrip("/\\") for one in said if isinstance(one, str)}
    found = (one for one in texts if len(one) >= _LEAST and PurePath(one).is_absolute())
    return sorted(found, key=len, reverse=True)


@dataclass(frozen=True)
class Names:
    """What a normaliser does to the contents of one run."""

    normaliser: Normaliser
    folders: list[str]
    """What becomes ``$CWD``."""
    runs: Mapping[str, str]
    """What is replaced wherever it is by itself in a text."""
    whole: Mapping[str, str]
    """The ids of given artifacts, which are replaced where they are all of a text."""

    def inside(self, run: str, called: Iterable[str]) -> Names:
        """Return the same for a *run* of a program, which this one called."""
        runs = {one: f"$CHILD{number}" for number, one in enumerate(called)}
        known = {**_above(self.runs), **runs, run: "$RUN"}
        return Names(self.normaliser, self.folders, known, _above(self.whole))

    @cached_property
    def _own(self) -> re.Pattern[str]:
        """Find what only this run calls so, and each ``$`` before what looks like that."""
        folders = "|".join(map(re.escape, self.folders)) or r"(?!)"
        folder = f"{_BEFORE}(?:{folders}){_BEHIND}"
        runs = _ID.format(f"(?:{'|'.join(map(re.escape, self.runs))})")
        return re.compile(rf"\$+(?={_WORDS}|{folder}|{runs})|{folder}|{runs}")

    def text(self, text: str) -> str:
        """Return *text* without what only this run calls so.

        Raises:
            TookTooLong: a pattern did not come to its end.

        """
        text = self._own.sub(self._stand, text)
        for pattern, stands in self.normaliser.replace:
            text = PATTERNS.replaced(pattern, stands, text)
        return text

    def _stand(self, found: re.Match[str]) -> str:
        name = found.group()
        return name * 2 if name[0] == "$" else self.runs.get(name, "$CWD")

    def ids(self, listed: Iterable[object]) -> list[JsonValue]:
        """Return the ids in *listed*."""
        return [self.whole.get(str(one)) or self.text(str(one)) for one in listed]

    def plain(self, value: Any) -> JsonValue:
        """Return *value* with all its texts so."""
        if isinstance(value, str):
            return self.whole.get(value) or self.text(value)
        if isinstance(value, list):
            inside = cast("list[object]", value)
            return [self.plain(one) for one in inside]
        if isinstance(value, dict):
            return self._members(cast("dict[str, Any]", value))
        return cast("JsonValue", value)

    def _members(self, members: dict[str, Any]) -> JsonValue:
        found = {self.text(name): self.plain(one) for name, one in members.items()}
        if len(found) == len(members):
            return found
        pairs = [[self.text(name), self.plain(one)] for name, one in members.items()]
        return {"$members": cast("JsonValue", sorted(pairs, key=repr))}
