"""Runs of graphs are written to on the command line, from another process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

Shell = Any
INSTALLED = str(Path(sys.executable).with_name("muniment"))

HANDLERS = """
def wait(run, stage):
    stage.mail.publish_query("progress", {"asked": True})
    mail = stage.mail.receive("go", timeout_s=60)
    stage.mail.respond_update(mail, {"heard": mail.payload})
    return str(mail.payload)


def ask(run, stage):
    return str(stage.mail.receive("go").payload)


def say(given):
    return ", ".join(str(one.text) for one in given.artifacts if one.kind == "signal")


def again(run, stage):
    if not [one for one in stage.artifacts if one.kind == "artifact"]:
        stage.mail.receive("on")
        stage.mail.continue_as_new("the second")
    return stage.task
"""


@pytest.fixture
def desk(work: Path, shell: Shell) -> Iterator[Path]:
    """Stand beside handlers that wait for letters, and a ledger."""
    sys.modules.pop("handlers", None)
    (work / "handlers.py").write_text(HANDLERS)
    assert shell("init").code == 0
    yield work
    sys.modules.pop("handlers", None)


def graph(desk: Path, *handlers: str) -> str:
    """Write a graph of these handlers, one after the other; return its name."""
    names = [f"n{number}" for number, _ in enumerate(handlers)]
    document = {
        "name": "talk",
        "nodes": {
            name: {"handler": f"handlers:{one}"}
            for name, one in zip(names, handlers, strict=True)
        },
        "edges": [{"from": a, "to": b} for a, b in pairwise(names)],
        "mailbox": {"signals": ["note"]},
    }
    (desk / "graph.json").write_text(json.dumps(document))
    return "graph.json"


def run_of(shell: Shell) -> str:
    """Return the only run."""
    end = time.monotonic() + 60
    while True:
        found = shell("runs", "list", "--json").json
        if found:
            return str(found[0]["id"])
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_run_in_another_process(desk: Path, shell: Shell) -> None:
    """An open run is queried, signalled and updated; its answer is printed."""
    command = [INSTALLED, "run", graph(desk, "wait", "say")]
    with subprocess.Popen(
        command, cwd=desk, stdout=subprocess.PIPE, text=True
    ) as other:
        run = run_of(shell)
        end = time.monotonic() + 60
        while shell("workflow", "query", run, "progress").code:
            assert time.monotonic() < end, other.poll()
        status = shell("workflow", "query", run, "--json").json
        assert (status["status"], status["at"]) == ("open", ["n0"])
        assert shell("workflow", "signal", run, "note", "--payload", "hello").code == 0
        told = shell("workflow", "update", run, "go", "--payload", '{"n": 1}')
        assert (told.code, told.json) == (0, {"heard": {"n": 1}})
        out, _ = other.communicate(timeout=60)
    assert (other.returncode, "completed" in out) == (0, True)
    rows = shell("workflow", "mail", run, "--json").json
    assert [(one["name"], one["state"]) for one in rows] == [
        ("note", "taken"),
        ("go", "answered"),
    ]
    listed = shell("workflow", "mail", run)
    assert "note" in listed.out
    assert shell("verify").code == 0
    assert shell("replay", run).code == 0


def test_a_run_that_waits(desk: Path, shell: Shell) -> None:
    """A run without a letter pauses; it is written to, resumed, and late letters say so."""
    begun = shell("run", graph(desk, "ask", "say"), "--json")
    assert begun.code == 5
    run = run_of(shell)
    twice = shell("workflow", "signal", run, "go", "--payload", '{"a": 1, "a": 2}')
    assert (twice.code, "two members of one name" in twice.err) == (2, True)
    sent = shell("workflow", "signal", run[:12], "go", "--payload", "7", "--json")
    assert (sent.code, sent.json["state"], sent.json["payload"]) == (0, "waiting", 7)
    assert shell("resume", run).code == 0
    late = shell("workflow", "signal", run, "go")
    assert late.code == 4
    assert "will not be delivered" in late.out
    refused = shell("workflow", "update", run, "go", "--wait", "0")
    assert refused.code == 4
    assert "workflow/undelivered" in refused.err


def test_a_pause(desk: Path, shell: Shell) -> None:
    """A pause is recorded with its reason, and can be taken back."""
    shell("run", graph(desk, "ask", "say"))
    run = run_of(shell)
    assert shell("workflow", "pause", run, "--reason", "late data").code == 0
    assert shell("workflow", "pause", run, "--take-back").code == 0
    rows = shell("workflow", "mail", run, "--json").json
    assert [one["state"] for one in rows] == ["void", "void"]
    assert rows[0]["payload"] == {"reason": "late data"}


def test_going_on_as_new(desk: Path, shell: Shell) -> None:
    """A resume that comes to a run which goes on as new begins the next one."""
    assert shell("run", graph(desk, "again"), "--task", "the first").code == 5
    run = run_of(shell)
    assert shell("workflow", "signal", run, "on").code == 0
    resumed = shell("resume", run)
    assert resumed.code == 5, resumed.err  # the second waits for a letter, too
    second = shell("workflow", "query", run, "--json").json["continued_by"]
    assert shell("workflow", "query", second, "--json").json["generation"] == 2
    again = shell("workflow", "continue", run)
    assert again.code == 5
    assert second in again.out + again.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("signal", "RUN", "two words"), 2, "workflow/mail-name"),
        (("signal", "zz", "go"), 2, "run"),
        (
            ("signal", "RUN", "go", "--payload-file", "nothing.json"),
            2,
            "cannot be read",
        ),
        (("signal", "RUN", "go", "--payload-file", "handlers.py"), 2, "is no JSON"),
        (
            ("signal", "RUN", "go", "--payload", "1", "--payload-file", "graph.json"),
            2,
            "not both",
        ),
        (("query", "RUN", "progres"), 2, "workflow/query"),
        (("update", "RUN", "go", "--wait", "0"), 3, "workflow/update-open"),
        (("update", "RUN", "go", "--wait", "-1"), 2, "--wait"),
        (("continue", "RUN", "--task", "x"), 0, "continue_as_new waits"),
    ],
)
def test_what_is_mistyped(
    desk: Path, shell: Shell, words: tuple[str, ...], code: int, says: str
) -> None:
    """What is mistyped is one line with a rule, and the exit code tells."""
    shell("run", graph(desk, "ask", "say"))
    run = run_of(shell)
    done = shell("workflow", *(run if one == "RUN" else one for one in words))
    assert (done.code, says in (done.out + done.err).replace("\n", " ")) == (
        code,
        True,
    ), done.err
