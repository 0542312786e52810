"""Replays that are not strict go on, and find all that differs, in the record's order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import CannotTellError, EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.recorded.divergence import Divergence
from muniment.replays.judge import Mode
from muniment.replays.replay import ReplayReport, replay
from muniment.runs.run import Run
from muniment.runs.seams import GateAnswer

LENIENT: tuple[Mode, ...] = ("bounded", "observational")


def _never(_: object) -> object:
    raise AssertionError("performed")


def _ask(run: Run, *queries: object, kind: str = "tool") -> list[object]:
    return [run.effect(kind, query, _never) for query in queries]


def _recorded(ledger: Ledger, program: Callable[[Run], object]) -> str:
    done = ledger.execute(program)
    assert done.ok, done.error
    return done.run_id


def _steps(run: Run) -> list[object]:
    """Note, ask, and so on; what is asked for is what is answered."""
    answers: list[object] = []
    for number in range(3):
        run.record("note.added", {"text": f"note {number}"})
        answers.append(run.effect("tool", number, lambda asked: asked))
    return answers


def _told(report: ReplayReport) -> list[tuple[str, object, object]]:
    return [(one.what, one.expected, one.got) for one in report.findings]


def _in_order(found: tuple[Divergence, ...]) -> bool:
    known = [one.seq for one in found if one.seq is not None]
    return known == sorted(known)


@pytest.mark.parametrize("mode", LENIENT)
def test_a_changed_request_ends_no_lenient_replay(ledger: Ledger, mode: Mode) -> None:
    """It is answered as the recorded one in its place, and all that differs is found."""

    def program(run: Run) -> list[object]:
        run.record("note.added", {"text": "note 0"})
        first = _ask(run, "other")
        run.record("note.added", {"text": "other"})
        second = _ask(run, 1)
        third = _ask(run, "another")
        return [*first, *second, *third]

    report = replay(ledger, _recorded(ledger, _steps), program, mode=mode)
    assert _told(report) == [
        ("effect", 0, "other"),
        ("fact", "note 1", "other"),
        ("missing", "note.added", None),
        ("effect", 2, "another"),
    ]
    assert _in_order(report.findings)
    assert report.result_digest is not None
    accepted = {"bounded": "unacceptable", "observational": "acceptable_with_warnings"}
    assert report.verdict == accepted[mode]


def test_a_strict_replay_stops_at_the_first(ledger: Ledger) -> None:
    """Nothing that follows the first difference is done, or says anything."""

    def program(run: Run) -> list[object]:
        run.record("note.added", {"text": "note 0"})
        _ask(run, "other")
        raise AssertionError("it went on")

    report = replay(ledger, _recorded(ledger, _steps), program)
    assert _told(report) == [("effect", 0, "other")]


@pytest.mark.parametrize("mode", ["strict", *LENIENT])
def test_a_dropped_fact_is_named_before_the_request(ledger: Ledger, mode: Mode) -> None:
    """It is what differs first, though it is known only once something follows it."""

    def program(run: Run) -> list[object]:
        run.record("note.added", {"text": "note 0"})
        return [*_ask(run, 0, "other"), *_steps_from_two(run)]

    def _steps_from_two(run: Run) -> list[object]:
        run.record("note.added", {"text": "note 2"})
        return _ask(run, 2)

    report = replay(ledger, _recorded(ledger, _steps), program, mode=mode)
    first, second, *others = report.findings
    notes = list(ledger.events(type="note.added"))
    assert (first.what, first.seq) == ("missing", notes[1].seq)
    assert (second.what, second.expected, second.got) == ("effect", 1, "other")
    assert [one.what for one in others] == ([] if mode == "strict" else ["order"])
    assert report.first_divergence is first


@pytest.mark.parametrize("mode", ["strict", *LENIENT])
def test_a_dropped_fact_is_named_before_a_request_too_many(
    ledger: Ledger, mode: Mode
) -> None:
    """What the record has not at all comes after what it has before that place."""

    def program(run: Run) -> list[object]:
        with run.scope("part") as lane:
            return _ask(lane, 0, "extra")

    def recorded(run: Run) -> object:
        with run.scope("part") as lane:
            lane.record("note.added", {"text": "dropped"})
            return lane.effect("tool", 0, lambda asked: asked)

    report = replay(ledger, _recorded(ledger, recorded), program, mode=mode)
    assert [one.what for one in report.findings] == ["missing", "extra"]
    assert report.result_digest is None, "nothing answers it: the program was stopped"
    rejected = mode != "observational"
    assert (report.verdict == "unacceptable") is rejected


def test_what_was_only_not_reached_is_not_missing(ledger: Ledger) -> None:
    """A program that was stopped might have come to all that follows in the record."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "inserted"})
        return _steps(run)

    report = replay(ledger, _recorded(ledger, _steps), program)
    assert [one.what for one in report.findings] == ["fact"]


def test_a_request_of_another_kind_takes_no_other_answer(ledger: Ledger) -> None:
    """It is answered by the next of its kind; the other kind is missing, in its place."""

    def recorded(run: Run) -> list[object]:
        model = run.effect("llm", "q", lambda _: "words")
        return [model, run.effect("tool", "q", lambda _: "hits")]

    def program(run: Run) -> list[object]:
        return ["words", *_ask(run, "other")]

    report = replay(ledger, _recorded(ledger, recorded), program, mode="observational")
    assert _told(report) == [
        ("missing", "llm.requested", None),
        ("effect", "q", "other"),
    ]
    only = replay(ledger, report.run_id, lambda run: _ask(run, 1, kind="human"))
    assert [one.what for one in only.findings] == ["type"]


def test_where_all_differs_all_is_found(ledger: Ledger) -> None:
    """The report of another program is long, and whole."""
    many = 400

    def recorded(run: Run) -> None:
        for number in range(many // 20):
            run.effect("tool", number, lambda asked: asked)
            for note in range(19):
                run.record("note.added", {"text": f"{number}.{note}"})

    def program(run: Run) -> None:
        for number in range(many // 20):
            run.effect("tool", f"n{number}", _never)
            for note in range(19):
                run.record("note.added", {"text": f"n{number}.{note}"})

    report = replay(ledger, _recorded(ledger, recorded), program, mode="observational")
    assert len(report.findings) == many
    assert _in_order(report.findings)


# --- performed again -----------------------------------------------------------------


def _seeded(ledger: Ledger, **options: object) -> None:
    ledger.register(EffectKind("sum", reproducible=True, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["strict", *LENIENT])
def test_another_outcome_ends_no_lenient_replay(ledger: Ledger, mode: Mode) -> None:
    """The program goes on with what was performed; what it asks then is compared."""
    _seeded(ledger)
    adds = 1

    def program(run: Run) -> object:
        one = run.effect("sum", 1, lambda asked: asked + adds)  # type: ignore[operator]
        two = run.effect("sum", one, lambda _: 10)
        return [one, two, run.effect("sum", 7, lambda _: 7)]

    recorded = _recorded(ledger, program)
    adds = 2
    report = replay(ledger, recorded, program, mode=mode)
    all_of_it = [("outcome", 2, 3), ("effect", 2, 3), ("result", 2, 3)]
    assert _told(report) == (all_of_it[:1] if mode == "strict" else all_of_it)
    accepted = mode == "observational"
    assert report.ok is accepted


def test_an_outcome_may_have_become_a_failure(ledger: Ledger) -> None:
    """It is found, and the program gets the failure; also the other way round."""
    _seeded(ledger)
    fails = False

    def work(asked: object) -> object:
        if asked == int(fails):
            raise ValueError("broken")
        return asked

    def program(run: Run) -> list[object]:
        found: list[object] = []
        for number in range(2):
            try:
                found.append(run.effect("sum", number, work))
            except EffectFailed as error:
                found.append(error.error_type)
        return found

    recorded = _recorded(ledger, program)
    fails = True
    report = replay(ledger, recorded, program, mode="observational")
    assert _told(report)[:2] == [
        ("outcome", "sum.failed", "sum.completed"),
        ("outcome", "sum.completed", "sum.failed"),
    ]
    assert [one.what for one in report.findings[2:]] == ["result"]


# --- without a gate ------------------------------------------------------------------


class Cached:
    """Answers one effect, refuses another; it declares no type and no kind."""

    @hookimpl
    def before_effect(self, request: object) -> GateAnswer | str | None:
        """Go by what is asked."""
        if request == "known":
            return GateAnswer("from the cache")
        return "over budget" if request == "dear" else None


def _gated(run: Run) -> list[object]:
    first = _ask(run, "first") if run.replays else [run.effect("tool", "first", str)]
    with pytest.raises(EffectFailed, match="over budget"):
        _ask(run, "dear")
    return [*first, *_ask(run, "known")]


def _before_gate(run: Run) -> list[object]:
    return _ask(run, "second")


@pytest.mark.parametrize("mode", ["strict", "bounded"])
def test_without_its_gate_a_record_is_not_rejected(tmp_path: Path, mode: Mode) -> None:
    """A record that names a gate which is not here is told apart from a wrong one."""
    path = tmp_path / "ledger.db"
    with Ledger.create(path, plugins=Plugins((), {"cache": Cached()})) as ledger:
        run = _recorded(ledger, _gated)
        rejected = replay(ledger, run, lambda _: 0, mode=mode)
        assert rejected.verdict == "unacceptable", (
            "the gate is here: it is not an excuse"
        )
    with Ledger.open(path, plugins=()) as ledger:
        assert replay(ledger, run, _gated, mode=mode).verdict == "acceptable"
        with pytest.raises(CannotTellError, match="the plugin cache refused") as caught:
            replay(ledger, run, lambda run: [*_gated(run), 0], mode=mode)
        assert caught.value.rule == "replay/plugin"
        assert caught.value.exit_code == 3
        first = replay(ledger, run, _before_gate, mode=mode)
        assert first.verdict == "unacceptable", "it differs before any gate was asked"
