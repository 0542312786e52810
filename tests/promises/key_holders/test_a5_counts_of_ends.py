"""An end says how many events each scope has, wherever that fits beside the root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attacking import check
from forge import RUN, Forge, root


def ended(version: int, end: str, scopes: int, *, counted: bool) -> Forge:
    """Return a ledger with a run of *scopes* scopes, and an end with counts or without."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for number in range(scopes):
        name = f"{number:03}" + "x" * 100
        forge.append("note.added", {"text": "t"}, run=RUN, scope=name)
    changes: dict[str, Any] = {}
    if end == "run.failed":
        changes = {"error_type": "E", "message": forge.blob(b'"m"')}
    forge.end_run(RUN, end, **({} if counted else {"counts": None}), **changes)
    return forge


@pytest.mark.parametrize("version", [1, 2])
def test_counts_that_are_null(version: int, tmp_path: Path) -> None:
    """Null is not a number of events, in any version."""
    forge = Forge("one").open(event=version)
    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    rows = root([row.hash for row in forge.rows[1:]])
    forge.append("run.completed", {"counts": None, "root": rows.hex()}, run=RUN)
    report = check(forge, tmp_path / "ledger.db")
    assert "run/counts" in {one.rule for one in report.findings}
    assert report.exit_code == 1


@pytest.mark.parametrize("end", ["run.completed", "run.failed"])
@pytest.mark.parametrize("version", [1, 2])
def test_an_end_without_counts(version: int, end: str, tmp_path: Path) -> None:
    """Leave the counts out: only where they would be too large, or as version 1 might."""
    for scopes, counted, honest in (
        (1, True, True),
        (200, True, True),
        (1, False, version == 1),
        (200, False, version == 1),
        (400, False, True),
    ):
        forge = ended(version, end, scopes, counted=counted)
        report = check(forge, tmp_path / f"{scopes}{counted}.db")
        rules = [one.rule for one in report.findings]
        assert rules == ([] if honest else ["run/counts"]), (scopes, counted)
        assert report.exit_code == (not honest)
