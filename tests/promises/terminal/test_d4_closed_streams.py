"""What is printed to a closed stdout is lost, and said to be; nothing else is.

`muniment verify >&-` is what `cat file >&-` is: an error, since nobody got the answer.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import cast

import pytest

import muniment
from recording import MUNIMENT, PYTHON

PROGRAM = """
import os
def main(run):
    print("x" * 100_000, flush=True)
    try:
        os.write(1, b"past Python")
        told = "nobody"
    except OSError as error:
        told = error.strerror
    numbers = [os.path.realpath(f"/dev/fd/{number}") for number in range(3)]
    return [told, numbers]
"""
CLOSED = [">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a ledger."""
    with muniment.Ledger.create(tmp_path / ".muniment" / "ledger.db"):
        pass
    return tmp_path


def shell(place: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Let a shell run *line*."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("streams", CLOSED)
@pytest.mark.parametrize("line", ["verify", "events --jsonl", "keys export", "--help"])
def test_an_answer_that_nobody_gets_is_an_error(
    place: Path, line: str, streams: str
) -> None:
    """Whichever other streams are closed; the line names stdout, and what to do."""
    done = shell(place, f"{MUNIMENT} {line} {streams}")
    assert done.returncode == 3
    if "2>" not in streams:
        last = done.stderr.splitlines()[-1]
        if "--json" in line:
            assert json.loads(last)["error"]["place"] == "stdout"
        else:
            assert last.startswith("error: stdout: it is closed")


def test_a_failure_keeps_its_exit_code(place: Path) -> None:
    """A failed run stays failed, and what was printed of it was lost."""
    (place / "agent.py").write_text("def main(run): raise ValueError('no')\n")
    done = shell(place, f"{MUNIMENT} run agent.py >&-")
    assert (done.returncode, "cli/unwritable" in done.stderr) == (1, True)


@pytest.mark.parametrize("streams", ["", *CLOSED])
def test_what_prints_nothing_needs_no_stdout(place: Path, streams: str) -> None:
    """A recorded program that is silent ends as it does with a stdout."""
    line = f"{MUNIMENT} record --quiet -- {PYTHON} -c pass {streams}"
    done = shell(place, line)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("streams", CLOSED)
def test_no_file_becomes_a_standard_stream(place: Path, streams: str) -> None:
    """A program prints as it likes, and what writes past Python meets no ledger."""
    (place / "agent.py").write_text(PROGRAM)
    done = shell(place, f"{MUNIMENT} run agent.py {streams}")
    assert done.returncode == 3
    with muniment.open(place / ".muniment" / "ledger.db", readonly=True) as ledger:
        (ended,) = ledger.events(type="run.completed")
        told, numbers = cast("tuple[str, list[str]]", ledger.resolve(ended)["result"])
    assert told == "Bad file descriptor"
    assert not [one for one in numbers if ".muniment" in one]
    assert shell(place, f"{MUNIMENT} verify").returncode == 0


LISTING = """
import os, sys
told = []
for number in range(3):
    try:
        told.append(os.fstat(number) and "open")
    except OSError:
        told.append("closed")
print("lost, like alone")
with open(sys.argv[1], "w") as file:
    file.write(repr((told, sys.stdin is None, sys.stdout is None, sys.stderr is None)))
"""


@pytest.mark.parametrize("streams", ["", "<&-", "2>&-", *CLOSED])
def test_a_recorded_program_has_them_as_they_are(place: Path, streams: str) -> None:
    """What is closed to it alone is closed to it when it is recorded, and no more."""
    (place / "listing.py").write_text(LISTING)
    alone = shell(place, f"{PYTHON} listing.py alone {streams}")
    recorded = shell(
        place, f"{MUNIMENT} record -- {PYTHON} listing.py recorded {streams}"
    )
    assert (alone.returncode, recorded.returncode) == (0, 0), recorded.stderr
    texts = [(place / name).read_text() for name in ("alone", "recorded")]
    assert texts[0] == texts[1]
