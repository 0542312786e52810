"""A child and its parent pause, are canceled, taken over and killed together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from calling_programs import ANSWERS, below, calling, noted, outer
from children import is_killed
from muniment.errors import EffectInDoubt, RefusedError, RunFenced
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify
from steps import echo, facts_of, last_event, raising, types_of


def test_a_child_pauses_its_parent(ledger: Ledger) -> None:
    """Both wait, and a resume of the parent goes on with both."""

    def child(run: Run) -> object:
        run.pause("until Monday")
        return run.effect("data", 1, echo)

    def program(run: Run) -> object:
        return run.call(child)

    done = ledger.execute(program)
    assert done.status == "paused"
    (run,) = below(ledger, done.run_id)
    assert facts_of(ledger, run).status == "paused"
    paused = list(ledger.events(run=done.run_id))[-1]
    assert paused.raw["reason"] == f"child run {run}: until Monday"
    assert ledger.resume(done.run_id, program).result == 1
    assert below(ledger, done.run_id) == [run]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_children_stop_with_their_parent(ledger: Ledger) -> None:
    """Where one lane pauses the run, children in others pause with their next effect."""
    ready, paused = threading.Event(), threading.Event()

    def child(run: Run) -> object:
        run.effect("data", 1, echo)
        ready.set()
        paused.wait(300)
        return run.effect("data", 2, echo)

    def program(run: Run) -> object:
        lane = run.scope("lane")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lane.call, child)
            ready.wait(300)
            try:
                run.pause("enough")
            finally:
                paused.set()
            return waiting.result()

    done = ledger.execute(program)
    assert done.status == "paused"
    (run,) = below(ledger, done.run_id)
    assert facts_of(ledger, run).status == "paused"
    assert ledger.resume(done.run_id, program).result == 2


def test_a_child_in_doubt_interrupts_its_parent(ledger: Ledger) -> None:
    """What nobody knows of the child's effect, nobody knows of the parent's call."""

    def child(run: Run) -> object:
        return run.effect("tool", {"name": "pay"}, raising(KeyboardInterrupt()))

    def program(run: Run) -> object:
        return run.call(child)

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    run = str(next(ledger.events(type="child.requested")).run)
    (inner_run,) = below(ledger, run)
    with pytest.raises(EffectInDoubt):
        ledger.resume(run, program)
    assert facts_of(ledger, run).status == "interrupted"
    assert facts_of(ledger, inner_run).status == "interrupted"

    def well(run: Run) -> object:
        return run.effect("tool", {"name": "pay"}, echo)

    well.__qualname__, well.__name__ = child.__qualname__, "child"
    done = ledger.resume(run, calling(well), repeat=["tool"])
    assert done.result == {"name": "pay"}


def test_canceling_reaches_children(ledger: Ledger) -> None:
    """The children of a canceled run are canceled with it, and none of them goes on."""

    def child(run: Run) -> object:
        run.pause("wait")
        return run.effect("data", 1, echo)

    def program(run: Run) -> object:
        return run.call(calling(child, "low"), name="middle")

    done = ledger.execute(program)
    event = ledger.cancel(done.run_id, "enough")
    (middle,) = below(ledger, done.run_id)
    (low,) = below(ledger, middle)
    canceled = list(ledger.events(type="run.canceled"))
    assert [one.run for one in canceled] == [low, middle, done.run_id]
    assert canceled[-1] == event
    for run in (low, middle, done.run_id):
        with pytest.raises(RefusedError, match="canceled"):
            ledger.resume(run, child)
    assert verify(ledger.path, home=ledger.home).ok


def test_no_child_of_a_canceled_run_is_resumed(ledger: Ledger) -> None:
    """A child that failed is not resumed by itself where its parent was canceled."""

    def child(run: Run) -> object:
        return run.effect("data", 1, raising(ValueError("no")))

    done = ledger.execute(calling(child))
    (run,) = below(ledger, done.run_id)
    ledger.cancel(done.run_id)
    assert facts_of(ledger, run).status == "failed"
    with pytest.raises(RefusedError, match="canceled"):
        ledger.resume(run, child)


def test_a_canceled_parent_fences_its_child(ledger: Ledger) -> None:
    """A child that still runs writes nothing more, not even its end."""

    def child(run: Run, parent: str) -> object:
        run.effect("data", 1, echo)
        ledger.cancel(parent, "from outside")
        return run.effect("data", 2, echo)

    def program(run: Run) -> object:
        return run.call(child, {"parent": run.id})

    with pytest.raises(RunFenced):
        ledger.execute(program)
    (low, high) = (str(one.run) for one in ledger.events(type="run.canceled"))
    assert types_of(ledger, low)[-2:] == ["data.completed", "run.canceled"]
    assert types_of(ledger, high) == ["run.started", "child.requested", "run.canceled"]
    assert verify(ledger.path, home=ledger.home).ok


def test_who_takes_the_parent_over_has_the_child(ledger: Ledger) -> None:
    """The child of an owner that was overtaken writes no more; the new owner goes on."""
    stop, go = threading.Event(), threading.Event()
    waits = [True]

    def child(run: Run) -> object:
        first = run.effect("data", 1, noted)
        if waits:
            waits.clear()
            stop.set()
            go.wait(300)
        return [first, run.effect("data", 2, noted)]

    def program(run: Run) -> object:
        return run.call(child)

    ends: list[object] = []

    def older() -> None:
        try:
            ends.append(ledger.execute(program))
        except RunFenced as error:
            ends.append(error)

    thread = threading.Thread(target=older)
    thread.start()
    stop.wait(300)
    run = str(last_event(ledger, "child.requested").run)
    ANSWERS.clear()
    resumed = ledger.resume(run, program, take_over=True)
    assert resumed.result == [1, 2]
    before = ledger.head
    go.set()
    thread.join(300)
    assert isinstance(ends[0], RunFenced)
    assert ledger.head == before
    assert ANSWERS[:1] == [2]
    assert len(below(ledger, run)) == 1
    assert verify(ledger.path, home=ledger.home).ok


def cut(ledger: Ledger, commit: int) -> bool:
    """Run `outer` in a process that dies after that commit; tell whether it did."""
    return is_killed(
        ledger.path, lambda opened: opened.execute(outer, seed="5eed"), commit
    )


@pytest.mark.parametrize("commit", range(19))
def test_killed_at_every_event(ledger: Ledger, commit: int) -> None:
    """Wherever parent and child are cut, a resume comes to the same, with one child each."""
    assert cut(ledger, commit)
    run = str(next(ledger.events(type="run.started")).run)
    resumed = ledger.resume(run, outer)
    expected = ledger.execute(outer, seed="5eed")
    assert resumed.result == expected.result
    assert len(below(ledger, run)) == 2
    report = replay(ledger, run, outer)
    assert report.verdict == "acceptable"
    assert report.result_digest == expected.result_digest
    assert verify(ledger.path, home=ledger.home).ok


def test_there_are_no_more_events_to_be_killed_at(ledger: Ledger) -> None:
    """The commits above are all but the last, which completes the run."""
    assert cut(ledger, 19)
    run = str(next(ledger.events(type="run.started")).run)
    with pytest.raises(RefusedError, match="complete"):
        ledger.resume(run, outer)
    assert not cut(ledger, 20)
