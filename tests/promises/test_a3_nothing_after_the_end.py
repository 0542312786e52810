"""A run has one end: what is added to it afterwards is found, and changes nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge
from muniment.errors import RunFenced
from muniment.lanes import Lane
from muniment.ledger import Ledger
from muniment.store import Fence
from muniment.verifier import verify

ENDS = ("run.completed", "run.failed", "run.interrupted")
LATER: dict[str, dict[str, Any]] = {
    "x.noted": {"text": "afterwards"},
    "note.added": {"text": "afterwards"},
    "llm.completed": {"duration_us": 1},
    "run.started": {"name": "again", "seed": "00"},
    "run.completed": {"root": "00" * 32},
    "run.failed": {"root": "00" * 32, "error_type": "E"},
    "run.interrupted": {"reason": "why not"},
    "run.resumed": {"generation": 2},
    "verdict.reached": {"hypothesis": "h", "verifier": "v", "passed": True},
}
DOCUMENTED: dict[str, dict[str, Any]] = {
    "decision.made": {"text": "yes"},
    "decision.asked": {"text": "?"},
    "policy.amended": {"text": "wider"},
    "run.canceled": {"reason": "nobody wants it"},
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
    if end == "run.interrupted":
        forge.append(end, {"reason": "Ctrl-C"}, run=RUN)
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
    report = check(forge, place / "l.db")
    rules = {finding.rule for finding in report.findings}
    assert (report.exit_code == 1) == bool(rules), str(report)
    return rules


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", LATER)
def test_nothing_follows(end: str, kind: str, tmp_path: Path) -> None:
    """From version 2 on nothing but a resumption follows, and only a run cut off."""
    rules = found(later(end, kind, 2), tmp_path)
    resumes = kind == "run.resumed" and end != "run.completed"
    assert ("run/after-end" in rules) == (not resumes)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", DOCUMENTED)
def test_what_is_documented_follows(end: str, kind: str, tmp_path: Path) -> None:
    """Decisions, policies, cancellations and judgements of other runs may follow."""
    assert found(later(end, kind, 2), tmp_path) == set()


def test_a_run_does_not_judge_itself_afterwards(tmp_path: Path) -> None:
    """The judgement of the run itself is no judgement of another."""
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

    def program(run: Lane) -> None:
        run.record("note.added", {"text": "before"})
        if error is not None:
            raise error

    with suppress(KeyboardInterrupt):
        ledger.execute(program)
    started = next(ledger.events(type="run.started"))
    draft = ledger.port.draft("note.added", {"text": "late"})
    with pytest.raises(RunFenced):
        ledger.store.append([draft], fence=Fence(str(started.run), started.seq))
    assert verify(ledger.path).exit_code == 0
