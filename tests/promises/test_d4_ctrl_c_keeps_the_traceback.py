"""Ctrl-C under ``muniment record`` leaves the program its own traceback.

A terminal sends the signal to all of its foreground; the recorder stays until the
program has said what it has to say.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recording import MUNIMENT, Desk

PROGRAM = """
import pathlib, sys, time

def deep():
    pathlib.Path("began").touch()
    while True:
        time.sleep(0.01)

deep()
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
