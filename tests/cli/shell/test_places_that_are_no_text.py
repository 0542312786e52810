"""A folder whose name has bytes that are not UTF-8: a ledger, or a trust home, in it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import run as run_program

import pytest

import muniment
from muniment.errors import UsageError
from muniment.trust.home import TrustHome

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems take no such name, or change it"
)
INSTALLED = Path(sys.executable).with_name("muniment")
NAMES = [b"bad\xff", b"\xed\xa0\x80"]
PROGRAM = """def main(run):
    open("performed", "w").close()
    return run.effect("tool", "q", lambda asked: "said")
"""
COMMANDS: Mapping[str, list[str]] = {
    "init": ["init"],
    "init with large contents": ["init", "--blobs", "large"],
    "init with an example": ["init", "--example", "flow"],
    "run": ["run", "prog.py"],
    "record": ["record", "--", "touch", "performed"],
    "tour": ["demo", "here"],
}


@pytest.fixture(params=NAMES, ids=repr)
def odd(request: pytest.FixtureRequest, work: Path) -> Path:
    """Give a folder with such a name, and a program in it and beside it."""
    folder = work / os.fsdecode(request.param)
    for one in (folder, work):
        one.mkdir(exist_ok=True)
        (one / "prog.py").write_text(PROGRAM)
    return folder


def said(
    place: Path, *line: str, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Return the exit code of a command line at *place*, and what it prints."""
    done = run_program(
        [str(INSTALLED), *line],
        cwd=place,
        env={**os.environ, "PWD": str(place), **(env or {})},
        capture_output=True,
        timeout=300,
        check=False,
    )
    told = (done.stdout + done.stderr).decode()  # whatever it prints can be printed
    assert "Traceback" not in told
    return done.returncode, told


def files(folder: Path) -> set[str]:
    """Return everything below *folder*."""
    return {str(one) for one in folder.rglob("*") if "__pycache__" not in one.parts}


def shown(odd: Path) -> str:
    """Return the name of the folder as it is printed."""
    return os.fsencode(odd.name).decode("utf-8", "backslashreplace")


def refused(code: int, told: str, odd: Path) -> None:
    """Require a refusal that names the place, so that it can be printed, and a remedy."""
    assert code == 2, told
    assert "[trust/location]" in told
    assert shown(odd) in told
    assert "name in UTF-8" in told


@pytest.mark.parametrize("how", ["folder", "--ledger", "variable"])
@pytest.mark.parametrize("what", [one for one in COMMANDS if one.startswith("init")])
def test_no_ledger_is_made_there(odd: Path, work: Path, what: str, how: str) -> None:
    """It is refused before anything is made, here or in the trust home, each time."""
    before = files(work.parent)
    place = str(odd / "new.db")
    for _ in range(2):
        if how == "folder":
            code, told = said(odd, *COMMANDS[what])
        elif how == "--ledger":
            code, told = said(work, "--ledger", place, *COMMANDS[what])
        else:
            code, told = said(work, *COMMANDS[what], env={"MUNIMENT_LEDGER": place})
        refused(code, told, odd)
        assert files(work.parent) == before


def test_the_tour_is_not_taken_there(odd: Path, work: Path) -> None:
    """It makes a ledger, too, and leaves nothing behind if it cannot."""
    before = files(work.parent)
    refused(*said(odd, *COMMANDS["tour"]), odd)
    assert files(work.parent) == before


def test_large_contents_are_not_kept_there(odd: Path, work: Path) -> None:
    """The trust home remembers where they are, as it does ledgers."""
    before = files(work.parent)
    refused(*said(work, "init", "--blobs", str(odd / "large")), odd)
    assert files(work.parent) == before


def test_a_program_that_makes_one_is_told(odd: Path, work: Path) -> None:
    """Python, and by a link whose own name is text."""
    (work / "link").symlink_to(odd)
    before = files(work.parent)
    for place in (odd, work / "link"):
        with pytest.raises(UsageError, match="not UTF-8") as caught:
            muniment.open(place / "new.db", create=True)
        assert caught.value.rule == "trust/location"
        caught.value.place.encode()
    assert files(work.parent) == before


@pytest.mark.parametrize("what", ["run", "record"])
def test_a_ledger_that_came_there_is_read(odd: Path, work: Path, what: str) -> None:
    """Nothing is performed or written where it cannot be remembered; it can be moved back."""
    fine, place = work / "fine", odd / ".muniment" / "ledger.db"
    fine.mkdir()
    assert said(fine, "init")[0] == 0
    assert said(fine, "run", "../prog.py")[0] == 0
    (fine / "performed").unlink()
    (fine / ".muniment").rename(odd / ".muniment")
    before = place.read_bytes()
    refused(*said(odd, *COMMANDS[what]), odd)
    refused(*said(work, "--ledger", str(place), *COMMANDS[what]), odd)
    assert not (odd / "performed").exists()
    assert not (work / "performed").exists()
    assert place.read_bytes() == before
    for line in (["runs"], ["status"], ["events"]):
        code, told = said(odd, *line)
        assert code == 0, told
    code, told = said(odd, "verify")
    assert code == 0, told
    assert "not remembered: the path has bytes that are not UTF-8" in told
    (odd / ".muniment").rename(fine / ".muniment")
    assert (
        said(odd, "--ledger", str(fine / ".muniment/ledger.db"), *COMMANDS[what])[0]
        == 0
    )
    assert (odd / "performed").exists()


@pytest.mark.parametrize("what", ["run", "record"])
def test_a_program_is_recorded_there(odd: Path, work: Path, what: str) -> None:
    """A ledger elsewhere records what is started in such a folder."""
    place = str(work / "ledger.db")
    assert said(work, "--ledger", place, "init")[0] == 0
    code, told = said(odd, "--ledger", place, *COMMANDS[what])
    assert code == 0, told
    assert (odd / "performed").exists()
    code, told = said(odd, "--ledger", place, "verify")
    assert code == 0, told
    if what == "record":
        _, told = said(odd, "--ledger", place, "events", "show", "1", "--full")
        assert shown(odd).replace("\\", "\\\\") in told


@pytest.mark.parametrize("what", ["run", "record"])
def test_a_trust_home_may_be_there(odd: Path, work: Path, what: str) -> None:
    """Nothing has to be told of its path: keys, pins and heads are kept, and found."""
    env = {"MUNIMENT_HOME": str(odd / "home")}
    assert said(work, "init", env=env)[0] == 0
    code, told = said(work, *COMMANDS[what], env=env)
    assert code == 0, told
    code, told = said(work, "verify", "--json", env=env)
    assert (code, json.loads(told)["authenticity"]) == (0, "pinned")
    assert TrustHome(odd / "home").ledger_at(work / ".muniment" / "ledger.db")
