"""Compares each value on a report with the events that it cites, in one pass over them.

    check = PageComparison(text, content)
    for each event of the bundle: check.take(statement, leaf, keyid)
    check.finish(…)
    check.compared, check.total, check.faults

Rules:

- What the page shows is compared with what is to be in its place: the value in the
  attribute, the text beside it, the reference and, for a mark of a picture, where it is.
- What follows from several events is counted again: how many there are, their sum, their
  mean, how many runs they are of, how far apart two of them are.
- The page is believed in nothing. Its words are its writer's; they say no number.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.verification.page.frame import CitedValue, read_page
from muniment.verification.page.marks import GraphScale, numbers_of
from muniment.verification.page.quotes import (
    CONSTANTS,
    Content,
    LeadsNowhere,
    change,
    follow,
    plain,
    reference,
    tagged,
    total,
    valued,
)
from muniment.verification.page.wording import (
    IS_ABSENT,
    IS_ERASED,
    IS_LARGE,
    IS_WITHHELD,
    shown,
)

__all__ = ["BundleEnd", "Lacking", "PageComparison"]

MOST_RULES = 1_000
"""How many values of a page may each follow from many events."""
HALF = 0.0501
"""How far a mark may be from its place: it is written with one digit."""
ODD = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
SELECTING = ("run", "type", "scope", "series")
FORMS = {"block", "verdict", "name", "path"}
HEADS = ("actor", "run", "scope", "seq", "tenant", "time", "type")


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
            wanted, own = self.marks.get(f"data-{name}"), chain.get(name)
            inside = name == "scope" and f"{own or ''}/".startswith(f"{wanted}/")
            listed = name == "series" and wanted in (own or {})
            if wanted is not None and not (own == wanted or inside or listed):
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


class PageComparison:
    """Compares one page; it is told of each event, and then what came at the end."""

    def __init__(self, text: str, content: Content) -> None:
        """Read the page *text*; *content* gives that of a blob, or raises `Lacking`."""
        self._content = content
        self.page = read_page(text)
        self.faults: list[tuple[int, str]] = list(self.page.faults)
        self.total, self.compared = len(self.page.cited), 0
        self._events: dict[int, list[CitedValue]] = {}
        self._computed: dict[str, tuple[ComputedValue, list[CitedValue]]] = {}
        self._late: list[tuple[CitedValue, str]] = []
        self._marks: dict[int, list[tuple[tuple[float, ...], CitedValue]]] = {}
        for one in self.page.cited:
            self._sort(one)
        if not self.page.faults and not self.page.cited:
            self.faults.append((1, "it cites nothing"))

    def _sort(self, one: CitedValue) -> None:
        marks = one.marks
        named = {name[5:] for name in marks if name.startswith("data-")} - {"value"}
        others = {"value", "title"} if one.mark is None else {"data-value"}
        odd = {name for name in marks if not name.startswith("data-")} - others
        full = one.mark is not None and one.mark.kind == "full"
        if full is not (marks.get("data-rule") in CONSTANTS and one.mark is not None):
            self._fault(
                one, "a full line stands for zero or one, and nothing else does"
            )
        odd |= others - marks.keys() or ({"data-value"} & marks.keys()) - others
        number = marks.get("data-event", "")
        if odd or marks.get("data-as", "block") not in FORMS:
            self._fault(one, "it does not cite as a report does")
        elif "rule" in named and named <= {*SELECTING, "rule", "path", "of", "as"}:
            computed = ComputedValue(marks)
            if not computed.names_all():
                self._fault(one, "it does not name what it follows from")
                return
            self._computed.setdefault(reference(marks), (computed, []))[1].append(one)
            if len(self._computed) > MOST_RULES:
                self._fault(one, f"it has more than {MOST_RULES} values of many events")
        elif number.isdecimal() and named <= {"event", "path", "head", "as"}:
            if number != str(int(number[:18])) or {"path", "head"} <= named:
                self._fault(one, "it does not cite as a report does")
            self._events.setdefault(int(number[:18]), []).append(one)
        else:
            self._fault(one, "it does not cite as a report does")

    def take(self, statement: Any, leaf: str, keyid: str, ledger: str) -> None:
        """Compare whatever cites this event."""
        chain = statement["predicate"]["muniment"]
        data = cast("JsonValue", statement["predicate"]["data"])
        head: dict[str, JsonValue] = {name: chain.get(name) for name in HEADS}
        series = cast("dict[str, Any]", chain.get("series", {}))
        head |= {"hash": leaf, "key": keyid, "ledger": ledger}
        head["series"] = {key: one["count"] for key, one in series.items()}
        for one in self._events.pop(chain["seq"], ()):
            try:
                self._compare(one, self._value(one, head, data))
            except Lacking as missing:
                self._late.append((one, str(missing)))
            except ODD as error:
                self._fault(one, f"it leads nowhere: {error}")
        for computed, _ in self._computed.values():
            computed.take(chain, data, self._content)

    def _value(
        self, one: CitedValue, head: Mapping[str, JsonValue], data: JsonValue
    ) -> JsonValue:
        path = one.marks.get("data-head", one.marks.get("data-path", ""))
        form = one.marks.get("data-as")
        if "data-head" in one.marks:
            value = follow(dict(head), path, self._content)
        elif form == "path" and path.count("/") == 1 and "~" not in path:
            if path[1:] not in cast("dict[str, JsonValue]", data):
                raise LeadsNowhere(path)
            return path[1:]  # a name is shown, whether its content is here or not
        else:
            value = follow(data, path, self._content)
        if form == "name":
            return path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        return path[1:] if form == "path" else value

    def finish(self, end: BundleEnd, run: str) -> None:
        """Compare what needed all events."""
        if self.page.run and (self.page.run != run or self.page.size != end.size):
            what = f"it is not about {run} in the first {end.size} events"
            self.faults.append((1, what))
        for one, tag in self._late:
            self._lacks(one, end.state(tag))
        for seq, cited in self._events.items():
            for one in cited:
                if seq in end.withheld_events:
                    self._lacks(one, IS_WITHHELD)
                else:
                    self._fault(one, "there is no such event here")
        for computed, cited in self._computed.values():
            for one in cited:
                self._finish(computed, one, end)
        for marks in self._marks.values():
            self._place(marks)
        self.faults.sort()

    def _finish(self, computed: ComputedValue, one: CitedValue, end: BundleEnd) -> None:
        try:
            of_runs = computed.marks["data-rule"] == "runs"
            if computed.lacking:
                self._lacks(one, end.state(computed.lacking))
            elif of_runs and not set(computed.keys) <= set(end.shown):
                self._lacks(one, IS_ABSENT)
            else:
                self._compare(one, computed.value(end))
        except ODD as error:
            self._fault(one, f"it leads nowhere: {error}")

    def _compare(self, one: CitedValue, value: JsonValue) -> None:
        form, event = one.marks.get("data-as", "line"), one.marks.get("data-event")
        self._judge(one, valued(value), shown(value, form, event))
        if one.mark is not None:
            numbers = numbers_of(value, one.mark.kind, log=one.log)
            self._marks.setdefault(one.figure, []).append((numbers, one))

    def _lacks(self, one: CitedValue, state: str) -> None:
        self._judge(one, state, state)
        if one.mark is not None:
            self._fault(one, "a mark without a number")

    def _judge(self, one: CitedValue, value: str, text: str) -> None:
        told = one.marks.get("value" if one.mark is None else "data-value")
        if told != value:
            self._fault(one, f"the record has {value:.80}, the page {told!a:.80}")
        elif one.text != text:
            self._fault(
                one, f"the record is shown as {text!a:.80}, not {one.text!a:.80}"
            )
        elif one.mark is None and one.marks.get("title") != reference(one.marks):
            self._fault(one, "its title is not its citation")
        else:
            self.compared += 1

    def _place(self, marks: list[tuple[tuple[float, ...], CitedValue]]) -> None:
        """Require the marks of a picture to be where their numbers are on its scale."""
        every = [number for numbers, _ in marks for number in numbers]
        for numbers, one in marks:
            places = () if one.mark is None else one.mark.places
            if len(numbers) != len(places):
                self._fault(one, "a mark without a number")
                continue
            scale = GraphScale.of(every, log=one.log)
            for number, place in zip(numbers, places, strict=True):
                if not abs(float(place) - scale.at(number)) <= HALF:
                    self._fault(one, "the mark is not where its number belongs")

    def _fault(self, one: CitedValue, what: str) -> None:
        self.faults.append((one.line, what))
