"""What the chapter of workflows names, by examples that run as plain scripts.

Which block, function and option of the chapter is shown by which of them:
``tests/plugins/workflow/chapter.toml``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from example_runs import EXAMPLES, run


def test_a_plan_is_run(tmp_path: Path) -> None:
    """A planner's three steps become two batches and a check, in this order, and run."""
    assert run("workflow/plan_and_run.py", tmp_path / "work").splitlines() == [
        "# Fix parser diagnostics",
        "batch-1: research, Inspect parser",
        "batch-2: execute, Patch diagnostics, Update release notes",
        "added: action-2 after action-1",
        "added: action-3 after action-1",
        "batch_1, batch_2, final_verify: valid True",
        "completed",
        "2",
        "  batch_1: The message is built in one place.",
        "  batch_2: Patched, and noted for the release.",
        "  final_verify: test result: ok",
        "replayed: acceptable",
    ]


def test_a_host_hands_over(tmp_path: Path) -> None:
    """Each helper knows its kind and weight; a stage gets the weightiest."""
    lines = run("workflow/host_artifacts.py", tmp_path / "work").splitlines()
    assert lines[:14] == [
        " 70 workspace_file: parser.py",
        " 70 workspace_snapshot: workspace snapshot",
        " 70 editor_selection: selection parser.py",
        "100 test_result: pytest",
        " 50 command_result: ruff check .",
        "100 verification_result: types",
        " 95 verification_bundle: before the change",
        " 90 diff: diff parser.py",
        " 90 git_diff: git diff",
        " 90 patch_proposal: patch for selection parser.py",
        " 90 diff_review: review diff parser.py",
        " 90 review_decision: approved review diff parser.py",
        " 90 apply_intent: apply diff parser.py",
        " 92 handoff: handoff to Ann",
    ]
    assert lines[14] == "the decision is about: diff, diff_review"
    assert lines[-2] == '+    raise ValueError("expected a number")'
    assert lines[-1] == (
        "completed: verification_result, test_result, verification_bundle, handoff, "
        "review_decision, apply_intent"
    )


def test_work_is_spread(tmp_path: Path) -> None:
    """A map keeps what failed; a race takes the first; a child knows its parent."""
    assert run("workflow/map_and_delegate.py", tmp_path / "work").splitlines() == [
        "all: completed, lexer.py is fine; parser.py is fine",
        "  kept: body, it does not parse",
        "first: completed, parser.py is fine",
        "quorum: completed, lexer.py is fine; parser.py is fine",
        "delegated: completed, broken.py parses again",
        "  mending worked for delegate.1",
        "  its parent is the run: True",
        "  workflow, up to network",
    ]


def test_nodes_converse(tmp_path: Path) -> None:
    """Two nodes share a session; its verbs shape it before the next run, and replays hold."""
    assert run("workflow/sessions_of_nodes.py", tmp_path / "work").splitlines() == [
        "completed",
        "  look: Three files, and one message that is wrong.",
        "  advise: Name the token in it.",
        "after the first run: 4 messages, last: Name the token in it.",
        "trimmed: 2 messages, last: Name the token in it.",
        "after the second run: 6 messages, last: Quote the token, too.",
        "compacted: 3 messages, last: Quote the token, too.",
        "reset: 0 messages, last: nothing",
        "the copy: 4 messages, last: Name the token in it.",
        "its parent is parser",
        "replayed: acceptable",
        "replayed: acceptable",
    ]


def test_a_run_is_written_to(tmp_path: Path) -> None:
    """Letters are taken once, the second one by the next generation; a late pause is void."""
    assert run("workflow/messages.py", tmp_path / "work").splitlines() == [
        "waits: {'waits_for': 'go'}",
        "the update is answered: {'calls': 40}",
        "  signal note: taken",
        "  signal go: taken",
        "  signal go: passed_on",
        "  control pause: void",
        "  update budget: answered",
        "generation 1: completed",
        "generation 2: completed",
        "  artifact: Lena said go",
        "  signal: mind the spans",
        '  update: {"answer":{"calls":40},"request":40}',
        "  artifact: worked, with 1 note",
        "  artifact: Max said go",
        "  artifact: worked, with 1 note",
        "  artifact: the end",
        "replayed: acceptable",
        "replayed: acceptable",
    ]


def test_a_graph_is_edited(tmp_path: Path) -> None:
    """Each edit is known by who made it; a ceiling refuses by name what asks for more."""
    assert run("workflow/edit_a_graph.py", tmp_path / "work").splitlines() == [
        "3 nodes, 3 edges: True",
        "added check",
        "  read: model_policy",
        "  write: auto_compact, context_policy, output_visibility",
        "  write to check by success",
        "  check to write by failed",
        "under the ceiling: valid False",
        (
            "  write is refused: {'member': 'tools', 'what': 'write', "
            "'why': 'not_in_ceiling'}"
        ),
        "version 1: create None",
        (
            "version 2: insert_node ann, replace_node ann, rewire bob, set_policy bob, "
            "set_policy bob, set_policy bob, set_policy bob, commit None"
        ),
        "answer_clone, version 3",
    ]


def test_runs_are_judged(tmp_path: Path) -> None:
    """A run is held to a good one; what proves nothing passes nothing; the verdict replays."""
    assert run("workflow/evals_of_runs.py", tmp_path / "work").splitlines() == [
        "failed: ['success', 'verification_failed']",
        "again: passed, exit code 0, True",
        "bad: failed, exit code 1, True",
        "  changed: write.1, check.1",
        "the run itself: cannot_tell, exit code 3, True",
        "a suite: 1 of 2 passed",
        "good and again are identical: True",
        "  write.1: changed",
        "  check.1: changed",
        "again: passed",
        "baseline: passed",
        "bad: failed",
        "failed; the verdict itself replays: acceptable",
    ]


def test_loops_converse(tmp_path: Path) -> None:
    """A loop of a second run knows what the first one found; a write is denied, and told."""
    assert run("agents/converse.py", tmp_path / "work").splitlines() == [
        "completed: answered: The roof and the door.",
        "  turn 1: read done",
        "  turn 2: answered",
        "  replayed: acceptable",
        "completed: answered: I may not write it down, but the roof was first on the list.",
        "  turn 1: write denied, read done",
        "  turn 2: answered",
        "  replayed: acceptable",
        (
            "['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'tool', 'tool', "
            "'assistant']"
        ),
    ]


@pytest.mark.slow
def test_the_chapters_commands(tmp_path: Path) -> None:
    """They inspect, compare, replay and judge; a page is written, and nothing is refused."""
    work = tmp_path / "work"
    work.mkdir()
    ran = subprocess.run(
        ["/bin/sh", EXAMPLES / "workflow/commands.sh"],
        cwd=work,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran
    assert ran.stdout.splitlines() == [
        "status     completed",
        "2 stages of both compared, with 6 contents; 0 differ",
        "verdict        acceptable",
        "verdict      passed",
        "cases        1 passed, 0 failed",
        "verdict      passed",
    ]
    assert "<html" in (work / "run.html").read_text()
