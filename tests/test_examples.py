"""Each example runs as a plain script, from an empty directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from example_runs import EXAMPLES, run
from muniment.verification.verify import verify


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


def stages(lines: list[str]) -> list[str]:
    """Return the lines that name nodes, each fork's branches in order of their names."""
    named = [one.strip() for one in lines if one.startswith("  ") and ": " in one]
    return sorted(named, key=lambda one: one.partition(" ")[0])


def test_a_graph_is_checked_with_its_tools(tmp_path: Path) -> None:
    """Tools say which level they need, and a ceiling below it refuses their nodes."""
    lines = run("workflow/tools_and_graph.py", tmp_path / "work").splitlines()
    assert lines[0] == "repair_loop: valid True, reaches act, repair, verify"
    assert lines[1:3] == [
        "under the ceiling process_exec: valid True",
        "under the ceiling workspace_write: valid False",
    ]
    assert len(lines) == 6


def test_a_context_is_selected(tmp_path: Path) -> None:
    """Two artifacts come in, in the order of their weight; the third one by no kind."""
    text = run("workflow/artifacts_and_context.py", tmp_path / "work")
    assert text.index("<kind>plan</kind>") < text.index("<kind>resource</kind>")
    assert text.splitlines()[-3:] == [
        "plan comes from code",
        "27 tokens of 1200",
        "left out: log, by kind",
    ]


def test_functions_are_stages(tmp_path: Path) -> None:
    """A function is called once, and a replay does not call it."""
    assert run("workflow/functions_as_stages.py", tmp_path / "work").splitlines() == [
        "acting",
        "completed",
        "act: success",
        "verify: passed",
        "act.1#0 is a patch",
        "verify.1#0 is a verification_result",
        "replayed: acceptable",
    ]


def test_a_command_verifies(tmp_path: Path) -> None:
    """A check fails with what it found, the work is mended, the check passes."""
    lines = run("workflow/verify_by_command.py", tmp_path / "work").splitlines()
    assert lines[:4] == [
        "completed",
        "verification_failed",
        "  expect_status 0: False, was 1",
        "  combined_output_contains OK: False",
    ]
    assert lines[4] == "verified"
    assert "stdout" in lines[-1]


def test_contracts_are_told_before(tmp_path: Path) -> None:
    """A contract in the graph and the same one in a file are told, and held, alike."""
    lines = run("workflow/verifier_contracts.py", tmp_path / "work").splitlines()
    assert lines[:2] == lines[2:]
    assert lines[1] == "verified by expect_status, identifier, path, text"


def test_a_repository_is_mended(tmp_path: Path) -> None:
    """A fork, a repair loop, two people and a commit; the record says how it went."""
    lines = run("workflow/lint_fix_test.py", tmp_path / "work").splitlines()
    assert lines[:2] == ["paused: it changes what customers pay", "completed"]
    assert stages(lines[2:])[:5] == [
        "apply 1: success",
        "apply 2: success",
        "approve 1: approved",
        "check 1: fork",
        "check 2: fork",
    ]
    told = "\n".join(lines)
    for one in ("lint 1: failed", "test 1: failed", "test 2: passed", "commit 1:"):
        assert one in told
    assert lines[-3:] == [
        "  two people: approved",
        "  replayed, with nobody and nothing asked: acceptable",
        "Mend prices.py",
    ]


def test_the_chapters_repair_loop(tmp_path: Path) -> None:
    """A model acts, another one's verdict is a branch, a third repairs, until it passes."""
    assert run("workflow/repair_loop.py", tmp_path / "work").splitlines() == [
        "valid True",
        "completed",
        "  act.1: success, by read, edit",
        "  verify.1: verification_failed, by run",
        "  repair.1: success, by edit, run",
        "  verify.2: verified, by run",
        "replayed: acceptable",
    ]


REPAIRED = [
    "mend.1 ended: answered",
    "change.1 the change:",
    "--- prices.py",
    "+++ prices.py",
    "@@ -7 +7 @@",
    "-        return sum(prices)",
    "+        return 0",
    'verify.1 verified: {"ok": true, "cases": 4, "wrong": []}',
    "review.1/turn.1 calls read",
    "review.1/turn.1/call.0 read prices.py done",
    "review.1/turn.2 says: PASS: one line changed, which is the one that was wrong.",
    "review.1 ended: answered",
    "review.1 verified: PASS: one line changed, which is the one that was wrong.",
    "run.completed",
    "repaired",
    "replayed, with nothing asked or run: acceptable",
]


def told(text: str) -> list[str]:
    """Return the lines of the repair agent, without the numbers of events."""
    return [line.partition(" (event")[0] for line in text.splitlines()]


def test_an_agent_mends_a_module(tmp_path: Path) -> None:
    """It reads, guesses wrongly, is told by the tests, mends it, is verified and reviewed."""
    lines = told(run("agents/repair.py", tmp_path / "work"))
    assert lines[-len(REPAIRED) :] == REPAIRED
    assert "mend.1/turn.1 calls read, run_tests" in lines
    assert (
        lines.count("mend.1/turn.3/call.0 run_tests done, 2 of 4 cases are wrong") == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("heard", ["turn.2:", "turn.4:", "turn.6:", "review.1/turn.2:"])
def test_a_killed_agent_goes_on(tmp_path: Path, heard: str) -> None:
    """What it had done before it was killed is not done again, and it comes to the same."""
    work = tmp_path / "work"
    work.mkdir()
    with subprocess.Popen(
        [sys.executable, "-u", EXAMPLES / "agents" / "repair.py"],
        cwd=work,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        while heard not in child.stdout.readline():
            assert child.poll() is None
        os.kill(child.pid, signal.SIGKILL)
    text = run("agents/repair.py", work)
    assert "going on with run" in text
    assert "\nrepaired (event " in text
    assert (work / "prices.py").read_text().count("        return 0\n") == 1
    ledger = work / ".muniment" / "ledger.db"
    assert verify(ledger).ok
