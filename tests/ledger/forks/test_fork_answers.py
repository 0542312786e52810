"""What a fork is answered beside plain effects: streams, refusals, decisions, children."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from deciding import answer, approver, asks
from forking_programs import ends_of, outcome
from muniment import hookimpl
from muniment.errors import AppendRefused, EffectFailed, RefusedError
from muniment.events.effect_kinds import EffectKind
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.queries.effect_stats import EffectTally
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.runs.seams import GateAnswer
from muniment.verification.verify import verify
from steps import echo, types_of


class Gate:
    """Refuses loud notes and dear effects, and remembers what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.strict = True

    @hookimpl
    def before_append(self, event_type: str, data: dict[str, object]) -> str | None:
        """Refuse a note that shouts."""
        loud = event_type == "note.added" and "!" in str(data["text"])
        return "no shouting" if loud and self.strict else None

    @hookimpl
    def before_effect(self, run: Run, request: object) -> GateAnswer | str | None:
        """Answer what is known, and refuse what is dear."""
        run.record("note.added", {"text": "asked"})
        self.asked.append(request)
        if request == "known":
            return GateAnswer("from the cache")
        return "over budget" if request == "dear" and self.strict else None


def gated(run: Run) -> list[object]:
    """Deal with refusals."""
    found: list[object] = []
    try:
        run.record("note.added", {"text": "hello!"})
    except AppendRefused as error:
        found.append(str(error))
    try:
        run.effect("tool", "dear", echo)
    except EffectFailed as error:
        found += [error.error_type, error.message]
    found.append(run.effect("tool", "known", echo))
    run.record("note.added", {"text": "quietly"})
    return [*found, run.effect("tool", "live", echo)]


def test_what_plugins_said(tmp_path: Path) -> None:
    """Refusals and answers of the origin come again, whatever the plugin says today."""
    gate = Gate()
    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), extra={"gate": gate})
    with Ledger.create(place, plugins=plugins) as ledger:
        done = ledger.execute(gated)
        assert done.ok
        gate.asked.clear()
        gate.strict = False
        at = outcome(ledger, done.run_id, "tool.requested").seq
        last = list(ledger.events(run=done.run_id, type="tool.completed"))
        fork = ledger.fork(done.run_id, at=last[0].seq, program=gated)
        assert (fork.result, fork.result_digest) == (done.result, done.result_digest)
        assert gate.asked == ["live"]
        assert ends_of(ledger, fork.run_id) == {"record": 2, "performer": 1}
        assert "plugin.refused" in types_of(ledger, fork.run_id)
        assert replay(ledger, fork.run_id, gated).verdict == "acceptable"
        fork = ledger.fork(done.run_id, at=at, program=gated)
        assert gate.asked[1:] == ["dear", "known", "live"]
        assert fork.ok
        assert verify(ledger.path, home=ledger.home).ok


def streamed(run: Run) -> object:
    """Read parts, with a fact between them."""
    stream = run.open("llm", {"prompt": "p"})
    if stream.answered:
        whole = stream.answer()
        run.scope("beside").record("note.added", {"text": "between"})
    else:
        given: list[object] = []
        told = [0]

        def taken() -> dict[str, object] | None:
            parts, told[0] = given[told[0] :], len(given)
            return {"parts": parts} if parts else None

        stream.begin(taken, lambda: stream.complete([*given]))
        given.append("one")
        run.scope("beside").record("note.added", {"text": "between"})
        given.append("two")
        whole = stream.complete([*given])
    return [whole, run.effect("tool", whole, echo)]


def test_a_streamed_answer(ledger: Ledger) -> None:
    """It is answered whole, and the fork has no parts of it."""
    done = ledger.execute(streamed)
    assert "llm.streamed" in types_of(ledger, done.run_id)
    at = outcome(ledger, done.run_id, "llm.completed").seq
    for seq in range(outcome(ledger, done.run_id, "llm.requested").seq, at):
        fork = ledger.fork(done.run_id, at=seq, program=streamed)
        assert fork.result_digest == done.result_digest
        assert ends_of(ledger, fork.run_id) == {"performer": 2}
    fork = ledger.fork(done.run_id, at=at, program=streamed)
    assert fork.result_digest == done.result_digest
    assert ends_of(ledger, fork.run_id) == {"record": 1, "performer": 1}
    assert "llm.streamed" not in types_of(ledger, fork.run_id)
    assert replay(ledger, fork.run_id, streamed).verdict == "acceptable"
    other = ledger.fork(done.run_id, at=at, changes={at: ["three"]}, program=streamed)
    assert other.result == [["three"], ["three"]]
    assert verify(ledger.path, home=ledger.home).ok


def test_what_people_decided(ledger: Ledger) -> None:
    """They signed it for the run that asked: a fork asks anew, or is refused."""
    mine = approver(ledger, "ann")
    program = asks
    done = ledger.execute(program)
    asked = outcome(ledger, done.run_id, "decision.asked")
    answer(ledger, mine)
    done = ledger.resume(done.run_id, program)
    assert done.ok
    fork = ledger.fork(done.run_id, at=asked.seq, program=program)
    assert fork.is_paused
    anew = outcome(ledger, fork.run_id, "decision.asked")
    assert anew.hash != asked.hash
    answer(ledger, mine)
    assert ledger.resume(fork.run_id, program).result == done.result
    last = list(ledger.events(run=done.run_id))[-1].seq
    with pytest.raises(RefusedError) as error:
        ledger.fork(done.run_id, at=last, program=program)
    assert error.value.rule == "fork/decision"
    assert verify(ledger.path, home=ledger.home).ok


def test_tokens_are_counted_once(ledger: Ledger) -> None:
    """What a record answered, used nothing."""
    used = {"usage": {"input_tokens": 7, "output_tokens": 9}}
    done = ledger.execute(lambda run: run.effect("llm", "q", lambda _: used))
    at = outcome(ledger, done.run_id, "llm.completed")
    fork = ledger.fork(
        done.run_id, at=at.seq, program=lambda run: run.effect("llm", "q", echo)
    )
    known = outcome(ledger, fork.run_id, "llm.completed")
    assert known.raw["about"] == at.raw["about"]
    (llm,) = (one for one in ledger.project(EffectTally) if one.kind == "llm")
    assert (llm.completed, llm.input_tokens, llm.output_tokens) == (2, 7, 9)


class Stage:
    """A stage that says how it failed, until what it needs is there."""

    def __init__(self) -> None:
        self.works = False
        self.performed: list[object] = []

    def do(self, request: object) -> object:
        """Do what is asked, or fail."""
        self.performed.append(request)
        if request == "deploy" and not self.works:
            raise OSError("the host is down")
        return request

    def plan(self, run: Run) -> list[object]:
        """Build, deploy and say so."""
        built = run.effect("tool", "build", self.do)
        try:
            told = run.effect("tool", "deploy", self.do)
        except EffectFailed:
            run.record("note.added", {"text": "it could not be deployed"})
            raise
        run.record("note.added", {"text": "it is deployed"})
        return [built, told, run.effect("tool", "announce", self.do)]


def test_a_failure_is_performed_by_a_resume(ledger: Ledger) -> None:
    """A fork fails as its origin did; a resume of it tries again, and goes on."""
    stage = Stage()
    failed = ledger.execute(stage.plan)
    at = list(ledger.events(run=failed.run_id))[-1].seq
    stage.performed.clear()
    fork = ledger.fork(failed.run_id, at=at, program=stage.plan)
    assert (fork.status, stage.performed) == ("failed", [])
    assert fork.result_digest == failed.result_digest
    stage.works = True
    done = ledger.resume(fork.run_id, stage.plan)
    assert done.result == ["build", "deploy", "announce"]
    assert stage.performed == ["deploy", "announce"]
    assert ends_of(ledger, fork.run_id) == {"record": 2, "performer": 2}
    assert replay(ledger, fork.run_id, stage.plan).verdict == "acceptable"
    assert verify(ledger.path, home=ledger.home).ok


def test_a_run_that_failed_and_went_on(ledger: Ledger) -> None:
    """Whatever event of it a fork follows: it fails as it did, or comes to what it did."""
    stage = Stage()
    failed = ledger.execute(stage.plan)
    stage.works = True
    done = ledger.resume(failed.run_id, stage.plan)
    again = [
        event.seq
        for event in ledger.events(run=done.run_id)
        if event.type == "tool.requested" and event.raw["attempt"] == 2
    ]
    fell = outcome(ledger, done.run_id, "tool.failed").seq
    for event in list(ledger.events(run=done.run_id)):
        stage.performed.clear()
        fork = ledger.fork(done.run_id, at=event.seq, program=stage.plan)
        if fell <= event.seq < again[0]:
            assert (fork.status, stage.performed) == ("failed", [])
        else:
            assert fork.result == done.result
            assert len(stage.performed) == ends_of(ledger, fork.run_id).get(
                "performer", 0
            )
    assert verify(ledger.path, home=ledger.home).ok


class Sensors:
    """A plugin with a kind that says more of its effects in each version."""

    def __init__(self) -> None:
        self.version = "1"

    def say(self, _: object) -> dict[str, object]:
        """Say the version, and much beside it."""
        return {f"v{self.version}": "x" * 5_000}

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Declare it."""
        return [
            EffectKind("sensor.read", about_request=self.say, about_response=self.say)
        ]


def test_what_an_answer_says_about_itself(tmp_path: Path) -> None:
    """It is copied as the origin said it, whatever the kind says today."""
    sensors = Sensors()
    place, plugins = tmp_path / "w" / "ledger.db", Plugins((), extra={"s": sensors})
    with Ledger.create(place, plugins=plugins) as ledger:

        def program(run: Run) -> object:
            return run.effect("sensor.read", "hall", echo)

        done = ledger.execute(program)
        sensors.version = "2"
        at = outcome(ledger, done.run_id, "sensor.read.completed")
        for changes in ({}, {at.seq: "colder"}):
            fork = ledger.fork(done.run_id, at=at.seq, changes=changes, program=program)
            asked, told = (
                ledger.value(cast("BlobRef", about)) if about else None
                for about in (
                    outcome(ledger, fork.run_id, f"sensor.read.{verb}").data.get(
                        "about"
                    )
                    for verb in ("requested", "completed")
                )
            )
            assert asked == {"v1": "x" * 5_000}
            assert told == (None if changes else asked)
        assert verify(ledger.path, home=ledger.home).ok


def test_a_changed_answer_with_secrets(ledger: Ledger) -> None:
    """It says so, as the answer of a model does: a resume asks for it again."""
    done = ledger.execute(lambda run: run.effect("llm", "q", lambda _: "plain"))
    at = outcome(ledger, done.run_id, "llm.completed").seq
    secret = {"secrets": ["token"], "usage": {"input_tokens": 9}}
    fork = ledger.fork(
        done.run_id,
        at=at,
        changes={at: secret},
        program=lambda run: run.effect("llm", "q", echo),
    )
    told = outcome(ledger, fork.run_id, "llm.completed")
    assert told.raw["about"] == {"secrets": True}
    assert verify(ledger.path, home=ledger.home).ok
