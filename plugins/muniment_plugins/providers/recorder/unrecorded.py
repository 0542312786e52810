"""What a recorded program did that bypassed its record, from all its processes.

    recording.bypassed  {"connections": ["127.0.0.1:11434"], "libraries": ["grpc"],
                         "programs": [["curl", "https://api.example/"]]}

Rules:

- A child that is started is unrecorded until a Python says that it is recorded: one
  whose parent started it and whose command line is that of the child. A Python that
  comes of ``env`` or of a script counts; behind a shell that goes on, the shell does not.
- The command of the recording itself is told by its process.
- Command lines are named without their secrets, and stand in a blob.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

__all__ = ["Hello", "Unrecorded", "is_one_name"]

_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*(?:w?\.exe)?$")
_SHELL = re.compile(r"^(?:ba|da|k|z)?sh$")
_SHELL_TEXT = 3
"""``sh -c TEXT``: how many words that are."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A Python that said that it is recorded."""

    pid: int
    parent: int
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Started:
    """A program that was started: by the process, or in its place."""

    by: int
    command: tuple[str, ...]
    image: bool

    def is_recorded_by(self, hello: Hello) -> bool:
        of = hello.pid if self.image else hello.parent
        return of == self.by and _is_alike(self.command, hello.command)


@dataclass(slots=True)
class Unrecorded:
    """The connections, children and libraries that nobody records."""

    connections: list[str] = field(default_factory=list[str])
    libraries: list[str] = field(default_factory=list[str])
    pid: int | None = None
    """The process of the recorded command, once it was started."""
    _greeted: set[int] = field(default_factory=set[int])
    _started: list[_Started] = field(default_factory=list[_Started])

    @property
    def own(self) -> int | None:
        """The process of the recorded command, if it is recorded itself."""
        return self.pid if self.pid in self._greeted else None

    def greet(self, hello: Hello) -> None:
        """Note that a Python is recorded."""
        self._greeted.add(hello.pid)
        for one in self._started:
            if one.is_recorded_by(hello):
                self._started.remove(one)
                return

    def notice(self, sort: str, *told: object) -> None:
        """Note what a process noticed about itself."""
        if sort in ("child", "image"):
            by, *command = told
            words = tuple(map(str, command))
            self._started.append(_Started(int(str(by)), words, sort == "image"))
            return
        known = self.connections if sort == "connection" else self.libraries
        if (name := str(told[0])) not in known:
            known.append(name)

    def programs(self, command: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the command lines that ran unrecorded; *command* is the first."""
        known = self.pid is None or self.pid in self._greeted
        first = [] if known else [tuple(command)]
        return list(dict.fromkeys([*first, *(one.command for one in self._started)]))


def _is_alike(started: Sequence[str], python: Sequence[str]) -> bool:
    """Tell whether the command line *python* came of the one that was *started*."""
    if not started or not python:
        return False
    if len(started) == _SHELL_TEXT and _SHELL.match(PurePath(started[0]).name):
        try:
            return shlex.split(started[2]) == list(python)
        except ValueError:
            return False
    shorter, longer = sorted((tuple(started), tuple(python)), key=len)
    end = longer[-len(shorter) :]
    return end[1:] == shorter[1:] and is_one_name(end[0], shorter[0])


def is_one_name(one: str, other: str) -> bool:
    """Tell whether two paths name the same program, wherever it stands; or Pythons."""
    names = [PurePath(one).name, PurePath(other).name]
    return names[0] == names[1] or all(map(_PYTHON.match, names))
