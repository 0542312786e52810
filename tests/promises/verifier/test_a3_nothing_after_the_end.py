"""A run has one end: what is added to it afterwards is found, and changes nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge
from muniment.errors import RunFenced
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.storage.append import Fence
from muniment.verification.runs.run_record import RunRecord
from muniment.verification.verify import verify

ENDS = ("run.completed", "run.failed", "run.interrupted", "run.paused", "run.canceled")
FINAL = ("run.completed", "run.canceled")
UNROOTED: dict[str, dict[str, Any]] = {
    "run.interrupted": {"reason": "Ctrl-C"},
    "run.paused": {"reason": "until Monday"},
    "run.canceled": {"reason": "too late", "generation": 1},
}
LATER: dict[str, dict[str, Any]] = {
    "x.noted": {"text": "afterwards"},
    "note.added": {"text": "afterwards"},
    "llm.completed": {"duration_us": 1},
    "run.started": {"name": "again", "seed": "00"},
    "run.completed": {"root": "00" * 32},
    "run.failed": {"root": "00" * 32, "error_type": "E"},
    "run.interrupted": {"reason": "why not"},
    "run.paused": {"reason": "why not"},
    "run.resumed": {"generation": 2},
    "verdict.reached": {"hypothesis": "h", "verifier": "v", "passed": True},
}
DOCUMENTED: dict[str, dict[str, Any]] = {
    "decision.made": {"text": "yes"},
    "decision.asked": {"text": "?"},
    "policy.amended": {"text": "wider"},
    "run.canceled": {"reason": "nobody wants it", "generation": 1},
    "replay.judged": {
        "replay_of": "another",
        "mode": "strict",
        "verdict": "acceptable",
        "compared": 1,
        "guards": [],
    },
}


def ended(end: str, version: int) -> Forge:
    """Return a ledger whose run ended by *end*."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    forge.append("x.noted", {"text": "inside"}, run=RUN)
    if end in UNROOTED:
        forge.append(end, UNROOTED[end], run=RUN)
    else:
        failed = end == "run.failed"
        forge.end_run(RUN, end, **(_failure(forge) if failed else {}))
    return forge


def _failure(forge: Forge, message: bytes = b'"m"') -> dict[str, Any]:
    return {"error_type": "E", "message": forge.blob(message)}


def later(end: str, kind: str, version: int) -> Forge:
    """Return that ledger with one more event of the run; honest in all else."""
    forge = ended(end, version)
    if kind in ("run.completed", "run.failed"):
        failed = kind == "run.failed"
        forge.end_run(RUN, kind, **(_failure(forge, b'"again"') if failed else {}))
    else:
        forge.append(kind, {**LATER, **DOCUMENTED}[kind], run=RUN)
    return forge


def found(forge: Forge, place: Path) -> set[str]:
    """Return the rules that *forge* breaks."""
    place.mkdir(exist_ok=True)
    report = check(forge, place / "l.db")
    rules = {finding.rule for finding in report.findings}
    assert (report.exit_code == 1) == bool(rules), str(report)
    return rules


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", LATER)
def test_nothing_follows(end: str, kind: str, tmp_path: Path) -> None:
    """From version 2 on nothing but a resumption follows, and only a run cut off."""
    rules = found(later(end, kind, 2), tmp_path)
    resumes = kind == "run.resumed" and end not in FINAL
    assert ("run/after-end" in rules) == (not resumes)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", DOCUMENTED)
def test_what_is_documented_follows(end: str, kind: str, tmp_path: Path) -> None:
    """Decisions, policies and judgements of other runs may; a cancellation, but once."""
    twice = kind == "run.canceled" and end in FINAL
    assert found(later(end, kind, 2), tmp_path) == (
        {"run/after-end"} if twice else set()
    )


def replayed(forge: Forge) -> set[str]:
    """Return the rules that the run breaks for who reads it alone."""
    record = RunRecord(forge.ledger, RUN)
    for row in forge.rows:
        record.add(
            (row.seq, row.type, row.run, row.payload, row.signature, row.key, row.hash)
        )
    return {finding.rule for finding in record.finish()[1]}


TAKEN = {
    "the start's": ("", 0, "run/ordinal"),
    "a fact's": ("", 1, "run/ordinal"),
    "a request's": ("", 2, "run/ordinal"),
    "the end's": ("", 4, "run/ordinal"),
    "an effect's scope": ("@decision.2", 0, "run/scope"),
    "the scope of no effect": ("@tool.5", 0, "run/scope"),
    "a lane": ("map/0", 0, "run/scope"),
    "a lane that was used": ("map/1", 9, "run/scope"),
    "the next": ("", 5, None),
    "a later one": ("", 70, None),
}
"""Scope and ordinal of what follows an end, and the rule that this breaks."""


def decided(end: str, version: int) -> Forge:
    """Return a ledger whose run asked for a decision, and had it, before its *end*."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    forge.append("x.noted", {"text": "inside"}, run=RUN)
    forge.append("decision.requested", {"n": 1}, run=RUN)
    forge.append("decision.completed", {"n": 1}, run=RUN, ordinal=2)
    forge.append("x.noted", {"text": "a lane"}, run=RUN, scope="map/1")
    if end in UNROOTED:
        forge.append(end, UNROOTED[end], run=RUN)
    else:
        failed = end == "run.failed"
        forge.end_run(RUN, end, **(_failure(forge) if failed else {}))
    return forge


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("place", TAKEN)
def test_what_follows_has_a_place_of_its_own(
    place: str, end: str, version: int, tmp_path: Path
) -> None:
    """From version 2 on it stands in the scope "", after all: no second outcome."""
    scope, ordinal, rule = TAKEN[place]
    for number, kind in enumerate((*DOCUMENTED, "decision.completed")):
        forge = decided(end, version)
        data = DOCUMENTED.get(kind, {"n": 2})
        forge.append(kind, data, run=RUN, scope=scope, ordinal=ordinal)
        found_here = found(forge, tmp_path / f"{number}")
        if version == 2:
            twice = kind == "run.canceled" and end in FINAL
            wanted = {rule} if rule else set[str]()
            assert found_here == wanted | ({"run/after-end"} if twice else set()), kind
            assert replayed(forge) == found_here, kind
        else:
            assert "run/scope" not in found_here, kind


@pytest.mark.parametrize("end", ENDS)
def test_each_that_follows_has_another_place(end: str, tmp_path: Path) -> None:
    """The second of two is judged by the first, however many runs have ended since."""
    forge = decided(end, 2)
    other = "01JD3Z8M6Q4W0V9K2T7N5RYXCC"
    forge.append("decision.made", {"n": 1}, run=RUN, ordinal=7)
    forge.append("run.started", {"name": "y", "seed": "00"}, run=other)
    forge.end_run(other)
    forge.append("decision.made", {"n": 2}, run=RUN, ordinal=8)
    assert found(forge, tmp_path / "good") == set()
    forge.append("decision.made", {"n": 3}, run=RUN, ordinal=8)
    assert found(forge, tmp_path / "bad") == {"run/ordinal"}
    assert replayed(forge) == {"run/ordinal"}


def test_an_effect_is_resumed_before_it_is_answered(tmp_path: Path) -> None:
    """What was cut off by an end has its outcome only after a resumption."""
    for number, resumed in enumerate((False, True)):
        forge = Forge("one").open()
        forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
        forge.append("decision.requested", {"n": 1}, run=RUN)
        forge.append("run.interrupted", {"reason": "Ctrl-C"}, run=RUN)
        if resumed:
            forge.append("run.resumed", {"generation": 1}, run=RUN)
        forge.append("decision.completed", {"n": 1}, run=RUN, ordinal=1)
        wanted = set[str]() if resumed else {"run/ordinal"}
        assert found(forge, tmp_path / f"{number}") == wanted
        assert replayed(forge) == wanted


def test_a_run_does_not_judge_itself_afterwards(tmp_path: Path) -> None:
    """The judgement of the run itself is not a judgement of another."""
    forge = ended("run.completed", 2)
    judged = {**DOCUMENTED["replay.judged"], "replay_of": RUN}
    forge.append("replay.judged", judged, run=RUN)
    assert found(forge, tmp_path) == {"run/after-end"}


@pytest.mark.parametrize("kind", LATER)
def test_the_first_edition_may_go_on(kind: str, tmp_path: Path) -> None:
    """In ledgers of version 1 only the life of a completed run is over."""
    rules = found(later("run.completed", kind, 1), tmp_path)
    assert ("run/after-end" in rules) == kind.startswith("run.")


@pytest.mark.parametrize("version", [1, 2])
def test_a_second_end_is_found(version: int, tmp_path: Path) -> None:
    """A second end with honest counts, under honest signatures, is found."""
    forge = ended("run.completed", version)
    forge.checkpoint()
    forge.end_run(RUN, "run.completed", result=forge.blob(b'"better"'))
    forge.checkpoint()
    assert "run/after-end" in found(forge, tmp_path)


@pytest.mark.parametrize("error", [None, ValueError("no"), KeyboardInterrupt()])
def test_the_writer_refuses_it(ledger: Ledger, error: BaseException | None) -> None:
    """Whoever still holds a run that has ended elsewhere writes nothing any more."""

    def program(run: Run) -> None:
        run.record("note.added", {"text": "before"})
        if error is not None:
            raise error

    with suppress(KeyboardInterrupt):
        ledger.execute(program)
    started = next(ledger.events(type="run.started"))
    draft = ledger.port.draft("note.added", {"text": "late"})
    with pytest.raises(RunFenced):
        ledger.store.append([draft], fence=Fence((str(started.run),), started.seq))
    assert verify(ledger.path).exit_code == 0
