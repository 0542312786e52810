"""A run that pauses waits for a resume; one that is canceled is given up for good."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from muniment.errors import (
    CannotTellError,
    RefusedError,
    RunFenced,
    RunPaused,
    UsageError,
)
from muniment.formats.statement import Place
from muniment.ledger import Ledger
from muniment.queries.sql import run_sql
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from muniment.storage.sealing import Draft
from muniment.verification.verify import verify
from steps import echo, facts_of, last_run, types_of


def waits_once(run: Run) -> object:
    """Perform an effect on either side of a pause."""
    first = run.effect("data", 1, echo)
    run.pause("until Monday")
    return [first, run.effect("data", 2, echo)]


def swallows(run: Run) -> object:
    """Pause, and swallow it with everything else."""
    try:
        run.pause("until Monday")
    except BaseException:  # noqa: BLE001 - what a careless program does
        return 1
    return 2


def test_a_pause_waits_for_a_resume(ledger: Ledger) -> None:
    """A pause ends this process's part; a resume passes it, and so does a replay."""
    done = ledger.execute(waits_once)
    assert (done.status, done.ok, done.result_digest) == ("paused", False, "")
    with pytest.raises(CannotTellError, match="has no result yet"):
        _ = done.result
    paused = list(ledger.events(run=done.run_id))[-1]
    assert (paused.type, paused.raw) == ("run.paused", {"reason": "until Monday"})
    assert facts_of(ledger, done.run_id).status == "paused"
    with pytest.raises(CannotTellError, match="no end"):
        replay(ledger, done.run_id, waits_once)
    resumed = ledger.resume(done.run_id, waits_once)
    assert resumed.result == [1, 2]
    assert types_of(ledger, done.run_id).count("pause.stated") == 1
    assert replay(ledger, done.run_id, waits_once).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_two_pauses_take_two_resumes(ledger: Ledger) -> None:
    """Each resume goes as far as the next pause."""

    def program(run: Run) -> int:
        run.pause("one")
        run.pause("two")
        return 3

    run = ledger.execute(program).run_id
    assert ledger.resume(run, program).status == "paused"
    assert ledger.resume(run, program).result == 3
    assert replay(ledger, run, program).verdict == "acceptable"


def test_a_pause_cannot_be_swallowed(ledger: Ledger) -> None:
    """A program that catches everything is paused nevertheless."""
    done = ledger.execute(swallows)
    assert done.status == "paused"
    assert ledger.resume(done.run_id, swallows).result == 2


def test_other_lanes_end_with_a_pause(ledger: Ledger) -> None:
    """After a pause no thread of the run states or performs anything."""
    performed: list[object] = []

    def program(run: Run) -> int:
        def beside() -> None:
            with pytest.raises(RunPaused):
                run.effect("data", 9, performed.append)

        try:
            run.pause("wait")
        finally:
            thread = threading.Thread(target=beside)
            thread.start()
            thread.join()
        return 1

    assert ledger.execute(program).status == "paused"
    assert not performed


def test_a_task_may_pause(ledger: Ledger) -> None:
    """A pause in a task group pauses the run, though the group wraps what it raises."""

    async def program(run: Run) -> list[int]:
        async def one(number: int) -> int:
            with run.scope(f"lane/{number}") as lane:
                if number == 1:
                    lane.pause("wait")
                await asyncio.sleep(0)
                return number

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(3)]
        return [task.result() for task in tasks]

    done = asyncio.run(ledger.aexecute(program))
    assert done.status == "paused"
    again = asyncio.run(ledger.aresume(done.run_id, program))
    assert again.result == [0, 1, 2]


def test_a_performer_does_not_pause(ledger: Ledger) -> None:
    """A pause inside of a perform is refused: its effect would have no outcome."""

    def program(run: Run) -> object:
        def perform(_: object) -> None:
            with pytest.raises(UsageError, match="a performer cannot pause"):
                current_run().pause("wait")
            with pytest.raises(UsageError, match="a performer cannot pause"):
                run.pause("wait")

        return run.effect("data", 1, perform)

    assert ledger.execute(program).ok


def test_a_with_statement_pauses(ledger: Ledger) -> None:
    """The body of a `with` ends at a pause, and raises it no further than its program."""
    with pytest.raises(RunPaused), ledger.run("body") as run:
        run.pause("wait")
    assert types_of(ledger, last_run(ledger))[-1] == "run.paused"


def cut_off(run: Run) -> None:
    """Leave the run interrupted."""
    run.record("note.added", {"text": "a"})
    raise KeyboardInterrupt


def failing(run: Run) -> None:
    """Leave the run failed."""
    run.record("note.added", {"text": "a"})
    raise ValueError("no")


@pytest.mark.parametrize("program", [cut_off, failing, waits_once])
def test_a_run_is_canceled(ledger: Ledger, program: Callable[[Run], object]) -> None:
    """Whatever its end but completion, a run can be given up, once and for good."""
    with suppress(KeyboardInterrupt):
        ledger.execute(program)
    run = last_run(ledger)
    event = ledger.cancel(run[:12], "superseded")
    assert (event.type, event.scope) == ("run.canceled", "")
    assert event.raw == {"reason": "superseded", "generation": 1}
    facts = facts_of(ledger, run)
    assert (facts.status, facts.generation) == ("canceled", 1)
    with pytest.raises(RefusedError, match="the run is canceled"):
        ledger.resume(run, program)
    with pytest.raises(RefusedError, match="the run is canceled"):
        ledger.cancel(run)
    with pytest.raises(CannotTellError, match="was canceled"):
        replay(ledger, run, program)
    assert verify(ledger.path, home=ledger.home).ok


def test_a_complete_run_is_not_canceled(ledger: Ledger) -> None:
    """What completed stays completed."""

    def program(run: Run) -> object:
        return run.effect("data", 1, echo)

    done = ledger.execute(program)
    with pytest.raises(RefusedError, match="the run is complete"):
        ledger.cancel(done.run_id)


def test_canceling_fences_the_owner(ledger: Ledger) -> None:
    """The owner writes nothing more after the cancellation, not even its end."""

    def program(run: Run) -> object:
        run.effect("data", 1, echo)
        run.record("note.added", {"text": "not written yet"})
        ledger.cancel(run.id, "from outside")
        return run.effect("data", 2, echo)

    with pytest.raises(RunFenced, match="canceled"):
        ledger.execute(program)
    run = last_run(ledger)
    assert types_of(ledger, run)[-2:] == ["data.completed", "run.canceled"]
    assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize("kind", ["note.added", "run.canceled", "run.resumed"])
def test_what_follows_a_cancellation_is_found(ledger: Ledger, kind: str) -> None:
    """A key holder who goes on with a canceled run is found out."""
    ledger.execute(waits_once)
    run = last_run(ledger)
    data: dict[str, dict[str, object]] = {
        "note.added": {"text": "later"},
        "run.canceled": {"reason": "", "generation": 2},
        "run.resumed": {"generation": 2},
    }
    ordinal = 1 + (ledger.cancel(run).ordinal or 0)
    draft = Draft(
        ledger.port.validate(kind, data[kind]),
        "local",
        "default",
        Place(run, "", ordinal),
    )
    ledger.store.append([draft])
    report = verify(ledger.path, home=ledger.home)
    assert {one.rule for one in report.findings} == {"run/after-end"}
    assert facts_of(ledger, run).status == "canceled"
    assert run_sql(ledger.path, "SELECT status FROM runs").rows == [("canceled",)]
