"""`Ledger.runs` against the list that it should give: any log, any filters."""

from __future__ import annotations

import itertools
import json
import tempfile
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge import Forge
from muniment.errors import UsageError
from muniment.formats.lifecycle import LIFE, STATUSES
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.queries.effect_stats import EffectTally, total
from muniment.queries.filters import EventFilters, RunFilters
from muniment.queries.run_summary import RunSummaries, RunSummary
from muniment.storage import lookup

RUNS = [f"01JD3Z8M6Q4W0V9K2T7N5RY{one}" for one in ("AAA", "AAB", "ABB", "BBB", "CCC")]
NAMES = ["triage", "nightly-1", "nightly-2"]
PROGRAMS = [None, {"import": "jobs:clean"}, {"import": "jobs:sort", "name": "sort"}]
LABELS = [{}, {"team": "a"}, {"team": "b", "night": "1"}]
DIGEST = "sha256:" + "ab" * 32
SERIES = "claims/speed"


def _step(forge: Forge, kind: str, run: str, at: int, choice: int) -> None:
    """Add one event of *run*, of which *choice* settles the details."""
    place: dict[str, Any] = {
        "run": run,
        "tenant": "ab"[choice % 2],
        "actor": "xyz"[choice % 3],
    }
    if kind == "run.started":
        data: dict[str, Any] = {"name": NAMES[choice % 3], "seed": "0"}
        data["labels"] = LABELS[choice % 3]
        if PROGRAMS[at % 3]:
            data["program"] = PROGRAMS[at % 3]
        forge.append(kind, data, **place)
    elif kind == "run.completed":
        forge.end_run(run)
    elif kind == "run.failed":
        status = ("failed", "refused", "diverged")[choice % 3]
        forge.end_run(run, kind, status=status, error_type="E", message="m")
    elif kind in LIFE:
        resumed = {"generation": at, "owner": {}} if kind == "run.resumed" else {}
        forge.append(kind, {"reason": "so", **resumed}, **place)
    elif kind == "tool.requested":
        forge.append(kind, {"request": {"number": choice}}, **place)
    else:
        series: dict[str, Any] = (
            {"series": {SERIES: {"count": 1}}} if choice % 2 else {}
        )
        about = [{"name": "s", "digest": {"sha256": DIGEST[7:]}}]
        subject = about if choice % 3 else None
        text = {"text": f'no {choice} "ü"'}
        forge.append(kind, text, subject=subject, **place, **series)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["run.started", "note.added", "tool.requested", *sorted(LIFE)]),
        st.sampled_from(RUNS),
        st.integers(0, 11),
    ),
    max_size=40,
)
"""What happens, in any order: also what no writer of ours would sign."""


def _written(steps: list[tuple[str, str, int]], place: Path) -> Path:
    forge = Forge("one").open()
    for at, (kind, run, choice) in enumerate(steps):
        _step(forge, kind, run, at, choice)
    return forge.write(place / "ledger.db")


def _naive(
    ledger: Ledger, events: list[Event], wanted: dict[str, Any]
) -> list[RunSummary]:
    """Return what should be listed: every filter, over all events."""
    starts: dict[str, Event] = {}
    for one in events:
        if one.type == "run.started" and one.run is not None:
            starts.setdefault(one.run, one)
    found: list[RunSummary] = []
    for run, start in starts.items():
        record = ledger.project(RunSummaries, run=run)
        mine = (one for one in events if one.run == run)
        if _begins(record, start, wanted) and any(_passes(one, wanted) for one in mine):
            found.append(record)
    if wanted["order"] == "desc":
        found.reverse()
    return found[: wanted["limit"]]


def _begins(record: RunSummary, start: Event, wanted: dict[str, Any]) -> bool:
    program: Any = start.raw.get("program") or {}
    names = [one for one in (program.get("name"), program.get("import")) if one]
    labels: Any = start.raw.get("labels")
    return (
        _is(wanted["status"], lambda one: record.status in one.split(","))
        and _is(wanted["name"], lambda one: _like(start.raw["name"], one))
        and _is(wanted["program"], lambda one: any(_like(name, one) for name in names))
        and _is(wanted["labels"], lambda one: {**labels, **one} == labels)
        and _is(wanted["run"], record.id.startswith)
        and _is(wanted["since"], lambda one: start.when >= one)
        and _is(wanted["until"], lambda one: start.when < one)
        and _is(wanted["actor"], lambda one: start.actor == one)
        and _is(wanted["tenant"], lambda one: start.tenant == one)
        and _is(wanted["from_seq"], lambda one: start.seq >= one)
        and _is(wanted["to_seq"], lambda one: start.seq < one)
    )


def _passes(event: Event, wanted: dict[str, Any]) -> bool:
    about = [one.digest for one in event.subject]
    keys = [one.key for one in event.series]
    return (
        _is(wanted["type"], lambda one: _named(event.type, one))
        and _is(wanted["subject"], lambda one: one in about)
        and _is(wanted["series"], lambda one: one in keys)
        and _is(wanted["grep"], lambda one: one in _texts(json.loads(event.payload)))
    )


def _named(kind: str, globs: str) -> bool:
    return any(_like(kind, one) for one in globs.split(","))


def _texts(value: Any) -> str:
    """Return all texts in *value*, one after the other."""
    if isinstance(value, dict):
        return "\n".join(f"{key}\n{_texts(one)}" for key, one in value.items())
    if isinstance(value, list):
        return "\n".join(map(_texts, value))
    return str(value)


def _like(value: Any, glob: str) -> bool:
    return fnmatchcase(str(value), glob)


def _is(asked: Any, holds: Any) -> bool:
    return asked is None or bool(holds(asked))


OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from([*STATUSES, "failed,open", "open,completed,canceled"]),
    "name": st.sampled_from(["triage", "nightly-*", "nightly-?", "*-[2-9]", "none"]),
    "program": st.sampled_from(["jobs:*", "sort", "jobs:clean", "x*"]),
    "labels": st.sampled_from([{}, {"team": "a"}, {"night": "1", "team": "b"}]),
    "run": st.sampled_from(RUNS),
    "since": st.integers(0, 45),
    "until": st.integers(0, 45),
    "actor": st.sampled_from([*"xyz", "nobody"]),
    "tenant": st.sampled_from("ab"),
    "type": st.sampled_from(["note.added", "tool.*", "run.[cf]*,note.?dded", "*", "q"]),
    "subject": st.sampled_from([DIGEST, "sha256:" + "0" * 64]),
    "series": st.sampled_from([SERIES, "claims/none"]),
    "grep": st.sampled_from(["no 1", '"ü"', "zzz"]),
    "from_seq": st.integers(0, 42),
    "to_seq": st.integers(0, 42),
    "limit": st.integers(0, 6),
}


def test_every_filter_is_tried() -> None:
    """The property below draws each word of the grammar."""
    assert {*OPTIONS, "order"} == {*RunFilters.__annotations__}
    assert {*EventFilters.__annotations__} < {*RunFilters.__annotations__}


@settings(max_examples=80, deadline=None)
@given(data=st.data(), steps=STEPS, page=st.sampled_from([1, 2, 500]))
def test_runs_are_a_list_comprehension(
    data: st.DataObject, steps: list[tuple[str, str, int]], page: int
) -> None:
    """For any log and any filters, the naive filter over all events gives the same."""
    with (
        tempfile.TemporaryDirectory() as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(lookup, "PAGE", page)
        patch.setattr(lookup, "_APART", data.draw(st.sampled_from([0, 2, 50])))
        file = _written(steps, Path(place))
        with Ledger.open(file, home=f"{place}/home", plugins=()) as ledger:
            events = list(ledger.events())
            for _ in range(6):
                wanted = _drawn(data, events)
                found = list(ledger.runs(**wanted))
                asked: dict[str, Any] = dict.fromkeys(OPTIONS)
                assert found == _naive(ledger, events, {**asked, **wanted})


def _drawn(data: st.DataObject, events: list[Event]) -> dict[str, Any]:
    """Return filters; a run that is asked for is one of the log."""
    chosen = data.draw(st.sets(st.sampled_from(sorted(OPTIONS)), max_size=4))
    wanted = {name: data.draw(OPTIONS[name], name) for name in sorted(chosen)}
    known = sorted({one.run for one in events if one.run})
    if "run" in wanted and wanted["run"] not in known:
        del wanted["run"]
    for name in {"since", "until"} & chosen:
        wanted[name] = events[0].when + timedelta(milliseconds=7 * wanted[name] - 3)
    return {**wanted, "order": data.draw(st.sampled_from(["asc", "desc"]), "order")}


def _program(run: Any) -> int:
    return int(run.effect("tool", {"name": "n"}, perform=lambda _: 1))


def test_a_list_is_read_as_it_is_used(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes two runs has two folded, whatever else the log holds."""
    runs = [ledger.execute(_program, name="p").run_id for _ in range(6)]
    folded: list[str] = []
    view = RunSummaries.view

    def counted(self: RunSummaries, state: Any) -> RunSummary:
        folded.append(state["id"])
        return view(self, state)

    monkeypatch.setattr(RunSummaries, "view", counted)
    newest = ledger.runs(status="completed", order="desc")
    assert folded == []
    assert [one.id for one in itertools.islice(newest, 2)] == [runs[5], runs[4]]
    assert folded == [runs[5], runs[4]]


def test_a_status_is_the_one_that_was_asked_for(ledger: Ledger) -> None:
    """A run that ends while the list is read is not listed as open."""
    with ledger.run("a"), ledger.run("b"):
        found = ledger.runs(status="open")
        assert next(found).name == "a"
    assert list(found) == []
    assert [one.name for one in ledger.runs(status="completed")] == ["a", "b"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"stauts": "failed"}, "no filter 'stauts'.*did you mean status"),
        ({"label": {}}, "no filter 'label'.*did you mean labels"),
        ({"zzz": 1}, "no filter 'zzz'.*there are actor, from_seq"),
        ({"status": "faild"}, "no status 'faild'.*did you mean failed"),
        ({"status": "open,complete"}, "no status 'complete'.*completed"),
        ({"status": ""}, "no status ''"),
        ({"since": "soon"}, "not a time"),
        ({"subject": "sha256:12"}, "no digest begins"),
        ({"order": "up"}, "asc or desc"),
        ({"limit": -1}, "limit"),
        ({"run": "01ZZ"}, "no run"),
    ],
)
def test_what_cannot_be_asked(
    ledger: Ledger, wanted: dict[str, Any], message: str
) -> None:
    """A filter that means nothing is refused at once; a misspelt one has a nearest."""
    with pytest.raises(UsageError, match=f"(?s){message}"):
        ledger.runs(**wanted)


@pytest.mark.parametrize("word", ["typ", "limits", "name", "status"])
def test_what_cannot_be_asked_of_events(ledger: Ledger, word: str) -> None:
    """Events have one grammar too: an unknown filter is refused, not ignored."""
    asked: Any = {word: None}
    with pytest.raises(UsageError, match=f"no filter '{word}'"):
        ledger.events(**asked)


def test_every_life_has_a_status(tmp_path: Path) -> None:
    """Any three lifecycle events in any order: a run is listed by its own status."""
    lives = [
        (first, *rest)
        for first in sorted(LIFE)
        for rest in itertools.product(sorted(LIFE), repeat=2)
    ]
    runs = [f"01JD3Z8M6Q4W0V9K2T7N5R{number:04}" for number in range(len(lives))]
    steps = [
        (life[at], run, at)
        for at in range(3)
        for run, life in zip(runs, lives, strict=True)
    ]
    file = _written(steps, tmp_path)
    with Ledger.open(file, home=tmp_path / "home", plugins=()) as ledger:
        listed = list(ledger.runs())
        begun = {
            run for run, life in zip(runs, lives, strict=True) if "run.started" in life
        }
        assert {one.id for one in listed} == begun
        for status in STATUSES:
            wanted = [one for one in listed if one.status == status]
            assert list(ledger.runs(status=status)) == wanted
            assert list(ledger.runs(status=status, order="desc")) == wanted[::-1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_parts_add_up(tmp_path: Path, order: Literal["asc", "desc"]) -> None:
    """Tallies of each run, added, are those of the ledger."""
    steps = [
        *(("run.started", run, 0) for run in RUNS),
        *(("tool.requested", run, at) for at, run in enumerate(RUNS * 2)),
        ("note.added", RUNS[0], 0),
    ]
    file = _written(steps, tmp_path)
    with Ledger.open(file, home=tmp_path / "home", plugins=()) as ledger:
        each = (
            ledger.project(EffectTally, run=one.id) for one in ledger.runs(order=order)
        )
        assert total(each) == ledger.project(EffectTally)
