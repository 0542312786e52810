"""Running one command: within its time, with all that it starts, in bounded memory.

    ended = ran(["/bin/sh", "-c", "make test"], place, seconds=60)
    ended.status, ended.is_late, ended.out

Rules:

- A command runs below a keeper (`contracts.keeper`), a process of its own. At its time,
  at Ctrl-C, when the run is stopped, and when this process dies, everything that the
  command started is killed: on Linux also what left its session. Elsewhere a process that
  leaves the session is out of reach; it is not waited for.
- Of what is printed the last mebibyte is kept as it comes, and what is cut is counted.
- The end of the command ends the wait: what still holds its pipes open is not waited for.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ENVIRONMENT", "MOST", "CommandEnd", "Printed", "Workplace", "ran"]

ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
"""The variables that a command sees, if they are set."""
MOST = 1 << 20
"""Bytes that are kept of what a command prints."""
_KEEPER = Path(__file__).with_name("keeper.py")
_KILLED = -1
_CHUNK = 1 << 16
_TICK = 0.05
"""Seconds until it is looked again whether the run is stopped."""
_DRAIN = 0.5
"""Seconds for the rest of what was printed, once the command has ended."""
_PATIENCE = 6.0
"""Seconds for the keeper to kill everything, and to end."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where commands run, and what they see of the environment."""

    folder: Path
    """Absolute, links resolved."""
    environment: Mapping[str, str]

    @classmethod
    def at(cls, folder: str) -> Workplace:
        """Return what there is at *folder* now."""
        seen = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        return cls(Path(folder).resolve(), seen)


@dataclass(slots=True)
class Printed:
    """The end of what a command prints."""

    kept: bytearray = field(default_factory=bytearray)
    size: int = 0
    """Bytes that were printed in all."""

    def add(self, data: bytes) -> None:
        """Take *data*, and forget what is too old."""
        self.size += len(data)
        self.kept += data
        if len(self.kept) > 2 * MOST:
            del self.kept[:-MOST]

    def text(self) -> str:
        """Return what is kept, after a line that says how much is not."""
        kept = bytes(self.kept[-MOST:])
        cut = self.size - len(kept)
        text = kept.decode(errors="replace")
        return text if not cut else f"[{cut} bytes were cut]\n{text}"


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended."""

    status: int
    """The exit status, negative if a signal ended it."""
    is_late: bool
    """Whether its time was up."""
    out: str
    error: str


def ran(
    words: Sequence[str],
    place: Workplace,
    seconds: float,
    stop: threading.Event | None = None,
) -> CommandEnd:
    """Run the command *words* at *place*, for so many *seconds* at most.

    Args:
        words: the program and its arguments.
        place: where it runs, with which environment.
        seconds: when everything that it started is killed.
        stop: when it is set, that happens at once.

    Raises:
        OSError: the program cannot be started.

    """
    latest = time.monotonic() + seconds
    keeper = _Kept(words, place)
    is_late = False
    try:
        while not keeper.has_ended:
            left = latest - time.monotonic()
            if left <= 0 or (stop is not None and stop.is_set()):
                is_late = True
                break
            keeper.read(min(left, _TICK))
    finally:
        keeper.end()
    problem = keeper.problem
    if problem:
        raise OSError(problem, os.strerror(problem), words[0])
    out, error = (one.text() for one in keeper.printed)
    status = keeper.status
    is_late = is_late and status is None
    return CommandEnd(_KILLED if status is None else status, is_late, out, error)


class _Kept:
    """A command below its keeper."""

    def __init__(self, words: Sequence[str], place: Workplace) -> None:
        control, self._held = os.pipe()
        said, stating = os.pipe()
        self.printed = (Printed(), Printed())
        self._said = said
        self._statement = b""
        self._selector = selectors.DefaultSelector()
        python = sys.executable or "python3"
        keeper = [python, "-I", "-S", str(_KEEPER), str(control), str(stating), "--"]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the graph names the command
                [*keeper, *words],
                cwd=place.folder,
                env=dict(place.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(control, stating),
            )
        except BaseException:
            os.close(self._held)
            os.close(said)
            raise
        finally:
            os.close(control)
            os.close(stating)
        self._pipes = (self._process.stdout, self._process.stderr)
        for pipe, printed in zip(self._pipes, self.printed, strict=True):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, printed)
        self._selector.register(said, selectors.EVENT_READ)

    @property
    def has_ended(self) -> bool:
        """Whether the keeper has said all."""
        return self._said < 0

    @property
    def status(self) -> int | None:
        """The status of the command; None if it was killed."""
        text = self._statement
        return int(text[1:]) if text.startswith(b"X") else None

    @property
    def problem(self) -> int:
        """The number of the error by which it could not be started, or 0."""
        text = self._statement
        return int(text[1:]) if text.startswith(b"E") else 0

    def read(self, seconds: float) -> bool:
        """Take what was printed or stated within *seconds*; tell if there was anything."""
        found = False
        for key, _ in self._selector.select(seconds):
            descriptor, printed = key.fd, key.data
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                continue
            found = True
            if not data:
                self._selector.unregister(key.fileobj)
            if isinstance(printed, Printed):
                printed.add(data)
            elif data:
                self._statement += data
            else:
                os.close(descriptor)
                self._said = -1
        return found

    def end(self) -> None:
        """Let the keeper kill everything, take what is left in the pipes, close them."""
        os.close(self._held)
        self._wait(time.monotonic() + _PATIENCE)
        with suppress(ProcessLookupError):
            if self._process.poll() is None:
                self._process.kill()
        self._process.wait()
        latest = time.monotonic() + _DRAIN
        while self._selector.get_map() and time.monotonic() < latest:
            if not self.read(0):  # nobody has more, and nobody is waited for
                break
        self._selector.close()
        for pipe in self._pipes:
            if pipe is not None:
                pipe.close()
        if self._said >= 0:
            os.close(self._said)

    def _wait(self, latest: float) -> None:
        """Read until the keeper has said all, so that no full pipe holds it up."""
        while not self.has_ended and time.monotonic() < latest:
            self.read(_TICK)
