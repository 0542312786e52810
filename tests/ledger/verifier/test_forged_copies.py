"""What a fork was answered is what its origin has, or the verifier names the event.

Rules: in each case a real fork of a run with every kind of effect is written again, with
one lie that the writer's own key signs. Nothing but what the fork says of its origin is
wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copy_lies import LIES, first
from forged_copies import Entry, ForkedRuns, forked_runs, members
from muniment import hookimpl
from muniment.errors import UsageError
from muniment.events.fields import PlainData
from muniment.events.types import EventType
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.verification.verify import Report, verify

ANSWERS, READINGS = 20, 3
"""How many events of the fork the origin answered, and how many of them are readings."""
OWN = {"duration_us", "actor", "run"}
"""What an event says for itself."""
DEFAULT = ("data", "attempt")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> ForkedRuns:
    """Return the run and its fork."""
    return forked_runs(tmp_path_factory.mktemp("runs"))


def another(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value[:-1]}{'1' if value[-1:] == '0' else '0'}"
    if isinstance(value, dict):
        return {"another": 1}
    return [*value, "another"]


def parts_of(entry: Entry) -> dict[str, Any]:
    """Return what an event says, by path."""
    return {"data": entry.data, "chain": entry.chain}


def lies_about(runs: ForkedRuns, entry: Entry) -> Iterator[tuple[str, Any]]:
    """Yield each change to one event: a name, and what makes it."""
    for path in members(parts_of(entry)):
        own = path[1:2] == ("ordinal",) and entry.kind == "clock.read"
        if len(path) == 1 or path[1] in OWN or own:
            continue
        where = ".".join(map(str, path))
        yield f"{where} is another", (path, None)
        if path[0] == "data" and path != DEFAULT:
            yield f"{where} is left out", (path, ...)
    for part in ("data", "data.answered_by"):
        if part == "data" or "answered_by" in entry.data:
            path = (*part.split("."), "more")
            yield f"{part} has more", (path, 1)
    for name, value in entry.data.items():
        if isinstance(value, dict) and "$blob" in value:
            content = runs.content(value)
            for other in (b'"' + b"y" * max(len(content) - 2, 0) + b'"', b'["z"]'):
                told = runs.refer(other) | {
                    one: value[one] for one in value.keys() - {"$blob", "size"}
                }
                yield f"data.{name} has {other!r:.20}", (("data", name), told)


def put(entry: Entry, path: tuple[Any, ...], value: Any) -> None:
    """Put *value* at *path*: `...` leaves it out, None changes what is there."""
    inside: Any = parts_of(entry)
    for step in path[:-1]:
        inside = inside[step]
    if value is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = another(inside[path[-1]]) if value is None else value


def named(report: Report) -> set[int | None]:
    """Return the events that findings name."""
    return {one.seq for one in report.findings}


def test_the_fork_without_a_lie(runs: ForkedRuns, tmp_path: Path) -> None:
    """What the cases are made of is sound, and every answer is counted."""
    report = runs.judge(tmp_path)
    assert report.ok, str(report)
    answered = runs.answered
    kinds = [one.kind for one in answered]
    assert (len(kinds), kinds.count("clock.read")) == (ANSWERS, READINGS)
    assert f"answers of forks {ANSWERS + 1} of {ANSWERS + 1}" in str(report)
    assert "change" in {one.data["answered_by"]["who"] for one in answered}
    about = [one.data.get("about") for one in runs.of_fork("sensor.read.requested")]
    assert all("$blob" in one for one in about if one is not None)
    assert len(about) == 2


@pytest.mark.slow
@pytest.mark.parametrize("number", range(ANSWERS))
def test_each_member_of_each_copy(
    runs: ForkedRuns, tmp_path: Path, number: int
) -> None:
    """Each answer, and each request that is answered: a change is found, and named."""
    outcome = runs.answered[number]
    reading = outcome.kind == "clock.read"
    copies = [outcome] if reading else [runs.request_of(outcome), outcome]
    seqs, let_pass = {one.seq for one in copies}, list[str]()
    for entry in copies:
        for name, (path, value) in list(lies_about(runs, entry)):
            where = runs.entries.index(entry)

            def lie(
                _: ForkedRuns, all_: list[Entry], at: Any = (where, path, value)
            ) -> None:
                put(all_[at[0]], *at[1:])

            report = runs.judge(tmp_path, lie)
            if report.exit_code != 1 or not named(report) & seqs:
                let_pass.append(f"{entry.kind} {name}: {report}")
    assert let_pass == []


@pytest.mark.parametrize("number", range(ANSWERS))
@pytest.mark.parametrize("whole", [True, False])
def test_an_answer_that_is_left_out(
    runs: ForkedRuns, tmp_path: Path, number: int, *, whole: bool
) -> None:
    """A fork that completed has all that its origin answers: requests and outcomes."""
    outcome = runs.answered[number]
    gone = [outcome]
    if whole and outcome.kind != "clock.read":
        gone.append(runs.request_of(outcome))

    def lie(_: ForkedRuns, all_: list[Entry]) -> None:
        all_[:] = [one for one in all_ if one not in gone]

    report = runs.judge(tmp_path, lie)
    rules = {one.rule for one in report.findings}
    assert (report.exit_code, "fork/answer" in rules) == (1, True), str(report)


@pytest.mark.parametrize("number", range(ANSWERS))
@pytest.mark.parametrize("who", ["performer", "plugin", "somebody", None])
def test_an_answer_by_somebody_else(
    runs: ForkedRuns, tmp_path: Path, number: int, who: str | None
) -> None:
    """What the origin answers is answered by it, not performed."""
    entry = runs.answered[number]
    where = runs.entries.index(entry)

    def lie(_: ForkedRuns, all_: list[Entry]) -> None:
        del all_[where].data["answered_by"]
        if who is not None:
            all_[where].data["answered_by"] = {"who": who}

    report = runs.judge(tmp_path, lie)
    if who == "plugin" and entry.data.get("reason") == "refused":
        return  # `test_a_refusal_of_a_plugin` says what that means
    assert (report.exit_code, entry.seq in named(report)) == (1, True), str(report)


@pytest.mark.parametrize("name", LIES)
def test_each_lie_is_found(runs: ForkedRuns, tmp_path: Path, name: str) -> None:
    """Whatever a fork makes of its origin, the finding names where it says so."""
    told: list[int] = []
    lie = LIES[name]
    report = runs.judge(tmp_path, lambda runs, all_: told.append(lie(runs, all_)))
    rules = {one.rule for one in report.findings}
    assert report.exit_code == 1, str(report)
    assert told[0] in named(report), f"event {told[0]}\n{report}"
    assert rules <= {"fork/answer", "fork/origin"}, str(report)


def test_a_refusal_of_a_plugin(runs: ForkedRuns, tmp_path: Path) -> None:
    """A plugin may refuse to have an answer written; the fork may go its own way then."""

    def lie(runs: ForkedRuns, all_: list[Entry]) -> None:
        outcome = first(runs, all_, "command.completed")
        outcome.kind = "command.failed"
        outcome.data = {
            "answered_by": {"who": "plugin", "name": "p", "version": "1"},
            "error_type": "refused",
            "message": runs.refer(json.dumps("no").encode()),
            "reason": "refused",
        }
        later = [one for one in runs.answered if one.seq > outcome.seq]
        asked = [runs.request_of(one) for one in later if one.kind != "clock.read"]
        gone = {one.seq for one in [*later, *asked]}
        all_[:] = [one for one in all_ if one.seq not in gone]

    report = runs.judge(tmp_path, lie)
    assert report.ok, str(report)


class Seen(PlainData):
    """What a plugin's fact says."""

    answered_by: dict[str, object]


class Seeing:
    """A plugin with a type of facts that say who answered."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Declare it."""
        return [EventType("sensor.seen", Seen)]


def test_a_fact_is_not_written_with_an_answer(runs: ForkedRuns, tmp_path: Path) -> None:
    """No program can state what the verifier would call wrong."""
    plugins = Plugins((), extra={"seeing": Seeing()})
    by = runs.answered[0].data["answered_by"]
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger:
        with ledger.run("x") as run:
            run.record("sensor.seen", {"answered_by": {"who": "record"}})
            with pytest.raises(UsageError, match="no record answers facts"):
                run.record("sensor.seen", {"answered_by": by})
        assert verify(ledger.path, home=ledger.home).ok


def test_a_fork_that_is_cut_off_lacks_nothing(runs: ForkedRuns, tmp_path: Path) -> None:
    """Before its end, nobody can tell what a fork would still have asked for."""
    mine = list(runs.of_fork())
    for cut in range(1, len(mine)):
        gone = {one.seq for one in mine[cut:]}

        def lie(_: ForkedRuns, all_: list[Entry], gone: set[int] = gone) -> None:
            all_[:] = [one for one in all_ if one.seq not in gone]

        report = runs.judge(tmp_path, lie)
        assert report.ok, f"{mine[cut].kind}: {report}"
