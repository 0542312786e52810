"""Calls a function elsewhere, bytes there, bytes back; and a process that does so.

    python -m muniment_plugins.executors.worker acme.calls:serve
                                            00 00 00 00 00 00 00 2a  {"function": …

Rules: a frame is 8 bytes of length, big endian, followed by the function's input; the
answer is one frame. What the function prints goes to standard error, which is the
parent's own; what it reads from standard input is nothing. The process ends when its input
ends, also in the middle of a call: a parent that lives closes it after the answer. So
nothing goes on beside whoever does the work anew. Where the system can, it ends the worker
itself, which a function cannot delay.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from typing import BinaryIO, cast

TYPE_CHECKING = False  # not imported from `typing`: a worker starts often
if TYPE_CHECKING:
    from muniment.runs.executors import Send

__all__ = ["HEADER", "called", "main", "receive", "send"]

HEADER = 8
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def called(serve: str, sent: bytes) -> bytes:
    """Return what the function *serve*, ``module:name``, returns for *sent*."""
    return _loaded(serve)(sent)


@cache
def _loaded(serve: str) -> Send:
    module, _, name = serve.partition(":")
    return cast("Send", getattr(import_module(module), name))


def receive(stream: BinaryIO) -> bytes | None:
    """Return the next frame of *stream*, or None at its end."""
    head = _exactly(stream, HEADER)
    return None if head is None else _exactly(stream, int.from_bytes(head, "big"))


def _exactly(stream: BinaryIO, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(stream: BinaryIO, body: bytes) -> None:
    """Write one frame."""
    stream.write(len(body).to_bytes(HEADER, "big"))
    stream.write(body)
    stream.flush()


class _Calls:
    """The calls that come in, which a thread reads: so it sees that the parent is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> bytes | None:
        """Return the next call, or None if there will be none."""
        return self._waiting.get()

    def answered(self) -> None:
        """Count one call less."""
        with self._lock:
            self._open -= 1

    def _read(self) -> None:
        while (sent := receive(self._stream)) is not None:
            with self._lock:
                self._open += 1
            self._waiting.put(sent)
        with self._lock:
            if self._open:
                os._exit(1)  # nobody waits for the answer any more
        self._waiting.put(None)


def _end_with_parent() -> None:
    """Let the system kill this process when the thread that started it ends."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - for this alone

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def main(serve: str) -> None:
    """Answer calls of *serve* until the parent closes the pipe or is gone."""
    _end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked = os.fdopen(os.dup(0), "rb", buffering=0)  # no lock that an exit waits for
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _loaded(serve)
    calls = _Calls(cast("BinaryIO", asked))
    while (sent := calls.next()) is not None:
        answer = called(serve, sent)
        # Before it is sent: then the parent may close the pipe.
        calls.answered()
        try:
            send(answers, answer)
        except BrokenPipeError:
            os._exit(1)  # nobody is left to tell, and closing would try again


if __name__ == "__main__":
    main(sys.argv[1])
