"""A verdict says what it can, of the first thing that differs, where its run stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.errors import CannotTellError, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import EventData, EventType
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import record_verdict, replay
from muniment.runs.run import Run
from muniment.verification.verify import verify


class ReviewFinished(EventData):
    """A review came to its end."""

    score: int


class Words:
    """Adds an event type and an effect kind."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``review.finished``."""
        return [EventType("review.finished", ReviewFinished)]

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Add ``review``."""
        return [EffectKind("review")]


def _fact(run: Run) -> None:
    run.record("review.finished", {"score": 3})


def _effect(run: Run) -> None:
    run.effect("review", 1, lambda request: request)


def _swallowed(run: Run) -> str:
    try:
        _effect(run)
    except UsageError:
        return "no reviews"
    return "reviewed"


@pytest.mark.parametrize("program", [_fact, _effect, _swallowed])
@pytest.mark.parametrize("mode", ["strict", "bounded"])
def test_without_its_plugin_a_record_is_not_rejected(
    tmp_path: Path, program: object, mode: str
) -> None:
    """What nobody here can state or ask is lacking here, and not the record's fault."""
    path = tmp_path / "ledger.db"
    with Ledger.create(path, plugins=Plugins((), {"words": Words()})) as ledger:
        done = ledger.execute(program)  # type: ignore[arg-type] # one of these
        assert replay(ledger, done.run_id, program).ok  # type: ignore[arg-type]
    with (
        Ledger.open(path, plugins=()) as ledger,
        pytest.raises(CannotTellError, match="activate the plugin words") as caught,
    ):
        replay(ledger, done.run_id, program, mode=mode)  # type: ignore[arg-type]
    assert caught.value.rule == "replay/plugin"
    assert caught.value.exit_code == 3


def test_a_dropped_fact_is_named_before_the_result(ledger: Ledger) -> None:
    """The first divergence is the first in the record, and the result is the last."""

    def program(run: Run) -> int:
        for text in texts:
            run.record("note.added", {"text": text})
        return len(texts)

    texts = ["a", "b"]
    done = ledger.execute(program)
    texts = ["a"]
    report = replay(ledger, done.run_id, program)
    assert [one.what for one in report.findings] == ["missing", "result"]
    assert report.first_divergence is not None
    (_, dropped) = ledger.events(type="note.added")
    assert report.first_divergence.seq == dropped.seq


def test_a_verdict_stands_in_the_tenant_of_its_run(ledger: Ledger) -> None:
    """Who may see a run sees its verdicts, and who may not sees none; so with details."""

    def program(run: Run) -> None:
        run.record("note.added", {"text": "a"})

    done = ledger.execute(program, tenant="acme")
    report = replay(ledger, done.run_id, program)
    details = {"governance": {"confidence": 0.9, "accepted": True}}
    recorded = record_verdict(ledger, report, details)
    of_verdict = list(ledger.events(run=recorded.recorded_as))
    assert {one.tenant for one in of_verdict} == {"acme"}
    (judged,) = ledger.events(type="replay.judged")
    assert ledger.resolve(judged)["details"] == details
    assert verify(ledger.path).ok
