"""Many command lines, each in a child of one small interpreter that has loaded them all.

    with ForkedCommands() as commands:
        commands.run(["verify"], folder, out)      (0, "…")

Rules: each child has the environment of whoever asks and the folder and output that
are named, and reads nothing; one that hangs is ended. A test process is not a place to
fork from: it is large, and each child would load anew what a command loads when it is
called.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

__all__ = ["ForkedCommands"]

LIMIT = 120.0
"""Seconds that only a fault reaches."""

HANGS = -1


class ForkedCommands:
    """The interpreter that forks."""

    def __enter__(self) -> Self:
        """Start it."""
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        self.server.communicate()

    def run(self, arguments: Sequence[str], folder: Path, out: Path) -> tuple[int, str]:
        """Run a command line in *folder*; return its exit code and what it said."""
        code = self.start(arguments, folder, os.environ, out, out)
        said = out.read_text("utf-8", "replace")
        return code, f"{said}{arguments} hangs" if code == HANGS else said

    def start(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        out: Path,
        err: Path,
    ) -> int:
        """Run it with *environment*, and say to *out* and *err*; return its exit code."""
        if self.server.stdin is None or self.server.stdout is None:
            raise AssertionError("both are pipes")
        asked = {
            "arguments": [*arguments],
            "environment": dict(environment),
            "folder": str(folder),
            "out": str(out),
            "err": str(err),
        }
        self.server.stdin.write(json.dumps(asked) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())


def _child(asked: dict[str, Any]) -> NoReturn:
    from muniment_cli import main as command  # noqa: PLC0415 - in the server alone

    code = 99
    try:
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["folder"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the server's is not theirs
        os.dup2(_opened(asked["out"]), 1)
        os.dup2(1 if asked["err"] == asked["out"] else _opened(asked["err"]), 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        code = command(asked["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _opened(place: str) -> int:
    """Open a file to say something to, or a terminal, which is nobody's own by that."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOCTTY", 0)
    return os.open(place, flags, 0o600)


def _serve(asked: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _child(asked)
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return HANGS


def main() -> None:
    """Answer requests, line by line, until there are no more."""
    sys.path.pop(0)  # the folder of this file: no command has it
    for name in ("muniment", "muniment_cli"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.freeze()
    with os.fdopen(os.dup(1), "w") as answers:
        for line in sys.stdin:
            answers.write(f"{_serve(json.loads(line))}\n")
            answers.flush()


if __name__ == "__main__":
    main()
