"""What is inside effects, and child runs, where users compare and replay runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("made")

PROGRAM = """
import os


def give(request):
    return int(os.environ["PAY"])


def order(request):
    import muniment
    muniment.current_run().effect("tool", {"pay": int(os.environ["PAY"])}, lambda asked: 0)
    return "done"


def inside(run):
    return run.effect("tool", "order", order)


def child(run):
    return run.effect("data", "salary", give) and 0


def calls(run):
    return run.call(child)


def marked(run):
    run.mark("non_certifiable", "beyond its budget")
    return run.effect("data", "salary", give) and 0


def calls_marked(run):
    return run.call(marked)
"""
EXACTLY = ("--mode", "strict", "--accept", "exact_match")


@pytest.fixture(autouse=True)
def program(work: Path) -> Iterator[None]:
    """Write the programs, and let them be imported anew."""
    (work / "paying.py").write_text(PROGRAM)
    yield
    sys.modules.pop("paying", None)


def _run(shell: Any, monkeypatch: pytest.MonkeyPatch, name: str, pay: int = 1) -> str:
    monkeypatch.setenv("PAY", str(pay))
    done = shell("run", f"paying.py:{name}", "--json")
    assert done.code == 0, done.err
    return str(done.json["run"])


@pytest.mark.parametrize("name", ["inside", "calls"])
def test_two_runs_that_differ_inside(
    shell: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`runs diff` and its judgement name the difference: by its scope, or its run."""
    one, same, other = (
        _run(shell, monkeypatch, name, pay) for pay in (1, 1, 1_000_000)
    )
    equal = shell("runs", "diff", one, same, *EXACTLY)
    assert equal.code == 0, equal.out
    assert ("1 child run" in equal.out) == (name == "calls")
    plain = shell("runs", "diff", one, other, "--json")
    assert (plain.code, plain.json["equal"]) == (1, False)
    judged = shell("runs", "diff", one, other, *EXACTLY)
    assert judged.code == 1
    if name == "inside":
        assert 'scope "@tool.' in judged.out
        assert "request.pay" in judged.out
    else:
        (difference,) = plain.json["differences"]
        assert judged.out.count(f"run {difference['run']}") == 2
        assert (difference["expected"], difference["got"]) == (1, 1_000_000)


def test_a_replay_of_a_marked_run(
    installed: Any, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never exit code 0: with the plugin, without any, and below with `--deep`."""
    run = _run(shell, monkeypatch, "marked")
    parent = _run(shell, monkeypatch, "calls_marked")
    bare = {"MUNIMENT_PLUGINS": "none"}
    for env in ({}, bare):
        done = installed("replay", run, "--json", env=env)
        assert (done.code, done.json["verdict"]) == (1, "non_certifiable"), done.err
        told = installed("replay", run, "--no-record", env=env)
        assert "non certifiable" in told.out
        above = installed("replay", parent, "--no-record", "--json", env=env)
        assert (above.code, above.json["verdict"]) == (0, "acceptable")
        deep = installed("replay", parent, "--deep", "--no-record", "--json", env=env)
        assert (deep.code, deep.json["verdict"]) == (1, "non_certifiable")
