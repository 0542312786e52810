"""The parent's side of one child: starts it, listens, checks, and always ends it.

    sys.executable -s -S -P worker.py 5 …     own session, own environment, descriptors
                                              0 request, 1 output, 2 last words, 5 answers

Rules:

- The child inherits four pipes and nothing else; its environment is written here.
- Reads happen while waiting: large results and outputs never look like timeouts. What
  goes beyond the bounds is read and dropped.
- The clock starts with ``go``, which is sent after /proc confirms the stated layers.
- However it goes, the whole process group is killed before the child is reaped with
  `os.wait4`, which says how it ended and what it used.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import muniment
from muniment.errors import CannotTellError
from muniment_plugins.capsule.limits import unmet_limits
from muniment_plugins.capsule.protocol import HEADER, MAX_RESULT, frame, is_object
from muniment_plugins.capsule.results import ProtocolViolation, read_frame
from muniment_plugins.capsule.walls import level_of, unmet_walls

__all__ = ["Outcome", "child_environment", "supervise"]

GRACE_S = 1.0
"""What the wall clock gets beyond the CPU time."""

PREPARE_S = 120.0
"""What loading the allowed packages may take."""

_WORKER = Path(__file__).with_name("worker.py")
_KERNEL = Path(muniment.__path__[0])
_MAX_LAST_WORDS = 8192
_CHUNK = 1 << 16

_THREADS = ("MKL", "NUMEXPR", "OMP", "OPENBLAS")
# Half of a tuned environment is worse than all of it: OPENBLAS_CORETYPE without its
# companions crashes NumPy.
_KEPT = ("MKL_", "OMP_", "OPENBLAS_")


@dataclass(slots=True)
class Outcome:
    """What the parent saw of one child."""

    stated: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    reason: str = ""
    """``wall``, ``level`` or ``protocol: …``; empty if it ended by itself."""
    unmet: list[str] | None = None
    """The stated layers that /proc denies; None where it cannot be read."""
    signal: int = 0
    stdout: bytearray = field(default_factory=bytearray)
    stdout_truncated: bool = False
    last_words: bytearray = field(default_factory=bytearray)
    usage: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def level(self) -> str:
        """What held the child; walls that nobody could confirm count for nothing."""
        if not self.stated:
            return "none"
        return level_of(self.stated) if self.unmet == [] else "process"


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a child: fixed, but for BLAS and *extra*."""
    kept = {key: os.environ[key] for key in os.environ if key.startswith(_KEPT)}
    return {
        **kept,
        **{f"{name}_NUM_THREADS": "1" for name in _THREADS},
        # The allocator of pyarrow, which pandas loads, starts a thread otherwise.
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
        **extra,
    }


def supervise(
    request: bytes,
    *,
    time_s: float,
    max_output: int,
    env: Mapping[str, str],
    admit: Callable[[str], bool] = lambda _: True,
) -> Outcome:
    """Run one child to its end and return what was seen of it.

    *admit* is asked before the program runs, with the level that was confirmed.

    Raises:
        CannotTellError: no child could be started.

    """
    child = _Child(request, time_s, max_output, admit)
    process, answers = _spawn(env)
    try:
        with selectors.DefaultSelector() as selector:
            child.listen(selector, process, answers)
    finally:
        _end(process, child.outcome)
        os.close(answers)
    child.drain(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        _close(pipe)
    child.outcome.usage["wall_s"] = round(time.monotonic() - child.started, 6)
    return child.outcome


def _spawn(env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    if not sys.executable:
        raise CannotTellError(
            "this Python does not know its own executable",
            rule="capsule/spawn",
            remedy="run an ordinary interpreter, or set sys.executable",
        )
    answers, childs_end = os.pipe()
    flags = ("-s", "-S", "-P")
    command = [sys.executable, *flags, str(_WORKER), str(childs_end), str(_KERNEL)]
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(childs_end,),
            start_new_session=True,
            cwd="/",
            env=dict(env),
        )
    except OSError as error:
        os.close(answers)
        raise CannotTellError(
            f"the child could not be started: {error}",
            rule="capsule/spawn",
            place=sys.executable,
            remedy="free processes or memory, then try again",
        ) from error
    finally:
        os.close(childs_end)
    return process, answers


def _unmet(pid: int, layers: dict[str, Any]) -> list[str] | None:
    """Return the layers of *layers* that /proc denies; None where it says nothing."""
    if sys.platform != "linux":
        return None
    limits: dict[str, object] = layers.get("rlimits") or {}
    try:
        return [*unmet_limits(pid, limits), *unmet_walls(pid, layers)]
    except (FileNotFoundError, PermissionError):
        # Mounted with hidepid, /proc shows no process that hides its memory.
        return None


def _end(process: subprocess.Popen[bytes], outcome: Outcome) -> None:
    """Kill the group and reap the child; a child that died keeps its own status."""
    # A group of which only a zombie is left is "not permitted" on macOS.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    outcome.signal = max(0, -process.returncode)
    outcome.usage["cpu_s"] = round(used.ru_utime + used.ru_stime, 6)
    outcome.usage["max_rss_kb"] = used.ru_maxrss


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()


class _Child:
    """One conversation; `listen` returns when the child is to be ended."""

    def __init__(
        self,
        request: bytes,
        time_s: float,
        max_output: int,
        admit: Callable[[str], bool],
    ) -> None:
        self.outcome = Outcome()
        self.to_send = memoryview(frame(request))
        self.received = bytearray()
        self.time_s = time_s
        self.max_output = max_output
        self.admit = admit
        self.started = time.monotonic()
        self.deadline = self.started + PREPARE_S
        self.pid = 0

    def listen(
        self,
        selector: selectors.BaseSelector,
        process: subprocess.Popen[bytes],
        answers: int,
    ) -> None:
        """Move bytes until the child's answers end, or the clock or a rule ends it."""
        self.pid = process.pid
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("all three are pipes")
        self.selector, self.requests = selector, process.stdin.fileno()
        os.set_blocking(self.requests, False)
        selector.register(self.requests, selectors.EVENT_WRITE, self._write)
        selector.register(answers, selectors.EVENT_READ, self._answer)
        selector.register(process.stdout, selectors.EVENT_READ, self._output)
        selector.register(process.stderr, selectors.EVENT_READ, self._complaint)
        try:
            while answers in selector.get_map() and not self.outcome.reason:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    self.outcome.reason = "wall"
                    return
                for key, _ in selector.select(left):
                    key.data(key.fd)
        except ProtocolViolation as violation:
            self.outcome.reason = f"protocol: {violation}"

    def drain(self, process: subprocess.Popen[bytes]) -> None:
        """Read what the dead child left in its output pipes, without waiting."""
        for pipe, take in (
            (process.stdout, self._keep_output),
            (process.stderr, self._keep_complaint),
        ):
            if pipe is None:
                continue
            os.set_blocking(pipe.fileno(), False)
            with contextlib.suppress(BlockingIOError):
                while part := os.read(pipe.fileno(), _CHUNK):
                    take(part)

    def _write(self, descriptor: int) -> None:
        try:
            written = os.write(descriptor, self.to_send[: 1 << 20])
        except BrokenPipeError:
            # It died while reading: its status says why.
            written = len(self.to_send)
        self.to_send = self.to_send[written:]
        if not self.to_send:
            self.selector.unregister(descriptor)

    def _answer(self, descriptor: int) -> None:
        part = os.read(descriptor, _CHUNK)
        if not part:
            self.selector.unregister(descriptor)
            if self.received:
                raise ProtocolViolation("the answers end inside a frame")
            return
        self.received += part
        while (body := self._next_frame()) is not None:
            self._take(read_frame(body))

    def _next_frame(self) -> bytes | None:
        if len(self.received) < HEADER:
            return None
        size = int.from_bytes(self.received[:HEADER], "big")
        if size > MAX_RESULT:
            raise ProtocolViolation(f"a frame of {size} bytes")
        if len(self.received) < HEADER + size:
            return None
        body = bytes(self.received[HEADER : HEADER + size])
        del self.received[: HEADER + size]
        return body

    def _take(self, value: dict[str, Any]) -> None:
        if self.outcome.answer is not None:
            raise ProtocolViolation("more frames than two")
        if self.outcome.stated is not None:
            self.outcome.answer = value
            return
        layers: object = value.get("layers")
        if not is_object(layers):
            # What fails before the limits stand is told in the only frame.
            self.outcome.stated, self.outcome.answer = {}, value
            return
        self._go(layers)

    def _go(self, layers: dict[str, Any]) -> None:
        self.outcome.unmet = _unmet(self.pid, layers)
        if self.outcome.unmet:
            raise ProtocolViolation(f"layers not in force: {self.outcome.unmet}")
        self.outcome.stated = layers
        if not self.admit(self.outcome.level):
            self.outcome.reason = "level"
            return
        self.to_send = memoryview(frame(b'{"go":true}'))
        self.selector.register(self.requests, selectors.EVENT_WRITE, self._write)
        self.started = time.monotonic()
        self.deadline = self.started + self.time_s + GRACE_S

    def _output(self, descriptor: int) -> None:
        self._read(descriptor, self._keep_output)

    def _complaint(self, descriptor: int) -> None:
        self._read(descriptor, self._keep_complaint)

    def _read(self, descriptor: int, take: Any) -> None:
        part = os.read(descriptor, _CHUNK)
        if part:
            take(part)
        else:
            self.selector.unregister(descriptor)

    def _keep_output(self, part: bytes) -> None:
        kept = self.outcome.stdout
        room = self.max_output - len(kept)
        kept += part[:room]
        self.outcome.stdout_truncated |= len(part) > room

    def _keep_complaint(self, part: bytes) -> None:
        kept = self.outcome.last_words
        kept += part
        del kept[:-_MAX_LAST_WORDS]
