"""Whatever is wrong with the file, a command says one line and the right code."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

READS = (
    ("status",),
    ("keys", "list"),
    ("events",),
    ("runs",),
    ("prove", "0"),
    ("backup", "copy.db"),
    ("rebuild",),
    ("checkpoint",),
    ("compare", "LEDGER", "LEDGER"),
    ("erase", "01", "--reason", "x"),
)


def missing(path: Path) -> None:
    """Leave nothing there; nothing ever was."""
    assert not path.exists()


def directory(path: Path) -> None:
    """Put a directory there."""
    path.mkdir()


def garbage(path: Path) -> None:
    """Put a file there that is not a database."""
    path.write_bytes(b"this is not a database, " * 100)


def empty(path: Path) -> None:
    """Put a file without a byte there."""
    path.touch()


def foreign(path: Path) -> None:
    """Put somebody else's database there."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def loop(path: Path) -> None:
    """Make it a link to itself, which nobody can open."""
    path.symlink_to(path)


def unreadable(path: Path) -> None:
    """Forbid the user to read the file."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything; see test_what_permissions_forbid")
    garbage(path)
    path.chmod(0)


FAULTS = (missing, directory, garbage, empty, foreign, loop, unreadable)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("line", READS, ids=lambda line: line[0])
def test_a_faulty_file_is_one_line(
    shell: Any, work: Path, line: tuple[str, ...], fault: Callable[[Path], None]
) -> None:
    """No traceback, nothing on stdout, exit 3, and the path is named."""
    place = work / "bad.db"
    fault(place)
    arguments = [place if one == "LEDGER" else one for one in line]
    done = shell("--ledger", place, *arguments)
    assert done.code == 3, done.err
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert "bad.db" in done.err
    assert "bug in muniment" not in done.err


@pytest.mark.parametrize("fault", FAULTS)
def test_verify_of_a_faulty_file_cannot_tell(
    shell: Any, work: Path, fault: Callable[[Path], None]
) -> None:
    """Verify exits 3 with and without --json, and names the rule."""
    place = work / "bad.db"
    fault(place)
    plain, machine = shell("verify", place), shell("verify", place, "--json")
    assert (plain.code, machine.code) == (3, 3)
    (finding,) = machine.json["findings"]
    assert finding["kind"] == "unreadable"
    assert finding["rule"] in plain.out


def test_no_ledger_at_all(shell: Any) -> None:
    """Where there is nothing, the line says how to make a ledger."""
    for line in (("status",), ("verify",), ("keys",), ("checkpoint",)):
        done = shell(*line)
        assert (done.code, done.out) == (3, "")
        assert "muniment init" in done.err


def test_a_ledger_that_was_taken_away(shell: Any, made: Path) -> None:
    """A known place without its file is a failed check, not an empty directory."""
    for path in made.parent.glob("ledger.db*"):
        path.unlink()
    for line in (("status",), ("keys",), ("events",), ("verify",)):
        done = shell(*line)
        assert done.code == 1
        assert "head/truncated" in done.out + done.err


def test_another_ledger_in_the_place_of_a_known_one(shell: Any, made: Path) -> None:
    """A foreign ledger at a known place is a failed check."""
    shell("init", "other.db")
    for path in made.parent.glob("ledger.db*"):
        path.unlink()
    Path("other.db").rename(made)
    assert shell("status").code == 1
    assert "head/foreign" in shell("status").err
    assert shell("verify").code == 1


def test_a_found_ledger_is_read_never_written(
    shell: Any, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's ledger upwards of here is read; writing names `keys trust`."""
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    assert shell("status").code == 0
    done = shell("checkpoint")
    assert done.code == 4
    assert "keys trust" in done.err
    assert made.exists()
    assert not (tmp_path / "stranger").exists()


def test_writing_without_a_key(shell: Any, made: Path, tmp_path: Path) -> None:
    """Named, but with no key here: refused, and nothing is made in the home."""
    code = (
        "import sys; from muniment_cli import main; "
        f"sys.exit(main(['--ledger', {str(made)!r}, 'erase', 'sha256:{'0' * 64}', "
        "'--reason', 'x']))"
    )
    env = {**os.environ, "MUNIMENT_HOME": str(tmp_path / "stranger")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, check=False
    )
    assert done.returncode in (2, 4), done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "stranger").exists()
    assert shell("verify").code == 0


@pytest.fixture
def desk() -> Iterator[Path]:
    """Give a ledger to a user whom permissions bind, also where root runs the tests."""
    place = Path(tempfile.mkdtemp(prefix="muniment-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


BOUND = """
import os, sys, tempfile
from muniment_cli import main
if os.geteuid() == 0:  # walk every path once, as another user could not import it
    home, lines = os.environ["MUNIMENT_HOME"], sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MUNIMENT_HOME"] = scratch + "/home"
        file = scratch + "/x.db"
        for line in (["init", file], ["--ledger", file, "status"], ["verify", file],
                     ["--ledger", file, "backup", scratch + "/y.db"],
                     ["--ledger", file, "erase", "01", "--reason", "x"]):
            sys.stdout = sys.stderr = open(os.devnull, "w")
            main(line)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    os.environ["MUNIMENT_HOME"] = home
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


def bound(desk: Path, *arguments: str) -> tuple[int, str]:
    """Run a command line as somebody whom permissions bind."""
    done = subprocess.run(
        [sys.executable, "-c", BOUND, *arguments],
        env={**os.environ, "MUNIMENT_HOME": str(desk / "home")},
        cwd=desk,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.slow
def test_what_permissions_forbid(desk: Path) -> None:
    """Files that cannot be read or written: one line, exit 3, with a remedy."""
    desk.chmod(0o777)
    code, said = bound(desk, "init", "mine.db")
    assert code == 0, said
    desk.chmod(0o555)
    file = desk / "mine.db"
    file.chmod(0o400)
    assert bound(desk, "verify", "mine.db") == (0, "")
    unwritable = bound(desk, "--ledger", "mine.db", "backup", "copy.db")
    unsigned = bound(desk, "--ledger", "mine.db", "erase", "01", "--reason", "x")
    file.chmod(0)
    unreadable = bound(desk, "--ledger", "mine.db", "status")
    assert bound(desk, "verify", "mine.db") == (3, "")
    assert unsigned[0] == 2
    for code, said in (unwritable, unreadable):
        assert code == 3, said
        assert said.startswith("error: ")
        assert said.count("\n") == 1


def test_a_locked_ledger_can_be_read(shell: Any, made: Path) -> None:
    """A writer in the middle of a transaction stops no reader."""
    connection = sqlite3.connect(made, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    for line in (("status",), ("verify",), ("keys",), ("backup", "copy.db")):
        assert shell(*line).code == 0
    connection.execute("ROLLBACK")
    connection.close()
