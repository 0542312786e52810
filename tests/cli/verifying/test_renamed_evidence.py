"""Evidence under another name is what it is: files are told by their content."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.ledger import Ledger

Shell = Any

SENT = {
    "evidence.zip": ("EVIDENCE.ZIP", "evidence", "evidence.bin", "page.html"),
    "report.html": ("REPORT.HTM", "report", "report.html.txt", "report.md"),
    "report.md": ("REPORT.MD", "notes", "report.md.txt", "report.zip"),
    "carrying.html": ("SENT.HTM", "sent", "sent.html.txt", "sent.db"),
    "ledger.db": ("LEDGER.DB", "book", "book.sqlite3", "book.zip", "book.html"),
}


def program(run: Run) -> None:
    """State a claim."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})


@pytest.fixture
def key(shell: Shell, work: Path) -> str:
    """Write evidence of each form; return the root's fingerprint."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        run = ledger.execute(program).run_id
    for line in (
        ("bundle", run, "-o", "evidence.zip"),
        ("report", run, "-o", "report.html"),
        ("report", run, "-o", "report.md"),
        ("report", run, "-o", "carrying.html", "--evidence"),
    ):
        assert shell(*line).code == 0
    shutil.copy(work / ".muniment" / "ledger.db", work / "ledger.db")
    (work / "sent").mkdir()
    known = shell("keys", "list", "--json").json
    return str(next(one["keyid"] for one in known if "root" in one["roles"]))


def test_verify_looks_at_the_content(shell: Shell, work: Path, key: str) -> None:
    """The same exit code and verdict as under the name that muniment gave it."""
    for name, others in SENT.items():
        honest = shell("verify", name, "--key", key, "--json")
        assert honest.code == 0, honest.err
        for other in others:
            shutil.copy(work / name, work / "sent" / other)
            told = shell("verify", f"sent/{other}", "--key", key, "--json")
            assert (told.code, told.json["ok"]) == (0, True), (name, other, told.err)
            assert ("page" in told.json) == ("page" in honest.json)
            (work / "sent" / other).unlink()


def test_other_commands_look_at_the_content(shell: Shell, work: Path, key: str) -> None:
    """A bundle without an ending is read, exported, and compared with a page."""
    shutil.copy(work / "evidence.zip", work / "sent" / "EVIDENCE")
    assert shell("report", "sent/EVIDENCE", "-o", "again.html").code == 0
    assert shell("report", "sent/EVIDENCE", "-o", "whole.html", "--evidence").code == 0
    assert shell("export", "sent/EVIDENCE", "--format", "csv").code == 0
    line = ("--ledger", "sent/EVIDENCE", "verify", "again.html", "--key", key)
    assert shell(*line).code == 0


@pytest.mark.parametrize("name", ["letter.txt", "letter", "letter.pdf"])
def test_what_is_no_evidence_is_told_which_forms_there_are(
    shell: Shell, work: Path, key: str, name: str
) -> None:
    """It is no damaged database: nobody is sent to look for a backup."""
    (work / name).write_text("Dear auditor,\n" * 99)
    told = shell("verify", name, "--key", key)
    assert told.code == 3
    assert "known are a ledger, an evidence bundle" in " ".join(told.out.split())
    assert "backup" not in told.out + told.err


def test_a_damaged_ledger_is_still_told_so(shell: Shell, work: Path, key: str) -> None:
    """By its name, where the content says nothing any more."""
    whole = (work / "ledger.db").read_bytes()
    (work / "ledger.db").write_bytes(bytes(512) + whole[512:])
    told = shell("verify", "ledger.db", "--key", key)
    assert (told.code, "backup" in told.out) == (3, True)


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("bundle last -o SENT.ZIP", b"PK"),
        ("report last -o SENT.HTML", b"<!doctype html>"),
        ("report last -o SENT.MD", b"# "),
        ("report last --evidence -o CARRYING.HTML", b"<!doctype html>"),
        ("init LEDGER.DB", b"SQLite format 3"),
    ],
)
def test_endings_in_capitals(shell: Shell, work: Path, line: str, start: bytes) -> None:
    """An ending says the same in capitals, also of what is to be written."""
    assert shell(*line.split()).code == 0
    written = work / line.rsplit(maxsplit=1)[-1]
    assert written.read_bytes()[: len(start)].lower() == start.lower()
