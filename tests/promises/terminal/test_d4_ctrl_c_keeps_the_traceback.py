"""Ctrl-C under ``muniment record`` leaves the program its own traceback.

A terminal sends the signal to all of its foreground, and so does whoever signals a
process group; the recorder stays until the program has said what it has to say. However
a signal comes, the program gets it once.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from model_server import Trouble
from processes import children_of, soon, waiting_signals
from recording import MUNIMENT, Desk

PROGRAM = """
import pathlib, sys, time

def deep():
    pathlib.Path("began").touch()
    while True:
        time.sleep(0.01)

deep()
"""

COUNTING = """
import pathlib, signal, sys, time

got = []
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, lambda number, _: got.append(number))
pathlib.Path("began").touch()
while len(got) < int(sys.argv[1]):
    pathlib.Path(f"got {len(got)}").touch()
    time.sleep(0.01)
time.sleep(1)
print(*got, file=open("got", "w"))
"""
"""Waits for so many signals, then a second for more than these; writes all down."""

ASKING = """
import os, requests
requests.post(os.environ["BASE"] + "/v1/chat/completions", json={"model": "m-1"})
"""


def typed(desk: Desk, *command: str) -> tuple[int, str]:
    """Record *command* on a terminal, type Ctrl-C, return its exit code and stderr."""
    errors = desk.place / "errors"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(desk.place)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        words = [MUNIMENT, "record", "--", *command]
        os.execve(MUNIMENT, words, desk.environment)  # noqa: S606 - as a shell starts it
    while not (desk.place / "began").exists():
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), errors.read_text()
        time.sleep(0.01)
    os.write(terminal, b"\x03")
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:
        pass  # nobody has the terminal any more
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), errors.read_text()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no terminals of this kind")
def test_the_traceback_is_whole(desk: Desk) -> None:
    """Its own frames and KeyboardInterrupt, exit code 130, and how to go on."""
    desk.write("agent.py", PROGRAM)
    code, told = typed(desk, sys.executable, "agent.py")
    bare = subprocess.run(
        [sys.executable, "-c", "raise KeyboardInterrupt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert code == 130
    assert told.count("Traceback (most recent call last):") == 1
    assert 'agent.py", line 9, in <module>' in told
    assert "in deep" in told
    assert bare.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "\nKeyboardInterrupt\n" in told
    assert "interrupted" in told.splitlines()[-2]
    assert told.splitlines()[-1].startswith("`muniment resume ")
    assert Path(desk.ledger).exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no process groups")
@pytest.mark.parametrize("to", ["recorder", "group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_program_once(
    desk: Desk, number: signal.Signals, to: str
) -> None:
    """Sent to the recorder alone it is passed on; sent to the group it is not again."""
    desk.write("agent.py", COUNTING)
    recorder = desk.started("record", "--", sys.executable, "agent.py", "2")
    assert soon((desk.place / "began").exists)
    send = os.killpg if to == "group" else os.kill
    send(recorder.pid, number)
    # The same signal twice at once is one to the system: all have to have had the first.
    assert soon((desk.place / "got 1").exists)
    assert soon(lambda: not any(map(waiting_signals, children_of(recorder.pid))))
    send(recorder.pid, number)
    _, err = recorder.communicate(timeout=300)
    assert (desk.place / "got").read_text().split() == [str(int(number))] * 2, err
    assert recorder.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no process groups")
def test_a_program_that_left_the_group_gets_it_too(desk: Desk) -> None:
    """What the group is sent reaches a program in a session of its own."""
    leaving = COUNTING.replace("got = []", "import os\nos.setsid()\ngot = []")
    desk.write("agent.py", leaving)
    recorder = desk.started("record", "--", sys.executable, "agent.py", "1")
    assert soon((desk.place / "began").exists)
    os.killpg(recorder.pid, signal.SIGINT)
    recorder.communicate(timeout=300)
    assert (desk.place / "got").read_text().split() == ["2"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no process groups")
@pytest.mark.parametrize("to", ["recorder", "group"])
def test_a_call_that_is_interrupted_shows_one_traceback(desk: Desk, to: str) -> None:
    """Of a program that waits for an answer: no second signal falls into the first."""
    desk.write("agent.py", ASKING)
    desk.server.fail(Trouble(held=True))
    recorder = desk.started("record", "--", sys.executable, "agent.py")
    assert soon(lambda: desk.server.calls)
    if to == "group":
        os.killpg(recorder.pid, signal.SIGINT)
    else:
        os.kill(recorder.pid, signal.SIGINT)
    _, err = recorder.communicate(timeout=300)
    assert recorder.returncode == 130
    assert err.count("Traceback (most recent call last):") == 1, err
    assert "During handling" not in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no terminals of this kind")
def test_a_terminal_interrupts_once(desk: Desk) -> None:
    """Ctrl-C on a terminal reaches recorder and program together: once."""
    desk.write("agent.py", COUNTING)
    code, told = typed(desk, sys.executable, "agent.py", "1")
    assert (desk.place / "got").read_text().split() == ["2"], told
    assert code == 0
