"""Whoever is told the status of a marked run is told its mark and why, by every command.

The commands are those of the command line: one that is new has to be placed here.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from marking_graphs import MARK, PLACES, REASON, marking
from muniment_cli.shell.group import command_line

Shell = Callable[..., Any]
PROGRAMS = f"""
import sys
from muniment_plugins.harness import Claim, Experiment, specify_claim


def main(run):
    run.mark("{MARK}", "{REASON}")
    return run.effect("data", 1, lambda asked: asked)


def plain(run):
    return run.effect("data", 1, lambda asked: asked)


def waits(run):
    main(run)
    run.pause("wait")


def fails(run):
    main(run)
    raise ValueError("no")


def stops(run):
    main(run)
    raise KeyboardInterrupt


def data(ctx):
    return [1, 2]


claimed = specify_claim(claim=Claim("c", "A claim"))
experiment = Experiment.builder("e").datasource(data).add_step(claimed).build()
"""
POLICY = {
    "spec_version": "v1",
    "policy_id": "p",
    "execution_budget": {
        "effect_limit": 0,
        "exhaustion_action": "mark_non_certifiable",
    },
}
CALLS = """
import urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:9/")
except OSError:
    pass
"""
RECORD = ("record", "--policy", "p.json", "--", sys.executable, "-c", CALLS)
LINES: dict[str, tuple[str, ...]] = {
    "run": ("run", "h.py:main"),
    "run, failed": ("run", "h.py:fails"),
    "run, paused": ("run", "h.py:waits"),
    "run, interrupted": ("run", "h.py:stops"),
    "run, a graph": ("run", "graph.json", "--task", "T"),
    "run, governed": ("run", "h.py:plain", "--policy", "p.json"),
    "run, an experiment": ("run", "h.py:experiment", "--policy", "p.json"),
    "record": RECORD,
    "resume": ("resume", "WAITING"),
    "fork": ("fork", "DONE", "--at", "LAST"),
    "cancel": ("cancel", "WAITING"),
    "status": ("status",),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "DONE"),
    "runs show, a graph": ("runs", "show", "GRAPH"),
    "runs explain": ("runs", "explain", "WAITING"),
    "runs tree": ("runs", "tree", "DONE"),
    "runs tree, a graph": ("runs", "tree", "GRAPH"),
    "runs tree, a graph above": ("runs", "tree", "ABOVE"),
    "runs diff": ("runs", "diff", "DONE", "PLAIN"),
    "inspect run": ("inspect", "run", "DONE"),
    "workflow query": ("workflow", "query", "GRAPH"),
}
"""Each command that says the status of a run, on runs that are marked."""
LIKE_RUN = ("amend", "approve", "deny", "workflow continue")
"""Those that end as `run` or `resume` does, by the same function."""
ELSEWHERE = {
    "claims": "test_marks_command.py",
    "attest": "test_marks_command.py",
    "bundle": "test_marks_command.py",
    "eval": "test_marks_command.py",
    "runs fixture": "test_marks_command.py",
    "verify": "test_marks_command.py",
    "observe": "what it names as not compared",
    "replay": "test_replaying.py",
    "report": "a page says it first, or is refused",
    "export": "the exports have it beside the events",
    "query": "a column of the view `runs`",
}
"""Those that say the mark, or the verdict on it, in their own form."""
OF_NO_STATUS = """
backup, checkpoint, compare, demo, doctor, erase, events list, events show, events tail,
forget, inbox add, inbox list, init, keys enrol, keys export, keys list, keys request,
keys revoke, keys rotate, keys trust, plan, plugins check, plugins list, policy check,
policy sign, prove, rebuild, runs stats, sessions list, sessions show, workflow commit,
workflow diff, workflow edit, workflow graph, workflow inspect, workflow mail,
workflow pause, workflow policy-report, workflow signal, workflow update, workflow validate
"""
"""Those that say how no run is."""


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command of the command line by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *above, name)
        else:
            yield " ".join((*above, name)), found


def test_every_command_is_placed() -> None:
    """A new command says marks beside a status, or says no status."""
    known = {
        *(one.partition(",")[0] for one in LINES),
        *LIKE_RUN,
        *ELSEWHERE,
        *(one.strip() for one in OF_NO_STATUS.split(",")),
    }
    assert {name for name, _ in commands(command_line())} == known


@pytest.mark.parametrize("name", LIKE_RUN)
def test_the_same_function(name: str) -> None:
    """What ends as `run` and `resume` do says what these say."""
    found = dict(commands(command_line()))[name].callback
    source = inspect.getsource(inspect.unwrap(found))  # type: ignore[arg-type]
    assert "show_outcomes(" in source or "resumed_if_asked(" in source


@pytest.fixture
def runs(work: Path, shell: Shell) -> dict[str, str]:
    """Give marked runs that ended, wait, and walk a graph, and one without a mark."""
    sys.modules.pop("h", None)  # of another test
    (work / "h.py").write_text(PROGRAMS)
    (work / "p.json").write_text(json.dumps(POLICY))
    for name, place in (("graph", "itself"), ("above", "a graph below")):
        (work / f"{name}.json").write_text(json.dumps({**PLACES[place], "name": "g"}))
    assert shell("init").code == 0
    said = {
        "DONE": ("h.py:main",),
        "PLAIN": ("h.py:plain",),
        "WAITING": ("h.py:waits",),
        "GRAPH": ("graph.json", "--task", "T"),
        "ABOVE": ("above.json", "--task", "T"),
    }
    with marking(MARK):
        found = {}
        for name, words in said.items():
            done = shell("run", *words, "--json")
            assert done.out, done.err
            found[name] = done.json["run"]
    last = shell("runs", "show", found["DONE"], "--json").json["run"]["last"]
    return {**found, "LAST": str(last)}


def because(words: tuple[str, ...]) -> str:
    """Return how the reason of the mark begins."""
    return "policy, effect_limit" if "p.json" in words else REASON


@pytest.mark.parametrize("words", LINES.values(), ids=LINES)
def test_people_are_told(
    shell: Shell, runs: dict[str, str], words: tuple[str, ...]
) -> None:
    """Mark and reason stand beside the status; a list of runs has the mark."""
    with marking(MARK):
        done = shell(*(runs.get(one, one) for one in words))
    told = " ".join((done.out + done.err).split())
    if "query" in words:
        assert [one["reason"] for one in done.json["marks"]] == [REASON]
    elif "list" in words:
        marked = [one for one in shell(*words, "--json").json if one["marks"]]
        assert told.count(MARK) == told.count("completed marked") + 1 == len(marked)
    else:
        assert f"marked {MARK}: {because(words)}" in told, told


@pytest.mark.parametrize(
    "words", [one for one in LINES.values() if one[0] not in {"record", "workflow"}]
)
def test_programs_are_told(
    shell: Shell, runs: dict[str, str], words: tuple[str, ...]
) -> None:
    """The document has the same marks, each with its reason; a run without one has none."""
    with marking(MARK):
        done = shell(*(runs.get(one, one) for one in words), "--json")
    if done.code == 130:  # interrupted: there is no document
        return
    text = json.dumps(done.json)
    assert MARK in text
    if "list" not in words:
        assert because(words) in text
    if words[0] in {"run", "resume", "fork", "cancel"} or "explain" in words:
        (mark,) = done.json["marks"]
        assert mark["mark"] == MARK
        assert mark["reason"].startswith(because(words))


def test_nothing_is_said_of_others(shell: Shell, runs: dict[str, str]) -> None:
    """The control: a run that nothing marks has no row, and an empty list."""
    for words in (("run", "h.py:plain"), ("runs", "show", runs["PLAIN"])):
        assert "marked" not in shell(*words).out
    assert shell("run", "h.py:plain", "--json").json["marks"] == []
    assert shell("runs", "tree", runs["PLAIN"], "--json").json["marks"] == []
    assert "marked" not in shell("runs", "tree", runs["PLAIN"]).out
