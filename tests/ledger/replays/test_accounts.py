"""What a replay saw its program do, beside what the record has."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import AppendRefused, EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.account import AccountEntry, RunAccount, account_of
from muniment.replays.judge import Mode
from muniment.replays.replay import ReplayReport, replay
from muniment.runs.run import Run


def _told(account: RunAccount) -> list[tuple[str, str, object, str | None]]:
    """Return scope, type, content and outcome of each entry."""
    return [(one.scope, one.type, one.data, one.outcome) for one in account.entries]


def _seen(
    ledger: Ledger,
    recorded: Callable[[Run], object],
    program: Callable[[Run], object] | None = None,
    mode: Mode = "strict",
) -> tuple[RunAccount, RunAccount, ReplayReport]:
    """Record a program, replay another, and return both accounts and the report."""
    done = ledger.execute(recorded)
    report = replay(ledger, done.run_id, program or recorded, mode=mode)
    (seen,) = report.seen
    assert seen.run == done.run_id
    assert seen.recorded() == account_of(ledger, done.run_id)
    return seen.recorded(), seen.observed(), report


def _busy(run: Run) -> object:
    run.record("note.added", {"text": "begun"})
    with run.scope("part") as lane:
        one = lane.effect("tool", {"q": 1}, lambda asked: asked)
        two = lane.effect("tool", {"q": 1}, lambda _: run.now().year and "again")
    try:
        run.effect("llm", "fail", _fail)
    except EffectFailed as error:
        run.record("note.added", {"text": error.error_type})
    return [one, two, run.now().isoformat(), run.random()]


def _fail(_: object) -> object:
    raise ValueError("no answer")


@pytest.mark.parametrize("mode", ["strict", "bounded", "observational"])
def test_an_honest_replay_does_what_is_recorded(ledger: Ledger, mode: Mode) -> None:
    """The two accounts are equal, to the numbers of the events."""
    recorded, observed, report = _seen(ledger, _busy, mode=mode)
    assert report.verdict == "acceptable"
    assert observed.entries == recorded.entries
    assert recorded.end is not None
    assert dataclasses.replace(recorded.end, seq=None) == observed.end
    assert [one.kind for one in recorded.entries] == ["", "tool", "tool", "llm", "", ""]


def test_a_failed_run_ends_in_both_alike(ledger: Ledger) -> None:
    """Status, type and text of the failure are those of the record."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        raise ValueError("it broke")

    recorded, observed, _ = _seen(ledger, program)
    assert observed.end is not None
    assert recorded.end is not None
    assert observed.end.status == recorded.end.status == "failed"
    assert observed.end.data == {"error_type": "ValueError", "message": "it broke"}


def test_what_differs_is_there_as_it_was_done(ledger: Ledger) -> None:
    """Another fact and another request have their own data, and no recorded event."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "otherwise"})
        with run.scope("part") as lane:
            return lane.effect("tool", {"q": 2}, _never)

    recorded, observed, _ = _seen(ledger, _busy, program, "bounded")
    assert _told(observed) == [
        ("", "note.added", {"text": "otherwise"}, None),
        ("part", "tool.requested", {"request": {"q": 2}}, "completed"),
    ]
    assert [one.seq for one in observed.entries] == [None, None]
    assert observed.entries[1].answer == recorded.entries[1].answer
    assert not observed.stopped


def _never(_: object) -> object:
    raise AssertionError("performed")


def test_a_stopped_program_has_no_end(ledger: Ledger) -> None:
    """What it did up to the difference is there, the difference included."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        run.effect("tool", {"q": "other"}, _never)
        raise AssertionError("it went on")

    recorded, observed, _ = _seen(ledger, _busy, program)
    assert (observed.stopped, observed.end) == (True, None)
    assert observed.entries[0] == recorded.entries[0]
    assert observed.entries[1:] == (
        AccountEntry("", "tool.requested", {"request": {"q": "other"}}, None, "tool"),
    )


def test_what_was_attempted_is_there(ledger: Ledger, tmp_path: Path) -> None:
    """The guard that saw it, and what it was; such a program counts as stopped."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "begun"})
        (tmp_path / "left behind").write_text("…")
        return None

    done = ledger.execute(lambda run: run.record("note.added", {"text": "begun"}) and 1)
    observed = replay(ledger, done.run_id, program).seen[0].observed()
    assert [guard for guard, _ in observed.attempts] == ["file writes"]
    assert observed.stopped


class _Dice:
    """A kind that is performed again in a replay, and comes to something else."""

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        return [EffectKind("dice", source="seeded_rng", reproducible=True)]


def test_what_was_performed_again_has_its_own_outcome(tmp_path: Path) -> None:
    """Where it differs; where it is equal, it has that of the record."""
    thrown = iter([1, 2, 1, 6])

    def program(run: Run) -> object:
        return [run.effect("dice", n, lambda _: next(thrown)) and n for n in range(2)]

    plugins = Plugins([], {"dice": _Dice()})
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger:
        _, observed, _ = _seen(ledger, program, mode="bounded")
        assert [one.answer for one in observed.entries] == [{"value": 1}, {"value": 6}]


class _NoSecrets:
    @hookimpl
    def before_append(self, event_type: str, data: dict[str, object]) -> str | None:
        if event_type == "note.added" and data["text"] == "secret":
            return "no secrets"
        return None


def test_what_a_plugin_refused_is_refused_in_both(tmp_path: Path) -> None:
    """Whether the program runs into the refusal again is compared like a fact."""

    def program(run: Run) -> object:
        try:
            run.record("note.added", {"text": "secret"})
        except AppendRefused:
            run.record("note.added", {"text": "refused"})
        return None

    def tame(_: Run) -> object:
        return None

    plugins = Plugins([], {"gate": _NoSecrets()})
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger:
        recorded, observed, _ = _seen(ledger, program)
        assert _told(recorded) == _told(observed)
        assert [one.type for one in observed.entries] == [
            "plugin.refused",
            "note.added",
        ]
        done = ledger.execute(program)
        observed = replay(ledger, done.run_id, tame, mode="bounded").seen[0].observed()
        assert observed.entries == ()


def test_a_replay_writes_nothing_of_it(ledger: Ledger) -> None:
    """Neither into the ledger nor into the report as JSON."""
    done = ledger.execute(_busy)
    before = ledger.head.size
    report = replay(ledger, done.run_id, _busy)
    assert ledger.head.size == before
    assert "seen" not in report.to_json()
    assert "seen" not in repr(report)
