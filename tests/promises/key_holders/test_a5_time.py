"""A time far ahead is remarked on, and drags no writer along."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muniment.errors import AppendRefused
from muniment.formats.statement import when
from muniment.ledger import Ledger
from muniment.storage import sealing
from muniment.verification.verify import verify


class Clock(datetime):
    """A clock that somebody set."""

    ahead = timedelta(0)

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        """Return the time there."""
        assert tz is UTC
        return datetime.now(UTC) + cls.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    """Let writers look at a clock that a test may set."""
    monkeypatch.setattr(sealing, "datetime", Clock)
    monkeypatch.setattr(Clock, "ahead", timedelta(0))
    return Clock


@pytest.mark.parametrize("days", [2, 400, 365 * 7000])
def test_a_writer_is_not_dragged_along(
    days: int, ledger: Ledger, clock: type[Clock]
) -> None:
    """Behind an event of the year 9999 nothing more is written but what cannot wait."""
    secret = ledger.append("note.added", {"text": "x", "details": "a secret"})
    clock.ahead = timedelta(days=days)
    ledger.append("note.added", {"text": "of another time"})
    clock.ahead = timedelta(0)
    size = ledger.head.size
    with pytest.raises(AppendRefused, match="far ahead of the clock") as caught:
        ledger.append("note.added", {"text": "now"})
    assert caught.value.rule == "event/time-ahead"
    assert "--continues" in caught.value.remedy
    assert ledger.head.size == size
    ledger.erase(secret.raw["details"]["$blob"], reason="asked to")  # type: ignore[index, call-overload, arg-type]
    report = verify(ledger.path)
    assert (report.ok, report.exit_code) == (True, 0)
    assert any("far ahead of the clock" in note for note in report.notes)
    clock.ahead = timedelta(days=days)
    ledger.append("note.added", {"text": "the clock was wrong, and is right now"})


def test_clocks_may_differ(ledger: Ledger, clock: type[Clock]) -> None:
    """Less than a day is what zones and hasty clocks make: time stands still, no more."""
    clock.ahead = timedelta(hours=20)
    first = ledger.append("note.added", {"text": "of a hasty clock"})
    clock.ahead = timedelta(0)
    second = ledger.append("note.added", {"text": "of ours"})
    assert when(second.time) == when(first.time)
    report = verify(ledger.path)
    assert report.ok
    assert not any("ahead" in note for note in report.notes)


def test_a_successor_goes_on(
    ledger: Ledger, clock: type[Clock], tmp_path: Path
) -> None:
    """The successor of such a ledger has the time of its own clock."""
    clock.ahead = timedelta(days=9000)
    ledger.append("note.added", {"text": "of another time"})
    clock.ahead = timedelta(0)
    with Ledger.create(tmp_path / "next.db") as heir:
        event = heir.append("note.added", {"text": "now"})
        assert when(event.time) - datetime.now(UTC) < timedelta(minutes=1)
