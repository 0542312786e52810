"""``muniment export``: for other people's tools, and only what verifies."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from first_hour import Newcomer

WORK = """
def main(run):
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    return run.effect("tool", {"name": "t"}, lambda _: 3)
"""


@pytest.fixture
def user(tmp_path: Path) -> Newcomer:
    """Give somebody with one run."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(WORK)
    user.begin()
    assert user.muniment("run", "work.py:main").code == 0
    return user


def run_of(user: Newcomer) -> str:
    """Return the id of the run."""
    ((run, _),) = user.runs()
    return run


def test_to_a_file_and_to_stdout(user: Newcomer) -> None:
    """Both are the same bytes, and those of the bundle; nothing is overwritten."""
    run = run_of(user)
    done = user.muniment(
        "export", run[:12], "--format", "csv", "-o", "run.csv", "--json"
    )
    told = json.loads(done.out)
    text = (user.folder / "run.csv").read_text()
    assert (told["run"], told["format"]) == (run, "csv")
    assert told["bytes"] == (user.folder / "run.csv").stat().st_size
    assert (
        user.muniment("export", run, "--format", "csv").out.splitlines()
        == text.splitlines()
    )
    assert user.muniment("bundle", run, "-o", "evidence.zip").code == 0
    again = user.muniment(
        "export", "evidence.zip", "--format", "csv", "-o", "again.csv"
    )
    assert again.code == 0
    assert (user.folder / "again.csv").read_text() == text

    taken = user.muniment("export", run, "--format", "csv", "-o", "run.csv")
    assert (taken.code, "nothing is overwritten" in taken.err) == (2, True)
    assert (user.folder / "run.csv").read_text() == text


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (
            ["RUN", "--format", "cvs"],
            2,
            "known are: csv, in-toto, otlp, parquet, prov, ro-crate",
        ),
        (["RUN"], 2, "--format"),
        (["01ZZZ", "--format", "csv"], 2, "run"),
        (["RUN", "--format", "csv", "--json"], 2, "-o"),
        (["RUN", "--format", "csv", "-o", "none/x.csv"], 2, "cannot be written"),
    ],
)
def test_mistakes(user: Newcomer, line: list[str], code: int, said: str) -> None:
    """Each is one line that says what to do."""
    run = run_of(user)
    done = user.muniment("export", *[run if one == "RUN" else one for one in line])
    assert (done.code, len(done.err.splitlines())) == (code, 1), done.err
    assert said in done.err
    assert done.out == ""


def test_what_does_not_verify_is_not_exported(user: Newcomer) -> None:
    """Neither a ledger that was changed, nor a bundle."""
    run = run_of(user)
    user.muniment("bundle", run, "-o", "evidence")
    events = user.folder / "evidence" / "events.intoto.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(lines[:-1]))
    done = user.muniment("export", "evidence", "--format", "csv", "-o", "x.csv")
    assert done.code == 1, done.err
    place = user.folder / ".muniment" / "ledger.db"
    with closing(sqlite3.connect(place, isolation_level=None)) as database:
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("UPDATE event SET signature = zeroblob(64) WHERE seq = 3")
    done = user.muniment("export", run, "--format", "csv", "-o", "x.csv")
    assert done.code in (1, 3), done.err
    assert not (user.folder / "x.csv").exists()
