"""Facts of an honest fork are never wrong; of a program that does the same, all compare.

Rules: each shape of a program is forked at each of its events, some forks are changed or
interrupted and resumed. Where lanes of their own keep the order, each fact of the part that
the origin answers repeats one of the origin.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deciding import answer, approver
from muniment import hookimpl
from muniment.errors import EffectFailed, MunimentError
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.verification.verify import Report, verify
from steps import echo

LANES = 3


class Chatty:
    """A plugin that states facts before and after effects, in its lane."""

    lane: Run | None = None

    @hookimpl
    def before_effect(self, run: Run) -> None:
        """State one."""
        self.lane = run
        run.record("note.added", {"text": "asked"})

    @hookimpl
    def after_append(self, event: Event) -> None:
        """State one."""
        if event.type == "tool.completed" and self.lane and self.lane.id == event.run:
            self.lane.record("note.added", {"text": "heard"})


def note(run: Run, text: object) -> None:
    """State a fact."""
    run.record("note.added", {"text": str(text), "details": [text]})


def talk(run: Run, name: str) -> None:
    """State, ask and read."""
    note(run, name)
    told = run.effect("tool", [name, 1], echo)
    run.now()
    note(run, told)
    note(run, told)
    run.effect("tool", [name, 2], echo)
    note(run, run.random())


def alone(run: Run) -> object:
    """Talk in one lane after the other."""
    for number in range(LANES):
        talk(run.scope(f"lane/{number}"), str(number))
    talk(run, "end")
    return None


def in_threads(run: Run) -> object:
    """Talk in threads, each with a lane of its own."""
    return _threads([run.scope(f"lane/{n}") for n in range(LANES)])


def in_one_lane(run: Run) -> object:
    """Talk in threads that share a lane."""
    return _threads([run] * LANES)


def _threads(lanes: list[Run]) -> object:
    threads = [
        threading.Thread(target=talk, args=(lane, str(number)))
        for number, lane in enumerate(lanes)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return None


def in_tasks(run: Run) -> object:
    """Talk in tasks, each with a lane of its own."""

    async def one(number: int) -> None:
        lane = run.scope(f"task/{number}")
        note(lane, number)
        await lane.aeffect("tool", number, slowly)
        note(lane, "later")

    async def slowly(request: object) -> object:
        await asyncio.sleep(0)
        return request

    async def all_() -> None:
        await asyncio.gather(*map(one, range(LANES)))

    asyncio.run(all_())
    note(run, "end")
    return None


def failing(run: Run) -> object:
    """Talk about failures, and inside of effects."""
    with suppress(EffectFailed):
        run.effect("tool", "fails", lambda _: 1 / 0)
    note(run, "it failed")
    run.effect("data", "inside", lambda _: talk(run.scope("in"), "in"))
    note(run, "done")
    return None


def _called(run: Run) -> object:
    talk(run, "child")
    return 7


def calling(run: Run) -> object:
    """Call, sleep, pause and talk."""
    note(run, run.call(_called))
    run.sleep(0.001)
    note(run, "slept")
    run.pause("until noon")
    talk(run, "after")
    return None


def deciding(run: Run) -> object:
    """Talk, ask people and talk."""
    talk(run, "before")
    told = run.decide("go?", "shall we?")
    note(run, told.outcome)
    return run.effect("tool", "go", echo)


def refused(run: Run) -> object:
    """Be refused facts and effects."""
    for text in ("quiet", "loud!", "quiet", "loud!"):
        with suppress(MunimentError):
            note(run, text)
        with suppress(MunimentError):
            run.scope("b").effect("tool", text, echo)
    note(run, "end")
    return run.effect("tool", "end", echo)


class Gate:
    """A plugin that refuses what shouts, if it is strict."""

    strict = True

    @hookimpl
    def before_append(self, data: dict[str, Any]) -> str | None:
        """Refuse it."""
        said = str(data.get("text", data.get("request", "")))
        return "too loud" if "!" in said and self.strict else None


SHAPES: dict[str, Callable[[Run], object]] = {
    one.__name__: one
    for one in (
        alone,
        in_threads,
        in_one_lane,
        in_tasks,
        failing,
        calling,
        deciding,
        refused,
    )
}
ORDERED = ("alone", "failing", "calling", "deciding", "refused")
"""Those that do one thing at a time: all of their facts repeat the origin's."""


def go_on(
    ledger: Ledger, run: str, program: Callable[[Run], object], mine: Any
) -> None:
    """Resume *run* until it has completed."""
    for _ in range(5):
        if any(ledger.events(run=run, type="run.completed")):
            return
        with suppress(ValueError):  # nothing is asked
            answer(ledger, mine)
        ledger.resume(run, program, repeat=["tool", "data"])


def own(report: Report) -> int:
    """Return how many facts of forks are their own."""
    return next(one for one in report.counts if one.what == "facts of forks").unchecked


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chatty", [False, True])
def test_each_shape_at_each_event(tmp_path: Path, shape: str, *, chatty: bool) -> None:
    """The verifier finds nothing, and of the same program in order, all is compared."""
    program, gate = SHAPES[shape], Gate()
    found: dict[str, object] = {"gate": gate} | ({"chatty": Chatty()} if chatty else {})
    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), found)
    with Ledger.create(place, plugins=plugins) as ledger:
        mine = approver(ledger, "ann")
        done = ledger.execute(program)
        go_on(ledger, done.run_id, program, mine)
        events, compared = list(ledger.events(run=done.run_id)), 0
        for number, event in enumerate(events):
            gate.strict = bool(number % 2)
            reached = [one.seq for one in events if one.type == "decision.reached"]
            if any(seq <= event.seq for seq in reached):
                continue  # people decided it for this run alone
            fork = ledger.fork(done.run_id, at=event.seq, program=program)
            go_on(ledger, fork.run_id, program, mine)
            compared += 1
        report = verify(place, home=ledger.home)
        assert report.ok, str(report)
        if shape in ORDERED and not chatty:
            assert own(report) == 0, str(report)
        outcomes = [one.seq for one in events if one.type == "tool.completed"]
        for seq in outcomes:
            with suppress(MunimentError):
                ledger.fork(
                    done.run_id,
                    at=events[-1].seq,
                    changes={seq: "other"},
                    program=program,
                )
        report = verify(place, home=ledger.home)
        assert report.ok, str(report)
    assert compared > 5
