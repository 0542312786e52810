"""Runs of the first edition that were killed are resumed, wherever that was.

Each is a ledger of that edition without what was written after the kill: see
`editions.kills`. Its owner was on another machine, so that whoever resumes takes over.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from editions import (
    FIRST,
    Kept,
    cut_off,
    first_edition,
    first_programs,
    first_refusals,
    kills,
)
from model_server import ModelServer
from muniment.errors import RunFenced
from muniment.verification.verify import verify

MUNIMENT = str(Path(sys.executable).with_name("muniment"))

BUILT = {
    ("experiment", "completed"): "robust",
    ("refusals", "completed"): "repaired",
    ("refusals", "failed"): "refused",
}
"""Ledger and run → what builds its experiment."""


def cut(name: str, run: str, size: int, place: Path) -> Kept:
    """Return the ledger *name* as it was when it had *size* events, in *run*."""
    kept = first_edition(name, place)
    cut_off(kept, size)
    report = verify(kept.path)
    assert (report.exit_code, report.size) == (0, size), str(report)
    with muniment.open(kept.path, readonly=True) as ledger:
        *_, last = ledger.runs()
    assert (last.id, last.status) == (kept.facts[run], "open")
    return kept


def places(*runs: tuple[str, str]) -> list[Any]:
    """Return ledger, run and each size; all but the first and a middle one are slow."""
    found: list[Any] = []
    for name, run in runs:
        sizes = kills(name, run)
        quick = {sizes[0], sizes[len(sizes) // 2]}
        found += [
            pytest.param(name, run, one, marks=() if one in quick else pytest.mark.slow)
            for one in sizes
        ]
    return found


def experiment(name: str, run: str) -> Any:
    """Return the experiment that *run* of the ledger *name* recorded."""
    made = first_programs() if name == "experiment" else first_refusals()
    return getattr(made, BUILT[name, run])()


def check(kept: Kept, run: str, status: str, program: Any = None) -> None:
    """See that *run* ended with *status*, and that its record holds.

    From Python 3.12 on, `sum` adds numbers otherwise: a replay names the last digit of
    what was executed before.
    """
    with muniment.open(kept.path) as ledger:
        assert next(ledger.runs(run=kept.facts[run])).status == status
        report = muniment.replay(ledger, kept.facts[run], program=program)
    fields = {one.field for one in report.findings}
    newer = sys.version_info >= (3, 12)
    assert report.verdict == "acceptable" or (
        newer and fields == {"value[0].metrics.estimate"}
    ), report
    after = verify(kept.path)
    assert after.exit_code == 0, str(after)


@pytest.mark.parametrize(("name", "run", "size"), places(("successor", "completed")))
def test_a_run_goes_on(name: str, run: str, size: int, tmp_path: Path) -> None:
    """Also in a ledger that continues another."""
    kept, program = cut(name, run, size, tmp_path), first_programs().triage
    with muniment.open(kept.path) as ledger:
        ledger.resume(kept.facts[run], program, take_over=True, repeat=["tool"])
    check(kept, run, "completed", program)


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(("name", "run", "size"), places(*BUILT))
def test_an_experiment_goes_on(
    name: str, run: str, size: int, given: bool, tmp_path: Path
) -> None:
    """With the program as it is today, and with the one that the events say.

    What completed when nothing cut it off completes, and what failed fails.
    """
    kept, built = cut(name, run, size, tmp_path), experiment(name, run)
    program = built.program if given else None
    with muniment.open(kept.path) as ledger:
        ledger.resume(kept.facts[run], program, take_over=True)
    check(kept, run, run)


@pytest.mark.parametrize(("name", "run", "size"), places(*BUILT))
def test_an_experiment_finds_its_run(
    name: str, run: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs it again with ``resume`` continues that run, where its owner died."""
    kept, built = cut(name, run, size, tmp_path), experiment(name, run)
    count = 3 if name == "experiment" else 1
    with muniment.open(kept.path) as ledger:
        with pytest.raises(RunFenced, match="--take-over"):
            built.run(replicates=count, strategy="resume", ledger=ledger)
        monkeypatch.setattr(platform, "node", lambda: "example")
        result = built.run(replicates=count, strategy="resume", ledger=ledger)
    assert result.run_id == kept.facts[run]
    check(kept, run, run)


@pytest.mark.parametrize("size", kills("recorded", "completed"))
def test_a_recorded_program_goes_on(size: int, tmp_path: Path) -> None:
    """It gets the answers that it got; the model is asked for the others only.

    The model's address is that of then, which a proxy of today leads elsewhere.
    """
    kept = cut("recorded", "completed", size, tmp_path)
    with ModelServer() as server:
        environment = {"BASE": kept.facts["base"], "http_proxy": server.url}
        command = ["--take-over", "--", "python3", "agent.py"]
        resumed = subprocess.run(
            [MUNIMENT, "resume", kept.facts["completed"], *command],
            cwd=kept.path.parent.parent,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "echo: hello\necho: and again\n" in resumed.stdout
    answered = (size - 2) // 2
    assert len(server.calls) == 2 - answered
    after = verify(kept.path)
    assert after.exit_code == 0, str(after)


def test_each_ledger_is_cut_off() -> None:
    """None is left out, but for that whose keys were rotated: it has runs cut off."""
    tried = {"successor", "recorded", *(name for name, _ in BUILT)}
    assert FIRST.keys() - tried == {"kernel"}
    assert {"open", "interrupted"} <= FIRST["kernel"].keys()
