"""The parent's side of one child: listens, checks, keeps the clock, always ends it.

    request -> layers -> checked in /proc? -> go -> answer, or the end

Rules:

- It reads while it waits: large results and outputs never look like timeouts. Output
  beyond the bounds is read and dropped.
- The clock starts with ``go``, which is sent after /proc confirms the stated layers.
  What is in the pipe when time is up counts: this side may have been stopped.
- Nothing here blocks: whatever a child can touch is read and written when it is ready,
  and every wait ends at the deadline. A watchdog apart from the reader ends a child
  that this side has not ended: the worker that forked it, or a timer.
- In every case the whole process group is killed before the child is reaped; its status
  says how it ended and what it used.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from muniment_plugins.capsule.isolation.layers import level_of, unmet_walls
from muniment_plugins.capsule.isolation.limits import unmet_limits
from muniment_plugins.capsule.parent import start
from muniment_plugins.capsule.parent.results import ProtocolViolation, read_frame
from muniment_plugins.capsule.parent.start import Child, End
from muniment_plugins.capsule.parent.streams import opened
from muniment_plugins.capsule.protocol import HEADER, MAX_RESULT, frame, is_object

__all__ = ["ChildOutcome", "supervise"]

GRACE_S = 1.0
"""Seconds that the wall clock gets beyond the CPU time."""

_MAX_LAST_WORDS = 8192
_SIGKILL = 9
_LAST_LOOKS = 32
"""How often to look, once time is up, for data that is there already."""


@dataclass(slots=True)
class ChildOutcome:
    """What the parent saw of one child."""

    stated: dict[str, Any] | None = None
    packages: dict[str, Any] = field(default_factory=dict[str, Any])
    """The versions of the loaded packages."""
    answer: dict[str, Any] | None = None
    reason: str = ""
    """``wall``, ``memory``, ``level`` or ``protocol: …``; empty if it ended itself."""
    raised: dict[str, Any] = field(default_factory=dict[str, Any])
    """The layers that the parent raised, on systems where the parent does so."""
    unmet: list[str] | None = None
    """The stated layers that /proc denies; None if /proc cannot be read."""
    signal: int = 0
    code: int = 0
    """Its exit code, if no signal ended it."""
    stdout: bytearray = field(default_factory=bytearray)
    stdout_truncated: bool = False
    last_words: bytearray = field(default_factory=bytearray)
    usage: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_unbegun(self) -> bool:
        """Whether the child was killed before it sent anything."""
        has_said = self.stated is not None or self.answer is not None
        return self.signal == _SIGKILL and not (has_said or self.reason)

    @property
    def level(self) -> str:
        """The child's isolation level; unconfirmed layers count for nothing."""
        if not self.stated:
            return "none"
        if "seatbelt" in self.raised:
            return "os-partial"
        return level_of(self.stated) if self.unmet == [] else "process"


def supervise(
    child: Child,
    request: bytes,
    *,
    bounds: tuple[float, int],
    max_output: int,
    admit: Callable[[str], bool] = lambda _: True,
    to_death: bool = False,
) -> ChildOutcome:
    """Lead *child* to its end and return its outcome.

    *bounds* are seconds and megabytes, the same as in the request to the child.
    *admit* is asked before the program runs, with the confirmed level.
    With *to_death*, it waits until the child ends by itself.
    """
    try:
        talk = _Conversation(child, request, bounds, max_output, admit)
    except BaseException:
        child.end(answered=False)
        child.pipes.close()
        raise
    try:
        talk.listen()
    finally:
        try:
            ended = child.end(answered=talk.is_answered and not to_death)
        finally:
            talk.drain()
            child.pipes.close()
    talk.note(ended)
    return talk.outcome


def _unmet(pid: int, layers: dict[str, Any]) -> list[str] | None:
    """Return those of *layers* that /proc denies; None if /proc shows nothing."""
    if sys.platform != "linux":
        return None
    limits: dict[str, object] = layers.get("rlimits") or {}
    try:
        return [*unmet_limits(pid, limits), *unmet_walls(pid, layers)]
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        # With the mount option hidepid, /proc hides processes that hide their memory.
        return None


class _Conversation:
    """The messages to and from one child; `listen` returns when it must be ended."""

    def __init__(
        self,
        child: Child,
        request: bytes,
        bounds: tuple[float, int],
        max_output: int,
        admit: Callable[[str], bool],
    ) -> None:
        self.outcome = ChildOutcome()
        self.child, self.pipes = child, child.pipes
        self.to_send = memoryview(child.preface + frame(request))
        self.received = bytearray()
        self.bounds = bounds
        self.streams = opened()
        self.max_output = max_output
        self.admit = admit
        self.started = time.monotonic()
        self.deadline = self.started + start.PREPARE_S - child.spent_s

    def listen(self) -> None:
        """Move bytes until the child's answers end, or the clock or a rule stops it."""
        pipes, streams = self.pipes, self.streams
        streams.await_writing(pipes.requests, self._write)
        streams.await_reading(pipes.answers, self._answer)
        streams.await_reading(pipes.output, self._output)
        streams.await_reading(pipes.complaints, self._complaint)
        try:
            looks = _LAST_LOOKS
            while streams.awaits(pipes.answers) and not self.outcome.reason:
                left = max(0.0, self.deadline - time.monotonic())
                looks -= not left
                if not looks:
                    self.outcome.reason = "wall"
                    return
                streams.wait(min(left, self.child.glance_s))
                if self.child.outgrown():
                    self.outcome.reason = "memory"
        except ProtocolViolation as violation:
            self.outcome.reason = f"protocol: {violation}"

    @property
    def is_answered(self) -> bool:
        """Whether the child has sent everything, and nothing that it should not."""
        return self.outcome.answer is not None and not self.outcome.reason

    def drain(self) -> None:
        """Read what the dead child left in its output pipes, without waiting."""
        for pipe, take in (
            (self.pipes.output, self._keep_output),
            (self.pipes.complaints, self._keep_complaint),
        ):
            for part in self.streams.rest(pipe):
                take(part)
        self.streams.close()

    def note(self, ended: End) -> None:
        """Keep how the child ended, and its usage."""
        outcome = self.outcome
        outcome.signal = max(0, -ended.status)
        outcome.code = max(0, ended.status)
        is_late = time.monotonic() >= self.deadline
        if outcome.signal == _SIGKILL and is_late and not outcome.answer:
            outcome.reason = outcome.reason or "wall"  # the watchdog was first
        if ended.lost and not outcome.reason:
            outcome.reason = f"protocol: {ended.lost}"
        outcome.usage = {
            "cpu_s": round(ended.cpu_s, 6),
            "max_rss_kb": ended.max_rss_kb,
            "wall_s": round(time.monotonic() - self.started, 6),
        }

    def _write(self, descriptor: int) -> None:
        try:
            written = self.streams.write(descriptor, self.to_send)
        except BrokenPipeError:
            # It died while reading: its status says why.
            written = len(self.to_send)
        self.to_send = self.to_send[written:]
        if not self.to_send:
            self.streams.forget(descriptor)

    def _answer(self, descriptor: int) -> None:
        part = self.streams.read(descriptor)
        if part is None:
            return
        if not part:
            self.streams.forget(descriptor)
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
            # A failure before the limits are set comes in the only frame.
            self.outcome.stated, self.outcome.answer = {}, value
            return
        self.outcome.packages = value.get("packages") or {}
        self._go(layers)

    def _go(self, layers: dict[str, Any]) -> None:
        self.outcome.unmet = _unmet(self.child.pid, layers)
        if self.outcome.unmet:
            raise ProtocolViolation(f"layers not in force: {self.outcome.unmet}")
        self.outcome.stated = layers
        self.outcome.raised = self.child.hold(*self.bounds)
        if not self.admit(self.outcome.level):
            self.outcome.reason = "level"
            return
        self.to_send = memoryview(frame(b'{"go":true}'))
        self.streams.await_writing(self.pipes.requests, self._write)
        self.started = time.monotonic()
        self.deadline = self.started + self.bounds[0] + GRACE_S
        self.child.watch(self.deadline - self.started)

    def _output(self, descriptor: int) -> None:
        self._read(descriptor, self._keep_output)

    def _complaint(self, descriptor: int) -> None:
        self._read(descriptor, self._keep_complaint)

    def _read(self, descriptor: int, take: Any) -> None:
        part = self.streams.read(descriptor)
        if part:
            take(part)
        elif part is not None:
            self.streams.forget(descriptor)

    def _keep_output(self, part: bytes) -> None:
        kept = self.outcome.stdout
        room = self.max_output - len(kept)
        kept += part[:room]
        self.outcome.stdout_truncated |= len(part) > room

    def _keep_complaint(self, part: bytes) -> None:
        kept = self.outcome.last_words
        kept += part
        del kept[:-_MAX_LAST_WORDS]
