"""An effect in doubt is repeated, refused or asked about, as its kind says.

A process is killed between the request of an effect and its outcome. A resume finds the
request: ``llm`` says *repeat*, ``tool`` says *refuse*, ``human`` says *ask*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import muniment
from first_hour import Newcomer
from muniment.errors import RefusedError, UsageError
from muniment.trust.home import TrustHome
from terminals import on_terminal

KILLED = """
import os
import signal
import sys

import muniment


def perform(request):
    with open("performed", "a") as file:
        file.write("x")
    if os.path.getsize("performed") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def {kind}(run):
    return run.effect("{kind}", {{"about": "a \\x1b[31mthing"}}, perform=perform)


if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        ledger.execute({kind})
"""
KINDS = ("llm", "tool", "human")
COMMANDS = ("muniment", "resume")


def killed(newcomer: Newcomer, kind: str) -> str:
    """Run a program that is killed inside its effect; return the run."""
    (newcomer.folder / "killed.py").write_text(KILLED.format(kind=kind))
    assert newcomer.python("killed.py").code == -9
    ((run, _),) = newcomer.runs()
    return run


def performed(newcomer: Newcomer) -> int:
    """Return how often the effect was performed."""
    return len((newcomer.folder / "performed").read_text())


def decided(newcomer: Newcomer, kind: str) -> list[dict[str, str]]:
    """Return what the ledger says was decided, in its order."""
    said = newcomer.muniment("events", "list", "--json", "--limit", "99").out
    events: list[dict[str, Any]] = sorted(json.loads(said), key=lambda one: one["seq"])
    types = (f"{kind}.requested", "run.interrupted")
    data = [one["data"] for one in events if one["type"] in types]
    return [one["doubt"] for one in data if "doubt" in one]


ASKED = "muniment:terminal/1"
BY = {
    "llm": {"of": "outcome", "decision": "repeat", "by": "kind"},
    "tool": {"of": "outcome", "decision": "refuse", "by": "kind"},
    "human": {"of": "outcome", "decision": "refuse", "by": "nobody"},
    "yes": {"of": "outcome", "decision": "repeat", "by": "asked", "asked": ASKED},
    "no": {"of": "outcome", "decision": "refuse", "by": "asked", "asked": ASKED},
}


@pytest.mark.parametrize("kind", KINDS)
def test_where_nobody_can_be_asked(newcomer: Newcomer, kind: str) -> None:
    """On no terminal one is repeated, two are refused; their names repeat them."""
    run = killed(newcomer, kind)
    said = newcomer.muniment("resume", run)
    assert decided(newcomer, kind) == [BY[kind]]
    if kind == "llm":
        assert (said.code, performed(newcomer)) == (0, 2), said.err
        return
    assert (said.code, performed(newcomer)) == (4, 1)
    assert "[effect/doubt]" in said.err
    assert ("on a terminal" in said.err) == (kind == "human")
    other = KINDS[KINDS.index(kind) - 1]
    assert newcomer.muniment("resume", run, "--repeat-doubtful", other).code == 4
    assert newcomer.muniment("resume", run, "--repeat-doubtful", "tol").code == 2
    assert performed(newcomer) == 1
    done = newcomer.muniment("resume", run, "--repeat-doubtful", kind)
    assert (done.code, performed(newcomer)) == (0, 2), done.err
    named = {"of": "outcome", "decision": "repeat", "by": "named"}
    assert decided(newcomer, kind) == [BY[kind], BY[kind], named]
    assert newcomer.muniment("replay", run).code == 0
    assert newcomer.muniment("verify").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("types", ["repeat\n", "maybe\nrefuse\n", "\x04"])
def test_on_a_terminal(newcomer: Newcomer, kind: str, types: str) -> None:
    """Only *ask* asks there; the end of input refuses, another word is asked again."""
    run = killed(newcomer, kind)
    said = on_terminal(newcomer, 100, "resume", run, both=True, types=types)
    asks, again = "perform it again?" in said.out, "repeat" in types
    assert asks == (kind == "human"), said.out
    repeats = kind == "llm" or (asks and again)
    assert (said.code, performed(newcomer)) == ((0, 2) if repeats else (4, 1)), said.out
    if not asks:
        assert decided(newcomer, kind) == [BY[kind]]
        return
    assert "a human effect was requested, and its outcome is unknown" in said.out
    assert re.search(r'request +\{"about": *"a [^\x1b]*31mthing"\}', said.out)
    assert decided(newcomer, kind) == [BY["yes" if again else "no"]]
    if not again:
        assert "whoever was asked refused it" in said.out
        more = on_terminal(newcomer, 100, "resume", run, both=True, types="repeat\n")
        assert (more.code, performed(newcomer)) == (0, 2), more.out
    assert newcomer.muniment("replay", run).code == 0
    assert newcomer.muniment("verify").code == 0


def say_repeat(kind: str, request: object) -> str:
    """Answer *repeat*."""
    return (
        "repeat" if (kind, request) == ("human", {"about": "a \x1b[31mthing"}) else ""
    )


@pytest.mark.parametrize("kind", KINDS)
def test_in_python(
    newcomer: Newcomer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The callback is asked about *ask* alone; *refuse* wants its kind named."""
    run = killed(newcomer, kind)
    monkeypatch.chdir(newcomer.folder)

    def perform(_: object) -> str:
        with Path("performed").open("a") as file:
            file.write("x")
        return "done"

    def program(run: muniment.Run) -> object:
        return run.effect(kind, {"about": "a \x1b[31mthing"}, perform=perform)

    asked: list[str] = []

    def saying(answer: str) -> Callable[[str, object], str]:
        def say(kind: str, request: object) -> str:
            asked.append(kind)
            assert request == {"about": "a \x1b[31mthing"}
            return answer

        return say

    home = TrustHome(newcomer.home / "trust")
    with muniment.Ledger.open(".muniment/ledger.db", home=home) as ledger:
        if kind == "llm":
            assert ledger.resume(run, program, decide=saying("refuse")).ok
            assert (asked, performed(newcomer)) == ([], 2)
            return
        with pytest.raises(RefusedError, match=f"a {kind} effect was requested"):
            ledger.resume(run, program, decide=saying("refuse"))
        with pytest.raises(UsageError, match="tol"):
            ledger.resume(run, program, repeat=["tol"])
        if kind == "tool":
            with pytest.raises(RefusedError, match="its kind says refuse"):
                ledger.resume(run, program, decide=saying("repeat"))
            assert asked == []
            assert ledger.resume(run, program, repeat="tool").ok
        else:
            with pytest.raises(RefusedError, match="said 'no', neither 'repeat' nor"):
                ledger.resume(run, program, decide=saying("no"))
            assert decided(newcomer, kind)[-1]["said"] == "'no'"
            assert ledger.resume(run, program, decide=say_repeat).ok
            assert asked == ["human", "human"]
            last = decided(newcomer, kind)[-1]
            assert last["asked"].endswith("test_h1_doubt:say_repeat")
    assert performed(newcomer) == 2
