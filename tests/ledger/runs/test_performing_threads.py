"""What threads of a performer record is below the effect, and nowhere else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify

Work = Callable[[], None]


def _started(work: Work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def _started_by_a_thread(work: Work) -> None:
    _started(lambda: _started(work))


def _pooled(work: Work) -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(work).result()
        list(pool.map(lambda _: None, range(2)))


def _pooled_by_a_thread(work: Work) -> None:
    _started(lambda: _pooled(work))


def _awaited(work: Work) -> None:
    async def main() -> None:
        await asyncio.to_thread(work)
        await asyncio.get_running_loop().run_in_executor(None, work)

    asyncio.run(main())


def _kept_lane(work: Work) -> None:
    """Use the lane of the performer itself in a thread, entered there."""
    lane = current_run()

    def entered() -> None:
        with lane:
            work()

    _started(entered)


@pytest.mark.parametrize(
    "way",
    [
        _started,
        _started_by_a_thread,
        _pooled,
        _pooled_by_a_thread,
        _awaited,
        _kept_lane,
    ],
    ids=lambda way: way.__name__.strip("_"),
)
def test_a_thread_of_a_performer_is_below_its_effect(
    ledger: Ledger, way: Callable[[Work], None]
) -> None:
    """An outer lane means its place below the effect there; a replay finds it there."""

    def program(run: Run) -> object:
        def work() -> None:
            run.record("note.added", {"text": "by the run"})
            with run:
                run.record("note.added", {"text": "entered"})
            with run.scope("part") as lane:
                lane.record("note.added", {"text": "by a lane"})
                run.effect("data", 2, lambda asked: asked)
            current_run().record("note.added", {"text": "by the current lane"})

        def perform(_: object) -> int:
            way(work)
            return 1

        value = run.effect("tool", 1, perform)
        run.record("note.added", {"text": "after"})
        return value

    done = ledger.execute(program)
    assert done.ok, done.error
    scopes = [one.scope or "" for one in ledger.events(type="note.added")]
    assert scopes.pop() == "", "after the effect, the run is where it was"
    assert len(scopes) >= 4
    assert all(one.startswith("@tool.") for one in scopes), scopes
    assert {one.scope for one in ledger.events(type="data.requested")} == {"@tool.1"}
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert verify(ledger.path).ok


@pytest.mark.parametrize("used", [False, True], ids=["made", "used"])
def test_a_pool_may_be_older_than_the_effect(ledger: Ledger, used: bool) -> None:
    """Its threads are below the effect for what the performer submits, and only then."""

    def program(run: Run) -> object:
        def note(text: str) -> None:
            run.record("note.added", {"text": text})

        def perform(_: object) -> int:
            list(pool.map(note, ["inside", "inside"]))
            return 1

        with ThreadPoolExecutor(1) as pool:
            if used:
                pool.submit(note, "outside").result()
            run.effect("tool", 1, perform)
            pool.submit(note, "outside").result()
        return 1

    done = ledger.execute(program)
    assert done.ok, done.error
    for event in ledger.events(type="note.added"):
        inside = (event.scope or "").startswith("@tool.")
        assert inside is (event.data["text"] == "inside")
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_threads_beside_an_effect_are_not_below_it(ledger: Ledger) -> None:
    """A lane in a thread that the program started is where it says, effects or not."""

    def program(run: Run) -> object:
        inside, noted = threading.Event(), threading.Event()

        def beside() -> None:
            inside.wait(300)
            with run.scope("beside") as lane:
                lane.record("note.added", {"text": "a"})
            noted.set()

        def perform(_: object) -> int:
            inside.set()
            assert noted.wait(300)
            return 1

        thread = threading.Thread(target=beside)
        if run.replays:
            inside.set()
        thread.start()
        run.effect("tool", 1, perform)
        thread.join()
        return 1

    done = ledger.execute(program)
    assert done.ok, done.error
    (note,) = ledger.events(type="note.added")
    assert note.scope == "beside"
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_performer_may_run_another_run_in_a_thread(ledger: Ledger) -> None:
    """A run that a thread of a performer begins is one of its own."""

    def other(run: Run) -> None:
        run.record("note.added", {"text": "mine"})

    def program(run: Run) -> object:
        def perform(_: object) -> int:
            _started(lambda: ledger.execute(other).raise_failure())
            return 1

        return run.effect("tool", 1, perform)

    assert ledger.execute(program).ok
    (note,) = ledger.events(type="note.added")
    assert note.scope == ""
