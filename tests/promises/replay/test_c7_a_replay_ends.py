"""A replay ends when it is told to, and leaves no process and no directory behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from first_hour import Newcomer
from muniment_plugins.capsule.machine import machine
from processes import soon

MUNIMENT = str(Path(sys.executable).with_name("muniment"))
PROGRAM = """
import os, signal, time


def main(run):
    how = os.environ.get("HOW")
    if how == "deaf":
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
    if how:
        print("begun", flush=True)
    while how:
        try:
            time.sleep(0.01)
        except BaseException:
            if how == "honest":
                raise
    return 1
"""
AGENT = """
import os, signal, subprocess, sys, time

how = os.environ.get("HOW")
if how:
    code = "import time; time.sleep(1000)"
    if how == "deaf":
        code = "import signal; signal.signal(15, signal.SIG_IGN);" + code
    subprocess.Popen([sys.executable, "-c", code], start_new_session=how == "deaf")
    print("begun", flush=True)
while how:
    try:
        time.sleep(0.01)
    except BaseException:
        if how == "honest":
            raise
"""
LINES = {"program": ("--env", "HOW"), "command": ("--", sys.executable, "agent.py")}
RECORDED: dict[str, str] = {}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a program and a command that end at once."""
    work = tmp_path_factory.mktemp("desk")
    (work / "program.py").write_text(PROGRAM)
    (work / "agent.py").write_text(AGENT)
    home = {**os.environ, "MUNIMENT_HOME": str(work / "home")}
    for line in (
        ("init",),
        ("run", "program.py"),
        ("record", *LINES["command"]),
    ):
        done = subprocess.run([MUNIMENT, *line], cwd=work, env=home, check=False)
        assert done.returncode == 0
    listed = subprocess.check_output([MUNIMENT, "runs", "--json"], cwd=work, env=home)
    for run in json.loads(listed):
        RECORDED["program" if run["name"] == "main" else "command"] = run["id"]
    return work


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Give a directory for temporary files, whose path marks the processes."""
    yield tmp_path
    for one in left(tmp_path):
        os.kill(one, signal.SIGKILL)


def around(work: Path, scratch: Path, how: str) -> dict[str, str]:
    """Return the environment of a replay whose program behaves in the way *how*."""
    own = {"HOW": how, "TMPDIR": str(scratch), "MUNIMENT_HOME": str(work / "home")}
    return {**os.environ, **own}


@contextmanager
def begun(
    work: Path, scratch: Path, what: str, how: str
) -> Generator[subprocess.Popen[str]]:
    """Start a replay of *what*, and wait until its program runs."""
    with subprocess.Popen(
        [MUNIMENT, "replay", RECORDED[what], *LINES[what]],
        cwd=work,
        env=around(work, scratch, how),
        start_new_session=True,
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as replay:
        assert replay.stderr is not None
        assert replay.stderr.readline() == "begun\n"
        yield replay


def left(scratch: Path) -> list[int]:
    """Return the processes that were started with *scratch* for temporary files."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = os.fsencode(scratch) in (folder / "environ").read_bytes()
            lives = (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            continue
        if known and lives:
            found.append(int(folder.name))
    return found


def all_gone(scratch: Path) -> bool:
    """Wait for the processes that are ending."""
    return soon(lambda: not left(scratch))


def told(replay: subprocess.Popen[str], signals: Sequence[int], group: bool) -> int:
    """Send *signals*, to the command alone or to all before the terminal."""
    for one in signals:
        if replay.poll() is None:
            (os.killpg if group else os.kill)(replay.pid, one)
            time.sleep(0.1)
    return replay.wait(300)


CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture(autouse=True)
def on_linux() -> None:
    """Skip where processes cannot be looked at, or are not kept together."""
    if machine().level != "os-strong":
        pytest.skip("this machine lacks layers")


HOWS = ("honest", "swallowing", "deaf")
SIGNALLED = [
    (what, number, how, group)
    for i, what in enumerate(LINES)
    for j, number in enumerate(CODES)
    for k, how in enumerate(HOWS)
    for group in (False, True)
    if number == signal.SIGINT or (i + j + k) % 2 == group
]
"""Ctrl-C goes to one process and to all; each other signal to either, by turns."""


@pytest.mark.slow
@pytest.mark.parametrize(("what", "number", "how", "group"), SIGNALLED)
def test_a_signal_ends_it(
    desk: Path, scratch: Path, what: str, number: signal.Signals, how: str, group: bool
) -> None:
    """Ctrl-C, `kill` and a closed terminal end the program and all that it started."""
    with begun(desk, scratch, what, how) as replay:
        assert told(replay, [number], group) == CODES[number]
        assert not left(scratch)
        assert list(scratch.iterdir()) == []
        assert replay.stderr is not None
        said = replay.stderr.read()
    assert what == "command" or "Traceback" not in said
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert f"error: interrupted{by}\n" in said, said
    assert "nothing is judged" in said


@pytest.mark.parametrize("what", LINES)
@pytest.mark.parametrize("how", ["honest", "deaf"])
def test_asked_twice_it_ends_too(
    desk: Path, scratch: Path, what: str, how: str
) -> None:
    """Who types Ctrl-C again is not kept waiting, and finds nothing left either."""
    with begun(desk, scratch, what, how) as replay:
        assert told(replay, [signal.SIGINT] * 3, group=True) in (130, -signal.SIGINT)
    assert all_gone(scratch)


@pytest.mark.parametrize("what", LINES)
def test_killed_it_takes_the_program_with_it(
    desk: Path, scratch: Path, what: str
) -> None:
    """A command that was killed leaves no process either."""
    with begun(desk, scratch, what, "deaf") as replay:
        assert told(replay, [signal.SIGKILL], group=False) == -signal.SIGKILL
    assert all_gone(scratch)


@pytest.mark.parametrize("what", LINES)
def test_it_ends_in_time(desk: Path, scratch: Path, what: str) -> None:
    """`--timeout` gives up on a program; that cannot be told, and nothing is left."""
    done = subprocess.run(
        [MUNIMENT, "replay", RECORDED[what], "--timeout", "1.5", *LINES[what]],
        cwd=desk,
        env=around(desk, scratch, "honest"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "[replay/timeout]" in done.stderr
    assert all_gone(scratch)
    assert list(scratch.iterdir()) == []


PRINTS = """
import atexit, os, sys, time

def main(run):
    if "LATE" in os.environ:
        atexit.register(time.sleep, 3600)
    print("thinking")
    if os.environ.get("LATE") == "raises":
        raise LookupError
    return 1
"""


@pytest.mark.parametrize(("late", "code"), [("returns", 0), ("raises", 1)])
def test_what_was_printed_is_not_lost(newcomer: Newcomer, late: str, code: int) -> None:
    """The process of a program that ended is ended: not before its output is written."""
    (newcomer.folder / "prints.py").write_text(PRINTS)
    newcomer.begin()
    ran = newcomer.muniment("run", "prints.py", "--json")
    run = json.loads(ran.out)["run"]

    again = newcomer.muniment("replay", run, "--no-record", "--env", f"LATE={late}")

    assert (again.code, again.err.count("thinking")) == (code, 1), again
