"""A process that calls functions for an experiment, until its input ends.

    python -m muniment_plugins.harness.worker       00 00 00 00 00 00 00 2a  {"function"…

Rules: a frame is 8 bytes of length, big endian, and a task; the answer is one frame. What
functions print goes to standard error, which is the parent's own.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

__all__ = ["HEADER", "main", "receive", "send"]

HEADER = 8


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


def main() -> None:
    """Answer tasks until the parent closes the pipe, or is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from muniment_plugins.harness.remote import serve  # noqa: PLC0415 - after the pipes

    while (sent := receive(sys.stdin.buffer)) is not None:
        answer = serve(sent)
        try:
            send(answers, answer)
        except BrokenPipeError:
            os._exit(1)  # nobody is left to tell, and closing would try again


if __name__ == "__main__":
    main()
