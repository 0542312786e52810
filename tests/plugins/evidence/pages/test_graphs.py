"""Pictures: each number has one place, and each rule one answer."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.encoding.canonical import JsonValue
from muniment.errors import ErasedError, UsageError
from muniment.formats.statement import Event
from muniment.verification.page.marks import (
    AXIS,
    DRAWN,
    FIGURES,
    GraphScale,
    numbers_of,
    read_mark,
)
from muniment.verification.page.quotes import plain, tagged, total
from muniment_plugins.evidence.report.graphs import drawn, figure
from muniment_plugins.evidence.report.record import Quote, RunReader

FLOATS = st.floats(-1e140, 1e140)
NUMBERS = FLOATS | st.integers(-(2**53) + 1, 2**53 - 1)
LOST = "<p>Some numbers have no dot: erased, withheld, or beyond the line.</p>\n"
POSITIVE = st.floats(1e-300, 1e140)


@dataclass
class Measurements:
    """A source of events that each measured one number."""

    values: list[JsonValue]
    erased: set[int] = field(default_factory=set[int])

    def event(self, seq: int) -> Event:
        """Return the event with number *seq*; erased ones refer to a blob."""
        value = self.values[seq]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        raw: dict[str, JsonValue] = {
            "n": tagged(cast("float", value)) if number else value
        }
        if seq in self.erased:
            raw = {"n": {"$blob": "sha256:0", "size": 1}}
        return cast(
            "Event", SimpleNamespace(fault="", seq=seq, raw=raw, scope=f"s/{seq}")
        )

    def events(self, **_: object) -> Iterator[Event]:
        """Yield all."""
        yield from map(self.event, range(len(self.values)))

    def get_blob(self, _: object) -> bytes:
        """Say that it was erased."""
        raise ErasedError("gone", rule="blob/erased")


def reader(values: list[Any], erased: tuple[int, ...] = ()) -> RunReader:
    """Return a reader of events that measured *values*."""
    source = Measurements(values, set(erased))
    return RunReader(cast("Any", source), "R", len(values))


def change(first: int, second: int) -> dict[str, JsonValue]:
    """Return the citation of a change."""
    return {"rule": "change", "of": f"{first},{second}", "scope": "s", "path": "/n"}


def at(seq: int) -> dict[str, JsonValue]:
    """Return the citation of a number."""
    return {"event": seq, "path": "/n"}


@given(st.lists(NUMBERS, min_size=1), st.data())
def test_a_change_is_in_percent_of_a_mean(values: list[float], data: Any) -> None:
    """It is 100 (a - b) / |mean|, whatever order the events were read in."""
    mean = total(values) / len(values)
    a, b = (data.draw(st.integers(0, len(values) - 1)) for _ in "ab")
    record = reader(values)
    if not mean:
        with pytest.raises(UsageError):
            record.value(change(a, b))
        return
    found, opposite = (
        cast("float", plain(record.value(change(*both)))) for both in ((a, b), (b, a))
    )
    assert found == 100 * (float(values[a]) - float(values[b])) / abs(mean)
    assert found == -opposite


@pytest.mark.parametrize(
    "of",
    [
        "",
        "0",
        "0,1,2",
        "0,9",
        "00,1",
        "0,01",
        "-1,0",
        "0,\u0661",
        "0, 1",
        "9" * 30,
        "0,x",
    ],
)
def test_a_change_of_anything_but_two_events_leads_nowhere(of: str) -> None:
    """Neither of one, nor of three, nor of some that there are not."""
    with pytest.raises(UsageError):
        reader([1, 2, 3]).value({**change(0, 1), "of": of})


@pytest.mark.parametrize("value", [True, None, "1", {"$float": "nan"}, [1]])
def test_what_is_no_number_has_no_change(value: JsonValue) -> None:
    """Nor a minus."""
    with pytest.raises(UsageError):
        reader([value, 1]).value(change(0, 1))


def test_a_change_that_rests_on_something_erased() -> None:
    """Says so, also if only the mean rests on it."""
    record = reader([1, 2, 3], erased=(2,))
    assert record.quote(change(0, 1)).value == "erased"
    assert record.quote(change(2, 1)).value == "erased"


def test_the_numbers_of_scales() -> None:
    """No more than two: a section states no number of its own."""
    record = reader([5])
    assert [record.value({"rule": one}) for one in ("zero", "one")] == [0, 1]
    assert record.value({"rule": "minus", "of": "0", "path": "/n"}) == -5
    with pytest.raises(UsageError):
        record.value({"rule": "two", "path": "/n"})


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_the_order_of_numbers_is_that_of_places(numbers: list[float]) -> None:
    """The least is at the left edge, the largest at the right, all others in between."""
    scale = GraphScale.of(numbers, log=False)
    places = [float(scale.left(one)) for one in sorted(numbers)]
    assert places == sorted(places)
    assert all(8 <= one <= 352 for one in places)
    if min(numbers) < max(numbers):
        assert (places[0], places[-1]) == (8, 352)


@given(st.lists(POSITIVE, min_size=1, max_size=6))
def test_on_powers_of_ten(numbers: list[float]) -> None:
    """The same order; each power of ten is as wide as any other."""
    scale = GraphScale.of(numbers, log=True)
    places = [float(scale.left(one)) for one in sorted(numbers)]
    assert places == sorted(places)
    ruler = GraphScale(1e-3, 1.0, log=True)
    assert [ruler.left(one) for one in (1e-3, 1e-2, 0.1, 1.0)] == [
        *("8.0", "122.7", "237.3", "352.0")
    ]


@pytest.mark.parametrize(
    ("value", "kind", "log", "numbers"),
    [
        (1, "dot", False, (1.0,)),
        ({"$float": "1.0"}, "dot", False, (1.0,)),
        ({"$float": "inf"}, "dot", False, ()),
        (1e301, "dot", False, ()),
        (True, "dot", False, ()),
        ("1", "dot", False, ()),
        ([1, 2], "dot", False, ()),
        ([1, 2], "span", False, (1.0, 2.0)),
        ([1, {"$float": "2.0"}], "span", False, (1.0, 2.0)),
        ([1], "span", False, ()),
        ([1, 2, 3], "span", False, ()),
        ([1, None], "span", False, ()),
        (1, "span", False, ()),
        (0, "dot", True, ()),
        (-1, "full", True, ()),
        ([0, 1], "span", True, ()),
        (0.5, "dashed", True, (0.5,)),
    ],
)
def test_what_has_a_place(
    value: JsonValue, kind: str, log: bool, numbers: tuple[float, ...]
) -> None:
    """Finite numbers, two for a span; above zero where the scale has no zero."""
    assert numbers_of(value, kind, log=log) == numbers


@given(
    st.sampled_from(["dot", "span", "full", "dashed"]),
    st.text(),
    st.text(),
    st.text(),
)
def test_whatever_is_drawn_is_read_again(
    kind: str, value: str, text: str, path: str
) -> None:
    """As one mark, whatever its texts hold."""
    text = "".join(one for one in text if one.isprintable())
    quote = Quote(value, text, {"data-event": "7", "data-path": path})
    written = drawn(kind, quote, ("8.0", "9.0") if kind == "span" else ("8.0",))
    found = read_mark(written)
    assert found is not None
    assert re.fullmatch(DRAWN, written)
    assert found.kind == kind
    assert found.places == (("8.0", "9.0") if kind == "span" else ("8.0",))


@given(
    st.lists(st.lists(NUMBERS, max_size=3), min_size=1, max_size=3),
    st.lists(NUMBERS, max_size=2),
    st.booleans(),
)
def test_every_number_of_a_picture_is_in_it(
    rows: list[list[float]], lines: list[float], log: bool
) -> None:
    """Once in its row, and lines in each; but for those that have no place on a scale."""
    numbers = [*itertools.chain(*rows, lines)]
    record, seqs = reader(list(numbers)), itertools.count()
    shown = [{"name": "x", "points": [at(next(seqs)) for _ in row]} for row in rows]
    graph = {"rows": shown, "dashed": [at(next(seqs)) for _ in lines], "log": log}
    html = "".join(figure(record, graph, lambda _: ""))
    fit = [[one for one in row if one > 0 or not log] for row in [*rows, lines]]
    lost = sum(map(len, rows)) > sum(map(len, fit[:-1]))
    assert html.startswith(LOST) is lost
    html = html.removeprefix(LOST)
    if not any(fit[:-1]):
        assert html == ""
        return
    marks = [one[0] for one in re.finditer(DRAWN, html)]
    dots = [one for one in marks if one.startswith("<circle")]
    assert len(dots) == sum(map(len, fit[:-1]))
    assert len(marks) - len(dots) == len(fit[-1]) * len(rows)
    rest = re.sub(DRAWN, "", html)
    for word in (
        *(AXIS, *FIGURES, "</svg>", "</figure>"),
        "<div></div>",
        "<figcaption>",
        "</figcaption>",
        "<span>to</span>",
        "\n",
    ):
        rest = rest.replace(word, "")
    assert rest == ""


def test_a_picture_of_what_was_erased() -> None:
    """What is left is drawn, nothing if nothing is, and that something lacks is said."""
    record = reader([1, 2], erased=(0,))
    row = {"name": "x", "points": [at(0), at(1)]}
    html = "".join(figure(record, {"rows": [row]}, json.dumps))
    assert html.startswith(LOST)
    assert html.count("<circle") == 1
    none = {"rows": [{"name": "x", "points": [at(0)]}], "full": [{"rule": "zero"}]}
    assert "".join(figure(record, none, json.dumps)) == LOST
