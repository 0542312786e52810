"""A recorded program has the descriptors that it has alone, and none of ours."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from recording import MUNIMENT, PYTHON, Desk, Ended

HELD = """
import os, sys
for number in range(3, 256):
    try:
        print(number, os.fstat(number)[:3])
    except OSError:
        pass
sys.exit(len(sys.argv) - 1)
"""
"""Prints which descriptors it has, and of what."""

READ = "import sys; print(open(sys.argv[1]).read())"


@contextmanager
def given(desk: Desk, kind: str) -> Generator[int]:
    """Give a descriptor of one *kind*."""
    if kind == "socket":
        with socket.socket() as one:
            yield one.fileno()
        return
    if kind == "pipe":
        number, other = os.pipe()
        os.write(other, b"written")
        os.close(other)
    else:
        (desk.place / "file").write_text("written")
        number = os.open(desk.place / ("file" if kind == "file" else "."), os.O_RDONLY)
    try:
        yield number
    finally:
        os.close(number)


def run(desk: Desk, number: int, *command: str) -> Ended:
    """Run *command* with the descriptor *number*."""
    done = subprocess.run(
        command,
        cwd=desk.place,
        env=desk.environment,
        pass_fds=[number],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("kind", ["directory", "file", "pipe", "socket"])
def test_a_program_has_the_descriptors_that_it_has_alone(desk: Desk, kind: str) -> None:
    """Recorded, replayed and resumed, it inherits what muniment was given: that alone."""
    desk.write("agent.py", HELD)
    program = (PYTHON, "agent.py", "fails")
    with given(desk, kind) as number:
        alone = run(desk, number, *program)
        assert (alone.code, str(number) in alone.out) == (1, True)
        done = run(desk, number, MUNIMENT, "record", "--", *program)
        assert (done.code, done.out) == (1, alone.out), done.err
        again = run(desk, number, MUNIMENT, "replay", done.run, "--", *program)
        assert (again.code, again.err.startswith(alone.out)) == (0, True), again.err
        resumed = run(desk, number, MUNIMENT, "resume", done.run, "--", *program)
        assert resumed.code == 1
        assert resumed.out.startswith(alone.out)


def test_what_a_shell_substitutes_can_be_read(desk: Desk) -> None:
    """A path such as ``<(command)`` names the descriptor that the shell made for it."""
    done: Ended | None = None
    for verb in ("record", "replay"):
        with given(desk, "pipe") as number:
            before = [done.run] if done else []
            program = (PYTHON, "-c", READ, f"/dev/fd/{number}")
            ran = run(desk, number, MUNIMENT, verb, *before, "--", *program)
            assert ran.code == 0, ran.err
            assert (ran.err if done else ran.out).startswith("written\n")
            done = done or ran
    assert desk.holds
