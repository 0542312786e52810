"""Values on a page that follow from many events: counts, sums, means, changes, runs.

Rule: each is counted again in the one pass over the events. A rule is about what its table
names, and nothing else; those about the run are about the bundle's own, since of other runs
a bundle has a part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.verification.page.quotes import (
    CONSTANTS,
    Content,
    LeadsNowhere,
    OddContent,
    change,
    follow,
    plain,
    tagged,
    total,
)
from muniment.verification.page.wording import (
    IS_ABSENT,
    IS_ERASED,
    IS_LARGE,
    IS_WITHHELD,
)

__all__ = [
    "ODD",
    "OF_RULE",
    "OF_RUN",
    "SAYS_WITHHELD",
    "BundleEnd",
    "ComputedValue",
    "Lacking",
]

SELECTING = ("run", "type", "scope", "series")
ODD = (
    *(ArithmeticError, AttributeError, IndexError, KeyError),
    *(RecursionError, TypeError, ValueError),
)
OF_RULE = {
    "count": set(SELECTING),
    "sum": {*SELECTING, "path"},
    "mean": {*SELECTING, "path"},
    "change": {*SELECTING, "path", "of"},
    "minus": {"path", "of"},
    "runs": {"of"},
    "checkpoint": {"of"},
    "withheld": {"of"},
    "zero": set[str](),
    "one": set[str](),
}
"""Rule → what it is about: no other attribute is beside it."""
OF_RUN = {"count", "sum", "mean", "change"}
"""Rules about the events of the run, which are all here, or withheld."""
SAYS_WITHHELD = {"withheld?of=blobs", "withheld?of=events"}


class Lacking(Exception):
    """The content of a blob that a page cannot have: its commitment, or `IS_LARGE`."""


@dataclass(frozen=True, slots=True)
class BundleEnd:
    """What is known of a bundle once all of it was read."""

    size: int
    """How many events its tree head covers."""
    root: str
    """The root of their tree, in hexadecimal."""
    erased: Collection[str]
    """Commitments, of blobs that an event here erased."""
    withheld_blobs: Collection[str]
    withheld_events: Collection[int]
    shown: Collection[str]
    """Keys of the series of which every event is here."""

    def state(self, tag: str) -> str:
        """Return why a blob is not here."""
        if tag == IS_LARGE or tag in self.erased:
            return IS_LARGE if tag == IS_LARGE else IS_ERASED
        return IS_WITHHELD if tag in self.withheld_blobs else IS_ABSENT


@dataclass(slots=True)
class ComputedValue:
    """A value that follows from many events, and what was found of it."""

    marks: Mapping[str, str]
    count: int = 0
    numbers: list[float] = field(default_factory=list[float])
    runs: set[str] = field(default_factory=set[str])
    events: tuple[str, ...] = ()
    """The events that it names, one or two."""
    named: dict[str, float] = field(default_factory=dict[str, float])
    """Number of an event that it names → the number there."""
    lacking: str = ""
    """The first blob that would be needed, and is not here."""
    is_spoiled: bool = False
    """Whether a content that would be needed cannot be read in one way alone."""

    keys: tuple[str, ...] = ()
    """The series whose runs it counts."""

    def names_all(self) -> bool:
        """Take the series or events that it names; return False if they are none."""
        if self.marks["data-rule"] in ("change", "minus"):
            self.events = tuple(self.marks.get("data-of", "").split(",", 2))
            return len(self.events) == (2 if self.marks["data-rule"] == "change" else 1)
        if self.marks["data-rule"] != "runs":
            return True
        try:
            told: object = json.loads(self.marks.get("data-of", ""))
        except ODD:
            return False
        named = cast("list[object]", told) if isinstance(told, list) else []
        self.keys = tuple(one for one in named if isinstance(one, str))
        return 0 < len(self.keys) == len(named)

    def take(self, chain: Mapping[str, Any], data: JsonValue, content: Content) -> None:
        """Count the event, if it is one of those that are selected."""
        rule = self.marks["data-rule"]
        if rule == "runs":
            series = chain.get("series", {})
            if chain.get("run") is not None and any(key in series for key in self.keys):
                self.runs.add(chain["run"])
            return
        if rule in ("change", "minus") and str(chain["seq"]) in self.events:
            self.named |= {str(chain["seq"]): one for one in self._of(data, content)}
        if rule != "minus" and self._selects(chain):
            self.count += 1
            if rule in ("sum", "mean", "change"):
                self.numbers += self._of(data, content)

    def _selects(self, chain: Mapping[str, Any]) -> bool:
        for name in SELECTING:
            wanted = self.marks.get(f"data-{name}")
            if wanted is None:
                continue
            own = chain.get(name)
            inside = name == "scope" and f"{own or ''}/".startswith(f"{wanted}/")
            listed = name == "series" and wanted in (own or {})
            if not (own == wanted or inside or listed):
                return False
        return True

    def _of(self, data: JsonValue, content: Content) -> list[float]:
        """Return the number to which the path leads, if it leads to one."""
        if self.lacking:
            return []
        try:
            value = plain(follow(data, self.marks.get("data-path", "/"), content))
        except Lacking as missing:
            self.lacking = str(missing)
        except OddContent:
            self.is_spoiled = True
        except ODD:
            pass
        else:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return [value]
        return []

    def value(self, end: BundleEnd) -> JsonValue:
        """Return what follows; raise `LeadsNowhere` if no rule says how."""
        rule, of = self.marks["data-rule"], self.marks.get("data-of")
        if rule == "checkpoint" and of in ("size", "root"):
            return end.size if of == "size" else end.root
        if rule == "withheld" and of in ("events", "blobs"):
            blobs = of == "blobs"
            return len(end.withheld_blobs if blobs else end.withheld_events)
        if rule in CONSTANTS:
            return CONSTANTS[rule]
        if rule == "runs":
            return len(self.runs)
        if rule == "count":
            return self.count
        return tagged(self._computed(rule))

    def _computed(self, rule: str) -> float:
        """Return what follows from the numbers that were found."""
        if self.is_spoiled:
            raise LeadsNowhere("a content that it needs is not canonical JSON")
        if rule == "sum":
            return total(self.numbers)
        mean = total(self.numbers) / len(self.numbers) if self.numbers else 0
        if rule == "mean" and self.numbers:
            return mean
        named = [self.named[one] for one in self.events if one in self.named]
        if (rule, len(named)) == ("minus", 1):
            return -named[0]
        if (rule, len(named)) == ("change", 2):
            return change(named[0], named[1], mean)
        raise LeadsNowhere("there is no such rule, or nothing to apply it to")
