"""Calls a function elsewhere, bytes there, bytes back; and a process that does so.

    python -m muniment_plugins.executors.worker acme.calls:serve
                                            00 00 00 00 00 00 00 2a  {"function": …

Rules: a frame is 8 bytes of length, big endian, followed by the function's input; the
answer is one frame. What the function prints goes to standard error, which is the
parent's own. The process ends when its input ends.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import BinaryIO, cast

TYPE_CHECKING = False  # not imported from `typing`: a worker starts often
if TYPE_CHECKING:
    from muniment.runs.executors import Send

__all__ = ["HEADER", "called", "main", "receive", "send"]

HEADER = 8


def called(serve: str, sent: bytes) -> bytes:
    """Return what the function *serve*, ``module:name``, returns for *sent*."""
    return _loaded(serve)(sent)


@cache
def _loaded(serve: str) -> Send:
    module, _, name = serve.partition(":")
    return cast("Send", getattr(import_module(module), name))


def receive(stream: BinaryIO) -> bytes | None:
    """Return the next frame of *stream*, or None at its end."""
    head = stream.read(HEADER)
    if len(head) < HEADER:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(body) == size else None


def send(stream: BinaryIO, body: bytes) -> None:
    """Write one frame."""
    stream.write(len(body).to_bytes(HEADER, "big"))
    stream.write(body)
    stream.flush()


def main(serve: str) -> None:
    """Answer calls of *serve* until the parent closes the pipe or is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _loaded(serve)
    while (sent := receive(sys.stdin.buffer)) is not None:
        answer = called(serve, sent)
        try:
            send(answers, answer)
        except BrokenPipeError:
            os._exit(1)  # nobody is left to tell, and closing would try again


if __name__ == "__main__":
    main(sys.argv[1])
