"""A page of one part of a record, beside another part: what of it can be compared.

    parts = ShownParts(record, page.cited)
    parts.judged(cited, quote)       None: it is compared as it is

Rules:

- What one side withholds, or does not hold, cannot be compared. It is *cannot tell*.
- What both sides have is compared, whatever the page says of itself.
- A page that withholds says how much, and is held to it: it withholds no single value of
  an event of which it shows others, none of another run, no more than there is; and the
  events that it counts and those that it withholds are together those of the run.
- What is counted is compared with the least and the most that it can be on the page. As
  long as nothing shows that the page withholds something else than what it is compared
  with, that is one number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isinf
from typing import TYPE_CHECKING, TypeAlias

from muniment.encoding.canonical import parse
from muniment.errors import WrongError
from muniment.formats.evidence import NOTHING, Withheld
from muniment.formats.statement import BlobRef
from muniment.verification.page.quotes import plain
from muniment.verification.page.wording import IS_ABSENT, IS_WITHHELD

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.pages import Cited
    from muniment_plugins.evidence.report.record import Citation, Quote, RunReader

__all__ = ["PartSaid", "ShownParts", "in_order"]

Selection: TypeAlias = "tuple[tuple[str, str], ...]"
"""Which events a rule is about."""
Bounds: TypeAlias = "tuple[float, float]"

_KEPT = 1_024
_LACKING = (IS_ABSENT, IS_WITHHELD)
_ORDER = {"withheld": 1, "count": 2}
"""Rule → when it is judged: behind the events; what is summed comes behind all counts."""
_LONGEST = 15
_SLACK = 1e-5
"""A text has six digits of a number."""


@dataclass(frozen=True, slots=True)
class PartSaid:
    """What there is to say of a value that is not compared as it is."""

    kind: str
    message: str


def in_order(one: Cited) -> tuple[int, int]:
    """Order citations: events first, so that the contents of each are read once."""
    event = one.citation.get("event")
    if isinstance(event, int):
        return 0, event
    return _ORDER.get(str(one.citation.get("rule")), 3), 0


class ShownParts:
    """What a page withholds, by its own words, and what it is compared with."""

    def __init__(self, record: RunReader, cited: Iterable[Cited]) -> None:
        """Look at what the page says of itself; *record* is what it is compared with."""
        self._record = record
        self._own: Withheld = getattr(record.ledger, "withheld", NOTHING)
        self._stated: dict[str, int] = {}
        self._shown: set[int] = set()
        """The events of which the page shows something."""
        for one in cited:
            event, told = one.citation.get("event"), _told(one)
            if isinstance(event, int) and told not in _LACKING:
                self._shown.add(event)
            if one.citation.get("rule") == "withheld" and _is_count(told):
                self._stated.setdefault(str(one.citation.get("of")), int(told))
        self._events = self._stated.get("events", 0)
        self._blobs = self._stated.get("blobs", 0)
        own = (len(self._own.events), len(self._own.blobs))
        self._differ = (self._events, self._blobs) != own
        self._counts: dict[Selection, int] = {}
        """Of which events → how many the page counts."""
        self._hidden = {one.seq: one for one in self._own.events}
        cached = lru_cache(maxsize=_KEPT)  # a page may ask the same without end
        self._found = cached(self._find)
        self._extent = cached(self._extend)
        self._most_events = cached(self._count_events)
        self._most_blobs = cached(self._count_blobs)
        self._rests = cached(self._has_related)

    def lacks(self, citation: Citation) -> bool:
        """Tell whether *citation* may lead nowhere for want of what is withheld here."""
        return bool(self._own.events) and citation.get("rule") in ("mean", "change")

    def judged(self, one: Cited, quote: Quote) -> PartSaid | None:
        """Return what there is to say of *one*; None if it is compared as it is."""
        told = _told(one)
        here = quote.text if one.value is None else quote.value
        rule = str(one.citation.get("rule", ""))
        if quote.value in _LACKING and told != here:
            self._differ = True
            return self._known(one) or _unknown(
                f"what it is compared with says of it: {quote.value}"
            )
        if told in _LACKING and told != here:
            self._differ = True
            return self._refused(one.citation, told) or _unknown(
                "the page was written from a bundle without it: compare it with that"
            )
        return self._judged_rule(rule, one.citation, told, here) if rule else None

    def _judged_rule(
        self, rule: str, citation: Citation, told: str, here: str
    ) -> PartSaid | None:
        if rule == "withheld":
            return self._of_itself(citation, told, here)
        if rule == "count" and self._differ:
            return self._counted(citation, told, here)
        if told == here:
            return None
        if rule == "verify":
            return self._of_completeness(citation, told.strip('"'))
        return self._followed(citation, told) if self._differ else None

    def _known(self, one: Cited) -> PartSaid | None:
        """Return what a list of withheld events says against *one*; None if nothing."""
        event, head = one.citation.get("event"), str(one.citation.get("head"))
        hidden = self._hidden.get(event) if isinstance(event, int) else None
        if hidden is None:
            return None
        known = {
            "/hash": hidden.leaf.hex(),
            "/run": self._record.run,
            "/scope": hidden.scope,
            "/seq": str(hidden.seq),
        }
        if _told(one).strip('"') == known.get(head, _told(one).strip('"')):
            return None
        return PartSaid("wrong", f"the event has {known[head]} there")

    def _refused(self, citation: Citation, told: str) -> PartSaid | None:
        """Return why no page of a bundle lacks the value that is here; None if one may."""
        withholds = self._events or self._blobs
        if told == IS_WITHHELD and not withholds:
            return PartSaid(
                "wrong", "the page says of itself that it withholds nothing"
            )
        seq = citation.get("event")
        if not isinstance(seq, int):
            return None
        event = self._record.event(seq)
        if told == IS_ABSENT:
            what = (
                "a bundle holds its run, or says of what it lacks that it is withheld"
            )
            return PartSaid("wrong", what) if event.run == self._record.run else None
        own = event.run == self._record.run
        if own and self._events and seq not in self._shown:
            return None
        if self._blobs and (own or event.run is None) and _in_blob(event, citation):
            return None
        what = "the page withholds it, and not all that is withheld with it"
        return PartSaid("wrong", what)

    def _of_itself(self, citation: Citation, told: str, here: str) -> PartSaid | None:
        """Judge how much the page says that it withholds."""
        of = str(citation.get("of"))
        if of not in ("events", "blobs"):
            return None
        if not _is_count(told) or int(told) != self._stated.get(of):
            return PartSaid("wrong", "the page says twice how much it withholds")
        most = self._most_events() if of == "events" else self._most_blobs()
        if most is not None and int(told) > most:
            return PartSaid(
                "wrong", f"the page can withhold {most} at most, not {told}"
            )
        if told == here:
            return None
        return _unknown(
            f"the page withholds {of} ({told}): compare it with its own bundle"
        )

    def _count_events(self) -> int:
        """Return how many events of the run the page shows nothing of."""
        record = self._record
        own = {one.seq for one in record.events(run=record.run)} | self._hidden.keys()
        return len(own - self._shown)

    def _count_blobs(self) -> int | None:
        """Return of how many contents the run tells; None if nobody knows."""
        if self._hidden:
            return None
        record = self._record
        return len(
            {
                ref.digest
                for how in ({"run": record.run}, {"type": "decision.*"})
                for event in record.events(**how)
                for ref in event.data.values()
                if isinstance(ref, BlobRef)
            }
        )

    def _counted(self, citation: Citation, told: str, here: str) -> PartSaid | None:
        """Judge how many events the page counts, of those that it does not withhold."""
        key = _selection(citation)
        if not _is_count(told):
            return None
        same = told == here
        if citation.get("run") != self._record.run:
            return None if same else _unknown("a bundle has a part of other runs only")
        (found, shown, hidden), number = self._found(key), int(told)
        total = found + hidden
        least = found if citation.keys() & {"type", "series"} else total
        least = max(least - self._events, shown)
        if citation.keys() <= {"rule", "run", "as"}:
            total -= self._events
        self._counts[key] = number
        if not least <= number <= total:
            what = f"the page counts {told}: it can be {least} to {total} there"
            return PartSaid("wrong", what)
        return (
            None if same else _unknown("one side withholds some, and counts the rest")
        )

    def _followed(self, citation: Citation, told: str) -> PartSaid | None:
        """Judge a number that follows from events, of which some may be withheld."""
        rule, own = str(citation.get("rule")), bool(self._own.events)
        if rule not in ("sum", "mean", "change"):
            return None
        key = _selection(citation)
        unknown = _unknown("one side withholds events that it follows from")
        if own or citation.get("run") != self._record.run:
            return unknown
        found, _, _ = self._found(key)
        if self._counts.get(key, max(found - self._events, 0)) == found:
            return None
        if rule == "change":
            return unknown
        sums, ends = self._extent(key, str(citation.get("path")))
        if _is_between(told, *(sums if rule == "sum" else ends)):
            return unknown
        what = f"the page says {told}: no part of the record gives that"
        return PartSaid("wrong", what)

    def _of_completeness(self, citation: Citation, told: str) -> PartSaid | None:
        """Judge what a page says of related runs, which no redacted bundle has."""
        unknown = _unknown("one side lacks runs upon which this run rests")
        if citation.get("of") != "completeness":
            return None
        if told == "checked":
            return unknown if self._record.verified().incomplete else None
        return unknown if told == "unchecked" and self._rests() else None

    def _has_related(self) -> bool:
        """Tell whether the run may rest upon others."""
        record = self._record
        rests = record.started.raw.get("fork") or self._hidden
        return bool(rests) or any(record.events(run=record.run, type="child.*"))

    def _find(self, key: Selection) -> tuple[int, int, int]:
        """Return how many there are, are shown on the page, and may be withheld here."""
        found = shown = 0
        scope = dict(key).get("scope", "")
        hidden = sum(not scope or _is_in(one.scope, scope) for one in self._own.events)
        for one in self._record.selected(dict(key)):
            found += 1
            shown += one.seq in self._shown
        return found, shown, hidden

    def _extend(self, key: Selection, path: str) -> tuple[Bounds, Bounds]:
        """Return between what a sum, and a mean, of some of these events can be."""
        record = self._record
        events = (one.seq for one in record.selected(dict(key)))
        numbers = [*record.numbers(events, path)]
        if not all(map(isfinite, numbers)):
            return (-inf, inf), (-inf, inf)
        least = -sum(max(-one, 0) for one in numbers)
        most = sum(max(one, 0) for one in numbers)
        return (least, most), (min(numbers, default=0), max(numbers, default=0))


def _selection(citation: Citation) -> Selection:
    names = ("run", "type", "scope", "series")
    return tuple((one, str(citation[one])) for one in names if one in citation)


def _told(one: Cited) -> str:
    return one.text if one.value is None else one.value


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST


def _is_in(scope: str, outer: str) -> bool:
    return scope == outer or scope.startswith(f"{outer}/")


def _is_between(told: str, least: float, most: float) -> bool:
    """Tell whether *told* is a number that is neither less nor more."""
    try:
        value = plain(parse(told.encode()))
    except WrongError:
        value = plain({"$float": told})  # as the text of one says it
    if not isinstance(value, int | float):
        return False
    if isinf(most):
        return True
    slack = _SLACK * max(abs(least), abs(most))
    return least - slack <= value <= most + slack


def _in_blob(event: Event, citation: Citation) -> bool:
    if "head" in citation:
        return False
    name = str(citation.get("path", ""))[1:].partition("/")[0]
    name = name.replace("~1", "/").replace("~0", "~")
    values = event.data.values() if not citation.get("path") else [event.data.get(name)]
    return any(isinstance(one, BlobRef) for one in values)


def _unknown(why: str) -> PartSaid:
    return PartSaid("cannot tell", why)
