"""Signatures spread over processes: all found, whoever dies."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attacking import check, first
from forge import (
    Forge,
    leaf_hash,
    make_key,
    raw,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where ledgers are written."""
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("bad", [1, 2500, 5000])
def test_workers_find_a_bad_signature(file: Path, bad: int) -> None:
    """Spread over processes, one bad signature among thousands is found."""
    forge = Forge("one").open()
    for number in range(5000):
        stranger = make_key("stranger") if number + 1 == bad else None
        row = forge.append("note.added", {"text": str(number)}, signer=stranger)
        if stranger is not None:
            mine = raw(forge.key("writer"))
            leaf = leaf_hash(row.payload, row.signature, mine)
            forge.rows[-1] = replace(row, key=mine, hash=leaf)
    report = check(forge, file)
    assert first(report) == ("event/signature", bad, 1)
    assert len(report.findings) == 1
    assert report.signatures_checked == 5001


@pytest.mark.parametrize("bad", [None, 2500])
def test_dead_workers(
    file: Path, monkeypatch: pytest.MonkeyPatch, bad: int | None
) -> None:
    """When the processes that check signatures die, the verifier checks them itself."""
    forge = Forge("one").open()
    for number in range(5000):
        stranger = make_key("stranger") if number + 1 == bad else None
        row = forge.append("note.added", {"text": str(number)}, signer=stranger)
        if stranger is not None:
            mine = raw(forge.key("writer"))
            leaf = leaf_hash(row.payload, row.signature, mine)
            forge.rows[-1] = replace(row, key=mine, hash=leaf)
    monkeypatch.setattr(sys, "executable", "/bin/false")

    report = check(forge, file)

    assert [(one.rule, one.seq) for one in report.findings] == (
        [] if bad is None else [("event/signature", bad)]
    )
    assert report.signatures_checked == 5001
    assert any("died" in note for note in report.notes)


@pytest.mark.slow
def test_workers_of_a_daemon(file: Path) -> None:
    """A process without standard input and output verifies with workers all the same."""
    forge = Forge("one").open()
    for number in range(5000):
        forge.append("note.added", {"text": str(number)})
    check(forge, file)
    code = (
        "import os, sys\n"
        "os.close(0); os.close(1)\n"
        "from muniment import verify\n"
        "report = verify(sys.argv[1], trust_on_first_use=True)\n"
        "assert report.signatures_checked == 5001 and not any(\n"
        "    'died' in note for note in report.notes), report\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        env={**os.environ, "MUNIMENT_HOME": str(file.parent / "nobody")},
        stderr=subprocess.PIPE,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
