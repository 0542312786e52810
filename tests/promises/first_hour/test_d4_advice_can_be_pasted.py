"""Every command that ``runs explain`` prints works as it is pasted, for every state.

The programs run, fail and are killed in processes of their own; what is printed is
given to a shell. Where a word is not known here, no command pretends to know it.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from first_hour import Newcomer
from recorded_programs import PROGRAMS
from recording import PYTHON, Desk

HEAD = """
import os
import signal
import muniment
from muniment.errors import RefusedError


def how():
    with open("how") as file:
        return "" if os.path.exists("repaired") else file.read()


def pay(request):
    with open("paid", "a") as file:
        file.write("x")
    return {"paid": request["sum"]}


def end(request):
    if how() == "failed":
        raise OSError("no line")
    if how() == "interrupted":
        raise KeyboardInterrupt
    if how() == "doubtful":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"said": "yes"}


def triage(run):
    run.effect("tool", {"name": "pay", "sum": 7}, perform=pay)
    if how() == "crashed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how() == "raised":
        raise ValueError("the program's own")
    if how() == "refused":
        raise RefusedError("not today", rule="own/refusal", place="", remedy="")
    return run.effect("tool", {"name": "ask"}, perform=end)


if __name__ == "__main__":
    with muniment.open("LEDGER", create=True) as ledger:
        ledger.execute(triage)
"""
STATES = [
    "completed",
    "failed",
    "raised",
    "refused",
    "interrupted",
    "crashed",
    "doubtful",
]
RESUMED = {"failed", "interrupted", "crashed", "doubtful"}

NAMED = [".muniment/ledger.db", "elsewhere/my ledger.db"]


def told(newcomer: Newcomer, run: str, *options: str) -> dict[str, Any]:
    """Return what ``runs explain`` says of *run*."""
    said = newcomer.muniment(*options, "runs", "explain", run, "--json")
    assert said.code == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def commands(said: dict[str, Any]) -> list[str]:
    """Return the command lines that are offered."""
    return [one["command"] for one in said["next"]]


def verb(command: str) -> str:
    """Return what a command line does to which run or event."""
    words = shlex.split(command)
    return next(one for one in words if one in {"replay", "resume", "show", "tail"})


def paste(newcomer: Newcomer, command: str) -> int:
    """Give *command* to a shell, as a person does."""
    said = newcomer.start(["sh", "-c", command])
    assert "error:" not in said.err, (command, said.err)
    assert "Traceback" not in said.err, said.err
    return said.code


@pytest.mark.slow
@pytest.mark.parametrize("place", NAMED)
@pytest.mark.parametrize("state", STATES)
def test_each_command_works(newcomer: Newcomer, state: str, place: str) -> None:
    """Show, replay and resume: in this order, with the ledger that was named."""
    (newcomer.folder / "triage.py").write_text(HEAD.replace("LEDGER", place))
    (newcomer.folder / "how").write_text(state)
    newcomer.python("triage.py")
    named = () if place == NAMED[0] else ("--ledger", place)
    listed = newcomer.muniment(*named, "runs", "--json")
    (run,) = (one["id"] for one in json.loads(listed.out))

    said = told(newcomer, run, *named)
    offered = commands(said)
    assert all(one.startswith("muniment ") for one in offered)
    assert all(("--ledger" in shlex.split(one)) == bool(named) for one in offered)
    assert ("resume" in map(verb, offered)) == (state in RESUMED), said
    for command in sorted(offered, key=lambda one: verb(one) == "resume"):
        if verb(command) == "resume":
            (newcomer.folder / "repaired").touch()
        assert paste(newcomer, command) == 0, command
    if state in RESUMED:
        assert newcomer.paid == 1
        record = newcomer.muniment(*named, "runs", "show", run, "--json").out
        assert json.loads(record)["run"]["status"] == "completed"


@pytest.mark.slow
def test_who_cannot_write_is_offered_no_resume(
    newcomer: Newcomer, tmp_path: Path
) -> None:
    """A reader without keys and pins is told why, and the rest still works."""
    (newcomer.folder / "triage.py").write_text(
        HEAD.replace("LEDGER", ".muniment/ledger.db")
    )
    (newcomer.folder / "how").write_text("failed")
    newcomer.python("triage.py")
    reader = Newcomer(newcomer.folder, tmp_path / "reader")
    (run,) = (one["id"] for one in json.loads(reader.muniment("runs", "--json").out))
    said = told(reader, run)
    assert "resume" not in map(verb, commands(said))
    assert "none of the ledger's keys is pinned here" in said["facts"]["to resume"]
    for command in commands(said):
        assert paste(reader, command) == 0


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["moved", "stdin"])
def test_a_program_that_is_nowhere_is_asked_for(newcomer: Newcomer, lost: str) -> None:
    """Its file is gone, or it never had one: which words to type, and no command."""
    text = HEAD.replace("LEDGER", ".muniment/ledger.db")
    (newcomer.folder / "triage.py").write_text(text)
    (newcomer.folder / "how").write_text("failed")
    if lost == "moved":
        newcomer.python("triage.py")
        (newcomer.folder / "triage.py").rename(newcomer.folder / "other.py")
    else:
        newcomer.python("-c", text)
    (run,) = (one["id"] for one in json.loads(newcomer.muniment("runs", "--json").out))
    said = told(newcomer, run)
    facts: dict[str, str] = said["facts"]
    assert {"replay", "resume"}.isdisjoint(map(verb, commands(said)))
    for one in ("replay", "resume"):
        assert f"`muniment {one} {run} --program FILE:NAME`" in facts[f"to {one}"]
    if lost == "moved":
        assert "triage.py" in facts["to replay"]
        typed = f"muniment replay {run} --program other.py:triage"
        assert paste(newcomer, typed) == 0


@pytest.mark.slow
def test_a_recorded_command_is_given_again(desk: Desk) -> None:
    """Its command line stands in the command; once it is erased, nothing replays it."""
    desk.write("agent.py", PROGRAMS["requests"])
    done = desk.record(PYTHON, "agent.py", "a word")
    said = json.loads(desk.muniment("runs", "explain", done.run, "--json").out)
    (replayed,) = (one for one in commands(said) if verb(one) == "replay")
    assert replayed.endswith(f"-- {shlex.join([PYTHON, 'agent.py', 'a word'])}")
    for command in commands(said):
        assert desk.muniment(*shlex.split(command)[1:]).code == 0

    assert desk.muniment("erase", done.run, "--reason", "asked for").code == 0
    said = json.loads(desk.muniment("runs", "explain", done.run, "--json").out)
    assert "replay" not in map(verb, commands(said))
    assert "gone" in said["facts"]
    assert "to replay" not in said["facts"]  # it would be refused, whatever is typed


@pytest.mark.slow
def test_an_experiment_is_named_by_its_run_alone(newcomer: Newcomer) -> None:
    """That of the tour: shown and replayed as it is printed."""
    newcomer.muniment("demo", "tour")
    home = {"MUNIMENT_HOME": str(newcomer.folder / "tour" / "trust-home")}
    tour = Newcomer(newcomer.folder / "tour", newcomer.home, home)
    runs = json.loads(tour.muniment("runs", "--json").out)
    run = next(one["id"] for one in runs if not one["name"].startswith("replay"))
    offered = commands(told(tour, run))
    assert {"replay", "show"} <= set(map(verb, offered))
    for command in offered:
        assert paste(tour, command) == 0


@pytest.mark.slow
@pytest.mark.parametrize("behind", [False, True])
def test_every_hint_names_the_ledger(newcomer: Newcomer, behind: bool) -> None:
    """Wherever a command advises another, the ledger that was named is named again."""
    place = "elsewhere/my ledger.db"
    given = ("--ledger", place)
    text = HEAD.replace("LEDGER", place)
    (newcomer.folder / "triage.py").write_text(text)
    words = [["runs"], ["doctor"], ["status"], ["prove", "0"], ["verify"], ["keys"]]
    words += [["checkpoint"], ["runs", "show", "nothing"], ["keys", "rotate"]]
    words += [["keys", "request", "--role", "approver", "--key", "k.pem"], ["rebuild"]]
    newcomer.python(
        "-c", f"import muniment; muniment.open({place!r}, create=True).close()"
    )
    advice: list[str] = []
    for one in words:
        said = newcomer.muniment(*([*one, *given] if behind else [*given, *one]))
        advice += re.findall(r"`(muniment [^`]*)`", said.out + said.err)
    found = [one for one in advice if "--help" not in one]
    assert len(found) >= 4
    assert all(shlex.split(one)[1:3] == [*given] for one in found), found
