"""While a program reads from the terminal, ``muniment`` draws nothing on it.

A prompt stays, and so does what is typed, however the program reads. Before and after
that the spinner shows that something runs.
"""

from __future__ import annotations

import json
import os
import pty
import re
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from first_hour import BIN, Newcomer
from muniment_cli.terminal.readers import is_read, mode_of
from processes import soon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals"),
]

PROGRAM = """
import getpass, os, pathlib, subprocess, sys, time


def until(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.01)


def main(run):
    run.effect("data", 1, lambda _: until("asks"))
    answer = run.effect("human", "name", lambda _: WAY())
    run.effect("data", 2, lambda _: until("ends"))
    return answer


def by_input():
    return input("name? ")


def by_print():
    print("name? ", end="", flush=True)
    return sys.stdin.readline().strip()


def by_stderr():
    sys.stderr.write("name? ")
    sys.stderr.flush()
    return next(sys.stdin).strip()


def by_bytes():
    sys.stdout.buffer.write(b"name? ")
    sys.stdout.flush()
    return sys.stdin.buffer.readline().decode().strip()


def by_password():
    return getpass.getpass("name? ")


def by_descriptor():
    os.write(1, b"name? ")
    return os.read(0, 100).decode().strip()


def by_shell():
    asks = "printf 'name? '; read name; echo $name > told"
    subprocess.run(["/bin/sh", "-c", asks], check=True)
    return pathlib.Path("told").read_text().strip()
"""
STRICT = ("by_input", "by_print", "by_stderr", "by_bytes")
"""Ways that pass by here: not one frame comes after the prompt."""
SEEN = ("by_password", "by_descriptor", "by_shell")
"""Ways that are looked for: one frame may be on its way when the reading begins."""
FRAME = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
LOOKS = 0.8
"""Seconds in which a spinner that is not silent draws three times."""


class Typed:
    """A command on a terminal: what it shows, and a keyboard."""

    def __init__(self, terminal: int, pid: int) -> None:
        self.terminal, self.pid = terminal, pid
        self._heard: list[bytes] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def name(self) -> str:
        """The terminal, as its program has it."""
        return str(Path(f"/proc/{self.pid}/fd/2").readlink())

    @property
    def shown(self) -> str:
        """All that came to the terminal."""
        return b"".join(self._heard).decode("utf-8", "replace")

    def frames(self, since: int) -> int:
        """Return how often the spinner was drawn, or erased, after a character."""
        return len(FRAME.findall(self.shown[since:]))

    def waits_for(self, condition: Callable[[], object]) -> None:
        """Wait until *condition* holds."""
        assert soon(condition), self.shown

    def ended(self) -> int:
        """Wait for the end, and return the exit code."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._reader.join()
        return code

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self.terminal, 1 << 16)
            except OSError:
                return
            if not part:
                return
            self._heard.append(part)


@contextmanager
def on_a_terminal(user: Newcomer, *line: str) -> Generator[Typed]:
    """Start a command line on a terminal of its own."""
    environment = {"TERM": "xterm-256color", **user.environment}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(user.folder)
        words = [str(BIN / "muniment"), *line]
        os.execve(words[0], words, environment)  # noqa: S606 - as a shell starts it
    try:
        yield Typed(terminal, pid)
    finally:
        os.close(terminal)


def asked(user: Newcomer, way: str) -> None:
    """Write the program, which asks in this *way*."""
    (user.folder / "asks.py").write_text(PROGRAM.replace("WAY", way))
    assert user.muniment("init").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", [*STRICT, *SEEN])
def test_a_prompt_stays_until_it_is_answered(newcomer: Newcomer, way: str) -> None:
    """The spinner shows before and after it, and not meanwhile; the answer arrives."""
    asked(newcomer, way)
    with on_a_terminal(newcomer, "run", "asks.py:main") as typed:
        typed.waits_for(lambda: typed.frames(0))
        usual = mode_of(typed.terminal)
        (newcomer.folder / "asks").touch()
        typed.waits_for(lambda: "name? " in typed.shown)
        if way in SEEN:
            wait_for_a_reader(typed, usual)
        since = len(typed.shown)
        time.sleep(LOOKS)
        os.write(typed.terminal, b"An")
        time.sleep(LOOKS)
        assert typed.frames(since) <= (way in SEEN), typed.shown[since:]
        if way in STRICT:
            assert typed.shown.endswith("name? An"), typed.shown
        os.write(typed.terminal, b"n\n")
        if way == "by_input":  # it told when it was done; the others may be silent on
            answered = len(typed.shown)
            typed.waits_for(lambda: typed.frames(answered))
        (newcomer.folder / "ends").touch()
        assert typed.ended() == 0, typed.shown

    (run,) = newcomer.runs()
    told = json.loads(newcomer.muniment("runs", "show", run[0], "--json").out)
    assert '"Ann"' in json.dumps(told), told


def wait_for_a_reader(typed: Typed, usual: int | None) -> None:
    """Wait until the program waits for a key."""
    if sys.platform != "linux":
        pytest.skip("only Linux tells who reads")
    inner = os.open(typed.name, os.O_RDWR | os.O_NOCTTY)
    try:
        typed.waits_for(lambda: is_read(inner, usual))
    finally:
        os.close(inner)


def test_nothing_is_left_of_it(newcomer: Newcomer) -> None:
    """Lines that a program prints are whole, and the last frame is erased."""
    (newcomer.folder / "prints.py").write_text(
        "import time\n"
        "def main(run):\n"
        "    for number in range(30):\n"
        "        print('line', number)\n"
        "        time.sleep(0.03)\n"
    )
    assert newcomer.muniment("init").code == 0
    with on_a_terminal(newcomer, "run", "prints.py:main") as typed:
        assert typed.ended() == 0
    seen = [screen(line) for line in typed.shown.split("\r\n")]
    assert [one for one in seen if one.startswith("line")] == [
        f"line {number}" for number in range(30)
    ]
    assert not any(FRAME.search(one) for one in seen), seen


def screen(line: str) -> str:
    """Return what a terminal shows of *line* in the end."""
    return re.sub(r"\x1b\[[0-9;]*m", "", line.rpartition("\x1b[K")[2])


def test_the_names_of_a_terminal_are_all_known(tmp_path: Path) -> None:
    """Nobody reads from a terminal that was just made, and its mode is known."""
    outer, inner = pty.openpty()
    try:
        mode = mode_of(inner)
        assert mode is not None
        assert not is_read(inner, mode)
        assert is_read(inner, 0)
        with (tmp_path / "file").open("w") as file:
            assert mode_of(file.fileno()) is None
    finally:
        os.close(outer)
        os.close(inner)
