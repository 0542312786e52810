"""What an execution is started with, and the plain way: an interpreter for it alone.

    sys.executable -s -S -P worker.py KERNEL alone 5     own session, own environment,
                              descriptors 0 requests, 1 output, 2 last words, 5 answers

Rules:

- A child gets four fresh pipes and nothing else; its environment is written here.
- No other fork of this process may hold a child's ends of its pipes, which would then
  never be seen to end: forks wait until they are handed over.
- Whoever started a child ends it: kills its whole group, then reaps it, and says how it
  ended and what it used. `warm` is the other way to start one.
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
from muniment_plugins.capsule.protocol import frame
from muniment_plugins.capsule.walls import plan

if TYPE_CHECKING:
    from muniment_plugins.capsule.examining import Machine
    from muniment_plugins.capsule.seatbelt import Seatbelt

__all__ = [
    "GLANCE_S",
    "OVERTIME_S",
    "PREPARE_S",
    "Alone",
    "Child",
    "End",
    "Pipes",
    "Surroundings",
    "child_environment",
    "start_worker",
    "undivided",
    "worker_command",
]

GLANCE_S = 0.02
"""How often the memory of a child is looked at that no limit holds."""

PREPARE_S = 120.0
"""What loading the allowed packages may take."""

OVERTIME_S = 6.0
"""How much later than its reader a watchdog ends a child."""

WORKER = Path(__file__).with_name("worker.py")
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
    """Return the whole environment of a child: fixed, but for BLAS and *extra*."""
    kept = {key: os.environ[key] for key in os.environ if key.startswith(_KEPT)}
    return {
        **kept,
        **{f"{name}_NUM_THREADS": "1" for name in _THREADS},
        # The allocator of pyarrow, which pandas loads, starts a thread otherwise.
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        # However many jobs a program asks scikit-learn for, its own process does them.
        "JOBLIB_MULTIPROCESSING": "0",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
        **extra,
    }


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around a program: modules, where they are found, environment, walls."""

    imports: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]
    outside: frozenset[str]
    """The packages among the imports that are not of the standard library."""
    text: str
    """Paths and walls, as the child reads them."""

    @classmethod
    def of(cls, imports: tuple[str, ...], extra: Mapping[str, str]) -> Surroundings:
        """Return the surroundings of a program with these imports."""
        outside = frozenset(name.partition(".")[0] for name in imports) - _STDLIB
        paths = [p for p in sys.path if outside and p.endswith(_PACKAGES)]
        text = json.dumps({"paths": paths, "walls": plan(paths)})
        env = tuple(child_environment(extra).items())
        return cls(imports, env, tuple(paths), outside, text)


@dataclass(frozen=True, slots=True)
class End:
    """How a child ended: its status as `subprocess` has it, and what it used."""

    status: int
    cpu_s: float
    max_rss_kb: int
    lost: str = ""
    """Why nobody can say; empty if somebody can."""


@functools.cache
def undivided() -> contextlib.AbstractContextManager[object]:
    """Return what keeps other threads from forking this process while it is entered."""
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
    """The four pipes of one execution, by the ends of both sides.

    What the child writes goes through a pair of sockets: other than a pipe, a socket
    cannot be opened once more by its name in /proc, to take back what was written.
    """

    requests: int
    output: int
    complaints: int
    answers: int
    childs: tuple[int, int, int, int]
    """Where the child reads requests, and writes the other three."""

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
        """Close the ends that are the child's by now."""
        for descriptor in self.childs:
            os.close(descriptor)

    def close(self) -> None:
        """Close the ends of this side."""
        for descriptor in (self.requests, self.output, self.complaints, self.answers):
            os.close(descriptor)


def _one_way() -> tuple[int, int]:
    """Return where this side reads what a child writes, and where that writes."""
    if os.name != "posix":
        return os.pipe()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return ours.detach(), theirs.detach()


class Child(Protocol):
    """A process that waits for the request of one execution."""

    found: Machine | None
    """What a probe child in the same surroundings found, where there was one."""

    @property
    def pid(self) -> int:
        """Its number, as /proc here has it."""
        ...

    @property
    def pipes(self) -> Pipes:
        """What goes to it and comes from it."""
        ...

    @property
    def preface(self) -> bytes:
        """What it is to read before the request."""
        ...

    @property
    def spent_s(self) -> float:
        """What was spent on loading packages already, of `PREPARE_S`."""
        ...

    @property
    def glance_s(self) -> float:
        """How often to ask whether it has `outgrown` its bounds."""
        ...

    def hold(self, time_s: float, mem_mb: int) -> dict[str, Any]:
        """Put around it what this side puts around it; return what stands."""
        ...

    def watch(self, seconds: float) -> None:
        """Have it ended apart from this side, some time after so many seconds."""
        ...

    def outgrown(self) -> bool:
        """Tell whether it takes more memory than it may, where nothing stops it."""
        ...

    def end(self, *, answered: bool) -> End:
        """Kill what is left of it and its group; say what it used, and how it ended.

        A child that died keeps its status; one that has *answered* and waits to be killed
        has ended well.
        """
        ...


class Alone:
    """An interpreter that lives for one execution."""

    def __init__(self, surroundings: Surroundings, spent_s: float = 0.0) -> None:
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

    def _start(self, surroundings: Surroundings) -> subprocess.Popen[bytes]:
        requests, output, complaints, answers = self.pipes.childs
        return start_worker(
            ("alone", str(answers)),
            surroundings,
            streams=(requests, output, complaints),
            passed=(answers,),
            prefix=self._belt.prefix(surroundings.paths) if self._belt else (),
        )

    def hold(self, time_s: float, mem_mb: int) -> dict[str, Any]:
        """Watch its memory, where that takes watching."""
        del time_s  # that one it limits itself
        return {} if self._belt is None else self._belt.hold(self.pid, mem_mb)

    def watch(self, seconds: float) -> None:
        """Have a timer end it, which waits for nothing else."""
        watchdog = threading.Timer(seconds + OVERTIME_S, self._kill)
        watchdog.daemon = True
        try:
            watchdog.start()
        except RuntimeError:
            return  # no thread to be had: there still is the reader's own deadline
        self._watchdog = watchdog

    def outgrown(self) -> bool:
        """Tell whether it takes more memory than it may."""
        return self._belt is not None and self._belt.outgrown(self.pid)

    def end(self, *, answered: bool) -> End:
        """Kill the group and reap the child."""
        if self._watchdog is not None:  # it must not meet a stranger by this number
            self._watchdog.cancel()
            self._watchdog.join()
        self._kill()
        try:
            ended = self._reap()
        except ChildProcessError:
            # SIGCHLD is ignored here, or somebody reaps whatever ends.
            self._process.returncode = 0
            return End(0, 0.0, 0, lost="" if answered else "something else reaped it")
        return ended

    def _kill(self) -> None:
        # A group of which only a zombie is left is "not permitted" on macOS.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _reap(self) -> End:
        """Wait for the end of what was killed, but not for ever."""
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
    from muniment_plugins.capsule.seatbelt import Seatbelt  # noqa: PLC0415 - of one system

    return Seatbelt()


def worker_command(mode: tuple[str, ...]) -> list[str]:
    """Return the command that starts an interpreter of ours in this mode.

    Raises:
        CannotTellError: this interpreter does not know itself.

    """
    # A program packed together with its interpreter would be started once more.
    if not sys.executable or getattr(sys, "frozen", False):
        raise CannotTellError(
            "this Python does not know its own executable",
            rule="capsule/spawn",
            remedy="run an ordinary interpreter, or set sys.executable",
        )
    return [sys.executable, "-s", "-S", "-P", str(WORKER), str(_KERNEL), *mode]


def start_worker(
    mode: tuple[str, ...],
    surroundings: Surroundings,
    *,
    streams: tuple[int, int, int],
    passed: tuple[int, ...] = (),
    prefix: tuple[str, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start an interpreter of ours, in a session and an environment of its own.

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
