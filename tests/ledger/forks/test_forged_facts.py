"""What a fork states as its origin did is compared; its own words are counted and named.

Rules: in each case a real fork is written again with one lie about its facts, which the
writer's own key signs, and renumbered, so that every other rule holds. A lie is found, or
one fact more counts as not compared.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from forged_copies import Entry, ForkedRuns, runs_in
from muniment import hookimpl
from muniment.events.fields import PlainData
from muniment.events.types import VOLATILE, EventType
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.verification.verify import Report, verify
from steps import echo

FACTS = "facts of forks"
LIFE = "run."
ABOUT = ("c", "sha256:" + "6" * 64)


class Seen(PlainData):
    """What a plugin's fact says."""

    what: str
    took: Annotated[int, VOLATILE] = 0


class Seeing:
    """A plugin with a type of facts, which refuses a note that shouts."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Declare it."""
        return [EventType("sensor.seen", Seen)]

    @hookimpl
    def before_append(self, data: dict[str, Any]) -> str | None:
        """Refuse it."""
        return "too loud" if data.get("text") == "loud!" else None


def stating(run: Run, took: int = 0) -> object:
    """State facts before, between and after effects and a reading, in three scopes."""
    run.record("note.added", {"text": "a"})
    run.record("sensor.seen", {"what": "door", "took": took})
    told = run.effect("tool", "x", echo)
    run.record("note.added", {"text": "b"})
    run.record("note.added", {"text": "b"})
    run.now()
    run.record("note.added", {"text": "c", "details": ["x" * 5_000]}, subject=[ABOUT])
    try:
        run.record("note.added", {"text": "loud!"})
    except Exception:  # noqa: BLE001 - the plugin's
        told = [told, "refused"]
    with run.scope("hotel") as lane:
        lane.record("note.added", {"text": "d"})
        told = lane.effect("tool", told, echo)
        lane.record("sensor.seen", {"what": "bed"})
    with run.scope("bar/below") as lane:
        lane.record("note.added", {"text": "e"})
    told = run.effect("tool", "y", echo)
    run.record("note.added", {"text": "f"})
    return run.effect("tool", "last", echo)


def beyond(run: Run) -> object:
    """State more once the fork is live."""
    told = stating(run)
    run.record("note.added", {"text": "live"})
    run.record("sensor.seen", {"what": "live"})
    return [told, run.effect("tool", "live", echo)]


def written(folder: Path, program: Callable[[Run], object]) -> ForkedRuns:
    """Return a run, and a fork of it that is answered up to the last fact."""
    place = folder / "real" / "ledger.db"
    with Ledger.create(place, plugins=Plugins((), {"seeing": Seeing()})) as ledger:
        done = ledger.execute(stating)
        assert done.ok, done.error
        last = [*ledger.events(run=done.run_id, type="note.added")][-1]
        fork = ledger.fork(done.run_id, at=last.seq, program=program)
        assert fork.ok, fork.error
    return runs_in(place, done.run_id, fork.run_id)


@pytest.fixture(scope="module", params=[stating, beyond], ids=["same", "more"])
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ForkedRuns:
    """Return the run and its fork."""
    return written(tmp_path_factory.mktemp("runs"), request.param)


def is_fact(entry: Entry) -> bool:
    """Tell whether *entry* is a fact, or the refusal of one."""
    known = ("note.added", "sensor.seen", "plugin.refused")
    return entry.kind in known


def of_prefix(runs: ForkedRuns) -> list[Entry]:
    """Return the facts of the fork that repeat its origin's."""
    mine = [*runs.of_fork()]
    last = next(n for n, one in enumerate(mine) if one.data.get("text") == "f")
    return [one for one in mine[: last + 1] if is_fact(one)]


def renumbered(runs: ForkedRuns, entries: list[Entry]) -> None:
    """Give the events of the fork their places anew, as they come now."""
    free: dict[str, int] = {}
    kept: dict[tuple[str, int], int] = {}
    for one in entries:
        if one.chain.get("run") != runs.fork:
            continue
        scope, was = one.chain["scope"], one.chain["ordinal"]
        verb = one.kind.rpartition(".")[2]
        if verb in ("completed", "failed") and (scope, was) in kept:
            one.chain["ordinal"] = kept[scope, was]
            continue
        one.chain["ordinal"] = free.get(scope, 0)
        free[scope] = one.chain["ordinal"] + 1
        if verb == "requested":
            kept[scope, was] = one.chain["ordinal"]


def counted(report: Report) -> tuple[int, int]:
    """Return how many facts of forks were compared, and how many were not."""
    (found,) = (one for one in report.counts if one.what == FACTS)
    assert found.total == found.compared + found.unchecked
    return found.compared, found.unchecked


Change = Callable[[ForkedRuns, list[Entry], Entry], None]


def dropped(_: ForkedRuns, all_: list[Entry], one: Entry) -> None:
    """Leave it out."""
    all_.remove(one)


def changed(runs: ForkedRuns, _: list[Entry], one: Entry) -> None:
    """Let it say something else."""
    name = next(name for name in ("text", "what", "reason") if name in one.data)
    one.data[name] = "lie"
    if "details" in one.data:
        one.data["details"] = runs.refer(json.dumps("lie").encode())


def details(runs: ForkedRuns, _: list[Entry], one: Entry) -> None:
    """Let it say more."""
    one.data["details"] = runs.refer(b'"lie"')


def retyped(_: ForkedRuns, __: list[Entry], one: Entry) -> None:
    """Let it be a fact of another type."""
    one.kind = "sensor.heard"


def about(_: ForkedRuns, __: list[Entry], one: Entry) -> None:
    """Let it be about something else."""
    one.subject = [{"name": "lie", "digest": {"sha256": "5" * 64}}]


def of_tenant(_: ForkedRuns, __: list[Entry], one: Entry) -> None:
    """Let it be somebody else's."""
    one.chain["tenant"] = "lie"


def of_version(_: ForkedRuns, __: list[Entry], one: Entry) -> None:
    """Let it be of another version."""
    one.chain["version"] = 2


def moved(scope: str) -> Change:
    """Return what states it in another scope."""

    def change(_: ForkedRuns, __: list[Entry], one: Entry) -> None:
        one.chain["scope"] = scope

    return change


def doubled(_: ForkedRuns, all_: list[Entry], one: Entry) -> None:
    """State it twice."""
    twin = copy.deepcopy(one)
    twin.seq = 0
    all_.insert(all_.index(one), twin)


def later(runs: ForkedRuns, all_: list[Entry], one: Entry) -> None:
    """State it after the next effect of its scope; not at all if there is none."""
    _past(runs, all_, one, 1)


def earlier(runs: ForkedRuns, all_: list[Entry], one: Entry) -> None:
    """State it before the last effect of its scope; not at all if there is none."""
    _past(runs, all_, one, -1)


def _past(runs: ForkedRuns, all_: list[Entry], one: Entry, way: int) -> None:
    scope = one.data["scope"] if one.kind == "plugin.refused" else one.chain["scope"]
    mine = [
        each
        for each in all_
        if each.chain.get("run") == runs.fork
        and (each.chain["scope"] == scope or each is one)
        and not each.kind.startswith(LIFE)
    ]
    there = mine[mine.index(one) :: way]
    verb = "completed" if way > 0 else "requested"
    where = next((each for each in there if each.kind.endswith(verb)), None)
    all_.remove(one)
    if where is not None:
        all_.insert(all_.index(where) + (way > 0), one)


CHANGES: dict[str, Change] = {
    "dropped": dropped,
    "changed": changed,
    "with details": details,
    "of another type": retyped,
    "about something else": about,
    "of another tenant": of_tenant,
    "of another version": of_version,
    "in a scope": moved("elsewhere"),
    "in a scope that is there": moved("hotel"),
    "in a scope below": moved("bar/below/it"),
    "in a plugin's lane": moved("plugin/other"),
    "in a performer's": moved("@tool.3"),
    "doubled": doubled,
    "later": later,
    "earlier": earlier,
}
NUMBER = 10


def test_the_fork_without_a_lie(runs: ForkedRuns, tmp_path: Path) -> None:
    """Each of its facts repeats one of its origin's, and counts as compared."""
    assert len(of_prefix(runs)) == NUMBER
    report = runs.judge(tmp_path)
    assert (report.ok, counted(report)) == (True, (NUMBER, 0)), str(report)
    assert f"{FACTS} {NUMBER} of {NUMBER}" in str(report)


@pytest.mark.parametrize("number", range(NUMBER))
@pytest.mark.parametrize("name", CHANGES)
def test_each_lie_about_each_fact(
    runs: ForkedRuns, tmp_path: Path, name: str, number: int
) -> None:
    """It is found, or is not counted as compared, and named."""
    fact = of_prefix(runs)[number]
    where = runs.entries.index(fact)
    if name == "in a scope that is there" and fact.chain["scope"] == "hotel":
        return
    if fact.kind == "plugin.refused" and "scope" in name:
        return  # its lane is the plugin's; what it says names a scope
    if number == NUMBER - 1 and name == "doubled":
        return  # then the second is beyond the event that the fork follows

    def lie(runs: ForkedRuns, all_: list[Entry]) -> None:
        CHANGES[name](runs, all_, all_[where])
        renumbered(runs, all_)

    report = runs.judge(tmp_path, lie)
    compared, own = counted(report)
    assert report.findings or own, str(report)
    if not report.findings and fact.kind != "plugin.refused":
        assert f"of run {runs.fork} are its own words" in " ".join(report.notes)
        assert compared < NUMBER or name == "doubled"


def test_a_fact_that_is_left_out(tmp_path: Path) -> None:
    """A completed fork has as many facts of a type in a scope as its origin has there."""
    runs = written(tmp_path, stating)
    for fact in of_prefix(runs):
        where = runs.entries.index(fact)

        def lie(runs: ForkedRuns, all_: list[Entry], at: int = where) -> None:
            dropped(runs, all_, all_[at])
            renumbered(runs, all_)

        report = runs.judge(tmp_path, lie)
        (found,) = report.findings
        kind = fact.data.get("event_type", fact.kind)
        assert found.rule == "fork/answer"
        assert found.message.endswith(f"states, a {kind}"), found.message


def test_an_erased_content_hides_nothing_else(runs: ForkedRuns, tmp_path: Path) -> None:
    """Where a content was erased, the rest of the fact is still compared."""
    for lies in (False, True):

        def lie(runs: ForkedRuns, all_: list[Entry], lies: bool = lies) -> None:
            fact = next(one for one in of_prefix(runs) if "details" in one.data)
            one = all_[runs.entries.index(fact)]
            one.data["text"] = "lie" if lies else one.data["text"]
            last = copy.deepcopy(all_[-1])
            last.seq, last.kind, last.subject = 0, "blob.erased", []
            last.data = {"blobs": [one.data["details"]["$blob"]], "reason": "x"}
            for name in ("run", "scope", "ordinal", "series"):
                last.chain.pop(name, None)
            all_.append(last)

        report = runs.judge(tmp_path, lie, erased=True)
        (found,) = (one for one in report.counts if one.what == FACTS)
        assert report.ok, str(report)
        assert (found.compared, found.erased) == ((9, 0) if lies else (10, 1))


def test_no_record_answers_in_a_plugins_lane(runs: ForkedRuns, tmp_path: Path) -> None:
    """Hooks are not asked about what is answered: none of their readings is the n-th."""
    for outcome in runs.answered:
        copies = [outcome]
        if outcome.kind != "clock.read":
            copies.append(runs.request_of(outcome))
        places = [runs.entries.index(one) for one in copies]

        def lie(
            runs: ForkedRuns, all_: list[Entry], at: Any = (outcome, places)
        ) -> None:
            there = next(
                one for one in all_ if one.seq == at[0].data["answered_by"]["seq"]
            )
            mine = there.chain["scope"], there.chain["ordinal"]
            for one in all_:
                if (one.chain.get("scope"), one.chain.get("ordinal")) == mine and (
                    one.chain["run"] == runs.origin
                ):
                    one.chain["scope"] = "plugin/p"
            for where in at[1]:
                all_[where].chain["scope"] = "plugin/p"
            renumbered(runs, all_)

        report = runs.judge(tmp_path, lie)
        said = [one.message for one in report.findings if one.rule == "fork/answer"]
        assert any("no record answers there" in one for one in said), str(report)


def gaps(runs: ForkedRuns) -> Iterator[int]:
    """Yield each place up to the last fact that repeats the origin."""
    mine = [n for n, one in enumerate(runs.entries) if one in list(runs.of_fork())]
    last = runs.entries.index(of_prefix(runs)[-1])
    yield from (n for n in mine[1:] if n <= last)


@pytest.mark.parametrize("scope", ["", "hotel", "new/one", "plugin/p", "@tool.3/in"])
@pytest.mark.parametrize("text", ["lie", "a", "f"])
def test_each_fact_that_is_added(
    runs: ForkedRuns, tmp_path: Path, scope: str, text: str
) -> None:
    """One fact more than the origin has is not compared, or is wrong where it is."""
    places = list(gaps(runs))
    if text == "f" and not scope:
        places = places[:-2]  # in the last two it is what the origin states there
    for where in places:

        def lie(runs: ForkedRuns, all_: list[Entry], at: int = where) -> None:
            one = copy.deepcopy(of_prefix(runs)[0])
            one.seq, one.chain["scope"], one.data = 0, scope, {"text": text}
            all_.insert(at, one)
            renumbered(runs, all_)

        report = runs.judge(tmp_path, lie)
        if not report.findings:
            compared, own = counted(report)
            assert own >= 1, f"{where}\n{report}"
            assert compared <= NUMBER


def test_what_a_plugin_says_otherwise_today(tmp_path: Path) -> None:
    """A field that may differ makes a fact the fork's own word, and nothing wrong."""
    place = tmp_path / "ledger.db"
    with Ledger.create(place, plugins=Plugins((), {"seeing": Seeing()})) as ledger:
        done = ledger.execute(lambda run: stating(run, 1))
        end = [*ledger.events(run=done.run_id)][-1].seq
        fork = ledger.fork(done.run_id, at=end, program=lambda run: stating(run, 2))
        assert fork.result_digest == done.result_digest
        (own,) = ledger.events(run=fork.run_id, type="sensor.seen", limit=1)
        report = verify(place, home=ledger.home)
    assert (report.ok, counted(report)) == (True, (NUMBER - 1, 1)), str(report)
    assert "1 facts of forks unchecked" in report.integrity_said
    (note,) = report.notes
    assert note.startswith(f"the facts {own.seq} of run {fork.run_id}")
