"""Answers that are handed on in parts: durable before whatever follows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import CannotTellError, EffectFailed, ReplayDiverged
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.queries.sql import run_sql
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.verification.verify import verify

PARTS = ["a", b"\xff", {"n": (1, 2.0)}]


class Source:
    """What hands parts on, and says which of them were not told of yet."""

    def __init__(self) -> None:
        self.given: list[object] = []
        self.told = 0

    def taken(self) -> dict[str, object] | None:
        """Return the parts since the last time."""
        parts, head = self.given[self.told :], {"status": 200}
        first, self.told = not self.told, len(self.given)
        return {"parts": parts, "head": head if first else None} if parts else None


def streaming(
    parts: list[object], between: Callable[[Run, int], object], *, closes: bool = True
) -> Callable[[Run], object]:
    """Return a program that reads *parts* and does something between them."""

    def program(run: Run) -> object:
        stream = run.open("llm", {"prompt": "p"})
        if stream.answered:
            whole: Any = stream.answer()
            for number, _ in enumerate(whole):
                between(run, number)
            return whole
        source = Source()
        known = stream.parts
        if known is not None:
            for number, _ in enumerate(known[1]):
                between(run, number)
            raise stream.fail(ConnectionError("cut off"))
        stream.begin(source.taken, lambda: stream.complete(list(source.given)))
        for number, part in enumerate(parts):
            source.given.append(part)
            between(run, number)
        return stream.complete(list(source.given)) if closes else list(source.given)

    return program


def types(ledger: Ledger, run: str) -> list[str]:
    """Return the types of a run's events."""
    return [event.type for event in ledger.events(run=run)]


def the_run(ledger: Ledger) -> str:
    """Return the only run."""
    (started,) = ledger.events(type="run.started")
    return str(started.run)


def nothing(run: Run, number: int) -> None:
    """Write nothing between two parts."""


def note(run: Run, number: int) -> None:
    """State a fact after a part."""
    run.record("note.added", {"text": str(number)})


def ask(run: Run, number: int) -> None:
    """Perform an effect after a part."""
    run.effect("data", {"n": number}, lambda _: number)


def test_a_stream_without_anything_between_has_no_event_of_its_parts(
    ledger: Ledger,
) -> None:
    """The outcome holds the whole answer."""
    done = ledger.execute(streaming(list(PARTS), nothing))
    kinds = types(ledger, done.run_id)
    assert kinds == ["run.started", "llm.requested", "llm.completed", "run.completed"]
    assert done.result == PARTS


@pytest.mark.parametrize("between", [note, ask])
def test_parts_are_durable_before_what_follows_them(
    ledger: Ledger, between: Callable[[Run, int], object]
) -> None:
    """Each fact and each request stands behind the parts that it may have come of."""
    program = streaming(list(PARTS), between)
    done = ledger.execute(program)
    events = [
        one
        for one in ledger.events(run=done.run_id)
        if one.type in ("llm.streamed", "note.added", "data.requested")
    ]
    assert [one.type == "llm.streamed" for one in events] == [True, False] * 3
    told = [ledger.resolve(one) for one in events[::2]]
    assert [one["parts"] for one in told] == [[part] for part in PARTS]
    assert [one.get("head") for one in told] == [{"status": 200}, None, None]
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert verify(ledger.path).ok


def test_a_stream_that_nobody_ends_ends_with_the_run(ledger: Ledger) -> None:
    """What was handed on is its answer."""
    done = ledger.execute(streaming(list(PARTS), nothing, closes=False))
    assert types(ledger, done.run_id)[-2:] == ["llm.completed", "run.completed"]


def test_parts_that_nothing_came_of_are_in_doubt(ledger: Ledger) -> None:
    """A run that was cut off in mid-stream asks again: the kind says so."""

    def stop(_: Run, number: int) -> None:
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(streaming(list(PARTS), stop))
    run = the_run(ledger)
    assert types(ledger, run)[2:] == ["llm.streamed", "run.interrupted"]
    with pytest.raises(CannotTellError):
        replay(ledger, run, streaming(["new"], nothing))
    done = ledger.resume(run, program=streaming(["new"], nothing))
    assert done.result == ["new"]
    assert types(ledger, run).count("llm.requested") == 2
    assert replay(ledger, run, streaming(["new"], nothing)).ok


def test_parts_that_something_came_of_are_answered_and_then_fail(
    ledger: Ledger,
) -> None:
    """The record cannot be joined with another answer: the effect failed there."""

    def stop(run: Run, number: int) -> None:
        ask(run, number)
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(streaming(list(PARTS), stop))
    run = the_run(ledger)
    done = ledger.resume(run, program=streaming(["new"], ask))
    assert isinstance(done.error, EffectFailed)
    kinds = types(ledger, run)
    assert (kinds.count("llm.requested"), kinds.count("llm.failed")) == (1, 1)
    assert kinds.count("data.requested") == 2
    assert verify(ledger.path).ok


def test_reading_on_where_the_record_stopped_diverges(ledger: Ledger) -> None:
    """A program that reads more than was recorded is told apart from one that ends."""

    def program(run: Run) -> None:
        stream = run.open("llm", {"prompt": "p"})
        if stream.answered:
            stream.answer()
            stream.read_on()
        stream.complete(["a"])

    done = ledger.execute(program)
    report = replay(ledger, done.run_id, program)
    assert report.first_divergence is not None
    assert report.first_divergence.field == "value.closed"
    with pytest.raises(ReplayDiverged):
        raise report.first_divergence.error(done.run_id)


def test_a_kind_of_a_plugin_streams_too(ledger: Ledger) -> None:
    """Four event types belong to every kind."""
    ledger.register(EffectKind("feed", on_doubt="repeat"))

    def program(run: Run) -> object:
        stream = run.open("feed", 1)
        if stream.answered:
            note(run, 0)
            return stream.answer()
        source = Source()
        stream.begin(source.taken, lambda: None)
        source.given.append("x")
        note(run, 0)
        return stream.complete(source.given)

    done = ledger.execute(program)
    assert "feed.streamed" in types(ledger, done.run_id)
    assert replay(ledger, done.run_id, program).ok
    rows = run_sql(ledger.path, "SELECT kind, status FROM effects").rows
    assert [tuple(row) for row in rows] == [("feed", "completed")]


@given(st.lists(st.sampled_from(["part", "fact", "effect"]), max_size=12))
def test_any_order_of_parts_facts_and_effects_replays(steps: list[str]) -> None:
    """The parts come back as they were, whatever was written between them."""
    with TemporaryDirectory() as place, Ledger.create(Path(place) / "l.db") as ledger:
        acts = {"fact": note, "effect": ask}

        def program(run: Run) -> object:
            stream = run.open("llm", {"prompt": "p"})
            source, live = Source(), not stream.answered
            if live:
                stream.begin(source.taken, lambda: None)
            for number, step in enumerate(steps):
                if step == "part":
                    source.given.append(number)
                else:
                    acts[step](run, number)
            return stream.complete(source.given) if live else stream.answer()

        done = ledger.execute(program)
        told = [
            part
            for event in ledger.events(run=done.run_id, type="llm.streamed")
            for part in ledger.resolve(event)["parts"]  # type: ignore[attr-defined]
        ]
        after = [n for n, step in enumerate(steps) if step != "part"]
        last = after[-1] if after else -1
        assert told == [n for n, one in enumerate(steps) if one == "part" and n < last]
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
