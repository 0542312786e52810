"""Ctrl-C shows no traceback, whenever it is typed, and ends with 130.

From the first line of ours on: what the interpreter does before is its own. A command
that was done before the signal came ends as it does otherwise.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from first_hour import Newcomer
from recording import MUNIMENT

DELAYS = [*range(0, 100, 5), *range(100, 310, 20)]
DROPPED = """
import sys, weakref

class Held: ...

def interrupted(_):
    signal.raise_signal(signal.SIGINT)

import signal, muniment_cli
from muniment_cli.shell import conduct

def lose_it_and_go_on(*_):
    held = Held()
    reference = weakref.ref(held, interrupted)
    del held  # what is raised in the callback, the interpreter prints and drops
    {goes_on}

conduct._invoke = lose_it_and_go_on
sys.exit(muniment_cli.main())
"""
COMMANDS = [
    ["--help"],
    ["status"],
    ["runs", "list"],
    ["verify"],
    ["doctor"],
    ["events", "--jsonl"],
    ["demo"],
    ["record", "--", "sleep", "0.2"],
]


def is_of_the_interpreter(err: str) -> bool:
    """Tell whether it had not come to our first line.

    Of what is dropped after that nothing is printed: `test_dropped_interrupt`.
    """
    begun = any(one in err for one in ("main())", "error: inter"))
    told = ("KeyboardInterrupt", "Fatal Python error: init")
    return any(one in err for one in told) and not begun


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_traceback(newcomer: Newcomer, command: list[str]) -> None:
    """At many moments within the first 300 ms."""
    newcomer.begin()
    codes: list[int] = []
    for delay in DELAYS:
        started = subprocess.Popen(
            [MUNIMENT, *command],
            cwd=newcomer.folder,
            env=newcomer.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(delay / 1000)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=300)
        if is_of_the_interpreter(err):
            continue
        assert "Traceback" not in out + err, (delay, err)
        assert "KeyboardInterrupt" not in out + err, (delay, err)
        assert started.returncode in (0, 1, 3, 130, -signal.SIGINT), (delay, err)
        codes.append(started.returncode)
    assert {130, -signal.SIGINT} & {*codes}, codes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize(
    "goes_on",
    ["while True: pass", "import time; time.sleep(60)", "input()"],
    ids=["computes", "sleeps", "reads"],
)
def test_dropped_interrupt(goes_on: str) -> None:
    """An interrupt that falls into a callback ends the command all the same."""
    with subprocess.Popen(
        [sys.executable, "-c", DROPPED.format(goes_on=goes_on)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.wait(300) == 130
        assert started.stdout is not None
        assert started.stderr is not None
        assert started.stdout.read() == ""
        assert started.stderr.read() == "error: interrupted\n"
