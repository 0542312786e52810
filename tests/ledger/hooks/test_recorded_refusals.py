"""What gates refuse to have written is recorded, and answered from the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from muniment.errors import AppendRefused, EffectFailed, RefusedError
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.runs.seams import GateAnswer
from muniment.verification.verify import verify

Program = Callable[[Run], object]


class Budget:
    """Lets so many events of a type pass, and refuses others; it has no types."""

    def __init__(self, event_type: str, left: int = 0) -> None:
        self.event_type, self.left = event_type, left
        self.asked: list[str] = []

    @hookimpl
    def before_append(self, event_type: str) -> str | None:
        """Count what is asked for."""
        self.asked.append(event_type)
        if event_type != self.event_type:
            return None
        self.left -= 1
        return "the budget of 0 € is spent" if self.left < 0 else None


def _opened(tmp_path: Path, **plugins: object) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", plugins=Plugins((), extra=plugins))


def _reopened(tmp_path: Path, **plugins: object) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db", plugins=Plugins((), extra=plugins))


def _notes(run: Run) -> list[str]:
    said: list[str] = []
    for text in ("a", "b", "c"):
        try:
            run.record("note.added", {"text": text})
        except AppendRefused as refused:
            said.append(str(refused))
    return said


def _asks(run: Run) -> list[str]:
    said: list[str] = []
    for number in range(3):
        try:
            run.effect("tool", number, lambda asked: asked)
        except AppendRefused as refused:
            said.append(str(refused))
    return said


def _again(run: Run) -> int:
    """Ask for the same until it is let pass."""
    tries = 1
    while True:
        try:
            run.effect("tool", "same", lambda asked: asked)
        except AppendRefused:
            tries += 1
        else:
            return tries


class Every(Budget):
    """Refuses every other event of a type."""

    @hookimpl
    def before_append(self, event_type: str) -> str | None:
        """Go by what was asked before."""
        self.asked.append(event_type)
        odd = self.asked.count(self.event_type) % 2 == 1
        return "come back later" if odd and event_type == self.event_type else None


def _fails(run: Run) -> None:
    run.record("note.added", {"text": "a"})


def _ends(_: Run) -> int:
    return 7


def _outcome(run: Run) -> str:
    try:
        run.effect("sum", 1, lambda asked: asked)
    except EffectFailed as error:
        return f"{error.error_type}: {error.message}"
    return "summed"


@pytest.mark.parametrize(
    ("program", "gate", "refused"),
    [
        (_notes, Budget("note.added", 1), ["note.added"] * 2),
        (_asks, Budget("tool.requested", 1), ["tool.requested"] * 2),
        (_again, Every("tool.requested"), ["tool.requested"]),
        (_fails, Budget("note.added"), ["note.added"]),
        (_ends, Budget("run.completed"), ["run.completed"]),
        (_outcome, Budget("sum.completed"), []),
    ],
    ids=["facts", "requests", "again", "fatal", "end", "outcome"],
)
def test_a_refused_event_replays_without_its_gate(
    tmp_path: Path, program: Program, gate: Budget, refused: list[str]
) -> None:
    """The record says what was refused, and a replay is refused it: it asks nobody."""
    kind = EffectKind("sum", reproducible=True)
    with _opened(tmp_path, budget=gate) as ledger:
        ledger.register(kind)
        done = ledger.execute(program)
        told = list(ledger.events(type="plugin.refused"))
        assert [one.raw["event_type"] for one in told] == refused
        assert {one.scope for one in told} <= {"plugin/budget"}
        gate.asked.clear()
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
        assert gate.asked == []
    assert verify(tmp_path / "ledger.db").ok
    with _reopened(tmp_path) as ledger:
        ledger.register(kind)
        for mode in ("strict", "bounded"):
            report = replay(ledger, done.run_id, program, mode=mode)
            assert report.verdict == "acceptable", report
            assert report.result_digest == done.result_digest


def test_nothing_is_kept_of_what_was_refused(tmp_path: Path) -> None:
    """The event has its type, its scope, the plugin and the reason, and not a hash more."""
    with _opened(tmp_path, budget=Budget("note.added")) as ledger:

        def program(run: Run) -> None:
            with run.scope("part") as lane, pytest.raises(AppendRefused):
                lane.record("note.added", {"text": "hunter2"})

        assert ledger.execute(program).ok
        (told,) = ledger.events(type="plugin.refused")
        assert ledger.resolve(told) == {
            "plugin": "budget",
            "event_type": "note.added",
            "scope": "part",
            "reason": "the budget of 0 € is spent",
        }
        size = ledger.head.size
        with pytest.raises(AppendRefused):
            ledger.append("note.added", {"text": "hunter2"})
        assert ledger.head.size == size, "outside of runs nobody asks again"


def test_a_refusal_that_is_not_asked_for_again_is_missing(tmp_path: Path) -> None:
    """A program that no longer tries what was refused is another one."""
    with _opened(tmp_path, budget=Budget("note.added", 1)) as ledger:
        done = ledger.execute(_notes)

        def less(run: Run) -> object:
            run.record("note.added", {"text": "a"})
            with pytest.raises(AppendRefused):
                run.record("note.added", {"text": "b"})
            return done.result

        report = replay(ledger, done.run_id, less)
        assert report.first_divergence is not None
        first = report.first_divergence
        assert (first.what, first.expected) == ("missing", "plugin.refused")
        assert report.verdict == "unacceptable"


def test_a_fact_too_many_is_no_refusal(tmp_path: Path) -> None:
    """Each refusal is answered once; what the record has not is a difference."""
    with _opened(tmp_path, budget=Budget("note.added", 1)) as ledger:
        done = ledger.execute(_notes)
    with _reopened(tmp_path) as ledger:
        report = replay(ledger, done.run_id, lambda run: (_notes(run), _notes(run)))
        assert [one.what for one in report.findings] == ["extra"]


def test_what_a_program_dealt_with_is_answered_by_a_resume(tmp_path: Path) -> None:
    """Whatever the gate says by now: what followed came of what it said then."""
    stops = True

    def program(run: Run) -> list[str]:
        said = _notes(run)
        run.effect("tool", said, lambda asked: asked)
        if stops:
            raise KeyboardInterrupt
        return said

    with _opened(tmp_path, budget=Budget("note.added", 1)) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.execute(program)
        run = next(ledger.events(type="run.started")).run or ""
    stops = False
    gate = Budget("note.added", 9)
    with _reopened(tmp_path, budget=gate) as ledger:
        done = ledger.resume(run, program)
        assert len(done.result) == 2  # type: ignore[arg-type]
        assert "note.added" not in gate.asked
        assert replay(ledger, run, program).verdict == "acceptable"
    assert verify(tmp_path / "ledger.db").ok


def test_what_ended_a_run_is_asked_about_anew(tmp_path: Path) -> None:
    """Who raises the budget resumes the run; a replay comes to its second end."""
    with _opened(tmp_path, budget=Budget("note.added")) as ledger:
        done = ledger.execute(_fails)
        assert done.status == "refused"
        assert ledger.resume(done.run_id, _fails).status == "refused"
    with _reopened(tmp_path, budget=Budget("note.added", 1)) as ledger:
        assert ledger.resume(done.run_id, _fails).status == "completed"
    with _reopened(tmp_path) as ledger:
        assert len(list(ledger.events(type="plugin.refused"))) == 2
        assert replay(ledger, done.run_id, _fails).verdict == "acceptable"


class Cached:
    """Answers effects that could be performed again, and refuses some."""

    @hookimpl
    def before_effect(self, request: object) -> GateAnswer | str | None:
        """Go by what is asked."""
        return GateAnswer(-1) if request == 1 else "no"


@pytest.mark.parametrize("number", [1, 2])
def test_what_a_gate_answered_is_not_performed_again(
    tmp_path: Path, number: int
) -> None:
    """A reproducible effect that nobody performed is answered from the record."""
    kind = EffectKind("sum", reproducible=True)

    def program(run: Run) -> object:
        try:
            return run.effect("sum", number, lambda asked: asked)
        except EffectFailed as error:
            return error.message

    with _opened(tmp_path, cached=Cached()) as ledger:
        ledger.register(kind)
        done = ledger.execute(program)
        assert done.result == (-1 if number == 1 else "no")
    with _reopened(tmp_path) as ledger:
        ledger.register(kind)
        assert replay(ledger, done.run_id, program).verdict == "acceptable"


# --- dry runs --------------------------------------------------------------------------


class Strict:
    """Refuses what must not happen, and answers what it knows."""

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, object]) -> str | None:
        """Refuse notes that shout, and results."""
        if event_type == "run.completed" and data.get("result") == "secret":
            return "no such result"
        return "no shouting" if "!" in str(data.get("text", "")) else None

    @hookimpl
    def before_effect(self, run: Run, request: object) -> GateAnswer | str | None:
        """Note that it was asked, and go by the request."""
        run.record("note.added", {"text": "asked"})
        if request == "known":
            return GateAnswer("from the cache")
        return "over budget" if request == "dear" else None


def test_a_dry_run_asks_the_gates(tmp_path: Path) -> None:
    """It shows what would be refused, and writes nothing of it."""

    def program(run: Run, result: str) -> object:
        with pytest.raises(AppendRefused, match="plugin strict: no shouting"):
            run.record("note.added", {"text": "hey!"})
        with pytest.raises(EffectFailed, match="over budget"):
            run.effect("guess", "dear", lambda _: "performed")
        known = run.effect("guess", "known", lambda _: "performed")
        return [known, run.effect("guess", 1, lambda _: "performed")] and result

    with _opened(tmp_path, strict=Strict()) as ledger:
        ledger.register(EffectKind("guess", dry=lambda _: "a guess"))
        size = ledger.head.size
        done = ledger.execute(program, params={"result": "fine"}, mode="dry")
        assert (done.status, done.result) == ("dry", "fine")
        done = ledger.execute(program, params={"result": "secret"}, mode="dry")
        assert done.status == "refused"
        assert isinstance(done.error, RefusedError)
        assert "no such result" in str(done.error)
        assert ledger.head.size == size
