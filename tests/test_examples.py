"""Each example runs as a plain script, from an empty directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from muniment.verification.verify import verify

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, work: Path) -> str:
    """Run the example *name* in *work* and return what it prints."""
    work.mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=work,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not ran.stderr
    return ran.stdout


def test_the_first_ledger_grows(tmp_path: Path) -> None:
    """The example notes, runs, replays, proves and verifies; again on what is there."""
    first = run("first_ledger.py", tmp_path / "work").splitlines()
    assert first[0].startswith("event 1 is durable, run completed: T-1")
    assert first[1:] == [
        "replayed without the tool: acceptable",
        "event 1 is under a signed tree head: 3 hashes",
        "intact, pinned, checked",
    ]
    assert "event 7 is durable" in run("first_ledger.py", tmp_path / "work")


def test_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    """What was performed before the kill is not performed again afterwards."""
    work = tmp_path / "work"
    work.mkdir()
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "resume_a_run.py"],
        cwd=work,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        while child.stdout.readline() != "performing 2\n":
            assert child.poll() is None
        os.kill(child.pid, signal.SIGKILL)
    lines = run("resume_a_run.py", work).splitlines()
    assert lines[0].startswith("going on with run ")
    assert lines[1:] == [
        "performing 2",
        "performing 3",
        "performing 4",
        "completed: [0, 1, 4, 9, 16]",
    ]
    assert verify(work / ".muniment" / "ledger.db").ok


def test_a_governed_run_degrades(tmp_path: Path) -> None:
    """The policy's two look-ups are made, the third is answered, and all of it replays."""
    lines = run("governed_run.py", tmp_path / "work").splitlines()
    found = [f"{city} is in the timetable" for city in ("Rome", "Oslo")]
    assert lines == [
        "looking up Rome",
        "looking up Oslo",
        f"completed: {[*found, 'not looked up']}",
        "effect_limits.tool: 2 of 2 spent, then degrade",
        "event 9: tool took {'answer': 'not looked up'}",
        "replayed without tool and policy: acceptable",
        "intact",
    ]
