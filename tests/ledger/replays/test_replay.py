"""A replay derives the result again from events, or names where it parts."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from muniment.errors import CannotTellError, EffectFailed, ErasedError, WrongError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import ReplayReport, replay
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify
from programs_with_effects import JOURNEYS, SEED, World, drawing
from steps import hits, original, search

Program = Callable[..., Any]


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_replay_is_equal_and_touches_nothing(tmp_path: Path, name: str) -> None:
    """Each journey replays to its digest; swapped latencies change nothing."""
    made, untouched = World(tmp_path / "made"), World(tmp_path / "untouched")
    with Ledger.create(tmp_path / "ledger.db", plugins=()) as ledger:
        live = JOURNEYS[name](made)
        if name.startswith("tasks"):
            done = asyncio.run(ledger.aexecute(live, seed=SEED))
        else:
            done = ledger.execute(live, seed=SEED)
        size = ledger.head.size
        report = replay(ledger, done.run_id, JOURNEYS[name](untouched))
        assert report.ok, report.findings
        assert report.result_digest == done.result_digest
        assert report.guards == ("sockets", "subprocesses", "file writes", "signals")
        assert report.compared > 20
        assert ledger.head.size == size
    assert not untouched.log.exists()


def test_equal_types_and_values(ledger: Ledger) -> None:
    """What the live program saw is what the replay sees, time and draws included."""
    seen: list[Any] = []

    def program(run: Run) -> object:
        seen.append(original(run))
        return seen[-1]

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    live, again = seen
    assert live == again == done.result
    assert type(again[0]["hits"][0]) is float
    assert type(again[0]["hits"][1]) is tuple


def test_a_failed_run_replays_to_the_same_failure(ledger: Ledger) -> None:
    """The recorded failure is raised again, and the run fails in the same way."""

    def fail(_: object) -> object:
        raise TimeoutError("no answer")

    def program(run: Run) -> object:
        return search(run, "a", fail)

    done = ledger.execute(program)
    assert done.status == "failed"
    report = replay(ledger, done.run_id, program)
    assert report.verdict == "acceptable"
    assert report.result_digest == done.result_digest

    def handled(run: Run) -> object:
        with pytest.raises(Exception, match="no answer"):
            search(run, "a")
        return "went on"

    report = replay(ledger, done.run_id, handled)
    assert report.first_divergence is not None
    assert report.first_divergence.field == "type"
    assert report.first_divergence.expected == "run.failed"


def test_a_failure_of_the_program_itself(ledger: Ledger) -> None:
    """Another failure than the recorded one is named by its field."""
    done = ledger.execute(lambda _: 1 // 0)
    assert replay(ledger, done.run_id, lambda _: 1 // 0).verdict == "acceptable"
    report = replay(ledger, done.run_id, lambda _: "".index("x"))
    assert report.first_divergence is not None
    assert report.first_divergence.field == "error_type"
    assert report.first_divergence.expected == "ZeroDivisionError"
    assert report.first_divergence.got == "ValueError"


def test_an_open_run_cannot_be_judged(ledger: Ledger) -> None:
    """Without an end there is nothing to compare with."""
    with ledger.run("open") as run:
        run.record("note.added", {"text": "a"}).event  # noqa: B018 - writes it
        with pytest.raises(CannotTellError, match="the run has no end"):
            replay(ledger, run.id, lambda _: None)


@pytest.mark.parametrize("what", ["request", "value", "result", "params"])
def test_erased_content_cannot_be_judged(ledger: Ledger, what: str) -> None:
    """Where a needed content was erased, a replay says so, and not that it differs."""

    def program(run: Run, query: str) -> object:
        try:
            return search(run, query, hits)
        except ErasedError:
            return "swallowed"

    done = ledger.execute(program, params={"query": "q"})
    (ref,) = [
        event.data[what]
        for event in ledger.events(run=done.run_id)
        if what in event.data and (what != "result" or event.type == "run.completed")
    ]
    ledger.erase(ref.digest, reason="asked for")  # type: ignore[attr-defined]
    with pytest.raises(ErasedError, match="the blob was erased"):
        replay(ledger, done.run_id, program)


@pytest.mark.parametrize("field", ["request", "value", "result"])
def test_a_changed_content_is_refused(ledger: Ledger, field: str) -> None:
    """One content changed in the file: its commitment does not hold."""

    def program(run: Run) -> object:
        try:
            return search(run, "a", hits)
        except WrongError:
            return "swallowed"

    done = ledger.execute(program)
    (ref,) = [e.data[field] for e in ledger.events(run=done.run_id) if field in e.data]
    ledger.close()
    with sqlite3.connect(ledger.path) as raw:
        triggers = raw.execute(
            "SELECT name, sql FROM sqlite_master WHERE type='trigger'"
        )
        for name, _ in (kept := triggers.fetchall()):
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute(
            "UPDATE blob SET data = zeroblob(length(data)) WHERE digest = ?",
            (bytes.fromhex(ref.digest[7:]),),  # type: ignore[attr-defined]
        )
        for _, sql in kept:
            raw.execute(sql)
    raw.close()
    with (
        Ledger.open(ledger.path, plugins=(), readonly=True) as again,
        pytest.raises(WrongError, match="blob/commitment"),
    ):
        replay(again, done.run_id, program)


def test_a_reproducible_effect_is_performed_again(ledger: Ledger) -> None:
    """A seeded execution runs again in a replay, and its outcome is compared."""
    calls: list[object] = []
    factor = 2

    def perform(request: object) -> object:
        assert isinstance(request, dict)
        calls.append(request)
        current_run().record("note.added", {"text": f"call {len(calls)}"})
        return request["n"] * factor

    def program(run: Run) -> object:
        return run.effect("execution", {"n": 21}, perform)

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert len(calls) == 2
    factor = 3
    report = replay(ledger, done.run_id, program)
    assert report.first_divergence is not None
    assert report.first_divergence.what == "outcome"
    assert (report.first_divergence.expected, report.first_divergence.got) == (42, 63)


def test_help_is_not_compared(ledger: Ledger) -> None:
    """A remedy that is worded otherwise is not a difference; a finding is, as ever.

    The program gets the words of the record, so that what it makes of them is equal too.
    """
    error: dict[str, Any] = {"rule": "capsule/refused", "remedy": "as it was worded"}
    metrics = {"error": {"remedy": 1}}

    def perform(_: object) -> object:
        return [{"status": "error", "error": dict(error), "metrics": dict(metrics)}]

    def program(run: Run) -> object:
        answer: Any = run.effect("execution", None, perform)
        run.record("note.added", {"text": answer[0]["error"].get("remedy", "")})
        return answer

    done = ledger.execute(program)
    for remedy in ("in better words", None):
        error["remedy"] = remedy
        report = replay(ledger, done.run_id, program)
        assert (report.verdict, report.findings) == ("acceptable", ())
    error["rule"] = "capsule/raised"
    found = replay(ledger, done.run_id, program).first_divergence
    assert found is not None
    assert (found.field, found.expected) == ("value[0].error.rule", "capsule/refused")
    error["rule"], metrics = "capsule/refused", {"error": {"remedy": 2}}
    found = replay(ledger, done.run_id, program).first_divergence
    assert found is not None
    assert found.field == "value[0].metrics.error.remedy"


def test_help_of_a_failure_is_not_compared(ledger: Ledger) -> None:
    """Of an effect that failed, too: the remedy is the record's, and nothing else is left out."""

    class Stopped(Exception):
        data: Mapping[str, object]

    told = {"rule": "capsule/wall", "remedy": "as it was worded"}

    def perform(_: object) -> object:
        error = Stopped("over")
        error.data = dict(told)
        raise error

    def program(run: Run) -> object:
        try:
            return run.effect("execution", None, perform)
        except EffectFailed as failure:
            return failure.data

    done = ledger.execute(program)
    told["remedy"] = "in better words"
    report = replay(ledger, done.run_id, program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    told["rule"] = "capsule/cpu"
    found = replay(ledger, done.run_id, program).first_divergence
    assert found is not None
    assert (found.field, found.got) == ("data.rule", "capsule/cpu")


def test_a_reproducible_failure_is_compared(ledger: Ledger) -> None:
    """An execution that failed fails again; one that does not is a divergence."""
    ledger.register(EffectKind("simulation", reproducible=True))
    broken = True

    def perform(_: object) -> object:
        if broken:
            raise ValueError("no convergence")
        return 1

    def program(run: Run) -> object:
        return run.effect("simulation", None, perform)

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    broken = False
    report = replay(ledger, done.run_id, program)
    assert report.first_divergence is not None
    assert report.first_divergence.got == "simulation.completed"


def test_an_async_program_replays_in_a_running_loop(ledger: Ledger) -> None:
    """A replay may be asked for from inside an event loop."""

    async def aprogram(run: Run) -> object:
        async def gently(request: object) -> object:
            await asyncio.sleep(0)
            return hits(request)

        return await run.aeffect("tool", {"name": "x", "query": "q"}, gently)

    async def both() -> ReplayReport:
        done = await ledger.aexecute(aprogram)
        return replay(ledger, done.run_id, aprogram)

    assert asyncio.run(both()).verdict == "acceptable"


def test_a_verdict_can_be_recorded(ledger: Ledger) -> None:
    """The verdict is appended as a run of its own that names the original."""
    done = ledger.execute(original)
    report = replay(ledger, done.run_id, original, record=True)
    assert report.recorded_as is not None
    (judged,) = ledger.events(type="replay.judged")
    assert judged.run == report.recorded_as
    assert judged.data["replay_of"] == done.run_id
    assert judged.data["verdict"] == "acceptable"
    facts = ledger.project(RunSummaries, run=report.recorded_as)
    assert (facts.status, facts.replay_of) == ("completed", done.run_id)
    ledger.close()
    assert verify(ledger.path).ok


def test_reading_is_enough(ledger: Ledger) -> None:
    """A replay needs no key: it writes nothing."""
    done = ledger.execute(original)
    with Ledger.open(ledger.path, plugins=(), readonly=True) as reading:
        assert replay(reading, done.run_id[:12], original).verdict == "acceptable"


def test_the_program_is_found_again(ledger: Ledger) -> None:
    """A program with an import path needs not be given; a closure does."""
    done = ledger.execute(drawing)
    assert replay(ledger, done.run_id).verdict == "acceptable"
    closed = ledger.execute(lambda _: 1)
    with pytest.raises(CannotTellError, match="cannot be imported"):
        replay(ledger, closed.run_id)


def test_threads_of_a_replay_are_answered(ledger: Ledger) -> None:
    """Lanes handed to threads answer there, too."""

    def program(run: Run) -> object:
        found: dict[int, object] = {}

        def work(number: int) -> None:
            with run.scope(f"t/{number}") as lane:
                found[number] = [search(lane, "a", hits), lane.now(), lane.random()]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[number] for number in range(4)]

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_what_a_program_cannot_tell_any_more_is_no_divergence(ledger: Ledger) -> None:
    """A program that lacks something now says so; one that always did is equal."""

    def program(_: Run, there: list[int]) -> int:
        if not there:
            raise CannotTellError("the key is gone", rule="test/gone")
        return there[0]

    told = ledger.execute(program, params={"there": [1]})
    with pytest.raises(CannotTellError, match="the key is gone"):
        replay(ledger, told.run_id, lambda run, there: program(run, there[1:]))
    never = ledger.execute(program, params={"there": []})
    assert replay(ledger, never.run_id, program).verdict == "acceptable"
