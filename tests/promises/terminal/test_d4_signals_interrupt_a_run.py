"""Whatever asks ``muniment`` to end, the run that it performs is interrupted.

`kill`, a closed terminal and Ctrl-C mean the same: the record says that the run was
interrupted and by what, one line says so and another how to continue, and the exit code
is 128 plus the signal.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from first_hour import Newcomer, Said
from processes import soon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="has no such signals"),
]

PROGRAM = """
import asyncio, pathlib, time


def blocks(_):
    if not pathlib.Path("go").exists():
        pathlib.Path("began").touch()
        while True:
            time.sleep(0.01)
    return 2


async def awaits(_):
    pathlib.Path("began").touch()
    await asyncio.Event().wait()


def sync(run):
    return run.effect("data", 1, lambda n: n) + run.effect("data", 2, blocks)


async def tasks(run):
    await run.aeffect("data", 2, awaits)
"""
COMMANDS = {
    "run": ("run", "wait.py:sync"),
    "run of tasks": ("run", "wait.py:tasks"),
    "resume": ("resume", "RUN"),
    "fork": ("fork", "RUN", "--at", "3"),
}
CASES = [
    *(("run", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    *((what, signal.SIGTERM) for what in ("run of tasks", "resume", "fork")),
    ("resume", signal.SIGHUP),
]


def begun(user: Newcomer, line: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command line, and wait until its program waits."""
    (user.folder / "began").unlink(missing_ok=True)
    started = subprocess.Popen(
        ["muniment", *line],
        cwd=user.folder,
        env=user.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert soon(lambda: (user.folder / "began").exists() or started.poll() is not None)
    assert started.poll() is None, started.communicate()
    return started


def ended(user: Newcomer, line: Sequence[str], *numbers: signal.Signals) -> Said:
    """Start a command line, and send it signals while its program waits."""
    started = begun(user, line)
    for number in numbers:
        started.send_signal(number)
    out, err = started.communicate(timeout=120)
    return Said(started.returncode, out, err)


@pytest.fixture
def waiting(newcomer: Newcomer) -> Newcomer:
    """Give a user with a ledger, and a program that waits."""
    (newcomer.folder / "wait.py").write_text(PROGRAM)
    assert newcomer.muniment("init").code == 0
    return newcomer


def line_of(user: Newcomer, what: str) -> list[str]:
    """Return a command line; where it needs a run, that was killed without a word."""
    line = list(COMMANDS[what])
    if "RUN" in line:
        killed = ended(user, COMMANDS["run"], signal.SIGKILL)
        assert killed.code == -signal.SIGKILL
        line[line.index("RUN")] = user.runs()[-1][0]
    return line


@pytest.mark.slow
@pytest.mark.parametrize(("what", "number"), CASES, ids=str)
def test_the_run_is_interrupted(
    waiting: Newcomer, what: str, number: signal.Signals
) -> None:
    """It is so in the record and in every list; one line names the run, one the way on."""
    said = ended(waiting, line_of(waiting, what), number)

    run = waiting.runs()[-1][0]
    assert said.code == 128 + number, said
    assert "Traceback" not in said.err
    assert said.err.splitlines()[0] == f"run {run}: interrupted"
    assert said.err.splitlines()[1].startswith(f"`muniment resume {run}` continues")
    assert len(said.err.splitlines()) == 2
    assert waiting.events()[-2:] == ["run.interrupted", "checkpoint.signed"] or (
        waiting.events()[-1] == "run.interrupted"
    )
    told = json.loads(waiting.muniment("runs", "explain", run, "--json").out)
    assert told["status"] == "interrupted"
    if what != "run of tasks":  # an event loop cancels its tasks, whatever the signal
        by = "KeyboardInterrupt" if number == signal.SIGINT else number.name
        assert f"({by})" in told["because"]


@pytest.mark.slow
def test_it_can_be_resumed(waiting: Newcomer) -> None:
    """The line that is printed works: completed effects are not repeated."""
    said = ended(waiting, COMMANDS["run"], signal.SIGTERM)
    (waiting.folder / "go").touch()
    advised = said.err.splitlines()[1].split("`")[1]

    done = waiting.start([*advised.split(), "--json"])
    assert (done.code, json.loads(done.out)["result"]) == (0, 3), done


@pytest.mark.slow
def test_a_signal_that_comes_twice_counts_once(waiting: Newcomer) -> None:
    """A terminal that closes says it twice; the end is written all the same."""
    numbers = [signal.SIGHUP, signal.SIGHUP, signal.SIGHUP]
    said = ended(waiting, COMMANDS["run"], *numbers)
    assert said.code == 128 + signal.SIGHUP, said
    assert "run.interrupted" in waiting.events()


@pytest.mark.slow
def test_one_that_is_ignored_stays_ignored(waiting: Newcomer) -> None:
    """Under `nohup` a closed terminal ends nothing."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        started = begun(waiting, COMMANDS["run"])
    finally:
        signal.signal(signal.SIGHUP, before)
    started.send_signal(signal.SIGHUP)
    (waiting.folder / "go").touch()  # too late for this effect: it still waits
    started.send_signal(signal.SIGTERM)
    _, err = started.communicate(timeout=120)
    assert started.returncode == 128 + signal.SIGTERM, err


CLOSES = """
import os, pty, signal, sys, time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp("muniment", ["muniment", "run", "wait.py:sync"])
while not os.path.exists("began"):
    time.sleep(0.01)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_terminal_that_closes_interrupts_it(waiting: Newcomer) -> None:
    """Nobody can read a word by then; the record has it, and the exit code is 129."""
    done = waiting.python("-c", CLOSES)
    assert done.out.split() == ["129"], done
    assert "run.interrupted" in waiting.events()


@pytest.mark.slow
def test_a_forked_child_ends_as_usual(waiting: Newcomer) -> None:
    """What a program forked is ended by `kill`, and writes nothing of the run."""
    (waiting.folder / "fork.py").write_text(
        "import os, signal, time\n"
        "def child(_):\n"
        "    pid = os.fork()\n"
        "    while pid == 0:\n"
        "        time.sleep(60)\n"
        "        os._exit(1)\n"
        "    os.kill(pid, signal.SIGTERM)\n"
        "    return os.waitpid(pid, 0)[1]\n"
        "def main(run): return run.effect('data', 1, child)\n"
    )
    done = waiting.muniment("run", "fork.py", "--json")
    assert json.loads(done.out)["result"] == signal.SIGTERM, done
