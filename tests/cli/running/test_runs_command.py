"""``muniment runs``: what was run, listed, shown, compared and explained."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment_plugins.harness.functions.hosts import Unfinished
from muniment_plugins.providers.recorder import Killed
from programs import write_program


@pytest.fixture
def good(made: Path, shell: Any, work: Path) -> str:
    """Run a program that completes; return the run's id."""
    assert made.exists()
    file = write_program(work)
    return ran(shell, f"{file.name}:triage", "-p", "ticket=T-1", "--label", "team=x")


@pytest.fixture
def bad(made: Path, shell: Any, work: Path) -> str:
    """Run a program that fails by an effect; return the run's id."""
    assert made.exists()
    file = write_program(work)
    return ran(shell, f"{file.name}:triage", "-p", "ticket=T-1", "-p", "tool=bad")


def ran(shell: Any, *arguments: str) -> str:
    """Run a program and return the run's id."""
    return str(shell("run", *arguments, "--json").json["run"])


def seq_of(kind: str, run: str | None = None) -> int:
    """Return the position of the first event of a type."""
    with muniment.open(readonly=True) as ledger:
        return next(ledger.events(type=kind, run=run)).seq


def test_runs_are_listed_newest_first(shell: Any, good: str, bad: str) -> None:
    """``runs`` alone lists them, for people and for machines."""
    assert [one["id"] for one in shell("runs", "--json").json] == [bad, good]
    lines = shell("runs").out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        [bad, "failed"],
        [good, "completed"],
    ]
    streamed = shell("runs", "list", "--jsonl", "--limit", "1").out
    assert json.loads(streamed)["id"] == bad


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--status failed", "bad"),
        ("--status completed --name tri*", "good"),
        ("--status completed,failed", "both"),
        ("--status open", ""),
        ("--program *:triage", "both"),
        ("--type tool.failed", "bad"),
        ("--type llm.* --grep T-1", ""),
        ("--subject sha256:" + "0" * 64, ""),
        ("--series none", ""),
        ("--label team=x", "good"),
        ("--label team=y", ""),
        ("--name other", ""),
        ("--tenant default --since 1h", "both"),
        ("--since 2h --until 1h", ""),
        ("--actor nobody", ""),
    ],
)
def test_filters_narrow_the_list(
    shell: Any, good: str, bad: str, options: str, found: str
) -> None:
    """Every filter takes away what does not pass it."""
    expected = {"good": [good], "bad": [bad], "both": [bad, good], "": []}[found]
    listed = shell("runs", *options.split(), "--json").json
    assert [one["id"] for one in listed] == expected


def test_the_order_and_one_run_are_options_too(shell: Any, good: str, bad: str) -> None:
    """The oldest come first if asked; a run is found by its prefix."""
    listed = shell("runs", "--order", "asc", "--json").json
    assert [one["id"] for one in listed] == [good, bad]
    listed = shell("runs", "--run", bad, "--json").json
    assert [one["id"] for one in listed] == [bad]


def test_tallies_are_those_of_the_runs_that_pass(
    shell: Any, good: str, bad: str
) -> None:
    """``stats`` takes the filters of the list, and adds up what passes."""
    one = shell("runs", "stats", "--status", "failed", "--json").json
    assert one == shell("runs", "stats", "--run", bad, "--json").json
    tools = [row for row in one if row["kind"] == "tool"]
    assert [row["failed"] for row in tools] == [1]
    every = shell("runs", "stats", "--name", "*", "--json").json
    assert every == shell("runs", "stats", "--json").json
    assert (
        shell("runs", "stats", "--run", good, "--status", "failed", "--json").json == []
    )


def test_a_list_reads_no_more_than_it_shows(
    shell: Any, good: str, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limited list folds as many runs as it prints, however many there are."""
    folded: list[str] = []
    view = muniment.RunSummaries.view

    def counted(self: muniment.RunSummaries, state: Any) -> muniment.RunSummary:
        folded.append(state["id"])
        return view(self, state)

    monkeypatch.setattr(muniment.RunSummaries, "view", counted)
    assert shell("runs", "--limit", "1").code == 0
    assert folded == [bad]
    assert good not in folded


def test_a_run_is_shown_with_its_contents(shell: Any, good: str) -> None:
    """Facts, result and timeline, with values in the place of commitments."""
    out = shell("runs", "show", good[:22]).out
    assert '{"share": 1.0, "ticket": "T-1"}' in out
    assert "secret prompt" in out
    assert "1 llm, 2 tool" in out
    document = shell("runs", "show", good, "--json").json
    assert document["run"]["status"] == "completed"
    timeline = {one["type"]: one for one in document["timeline"]}
    assert timeline["llm.requested"]["data"]["request"]["prompt"] == "secret prompt"
    assert len(document["timeline"]) == document["run"]["events"]


def test_a_timeline_is_limited_and_says_so(shell: Any, good: str) -> None:
    """What is left out is counted on stderr."""
    done = shell("runs", "show", good, "--limit", "2")
    assert "more events; --limit" in done.err
    assert "run.completed" not in done.out


def test_an_erased_content_is_shown_as_erased(shell: Any, good: str) -> None:
    """A run whose contents are gone can be looked at all the same."""
    with muniment.open() as ledger:
        ledger.erase(good, reason="asked for")
    done = shell("runs", "show", good)
    assert done.code == 0
    assert "(erased)" in done.out
    assert "secret prompt" not in done.out
    assert shell("runs", "diff", good, good).code == 3


def test_scopes_stand_as_a_tree(shell: Any, good: str) -> None:
    """Each scope is a branch, each effect one line with its outcome."""
    out = shell("runs", "tree", good).out
    assert out.index("map/") < out.index("0/") < out.index("1/")
    assert "tool search" in out
    scopes = shell("runs", "tree", good, "--json").json["scopes"]
    assert scopes["map/1"][0]["status"] == "completed"


def test_a_failure_is_explained(shell: Any, bad: str) -> None:
    """The effect, its request, its error, the event, and the next command."""
    done = shell("runs", "explain", bad)
    assert done.code == 0
    failed = seq_of("tool.failed", bad)
    for said in (
        "ValueError: no such tool",
        '"name": "bad"',
        f"event {failed}",
        'scope "map/0"',
        f"muniment events show {failed}",
        f"muniment resume {bad}",
    ):
        assert said in done.out
    assert shell("runs", "explain", bad, "--json").json["status"] == "failed"


def test_advice_is_whole_on_a_narrow_terminal(
    shell: Any, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command does stands below it where both do not fit on a line."""
    monkeypatch.setattr("muniment_cli.commands.look.runs.narrow", lambda: True)
    out = shell("runs", "explain", bad).out
    told = f"  muniment resume {bad}\n      performs what failed again\n"
    assert told in out


def test_the_advice_for_a_script_is_its_run(shell: Any, work: Path, made: Path) -> None:
    """What a script ran under ``__main__`` is found by its file: the id is enough."""
    assert made.exists()
    text = "import muniment\ndef twice(run): return 2\n"
    text += "if __name__ == '__main__':\n"
    text += "    with muniment.open() as ledger: ledger.execute(twice)\n"
    (work / "script.py").write_text(text)
    subprocess.run([sys.executable, "script.py"], check=True, cwd=work)
    (run,) = (one["id"] for one in shell("runs", "--json").json)
    (_, again) = shell("runs", "explain", run, "--json").json["next"]
    assert again["command"] == f"muniment replay {run}"
    assert shell(*shlex.split(again["command"])[1:]).code == 0


def test_a_program_that_raises_is_explained(shell: Any, work: Path, made: Path) -> None:
    """A failure that no effect caused is said to be the program's own."""
    assert made.exists()
    file = write_program(work, "def main(run): raise ValueError('oh')\n")
    out = shell("runs", "explain", ran(shell, file.name)).out
    assert "ValueError: oh" in out
    assert "the program itself" in out


@pytest.mark.parametrize(
    ("kind", "terminal", "advised"),
    [
        ("tool", True, " --repeat-doubtful tool\n      performs effects"),
        ("human", True, "\n      asks about effects with an unknown outcome"),
        ("human", False, " --repeat-doubtful human\n      performs effects"),
        ("data", False, "\n      continues; completed effects are not repeated"),
    ],
)
@pytest.mark.usefixtures("made")
def test_an_unfinished_run_is_explained(
    shell: Any,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    terminal: bool,
    advised: str,
) -> None:
    """An effect in doubt, and how to go on in spite of it, as its kind says."""
    monkeypatch.setattr("muniment_cli.commands.look.runs.narrow", lambda: True)
    monkeypatch.setattr(
        "muniment_cli.views.explaining.ways_on.can_ask", lambda: terminal
    )
    text = "def stop(_): raise KeyboardInterrupt\n"
    text += f"def main(run): run.effect({kind!r}, {{'name': 'x'}}, stop)\n"
    assert shell("run", write_program(work, text).name).code == 130
    run = shell("runs", "--json").json[0]["id"]
    out = shell("runs", "explain", run).out
    assert "interrupted" in out
    assert "unknown: it may have happened" in out
    assert f"muniment resume {run}{advised}" in out


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "somebody pressed Ctrl-C"),
        (
            SystemExit("private words"),
            "the program ended its process itself, with sys.exit",
        ),
        (asyncio.CancelledError(), "the task that awaited it was cancelled"),
        (Killed("SIGTERM", 143), "ended by a signal from outside (SIGTERM)"),
        (Unfinished(), "whoever awaited the experiment does so no more"),
    ],
)
@pytest.mark.usefixtures("made")
def test_what_stopped_a_run_is_said_in_words(
    shell: Any, error: BaseException, said: str
) -> None:
    """Not a class's name alone: what happened, when, and the command that goes on."""

    def stopped(run: muniment.Run) -> None:
        del run
        raise error

    with pytest.raises(type(error)), muniment.open() as ledger:
        ledger.execute(stopped, name="stopped")
    with muniment.open() as ledger:
        run = next(ledger.events(type="run.interrupted")).run
    told = shell("runs", "explain", run, "--json").json
    assert said in told["because"]
    assert told["facts"]["stopped at"].startswith("event ")
    typed = f"type `muniment resume {run} --program FILE:NAME`, with file and name"
    assert told["facts"]["to resume"].startswith(typed)
    with muniment.open() as ledger:
        interrupted = next(ledger.events(type="run.interrupted"))
    assert "private" not in str(interrupted.raw)


def test_a_run_whose_process_is_gone_is_explained(
    shell: Any, installed: Any, work: Path, made: Path
) -> None:
    """A crash leaves an open run, and the explanation says who is gone."""
    assert made.exists()
    file = write_program(work, "import os\ndef main(run): os._exit(9)\n")
    assert installed("run", file.name).code == 9
    run = shell("runs", "--status", "open", "--json").json[0]["id"]
    said = shell("runs", "explain", run, "--json").json
    assert "is gone without an end" in said["because"]
    assert said["next"][0]["command"] == f"muniment resume {run}"


def test_equal_runs_have_no_difference(shell: Any, good: str, work: Path) -> None:
    """Two runs of one program with the same params differ in nothing that counts."""
    file = next(work.glob("program_*.py"))
    again = ran(shell, f"{file.name}:triage", "-p", "ticket=T-1")
    done = shell("runs", "diff", good, again)
    assert done.code == 0
    assert shell("runs", "diff", good, again, "--json").json["equal"] is True


def test_the_first_difference_is_named(shell: Any, good: str, bad: str) -> None:
    """Where two runs part, by field, and then what they have more or less of."""
    done = shell("runs", "diff", good, bad)
    assert done.code == 1
    assert "params" in done.out
    found = shell("runs", "diff", good, bad, "--json").json
    assert [one["field"] for one in found["differences"]][:2] == [
        "tool",
        "request.name",
    ]
    assert found["structure"]["tool.completed"] == [2, 0]


def test_effects_are_counted(shell: Any, good: str, bad: str) -> None:
    """By kind: outcomes, durations and tokens; over all runs, or over one."""
    tallies = {one["kind"]: one for one in shell("runs", "stats", "--json").json}
    assert (tallies["tool"]["completed"], tallies["tool"]["failed"]) == (2, 1)
    assert tallies["llm"]["input_tokens"] == 24
    assert "llm" in shell("runs", "stats").out
    of_one = shell("runs", "stats", "--run", bad, "--json").json
    assert {one["kind"]: one["requested"] for one in of_one} == {"llm": 1, "tool": 1}
    assert good


WAITING = """\
def program(run):
    run.pause("until the index is built")
    return 7
"""


def test_a_run_pauses_and_is_canceled(made: Path, shell: Any, work: Path) -> None:
    """A paused run exits with 5 and says why; a canceled one is not resumed."""
    assert made.exists()
    (work / "waiting.py").write_text(WAITING)
    started = shell("run", "waiting.py:program")
    run = shell("runs", "--status", "paused", "--json").json[0]["id"]
    assert (started.code, "waits: until the index" in started.out) == (5, True)
    assert "until the index is built" in shell("runs", "show", run).out
    said = shell("runs", "explain", run, "--json").json
    assert said["status"] == "paused"
    assert said["because"] == "it waits: until the index is built"
    assert said["next"][0]["command"].startswith(f"muniment resume {run}")
    assert shell("cancel", run[:14], "--reason", "too late").code == 0
    refused = shell("resume", run)
    assert (refused.code, "[run/canceled]" in refused.err) == (4, True)
    assert "too late" in shell("runs", "explain", run).out
    assert "too late" in shell("runs", "show", run).out
    assert shell("replay", run).code == 3
    assert shell("verify").code in {0, 3}


def test_a_paused_run_is_resumed(made: Path, shell: Any, work: Path) -> None:
    """A resume passes the pause; the replay of it is acceptable."""
    assert made.exists()
    (work / "paused.py").write_text(WAITING)
    run = shell("run", "paused.py:program", "--json").json
    assert (run["status"], run["ok"]) == ("paused", False)
    resumed = shell("resume", run["run"], "--json")
    assert (resumed.code, resumed.json["result"]) == (0, 7)
    assert shell("replay", run["run"]).code == 0
