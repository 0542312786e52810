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
- Contents are read once for each event, however often a page cites them.
- The marks of the run are the first values on the page.
- The page is believed in nothing. Its words are its writer's; they say no number.

Specification: ``docs/spec/report.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.verification.page.computed import (
    ODD,
    OF_RULE,
    OF_RUN,
    SAYS_WITHHELD,
    BundleEnd,
    ComputedValue,
    Lacking,
)
from muniment.verification.page.frame import CitedValue, read_page
from muniment.verification.page.marks import GraphScale, numbers_of
from muniment.verification.page.quotes import (
    CONSTANTS,
    Content,
    LeadsNowhere,
    follow,
    is_pointer,
    reference,
    valued,
)
from muniment.verification.page.run_marks import RunMarks
from muniment.verification.page.wording import (
    IS_ABSENT,
    IS_WITHHELD,
    shown,
)

__all__ = ["BundleEnd", "Lacking", "PageComparison"]

MOST_RULES = 1_000
"""How many values of a page may each follow from many events."""
HALF = 0.0501
"""How far a mark may be from its place: it is written with one digit."""
FORMS = {"block", "verdict", "name", "path"}
HEADS = ("actor", "run", "scope", "seq", "tenant", "time", "type")


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
        self._ends: dict[int, tuple[float, ...]] = {}
        self._run_marks = RunMarks()
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
        pointers = marks.keys() & {"data-path", "data-head"}
        odd |= {name for name in pointers if not is_pointer(marks[name])}
        odd |= others - marks.keys() or ({"data-value"} & marks.keys()) - others
        number = marks.get("data-event", "")
        if odd or marks.get("data-as", "block") not in FORMS:
            self._fault(one, "it does not cite as a report does")
        elif "rule" in named:
            computed, rule = ComputedValue(marks), marks["data-rule"]
            good = named - {"rule"} <= OF_RULE.get(rule, set())
            own = rule not in OF_RUN or marks.get("data-run") == self.page.run
            if not (good and own and computed.names_all()):
                self._fault(one, "it does not name what it follows from")
                return
            self._computed.setdefault(reference(marks), (computed, []))[1].append(one)
            if len(self._computed) > MOST_RULES:
                self._fault(one, f"it has more than {MOST_RULES} values of many events")
        elif number.isdecimal() and named <= {"event", "path", "head", "as"}:
            if (
                marks.get("data-as") == "verdict"
                and marks.get("data-path") != "/passed"
            ):
                self._fault(one, "it shows as a verdict what is none")
            if number != str(int(number[:18])) or {"path", "head"} <= named:
                self._fault(one, "it does not cite as a report does")
            self._events.setdefault(int(number[:18]), []).append(one)
        else:
            self._fault(one, "it does not cite as a report does")

    def take(self, statement: Any, leaf: str, keyid: str, ledger: str) -> None:
        """Compare whatever cites this event."""
        chain = statement["predicate"]["muniment"]
        data = cast("JsonValue", statement["predicate"]["data"])
        content = self._once()
        self._run_marks.take(chain.get("run"), chain["type"], chain["seq"], data)
        if cited := self._events.pop(chain["seq"], []):
            beside = {"hash": leaf, "key": keyid, "ledger": ledger}
            self._compare_all(cited, _head(chain, beside), data, content)
        for computed, _ in self._computed.values():
            computed.take(chain, data, content)

    def _compare_all(
        self,
        cited: list[CitedValue],
        head: Mapping[str, JsonValue],
        data: JsonValue,
        content: Content,
    ) -> None:
        """Compare what cites one event; what is cited twice is looked up and spelled once."""
        told: dict[tuple[str, str | None], tuple[Any, ...]] = {}
        for one in cited:
            key = reference(one.marks), one.marks.get("data-as")
            try:
                if key not in told:
                    value = self._value(one, head, data, content)
                    told[key] = (value, *_spelled(one, value))
                self._judge_value(one, *told[key])
            except Lacking as missing:
                self._late.append((one, str(missing)))
            except ODD as error:
                self._fault(one, f"it leads nowhere: {error}")

    def _once(self) -> Content:
        """Return what gives contents, each read once for an event, however often cited."""
        known: dict[tuple[str, str], JsonValue] = {}

        def content(ref: Mapping[str, JsonValue]) -> JsonValue:
            key = str(ref.get("$blob")), str(ref.get("media"))
            if key not in known:
                known[key] = self._content(ref)
            return known[key]

        return content

    def _value(
        self,
        one: CitedValue,
        head: Mapping[str, JsonValue],
        data: JsonValue,
        content: Content,
    ) -> JsonValue:
        path = one.marks.get("data-head", one.marks.get("data-path", ""))
        form = one.marks.get("data-as")
        if "data-head" in one.marks:
            value = follow(dict(head), path, content)
        elif form == "path" and path.count("/") == 1 and "~" not in path:
            if path[1:] not in cast("dict[str, JsonValue]", data):
                raise LeadsNowhere(path)
            return path[1:]  # a name is shown, whether its content is here or not
        else:
            value = follow(data, path, content)
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
        hidden = end.withheld_events or end.withheld_blobs
        if hidden and not self._computed.keys() >= SAYS_WITHHELD:
            self.faults.append((1, "it does not say how much is withheld"))
        if unsaid := self._run_marks.unsaid(run, self.page.cited):
            self.faults.append((1, unsaid))
        self._finish_pictures()
        self.faults.sort()

    def _finish_pictures(self) -> None:
        for marks in self._marks.values():
            self._place(marks)
        beside: dict[int, list[CitedValue]] = {}
        for one in self.page.cited:
            if one.is_end:
                beside.setdefault(one.figure, []).append(one)
        for figure, ends in beside.items():
            self._compare_ends(ends, self._marks.get(figure, []))

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
        self._judge_value(one, value, *_spelled(one, value))

    def _judge_value(
        self, one: CitedValue, value: JsonValue, stated: str, text: str
    ) -> None:
        self._judge(one, stated, text)
        if one.mark is not None:
            numbers = numbers_of(value, one.mark.kind, log=one.log)
            self._marks.setdefault(one.figure, []).append((numbers, one))
        elif one.is_end:
            numbers = numbers_of(value, "dot", log=False)
            self._ends[id(one)] = numbers

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

        drawn = Counter(
            (one.row, one.written.partition(" data-")[2]) for _, one in marks
        )
        for _, one in marks:
            if drawn[one.row, one.written.partition(" data-")[2]] > 1:
                self._fault(one, "the same mark is drawn twice")

    def _compare_ends(
        self,
        ends: list[CitedValue],
        marks: list[tuple[tuple[float, ...], CitedValue]],
    ) -> None:
        """Require what is beside a picture to be the ends of its scale."""
        every = [number for numbers, _ in marks for number in numbers]
        told = [number for one in ends for number in self._ends.get(id(one), ())]
        if not every or told != [min(every), max(every)]:
            self._fault(ends[0], "the ends of a scale are not its numbers")

    def _fault(self, one: CitedValue, what: str) -> None:
        self.faults.append((one.line, what))


def _spelled(one: CitedValue, value: JsonValue) -> tuple[str, str]:
    """Return *value* as the attribute has it, and as it is shown."""
    form, event = one.marks.get("data-as", "line"), one.marks.get("data-event")
    return valued(value), shown(value, form, event)


def _head(
    chain: Mapping[str, Any], beside: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return what an event says beside its data."""
    series = cast("dict[str, Any]", chain.get("series", {}))
    counts: JsonValue = {key: one["count"] for key, one in series.items()}
    return {**{name: chain.get(name) for name in HEADS}, **beside, "series": counts}
