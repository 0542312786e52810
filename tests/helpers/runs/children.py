"""Child processes that report through a pipe and may be killed at any point."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from muniment.ledger import Ledger

__all__ = ["Child", "die", "is_killed", "start"]

Report = Callable[[str], None]


@dataclass(slots=True)
class Child:
    """A forked process and the reading end of its pipe."""

    pid: int
    pipe: int

    def kill(self) -> None:
        """End it as a power cut would, without a last word."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> tuple[int, list[str]]:
        """Wait for the end; return the exit code (negative: signal) and the lines."""
        with open(self.pipe, "rb") as stream:  # noqa: PTH123 - a descriptor
            said = stream.read()
        _, status = os.waitpid(self.pid, 0)
        whole = said[: said.rfind(b"\n") + 1]
        return os.waitstatus_to_exitcode(status), whole.decode().splitlines()


def start(body: Callable[[Report], None]) -> Child:
    """Fork a child that runs *body* with a function that reports a line."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _run(body, writing)
    os.close(writing)
    return Child(pid, reading)


def _run(body: Callable[[Report], None], pipe: int) -> NoReturn:
    code = 1
    try:
        body(lambda line: _write(pipe, line))
        code = 0
    except BaseException as error:  # noqa: BLE001 - the parent shall hear of it
        _write(pipe, f"error {type(error).__name__} {error}")
    finally:
        os._exit(code)


def _write(pipe: int, line: str) -> None:
    os.write(pipe, line.replace("\n", " ").encode() + b"\n")


def die() -> None:
    """Kill the calling process, as it stands."""
    os.kill(os.getpid(), signal.SIGKILL)


def is_killed(
    path: Path,
    act: Callable[[Ledger], object],
    commit: int,
    step: str = "committed",
    plugins: tuple[str, ...] = (),
) -> bool:
    """Let *act* use the ledger at *path* in a child that dies; tell whether it did.

    It dies at that *step* of an append, the *commit* + 1st time that it comes there.
    """

    def live(_: Report) -> None:
        with Ledger.open(path, plugins=plugins) as opened:
            left = commit

            def reached(name: str) -> None:
                nonlocal left
                left -= name == step
                if left < 0:
                    die()

            opened.store.step = reached
            act(opened)

    return start(live).end()[0] == -signal.SIGKILL
