"""A run from its beginning to each of its ends."""

from __future__ import annotations

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from muniment.errors import RefusedError, UsageError, ValueRefused
from muniment.events.effect_kinds import EffectKind
from muniment.formats.statement import Subject
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.decorator import effect
from muniment.runs.run import Run, current_run
from steps import echo, facts_of, types_of


def test_what_a_run_says_of_itself(ledger: Ledger) -> None:
    """Name, params, labels, tenant, seed, program, plugins and owner are recorded."""
    done = ledger.execute(
        lambda _, ticket: ticket,
        params={"ticket": ("T", 1.0)},
        name="triage",
        labels={"team": "x"},
        tenant="acme",
        seed="5eed",
    )
    assert done.result == ("T", 1.0)
    assert done.status == "completed"
    assert done.ok
    started = next(ledger.events(run=done.run_id))
    assert {"name": "triage", "labels": {"team": "x"}, "seed": "5eed"}.items() <= (
        started.data.items()
    )
    assert ledger.resolve(started)["params"] == {"ticket": ("T", 1.0)}
    assert started.data["plugins"] == {}
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", done.run_id)
    assert {event.tenant for event in ledger.events(run=done.run_id)} == {"acme"}
    facts = facts_of(ledger, done.run_id)
    assert (facts.name, facts.status, facts.tenant) == ("triage", "completed", "acme")
    assert facts.labels == {"team": "x"}


def test_params_reach_the_program_as_recorded(ledger: Ledger) -> None:
    """A program gets a twin of its params; what has no exact form is refused."""
    given: dict[str, Any] = {"items": [3.0]}

    def program(_: Run, items: list[float]) -> object:
        items.append(4.0)
        return items

    assert ledger.execute(program, params=given).result == [3.0, 4.0]
    assert given == {"items": [3.0]}
    size = ledger.head.size
    with pytest.raises(ValueRefused, match="has no exact form"):
        ledger.execute(program, params={"items": object()})
    assert ledger.head.size == size


def test_equal_runs_have_equal_digests(ledger: Ledger) -> None:
    """Times, ids and durations do not count; seed, facts, effects and result do."""

    def program(run: Run, text: str = "a") -> object:
        run.record("note.added", {"text": text})
        run.now()
        return run.effect("data", run.random(), echo)

    one = ledger.execute(program, seed="1")
    assert ledger.execute(program, seed="1").result_digest == one.result_digest
    others = [
        ledger.execute(program, seed="2"),
        ledger.execute(program, seed="1", params={"text": "b"}),
        ledger.execute(lambda run: program(run) and None, seed="1"),
    ]
    assert len({one.result_digest, *(other.result_digest for other in others)}) == 4


def test_draws_and_time_are_equal_in_a_replay(ledger: Ledger) -> None:
    """Each scope draws its own numbers, whatever thread asks first."""
    seen: list[object] = []

    def draw(lane: Run) -> list[object]:
        with lane:
            here = current_run()
            return [here.random(), here.uuid(), here.now(), here.random()]

    def program(run: Run) -> object:
        lanes = [run.scope(f"lane/{number}") for number in range(6)]
        with ThreadPoolExecutor(6) as pool:
            drawn = list(pool.map(draw, lanes))
        seen.append([draw(run), drawn])
        return seen[-1]

    done = ledger.execute(program)
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert seen[0] == seen[1]
    assert len({str(one) for one in done.value[1]}) == 6  # type: ignore[index]


def test_one_lane_in_many_threads(ledger: Ledger) -> None:
    """Threads may enter one handed-over lane at once; each leaves its own."""
    barrier = threading.Barrier(4)

    @effect("data")
    def fetch(number: int) -> int:
        return number

    def program(run: Run) -> object:
        def work(number: int) -> int:
            with run:
                barrier.wait()
                value = fetch(number)
                barrier.wait()
            with pytest.raises(UsageError, match="no run is active"):
                current_run()
            return value

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(work, range(4)))

    assert ledger.execute(program).result == [0, 1, 2, 3]


def test_a_failed_program(ledger: Ledger) -> None:
    """Its failure is in the record and in what execute returns."""
    done = ledger.execute(lambda _: 1 // 0)
    assert (done.status, done.ok) == ("failed", False)
    with pytest.raises(ZeroDivisionError):
        _ = done.result
    facts = facts_of(ledger, done.run_id)
    assert (facts.status, facts.error_type) == ("failed", "ZeroDivisionError")


def test_a_result_without_exact_form_fails_the_run(ledger: Ledger) -> None:
    """What was not recorded did not happen."""
    done = ledger.execute(lambda _: object())
    assert done.status == "failed"
    with pytest.raises(ValueRefused, match="has no exact form"):
        _ = done.result


def test_sync_and_async_programs(ledger: Ledger) -> None:
    """A sync program may be awaited; an async one is refused before anything is written."""

    async def aprogram(_: Run) -> int:
        return 1

    assert asyncio.run(ledger.aexecute(lambda _: 1)).result == 1
    assert asyncio.run(ledger.aexecute(aprogram)).result == 1
    size = ledger.head.size
    with pytest.raises(UsageError, match="the program is asynchronous"):
        ledger.execute(aprogram)
    assert ledger.head.size == size
    done = ledger.execute(lambda run: [aprogram(run)][0])
    with pytest.raises(UsageError, match="the program is asynchronous"):
        _ = done.result


def test_with_and_async_with(ledger: Ledger) -> None:
    """A bare run is open in its body, and fails with the body's exception."""

    async def body() -> str:
        async with ledger.run("async") as run:
            assert current_run().id == run.id
            await asyncio.gather(*(run.aeffect("data", n, echo) for n in range(3)))
        return run.id

    with ledger.run("ad hoc", labels={"a": "b"}) as run:
        assert (current_run().id, run.name, run.mode) == (run.id, "ad hoc", "live")
        with run.scope("inner/most") as lane:
            assert current_run().scope_path == lane.scope_path == "inner/most"
        assert current_run().scope_path == ""
    assert types_of(ledger, run.id) == ["run.started", "run.completed"]
    assert facts_of(ledger, asyncio.run(body())).status == "completed"
    with pytest.raises(ZeroDivisionError), ledger.run("failing") as run:
        _ = 1 // 0
    assert facts_of(ledger, run.id).status == "failed"
    with pytest.raises(KeyboardInterrupt), ledger.run("stopped") as run:
        raise KeyboardInterrupt
    assert facts_of(ledger, run.id).status == "interrupted"


def test_nothing_follows_the_end(ledger: Ledger) -> None:
    """A lane that is kept beyond its run's end states and asks nothing more."""
    with ledger.run("r") as run:
        pass
    size = ledger.head.size
    with pytest.raises(UsageError, match="the run has ended"):
        run.record("note.added", {"text": "late"})
    with pytest.raises(UsageError, match="the run has ended"):
        run.effect("data", 1, echo)
    with pytest.raises(UsageError, match="the run has ended"):
        run.now()
    assert ledger.head.size == size


@pytest.mark.parametrize(
    "kind", ["run.completed", "tool.completed", "key.enrolled", "clock.read"]
)
def test_reserved_types_are_refused(ledger: Ledger, kind: str) -> None:
    """Neither a run nor an append tells what runs, keys and effects did."""
    with ledger.run("r") as run, pytest.raises(UsageError, match="by the ledger alone"):
        run.record(kind, {})
    with pytest.raises(UsageError, match="by the ledger alone"):
        ledger.append(kind, {})


@pytest.mark.parametrize("name", ["", "a//b", "@tool.1", "plugin/x", "a/@b"])
def test_names_of_scopes(ledger: Ledger, name: str) -> None:
    """Scopes of effects and plugins, and empty segments, are refused."""
    with ledger.run("r") as run, pytest.raises(UsageError, match="scope"):
        run.scope(name)


def test_subjects_of_a_fact(ledger: Ledger) -> None:
    """A fact may be about things, and is found by them."""
    digest = "sha256:" + "ab" * 32
    with ledger.run("r") as run:
        handle = run.record(
            "note.added", {"text": "about"}, subject=[Subject("data.csv", digest)]
        )
    assert [e.seq for e in ledger.events(subject=digest)] == [handle.event.seq]


def test_a_wrong_fact_is_refused_at_once(ledger: Ledger) -> None:
    """Validation does not wait for the flush, and the run goes on."""

    def program(run: Run) -> object:
        with pytest.raises(RefusedError, match="text"):
            run.record("note.added", {"txet": "a"})
        return 1

    done = ledger.execute(program)
    assert done.result == 1
    assert types_of(ledger, done.run_id) == ["run.started", "run.completed"]


def test_a_dry_run_writes_nothing(ledger: Ledger) -> None:
    """Kinds may say what they would answer; else the run ends there."""
    ledger.register(EffectKind("guess", dry=lambda request: [request, "dry"]))
    size = ledger.head.size

    def program(run: Run) -> object:
        handle = run.record("note.added", {"text": "a"})
        with pytest.raises(UsageError, match="a dry run writes no events"):
            _ = handle.event
        assert run.now().tzinfo is not None
        return [run.effect("guess", 1, _raise), run.random() < 1]

    def further(run: Run) -> object:
        program(run)
        try:
            run.effect("tool", 1, _raise)
        except RefusedError:
            return "swallowed"
        return None

    def _raise(_: object) -> object:
        raise AssertionError("a dry run performs nothing")

    done = ledger.execute(program, mode="dry")
    assert (done.status, done.result) == ("dry", [[1, "dry"], True])
    with pytest.raises(RefusedError, match="the dry run ends here"):
        _ = ledger.execute(further, mode="dry").result
    assert ledger.head.size == size
