"""A run that was interrupted can be resumed, and what it says in the end is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from muniment.errors import EffectFailed, RefusedError, ReplayDiverged
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify
from steps import echo, facts_of, last_run, types_of


def test_ctrl_c_can_be_resumed(ledger: Ledger) -> None:
    """An interrupted run ends as such; facts stay, and a resume goes on."""
    patient = False

    def program(run: Run) -> object:
        first = run.effect("data", 1, echo)
        run.record("note.added", {"text": "waiting"})
        if not patient:
            raise KeyboardInterrupt
        return [first, run.effect("data", 2, echo)]

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = last_run(ledger)
    assert types_of(ledger, run)[-2:] == ["note.added", "run.interrupted"]
    assert facts_of(ledger, run).status == "interrupted"
    patient = True
    done = ledger.resume(run, program)
    assert done.result == [1, 2]
    assert types_of(ledger, run).count("note.added") == 1
    assert replay(ledger, run, program).verdict == "acceptable"


@pytest.mark.parametrize("label", ["inserted", "committed"])
def test_ctrl_c_inside_of_a_write(ledger: Ledger, label: str) -> None:
    """Nothing is lost or written twice when the interruption hits an append."""
    appends = 0

    def step(reached: str) -> None:
        nonlocal appends
        appends += reached == label
        if reached == label and appends == 3:  # run.started, a, b
            raise KeyboardInterrupt

    def program(run: Run) -> object:
        run.record("note.added", {"text": "a"}).event  # noqa: B018 - writes it
        try:
            run.record("note.added", {"text": "b"}).event  # noqa: B018 - writes it
        except KeyboardInterrupt:
            run.record("note.added", {"text": "cannot go on"})
        return 1

    ledger.store.step = step
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = last_run(ledger)
    assert facts_of(ledger, run).status == "interrupted"
    assert ledger.resume(run, program).status == "completed"
    texts = [e.data["text"] for e in ledger.events(run=run, type="note.added")]
    assert texts == ["a", "b"]
    ledger.close()
    assert verify(ledger.path).ok


def test_a_cancelled_task_can_be_resumed(ledger: Ledger) -> None:
    """A cancelled program is interrupted, and what it waited for is in doubt."""
    performed: list[object] = []
    limits: list[asyncio.Timeout] = []

    async def perform(request: object) -> object:
        performed.append(request)
        if not patient:
            limits[0].reschedule(0)
            await asyncio.sleep(600)
        return request

    async def program(run: Run) -> object:
        return [await run.aeffect("llm", n, perform) for n in range(2)]

    async def impatient() -> None:
        async with asyncio.timeout(None) as limit:
            limits.append(limit)
            await ledger.aexecute(program)

    patient = False

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    run = last_run(ledger)
    assert types_of(ledger, run)[-2:] == ["llm.requested", "run.interrupted"]
    patient = True
    assert asyncio.run(ledger.aresume(run, program)).result == [0, 1]
    assert performed == [0, 0, 1]


def test_completeness_survives_a_resume(ledger: Ledger) -> None:
    """Counts and root at the end cover the whole run, resumed or not."""
    broken = True

    def perform(request: object) -> object:
        if broken and request == 3:
            raise ConnectionError("down")
        return request

    def program(run: Run) -> object:
        for number in range(5):
            with run.scope(f"map/{number}") as lane:
                lane.record("note.added", {"text": str(number)})
                lane.effect("tool", number, perform)
        return None

    done = ledger.execute(program)
    assert done.status == "failed"
    broken = False
    assert ledger.resume(done.run_id, program).status == "completed"
    end = next(ledger.events(run=done.run_id, order="desc"))
    assert end.data["counts"] == {
        "": 3,
        **{f"map/{number}": 3 for number in (0, 1, 2, 4)},
        "map/3": 5,
    }
    ledger.close()
    assert verify(ledger.path).ok


def test_a_changed_program_in_a_resume(ledger: Ledger) -> None:
    """A resume by another program stops at the first fact that differs."""
    performed: list[object] = []

    def make(text: str, *, stops: bool) -> Callable[[Run], object]:
        def one(run: Run) -> object:
            run.record("note.added", {"text": text})
            run.effect("data", 1, performed.append)
            if stops:
                raise KeyboardInterrupt
            return run.effect("data", 2, performed.append)

        return one

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(make("a", stops=True))
    run = last_run(ledger)
    done = ledger.resume(run, lambda lane: [make("b", stops=False)(lane)][0])
    assert done.status == "diverged"
    assert "note.added" in types_of(ledger, run)
    assert performed == [1]
    with pytest.raises(ReplayDiverged, match="text was 'a', is 'b'"):
        _ = done.result


@pytest.mark.parametrize("label", ["inserted", "committed"])
def test_ctrl_c_inside_of_the_last_write(ledger: Ledger, label: str) -> None:
    """A run whose end was committed is complete; else it can be resumed."""
    appends = 0

    def step(reached: str) -> None:
        nonlocal appends
        appends += reached == label
        if reached == label and appends == 4:  # run.started, requested, completed, end
            raise KeyboardInterrupt

    def program(run: Run) -> object:
        return run.effect("data", 1, echo)

    ledger.store.step = step
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = last_run(ledger)
    if label == "inserted":
        assert facts_of(ledger, run).status == "interrupted"
        ledger.resume(run, program)
    assert types_of(ledger, run)[-1] == "run.completed"
    assert replay(ledger, run, program).verdict == "acceptable"
    ledger.close()
    assert verify(ledger.path).ok


def test_a_failure_that_was_handled_later_is_answered(ledger: Ledger) -> None:
    """A failure that ended the run once is performed again once, not for ever."""
    performed: list[object] = []
    handles, stops = False, True

    def perform(request: object) -> object:
        performed.append(request)
        raise ConnectionError("down")

    def program(run: Run) -> object:
        try:
            run.effect("tool", "a", perform)
        except EffectFailed:
            if not handles:
                raise
        run.effect("data", "b", echo)
        if stops:
            raise KeyboardInterrupt
        return "handled"

    run = ledger.execute(program).run_id
    handles = True
    with pytest.raises(KeyboardInterrupt):
        ledger.resume(run, program)
    stops = False
    assert ledger.resume(run, program).result == "handled"
    assert performed == ["a", "a"]


def test_facts_of_a_task_that_was_slower_before(ledger: Ledger) -> None:
    """A fact that was lost may be stated before one that was kept."""
    order = ["b", "stop"]

    async def program(run: Run) -> None:
        async def one(name: str) -> None:
            if name == "stop":
                raise KeyboardInterrupt
            run.record("note.added", {"text": name})
            await run.aeffect("data", name, echo)

        await asyncio.gather(*map(one, order))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(ledger.aexecute(program))
    run = last_run(ledger)
    order = ["a", "b"]
    assert asyncio.run(ledger.aresume(run, program)).status == "completed"
    report = replay(ledger, run, program)
    assert report.verdict == "acceptable_with_warnings"
    assert {one.what for one in report.findings} == {"order"}


def test_a_doubt_inside_a_perform_is_no_failure(ledger: Ledger) -> None:
    """What an inner doubt stops is not recorded as the outer effect's failure."""
    patient = False

    def inner(request: object) -> object:
        if not patient:
            raise KeyboardInterrupt
        return request

    def outer(request: object) -> object:
        return current_run().effect("tool", request, inner)

    def program(run: Run) -> object:
        return run.effect("llm", "q", outer)

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = last_run(ledger)
    with pytest.raises(RefusedError, match="a tool effect was requested"):
        ledger.resume(run, program)
    assert "llm.failed" not in types_of(ledger, run)
    assert facts_of(ledger, run).status == "interrupted"
    patient = True
    done = ledger.resume(run, program, repeat=["tool"])
    assert done.result == "q"
    assert replay(ledger, run, program).verdict == "acceptable"


class Cancelled(BaseException):
    """What a library may raise: its reason is somebody's, or none."""

    def __init__(self, reason: str | None) -> None:
        super().__init__()
        self.reason = reason


@pytest.mark.parametrize("reason", ["the patient Ann Smith left", None])
def test_what_a_foreign_interruption_says_is_not_kept(
    ledger: Ledger, reason: str | None
) -> None:
    """Of an interruption that is not muniment's, only the class is recorded."""

    def program(_run: Run) -> object:
        raise Cancelled(reason)

    with pytest.raises(Cancelled):
        ledger.execute(program)
    (event,) = ledger.events(type="run.interrupted")
    assert event.data["reason"] == "Cancelled"


@pytest.mark.parametrize("form", ["rows", "columns"])
def test_a_value_is_as_it_was_written(ledger: Ledger, form: str) -> None:
    """Who changes a value while it is written changes it for nobody."""
    rows = [one + 0.5 for one in range(20_000)]

    def grow(_reached: str) -> None:
        rows.append(7.5)

    def give(_request: object) -> object:
        ledger.store.step = grow
        return rows if form == "rows" else {"a": rows}

    done = ledger.execute(lambda run: run.effect("data", 1, give))
    (event,) = ledger.events(type="data.completed")
    assert len(rows) > 20_000
    assert done.result == ledger.resolve(event)["value"]
