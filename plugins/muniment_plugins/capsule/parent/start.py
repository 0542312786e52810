"""Starts a child: its pipes and environment, and an interpreter for one execution.

    sys.executable -s -S -P worker.py KERNEL alone 5     own session, own environment,
                              descriptors 0 requests, 1 output, 2 last words, 5 answers

Rules:

- A child gets four fresh pipes and nothing else; its environment is written here.
- No other fork of this process may hold a child's ends of its pipes, because their end
  would never be seen: forks wait until the ends are handed over.
- Whoever started a child ends it: kills its whole group, then reaps it, and says how it
  ended and what it used. `warm_start` is the other way to start one.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import muniment
from muniment.errors import CannotTellError
from muniment_plugins.capsule.isolation.layers import plan
from muniment_plugins.capsule.protocol import frame

if TYPE_CHECKING:
    from muniment_plugins.capsule.isolation.seatbelt import Seatbelt
    from muniment_plugins.capsule.parent.findings import Machine

__all__ = [
    "GLANCE_S",
    "OVERTIME_S",
    "PREPARE_S",
    "Alone",
    "Child",
    "ChildSurroundings",
    "End",
    "Pipes",
    "child_environment",
    "start_worker",
    "undivided",
    "worker_command",
]

GLANCE_S = 0.02
"""Seconds between looks at the memory of a child that no limit bounds."""

PREPARE_S = 120.0
"""Seconds that loading the allowed packages may take."""

OVERTIME_S = 6.0
"""Seconds by which a watchdog ends a child later than its reader."""

WORKER = Path(__file__).parents[1] / "child" / "worker.py"
_KERNEL = Path(muniment.__path__[0])
_PACKAGES = ("site-packages", "dist-packages")
_PIPES = 4
_ENDING_S = 10.0
_GLIMPSE_S = 0.0005
_STDLIB = sys.stdlib_module_names

_THREADS = ("MKL", "NUMEXPR", "OMP", "OPENBLAS")
# Half of a tuned environment is worse than all of it: OPENBLAS_CORETYPE without its
# companions crashes NumPy.
_KEPT = ("MKL_", "OMP_", "OPENBLAS_")


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a child: fixed, except for BLAS and *extra*."""
    kept = {key: os.environ[key] for key in os.environ if key.startswith(_KEPT)}
    return {
        **kept,
        **{f"{name}_NUM_THREADS": "1" for name in _THREADS},
        # Otherwise the allocator of pyarrow, which pandas loads, starts a thread.
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        # However many jobs a program asks of scikit-learn, its own process runs them.
        "JOBLIB_MULTIPROCESSING": "0",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
        **extra,
    }


@dataclass(frozen=True, slots=True)
class ChildSurroundings:
    """A program's modules and their places, its environment and isolation layers."""

    imports: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]
    outside: frozenset[str]
    """The packages among the imports that are not in the standard library."""
    text: str
    """Paths and layers, as the child reads them."""

    @classmethod
    def of(
        cls, imports: tuple[str, ...], extra: Mapping[str, str]
    ) -> ChildSurroundings:
        """Return the surroundings of a program with these imports."""
        outside = frozenset(name.partition(".")[0] for name in imports) - _STDLIB
        paths = [p for p in sys.path if outside and p.endswith(_PACKAGES)]
        text = json.dumps({"paths": paths, "walls": plan(paths)})
        env = tuple(child_environment(extra).items())
        return cls(imports, env, tuple(paths), outside, text)


@dataclass(frozen=True, slots=True)
class End:
    """How a child ended: its status as in `subprocess`, and its usage."""

    status: int
    cpu_s: float
    max_rss_kb: int
    lost: str = ""
    """Why this is unknown; empty if it is known."""


@functools.cache
def undivided() -> contextlib.AbstractContextManager[object]:
    """Return a lock that keeps other threads from forking this process."""
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire,
            after_in_parent=lock.release,
            after_in_child=lock.release,
        )
    return lock


@dataclass(frozen=True, slots=True)
class Pipes:
    """The four pipes of one execution, with the ends of both sides.

    The child writes into socket pairs: unlike a pipe, a socket cannot be opened again
    by its name in /proc to take back what was written.
    """

    requests: int
    output: int
    complaints: int
    answers: int
    childs: tuple[int, int, int, int]
    """The child's ends: it reads requests, and writes the other three."""

    @classmethod
    def opened(cls) -> Pipes:
        """Open them all, or none."""
        pairs: list[tuple[int, int]] = []
        try:
            pairs.append(os.pipe())
            while len(pairs) < _PIPES:
                pairs.append(_one_way())
        except OSError:
            for descriptor in itertools.chain(*pairs):
                os.close(descriptor)
            raise
        (request, requests), (output, out), (complaints, err), (answers, answer) = pairs
        return cls(requests, output, complaints, answers, (request, out, err, answer))

    def close_childs(self) -> None:
        """Close the child's ends, which it has by now."""
        for descriptor in self.childs:
            os.close(descriptor)

    def close(self) -> None:
        """Close the ends of this side."""
        for descriptor in (self.requests, self.output, self.complaints, self.answers):
            os.close(descriptor)


def _one_way() -> tuple[int, int]:
    """Return the end from which this side reads, and the end where the child writes."""
    if os.name != "posix":
        return os.pipe()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return ours.detach(), theirs.detach()


class Child(Protocol):
    """A process that waits for the request of one execution."""

    found: Machine | None
    """What a probe child in the same surroundings found, if there was one."""

    @property
    def pid(self) -> int:
        """Its process id in this side's /proc."""
        ...

    @property
    def pipes(self) -> Pipes:
        """The pipes to it and from it."""
        ...

    @property
    def preface(self) -> bytes:
        """What it reads before the request."""
        ...

    @property
    def spent_s(self) -> float:
        """How much of `PREPARE_S` was already spent on loading packages."""
        ...

    @property
    def glance_s(self) -> float:
        """How often to ask whether it has `outgrown` its bounds."""
        ...

    def hold(self, time_s: float, mem_mb: int) -> dict[str, Any]:
        """Apply this side's limits to it; return the active layers."""
        ...

    def watch(self, seconds: float) -> None:
        """Let a watchdog apart from this side end it, some time after *seconds*."""
        ...

    def outgrown(self) -> bool:
        """Tell whether it takes more memory than it may, if nothing else stops it."""
        ...

    def end(self, *, answered: bool) -> End:
        """Kill what is left of it and its group; return how it ended, and its usage.

        A child that died keeps its status; one that has *answered* and waits to be killed
        has ended well.
        """
        ...


class Alone:
    """An interpreter that lives for one execution."""

    def __init__(self, surroundings: ChildSurroundings, spent_s: float = 0.0) -> None:
        self.spent_s = spent_s
        self.found: Machine | None = None
        self._belt = _belt()
        self._watchdog: threading.Timer | None = None
        self.glance_s = GLANCE_S if self._belt is not None else math.inf
        around = {**json.loads(surroundings.text), "imports": surroundings.imports}
        self.preface = frame(json.dumps(around).encode())
        with undivided():
            self.pipes = Pipes.opened()
            try:
                self._process = self._start(surroundings)
            except BaseException:
                self.pipes.close()
                raise
            finally:
                self.pipes.close_childs()
        self.pid = self._process.pid

    def _start(self, surroundings: ChildSurroundings) -> subprocess.Popen[bytes]:
        requests, output, complaints, answers = self.pipes.childs
        return start_worker(
            ("alone", str(answers)),
            surroundings,
            streams=(requests, output, complaints),
            passed=(answers,),
            prefix=self._belt.prefix(surroundings.paths) if self._belt else (),
        )

    def hold(self, time_s: float, mem_mb: int) -> dict[str, Any]:
        """Watch its memory, if no limit bounds it."""
        del time_s  # the child limits this itself
        return {} if self._belt is None else self._belt.hold(self.pid, mem_mb)

    def watch(self, seconds: float) -> None:
        """Let a timer end it, which waits for nothing else."""
        watchdog = threading.Timer(seconds + OVERTIME_S, self._kill)
        watchdog.daemon = True
        try:
            watchdog.start()
        except RuntimeError:
            return  # no thread available: the reader's own deadline remains
        self._watchdog = watchdog

    def outgrown(self) -> bool:
        """Tell whether it takes more memory than it may."""
        return self._belt is not None and self._belt.outgrown(self.pid)

    def end(self, *, answered: bool) -> End:
        """Kill the group and reap the child."""
        if self._watchdog is not None:  # its pid may soon be another process's
            self._watchdog.cancel()
            self._watchdog.join()
        self._kill()
        try:
            ended = self._reap()
        except ChildProcessError:
            # SIGCHLD is ignored here, or something else reaps every child.
            self._process.returncode = 0
            return End(0, 0.0, 0, lost="" if answered else "something else reaped it")
        return ended

    def _kill(self) -> None:
        # For a group with only a zombie left, macOS answers "not permitted".
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _reap(self) -> End:
        """Wait for the end of the killed child, but not for ever."""
        deadline = time.monotonic() + _ENDING_S
        pid, status, used = os.wait4(self.pid, os.WNOHANG)
        while not pid:
            if time.monotonic() > deadline:
                return End(-signal.SIGKILL, 0.0, 0, lost="it could not be ended")
            time.sleep(_GLIMPSE_S)
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = used.ru_utime + used.ru_stime
        return End(self._process.returncode, cpu_s, used.ru_maxrss)


def _belt() -> Seatbelt | None:
    if sys.platform != "darwin":
        return None
    from muniment_plugins.capsule.isolation.seatbelt import Seatbelt  # noqa: PLC0415 - of one system

    return Seatbelt()


def worker_command(mode: tuple[str, ...]) -> list[str]:
    """Return the command that starts a worker's interpreter in this mode.

    Raises:
        CannotTellError: this interpreter does not know its own executable.

    """
    # A program packed together with its interpreter would start itself again.
    if not sys.executable or getattr(sys, "frozen", False):
        raise CannotTellError(
            "this Python does not know its own executable",
            rule="capsule/spawn",
            remedy="run an ordinary interpreter, or set sys.executable",
        )
    return [sys.executable, "-s", "-S", "-P", str(WORKER), str(_KERNEL), *mode]


def start_worker(
    mode: tuple[str, ...],
    surroundings: ChildSurroundings,
    *,
    streams: tuple[int, int, int],
    passed: tuple[int, ...] = (),
    prefix: tuple[str, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a worker's interpreter, in a session and an environment of its own.

    Raises:
        OSError: it could not be started.

    """
    return subprocess.Popen(  # noqa: S603 - our own interpreter and file
        [*prefix, *worker_command(mode)],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        pass_fds=passed,
        start_new_session=True,
        cwd="/",
        env=dict(surroundings.env),
    )
