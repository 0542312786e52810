"""Plugins are asked for real, one at a time, and each is known by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import pytest

from muniment.errors import (
    AppendRefused,
    CannotTellError,
    EffectFailed,
    RefusedError,
    UsageError,
)
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import BLOB, EventData, EventType
from muniment.formats.dsse import Signer
from muniment.formats.statement import Event
from muniment.hookspecs import hookimpl
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.runs.seams import GateAnswer
from muniment.verification.verify import verify


class ReviewFinished(EventData):
    """A review came to its end."""

    score: int
    text: Annotated[str, BLOB]


class Words:
    """Adds an event type, an effect kind, and a format."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``review.finished``."""
        return [EventType("review.finished", ReviewFinished)]

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Add ``review``."""
        return [EffectKind("review", source="human_input")]

    @hookimpl
    def exporters(self) -> Mapping[str, Callable[[Ledger, str], bytes]]:
        """Add ``lines``: one type per line."""
        return {"lines": _lines}


def _lines(ledger: Ledger, run: str) -> bytes:
    return "\n".join(event.type for event in ledger.events(run=run)).encode()


class Gate:
    """Refuses notes that shout, and keeps what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, object]) -> str | None:
        """Refuse shouting."""
        self.asked.append(event_type)
        if self.broken:
            raise OSError("the policy cannot be read")
        return "no shouting" if "!" in str(data.get("text", "")) else None


class Observer:
    """Keeps what was written, and fails when told to."""

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.broken = False

    @hookimpl
    def after_append(self, event: Event) -> None:
        """Keep the event."""
        self.seen.append(event)
        if self.broken:
            raise OSError("\ud800 nowhere to put it")


class Keeper:
    """Refuses, answers or counts effects, by what the request says."""

    @hookimpl
    def before_effect(
        self, run: Run, kind: EffectKind, request: object, scope: str
    ) -> GateAnswer | str | None:
        """Do as the request says."""
        run.record("note.added", {"text": f"{kind.name} in {scope}"})
        if request == "refuse":
            return "over budget"
        if request == "raise":
            raise RefusedError("too late today", rule="keeper/late")
        if request == "break":
            raise OSError("no budget")
        return GateAnswer([1.0, "cached"]) if request == "answer" else None


def _ledger(tmp_path: Path, *plugins: object) -> Ledger:
    named = {type(one).__name__.lower(): one for one in plugins}
    return Ledger.create(tmp_path / "ledger.db", plugins=Plugins((), named))


def _echo(request: object) -> object:
    return request


def test_event_types_and_effect_kinds(tmp_path: Path) -> None:
    """What a plugin declares is written, resolved and performed like the kernel's own."""
    with _ledger(tmp_path, Words()) as ledger:
        event = ledger.append("review.finished", {"score": 3, "text": "fine"})
        assert ledger.resolve(event) == {"score": 3, "text": "fine"}
        with ledger.run("r") as run:
            assert run.effect("review", {"n": 1}, _echo) == {"n": 1}
        assert len(list(ledger.events(type="review.*"))) == 3
    with (
        Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger,
        pytest.raises(UsageError, match=r"no event type is called 'review\.finished'"),
    ):
        ledger.append("review.finished", {"score": 3, "text": "fine"})
    assert verify(tmp_path / "ledger.db").ok


def test_a_gate_refuses_with_its_name_and_reason(tmp_path: Path) -> None:
    """Nothing is written of what a plugin refuses, in a run or outside."""
    with _ledger(tmp_path, gate := Gate()) as ledger:
        size = ledger.head.size
        with pytest.raises(AppendRefused, match="plugin gate: no shouting"):
            ledger.append("note.added", {"text": "hey!"})
        with pytest.raises(AppendRefused, match="no shouting"):
            ledger.append_many(
                [("note.added", {"text": "a"}), ("note.added", {"text": "b!"})]
            )
        assert ledger.head.size == size

        def program(run: Run) -> object:
            with pytest.raises(AppendRefused, match="no shouting"):
                run.record("note.added", {"text": "hey!"})
            return run.record("note.added", {"text": "hey"}).event.seq and 1

        done = ledger.execute(program)
        assert done.result == 1
        gate.asked.clear()
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
        assert gate.asked == [], "what it refused is in the record"


def test_a_refused_run_replays_to_its_refusal(tmp_path: Path) -> None:
    """A run that a gate ended fails as refused, and does so again."""
    with _ledger(tmp_path, Gate()) as ledger:

        def program(run: Run) -> None:
            run.record("note.added", {"text": "hey!"})

        done = ledger.execute(program)
        assert done.status == "refused"
        assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_gate_that_cannot_say_says_no(tmp_path: Path) -> None:
    """A policy that fails lets nothing pass; that something failed is still written."""
    with _ledger(tmp_path, gate := Gate()) as ledger:

        def program(run: Run) -> None:
            gate.broken = True
            run.effect("data", 1, _echo)

        done = ledger.execute(program)
        assert done.status == "refused"
        assert "it failed with OSError: the policy cannot be read" in str(done.error)
        assert [e.type for e in ledger.events(run=done.run_id)] == [
            "run.started",
            "plugin.refused",
            "run.failed",
        ]


def test_an_observer_sees_what_was_committed(tmp_path: Path) -> None:
    """After the commit, each event once, in order, runs' and others' alike."""
    with _ledger(tmp_path, observer := Observer()) as ledger:
        ledger.append("note.added", {"text": "a"})
        with ledger.run("r") as run:
            run.record("note.added", {"text": "b"})
            run.effect("data", 1, _echo)
        assert [event.seq for event in observer.seen] == list(range(1, 7))
        (ref,) = [
            event.data["request"] for event in ledger.events(type="data.requested")
        ]
        ledger.erase(ref.digest, reason="asked for")  # type: ignore[attr-defined]
        assert observer.seen[-1].type == "blob.erased"


def test_a_failing_observer_is_isolated(tmp_path: Path) -> None:
    """Its failure is an event that nobody is told of; the append stands."""
    with _ledger(tmp_path, observer := Observer()) as ledger:
        observer.broken = True
        event = ledger.append("note.added", {"text": "a"})
        (failed,) = ledger.events(type="plugin.failed")
        assert failed.data["plugin"] == "observer"
        assert failed.data["hook"] == "after_append"
        assert failed.data["event"] == event.seq
        assert "nowhere to put it" in str(ledger.resolve(failed)["message"])
        assert [one.seq for one in observer.seen] == [event.seq]
        done = ledger.execute(lambda run: run.effect("data", 1, _echo))
        assert done.status == "completed"
    assert verify(tmp_path / "ledger.db").ok


def test_before_effect_refuses_answers_and_is_named(tmp_path: Path) -> None:
    """The outcome names who answered, and a refusal is a failure like any other."""
    performed: list[object] = []

    def program(run: Run) -> object:
        with pytest.raises(EffectFailed, match="over budget") as refused:
            run.effect("tool", "refuse", performed.append)
        with pytest.raises(EffectFailed, match="OSError: no budget"):
            run.effect("tool", "break", performed.append)
        with pytest.raises(EffectFailed, match=r"refused.*too late today"):
            run.effect("tool", "raise", performed.append)
        with run.scope("s") as lane:
            answer = lane.effect("tool", "answer", performed.append)
        return [refused.value.error_type, answer, run.effect("tool", "go", _echo)]

    with _ledger(tmp_path, Keeper()) as ledger:
        done = ledger.execute(program)
        assert done.result == ["refused", [1.0, "cached"], "go"]
        assert performed == []
        by = {"who": "plugin", "name": "keeper", "version": "unversioned"}
        failed, _, _ = ledger.events(type="tool.failed")
        assert failed.data["answered_by"] == by
        assert failed.data["reason"] == "refused"
        outcomes = [e.data["answered_by"] for e in ledger.events(type="tool.completed")]
        assert outcomes == [by, {"who": "performer"}]
        notes = [(e.scope, e.data["text"]) for e in ledger.events(type="note.added")]
        assert notes[3] == ("plugin/keeper", "tool in s")
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
    with Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger:
        report = replay(ledger, done.run_id, program)
        assert report.verdict == "acceptable"
        assert report.result_digest == done.result_digest


def test_a_refused_effect_ends_the_run_as_refused(tmp_path: Path) -> None:
    """A policy's no that nobody handles is the run's status."""
    with _ledger(tmp_path, Keeper()) as ledger:
        done = ledger.execute(lambda run: run.effect("tool", "refuse", _echo))
        assert done.status == "refused"


class Vault:
    """Signs with a key that lives in the plugin, and carries checkpoints away."""

    def __init__(self) -> None:
        self.key = PrivateKey.generate()
        self.carried: list[tuple[str, bytes]] = []
        self.broken = False

    @hookimpl
    def signers(self) -> Mapping[str, Callable[[str], Signer]]:
        """Offer ``vault:``."""
        return {"vault": lambda _: self.key}

    @hookimpl
    def publish_checkpoint(self, ledger_id: str, note: bytes) -> None:
        """Keep the note."""
        if self.broken:
            raise OSError("unreachable")
        self.carried.append((ledger_id, note))


def test_a_signer_of_a_plugin_signs(tmp_path: Path) -> None:
    """A URI scheme of a plugin gives the writer's key."""
    vault = Vault()
    plugins = Plugins((), {"vault": vault})
    place = tmp_path / "ledger.db"
    with Ledger.create(place, signer="vault:writer", plugins=plugins) as ledger:
        assert ledger.append("note.added", {"text": "a"}).key == vault.key.public.raw
    assert verify(place).ok
    with pytest.raises(UsageError, match="vault"):
        Ledger.open(place, signer="vault:writer", plugins=())


def test_a_checkpoint_is_carried_away(tmp_path: Path) -> None:
    """Each new checkpoint is offered; a failure to carry it is an event."""
    with _ledger(tmp_path, vault := Vault()) as ledger:
        ledger.append("note.added", {"text": "a"})
        note = ledger.checkpoint()
        assert vault.carried == [(ledger.id, note)]
        vault.broken = True
        ledger.append("note.added", {"text": "b"})
        assert ledger.checkpoint() is not None
        (failed,) = ledger.events(type="plugin.failed")
        assert failed.data["hook"] == "publish_checkpoint"
    assert verify(tmp_path / "ledger.db").ok


def test_an_exporter_writes_a_run(tmp_path: Path) -> None:
    """A run is written in a plugin's format; an unknown format is named."""
    with _ledger(tmp_path, Words()) as ledger:
        done = ledger.execute(lambda _: 1)
        assert ledger.export(done.run_id[:10], "lines") == b"run.started\nrun.completed"
        with pytest.raises(UsageError, match=r"exports 'pdf'.*known are: lines"):
            ledger.export(done.run_id, "pdf")


class Rebuilder:
    """Makes the program of a run from its events."""

    @hookimpl
    def rebuild_program(self, ledger: Ledger, run: str) -> Callable[..., object]:
        """Return a program that answers with the run's first note."""
        (note,) = ledger.events(run=run, type="note.added")
        text = note.data["text"]
        return lambda lane: lane.record("note.added", {"text": text}) and text


def test_a_program_is_rebuilt(tmp_path: Path) -> None:
    """A program without import path is found again by the plugin that knows it."""

    def program(run: Run) -> object:
        run.record("note.added", {"text": "abc"})
        return "abc"

    with _ledger(tmp_path) as ledger:
        done = ledger.execute(program)
        with pytest.raises(CannotTellError, match="cannot be imported"):
            replay(ledger, done.run_id)
    plugins = Plugins((), {"rebuilder": Rebuilder()})
    with Ledger.open(tmp_path / "ledger.db", plugins=plugins) as ledger:
        assert replay(ledger, done.run_id).verdict == "acceptable"


def test_a_run_lists_the_active_plugins(tmp_path: Path) -> None:
    """Names and versions of all that may have had a say."""
    with _ledger(tmp_path, Words(), Gate()) as ledger:
        done = ledger.execute(lambda _: 1)
        started = next(ledger.events(run=done.run_id))
    assert started.data["plugins"] == {"words": "unversioned", "gate": "unversioned"}


class Misspelt:
    """Implements a hook that does not exist."""

    @hookimpl
    def before_efect(self) -> None:
        """Never be called."""


class Demanding:
    """Wants an argument that the hook does not have."""

    @hookimpl
    def before_append(self, colour: str) -> None:
        """Never be called."""


@pytest.mark.parametrize("plugin", [Misspelt(), Demanding()])
def test_a_plugin_that_cannot_be_asked_stops_the_work(
    tmp_path: Path, plugin: object
) -> None:
    """A policy that would silently not be asked is one clear line instead."""
    with (
        _ledger(tmp_path, plugin) as ledger,
        pytest.raises(CannotTellError, match=r"^plugin (misspelt|demanding): ") as got,
    ):
        ledger.append("note.added", {"text": "a"})
    assert "\n" not in str(got.value)
    assert got.value.exit_code == 3


def test_the_allow_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only named plugins load; a name that nothing has is a mistake."""
    monkeypatch.setenv("MUNIMENT_PLUGINS", "capsule")
    with Ledger.create(tmp_path / "a.db") as ledger:
        assert list(ledger.plugins.versions) == ["capsule"]
    monkeypatch.setenv("MUNIMENT_PLUGINS", "none")
    with Ledger.create(tmp_path / "b.db") as ledger:
        assert ledger.plugins.versions == {}
    with Ledger.create(tmp_path / "c.db", plugins=["capsule"]) as ledger:
        assert list(ledger.plugins.versions) == ["capsule"]
    monkeypatch.setenv("MUNIMENT_PLUGINS", "capsul")
    with (
        Ledger.create(tmp_path / "d.db") as ledger,
        pytest.raises(UsageError, match="no plugin is called capsul"),
    ):
        ledger.append("note.added", {"text": "a"})
