"""The warm way to start a child: a worker with the packages loaded forks it.

    -> {"paths": […], "walls": {…}}                      once
    -> {"imports": ["numpy"], "most_s": 131}  and four descriptors    <- {"pid": 4711}
    -> {"answered": true}                                <- {"status": 0, "cpu_s": …}

Rules:

- Host and worker talk over a socket pair that keeps messages apart. The worker sees
  what to load, and neither code nor data: these go to its child, through pipes.
- A worker has one child at a time, and stays its parent until the host is done with it,
  so that nobody kills another process that was given a dead child's pid.
- A worker that does not answer properly and in time is not used again.
- It is the watchdog too: it ends a child that this side has not ended in time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
from typing import Any

from muniment_plugins.capsule.parent import start
from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.start import (
    ChildSurroundings,
    End,
    Pipes,
    start_worker,
    undivided,
)
from muniment_plugins.capsule.protocol import is_object

__all__ = ["Forked", "Unforkable", "Worker"]

_LONGEST = 1 << 16
_ENDING_S = 10.0


class Unforkable(Exception):
    """The worker forks no child for this; ``lasting`` if it never will."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Worker:
    """A process that loads packages and forks children that run programs."""

    def __init__(
        self, surroundings: ChildSurroundings, found: Machine | None = None
    ) -> None:
        self.uses = 0
        self.found = found
        """What a probe child in the same surroundings found, if there was one."""
        self._around = _around(surroundings, found)
        with undivided():
            pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._control, theirs = pair
            try:
                self._process = self._start(surroundings, theirs.fileno())
            except BaseException:
                self._control.close()
                raise
            finally:
                theirs.close()

    @staticmethod
    def _start(surroundings: ChildSurroundings, theirs: int) -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        return start_worker(("warm",), surroundings, streams=(theirs, null, null))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def fork(self, imports: tuple[str, ...], time_s: float) -> Forked:
        """Make the worker fork a child with *imports* loaded, to run for *time_s*.

        Raises:
            Unforkable: the worker is gone, could not load them, or cannot fork safely.

        """
        self._send_around()
        self.uses += 1
        most_s = start.PREPARE_S + time_s + start.OVERTIME_S
        order = {"imports": imports, "most_s": most_s}
        pipes = self._hand_over(json.dumps(order).encode())
        try:
            answer = self._receive(start.PREPARE_S)
        except BaseException:
            pipes.close()
            raise
        if type(answer.get("pid")) is int:
            return Forked(self, answer["pid"], pipes)
        pipes.close()
        raise Unforkable(str(answer), lasting="threads" in answer)

    def end_child(self, *, answered: bool) -> dict[str, Any]:
        """Make the worker end the child, and return what it says about the end.

        A child that has *answered* and waits to be killed has ended well.

        Raises:
            Unforkable: the worker gives no sensible answer.

        """
        self._send(json.dumps({"answered": answered}).encode())
        return self._receive(_ENDING_S)

    def dismiss(self) -> None:
        """Let an idle worker end by itself, after its children; then `close` it."""
        self._control.close()

    def close(self, patience_s: float = 0.0) -> None:
        """End the worker and its children; give it *patience_s* to end by itself."""
        self.dismiss()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)

    def forget(self) -> None:
        """Leave the worker to the process that started it; this one is its fork."""
        self._control.close()
        self._process.returncode = 0

    def _hand_over(self, order: bytes) -> Pipes:
        """Send *order* with the child's ends of new pipes, and close these here."""
        with undivided():
            pipes = Pipes.opened()
            try:
                self._send(order, pipes.childs)
            except BaseException:
                pipes.close()
                raise
            finally:
                pipes.close_childs()
        return pipes

    def _send_around(self) -> None:
        around, self._around = self._around, b""
        if around:  # the first time
            self._send(around)

    def _send(self, text: bytes, descriptors: tuple[int, ...] = ()) -> None:
        try:
            self._control.settimeout(_ENDING_S)
            socket.send_fds(self._control, [text], descriptors)
        except OSError as error:
            raise Unforkable(f"the worker is gone: {error}") from None

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            self._control.settimeout(seconds)
            answer: object = json.loads(self._control.recv(_LONGEST) or "0")
        except (OSError, ValueError) as error:
            raise Unforkable(f"the worker does not answer: {error}") from None
        if not is_object(answer):
            raise Unforkable("the worker has ended")
        return answer


def _around(surroundings: ChildSurroundings, found: Machine | None) -> bytes:
    """Return the first message; it asks for no trial if another worker got in."""
    if found is None or "namespaces" in found.missing:
        return surroundings.text.encode()
    around = json.loads(surroundings.text)
    walls = {**around["walls"], "tried": True} if around["walls"] else {}
    return json.dumps({**around, "walls": walls}).encode()


class Forked:
    """A child of a worker."""

    preface = b""
    glance_s = math.inf
    spent_s = 0.0

    def __init__(self, worker: Worker, pid: int, pipes: Pipes) -> None:
        self._worker, self.pid, self.pipes = worker, pid, pipes
        self.found = worker.found
        self.is_lost = False

    def hold(self, time_s: float, mem_mb: int) -> dict[str, Any]:
        """Apply nothing: it has locked itself in."""
        del time_s, mem_mb
        return {}

    def watch(self, seconds: float) -> None:
        """Leave that to its worker, which knows the time."""

    def outgrown(self) -> bool:
        """Return False: its own limits bound it."""
        return False

    def end(self, *, answered: bool) -> End:
        """Let its worker kill and reap it; if the worker is gone, kill it from here."""
        try:
            said = self._worker.end_child(answered=answered)
            return End(said["status"], said["cpu_s"], said["max_rss_kb"])
        except (Unforkable, KeyError):
            self.is_lost = True
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)
            return End(
                -signal.SIGKILL, 0.0, 0, lost="the worker that forked it is gone"
            )
