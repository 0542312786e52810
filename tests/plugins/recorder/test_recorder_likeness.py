"""A program that runs again by another command line, or is another one, is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

import muniment
from recording import PYTHON, Desk

LINE = ("agent.py", "--ticket", "T-1")
CALLS = "import os, requests\nrequests.get(os.environ['BASE'] + '/echo')\n"
SECRET = "kX9-pQ2-vL7-zW4-mN6"  # noqa: S105 - of no one

OTHER: dict[str, tuple[tuple[str, ...], list[tuple[str, object, object]]]] = {
    "an argument": (("agent.py", "--ticket", "T-2"), [("command[3]", "T-1", "T-2")]),
    "one more": ((*LINE, "--force"), [("command[4]", None, "--force")]),
    "one more before": (
        ("-B", *LINE),
        [("command[1]", None, "-B")],
    ),
    "one less": (LINE[:-1], [("command[3]", "T-1", None)]),
    "none": (
        ("agent.py",),
        [("command[2]", "--ticket", None), ("command[3]", "T-1", None)],
    ),
    "another script": (
        ("other.py", *LINE[1:]),
        [
            ("command[1]", "agent.py", "other.py"),
            ("program.file", "agent.py", "other.py"),
        ],
    ),
}
"""What the program is started with → the findings about it."""


def named(report: dict[str, Any]) -> list[tuple[str, object, object]]:
    """Return the findings of *report* about what ran."""
    assert all(one["what"] == "program" for one in report["findings"])
    return [(one["field"], one["expected"], one["got"]) for one in report["findings"]]


@pytest.mark.parametrize("name", OTHER)
def test_another_command_line_is_a_finding(desk: Desk, name: str) -> None:
    """It warns in the report, as JSON, on the terminal and in the verdict that is kept."""
    line, found = OTHER[name]
    desk.write("agent.py", CALLS)
    desk.write("other.py", CALLS)
    done = desk.record(PYTHON, *LINE)
    told = desk.muniment("replay", "--json", done.run, "--", PYTHON, *line)
    report = json.loads(told.out)
    assert (told.code, report["verdict"]) == (0, "acceptable_with_warnings"), told.err
    assert (named(report), report["first_divergence"]) == (found, None)
    assert f"the recorded command line was `{PYTHON} agent.py --ticket T-1`" in told.err
    with muniment.open(desk.ledger, readonly=True) as ledger:
        (kept,) = ledger.events(run=report["recorded_as"], type="replay.judged")
        data = ledger.resolve(kept)
    assert (data["verdict"], named(data)) == (report["verdict"], found)
    shown = desk.muniment("replay", "--no-record", done.run, "--", PYTHON, *line).out
    assert shown.count("another program  ") == len(found)
    assert f"another program  {found[0][0]} was " in shown
    explained = desk.muniment("runs", "explain", report["recorded_as"]).out
    assert "a warning" in explained
    assert "diverged" not in explained
    assert desk.holds


@pytest.mark.parametrize("line", [*(one for one, _ in OTHER.values()), ("-c", "1")])
@pytest.mark.parametrize("accepted", [(), ("--accept", "exact_match")])
def test_another_program_is_not_accepted_by_nothing(
    desk: Desk, line: tuple[str, ...], accepted: tuple[str, ...]
) -> None:
    """Where the record holds no call, that both ended well says nothing of either."""
    desk.write("agent.py", "pass\n")
    desk.write("other.py", "pass\n")
    done = desk.record(PYTHON, *LINE)
    again = ("replay", *accepted, done.run, "--", PYTHON)
    assert desk.muniment(*again, *LINE).code == 0
    told = desk.muniment(*again, *line)
    assert (told.code, told.out) == (3, "")
    assert "of another program (" in told.err
    assert "replay/unrecorded" in told.err


def test_a_script_that_changed_is_a_finding(desk: Desk) -> None:
    """The verdict over a record says that another text was run than the recorded one."""
    desk.write("agent.py", CALLS)
    done = desk.record(PYTHON, *LINE)
    desk.write("agent.py", f"{CALLS}# changed\n")
    told = desk.replay(done.run, PYTHON, *LINE)
    report = json.loads(told.out)
    assert (told.code, report["verdict"]) == (0, "acceptable_with_warnings")
    ((field, was, now),) = named(report)
    assert (field, str(was)[:7], str(now)[:7]) == (
        "program.digest",
        "sha256:",
        "sha256:",
    )
    assert told.err == "warning: agent.py is not as it was when it was recorded\n"


def test_a_difference_comes_before_what_only_warns(desk: Desk) -> None:
    """Where the program asks for something else, that is what the verdict is about."""
    asked = CALLS.replace("'/echo'", "'/echo?' + str(len(sys.argv))")
    desk.write("agent.py", f"import sys\n{asked}")
    done = desk.record(PYTHON, *LINE)
    told = desk.replay(done.run, PYTHON, "agent.py")
    report = json.loads(told.out)
    assert (told.code, report["first_divergence"]["what"]) == (1, "effect")
    assert report["findings"][0]["what"] == "program"
    kept = desk.muniment("replay", "--json", done.run, "--", PYTHON, "agent.py").out
    explained = desk.muniment("runs", "explain", json.loads(kept)["recorded_as"]).out
    assert "diverged" in explained
    assert "request.url was " in explained


def test_where_a_program_stands_is_no_difference(desk: Desk) -> None:
    """The same program by another path, and a Python of another name, are the same."""
    desk.write("agent.py", CALLS)
    (desk.place / "bin").mkdir()
    script = desk.place / "bin" / "tool"
    script.write_text(f"#!{PYTHON}\n{CALLS}")
    script.chmod(0o755)
    done = desk.record("bin/tool", "-x")
    assert json.loads(desk.replay(done.run, str(script), "-x").out)["findings"] == []
    done = desk.record("python", *LINE)
    for name in ("python3", PYTHON):
        assert json.loads(desk.replay(done.run, name, *LINE).out)["findings"] == []


def test_a_secret_is_neither_a_difference_nor_shown(desk: Desk) -> None:
    """Each may have its own key; it is not in the verdict either, known here or not."""
    desk.write("agent.py", CALLS)
    lines = [
        ("--api-key", SECRET, f"--url=https://h.example/?a=1&k={SECRET}", "-x"),
        ("--api-key", "other", f"--url=https://h.example/?a=1&k={SECRET}", "-x"),
        ("--api-key", "other", f"--url=https://h.example/?a=2&k={SECRET}", "-x"),
    ]
    desk.variables["SOME_API_KEY"] = SECRET
    done = desk.record(PYTHON, "agent.py", *lines[0])
    for variables in ({"SOME_API_KEY": SECRET}, {}):
        desk.variables.pop("SOME_API_KEY", None)
        desk.variables.update(variables)
        for line, count in zip(lines, (0, 0, 1), strict=True):
            command = ("--", PYTHON, "agent.py", *line)
            told = desk.muniment("replay", "--json", done.run, *command)
            assert len(json.loads(told.out)["findings"]) == count, told.out
            assert SECRET not in told.out + told.err
    assert SECRET.encode() not in desk.bytes_of_ledger()


def test_a_resume_names_the_recorded_command_line(desk: Desk) -> None:
    """It goes on, and says that it goes on with another command."""
    desk.write("agent.py", CALLS + "import sys\nsys.exit(len(sys.argv))\n")
    done = desk.record(PYTHON, *LINE)
    told = desk.muniment("resume", done.run, "--", PYTHON, "agent.py", "T-2")
    assert f"the recorded command line was `{PYTHON} agent.py --ticket T-1`" in told.err
    assert "the program ended with exit code 2" in told.out + told.err
    assert desk.holds
