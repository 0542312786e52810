r"""The messages between the two processes of a replay: frames of JSON, over pipes.

    00 00 00 00 00 00 00 19   ["fact","","note.added",…]

Rules:

- A frame is its length in eight bytes, and JSON. The parent takes none that is longer
  than the record can account for, and believes no frame.
- The child's side blocks; the parent's never does.
- Names of files and variables need not be UTF-8. The parent's frames carry them; in the
  child's, question marks replace what is not UTF-8.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import orjson

__all__ = ["Incoming", "frame", "receive", "send"]

_HEAD = 8
_CHUNK = 1 << 16


def frame(value: object, half: str = "surrogatepass") -> bytes:
    """Return *value* as a frame; *half* is the error handler for lone surrogates."""
    try:
        data = orjson.dumps(value)
    except TypeError:
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", half)
    return len(data).to_bytes(_HEAD, "big") + data


def send(pipe: int, value: object) -> None:
    """Write a frame, all of it."""
    view = memoryview(frame(value, "replace"))
    while view:
        view = view[os.write(pipe, view) :]


def receive(pipe: int) -> object:
    """Read a frame; the other side is trusted.

    Raises:
        EOFError: the other side is gone.

    """
    data = receive_bytes(pipe)
    try:
        return orjson.loads(data)
    except ValueError:
        return json.loads(data)


def receive_bytes(pipe: int) -> bytes:
    """Read a length, and that many bytes."""
    return _exactly(pipe, int.from_bytes(_exactly(pipe, _HEAD), "big"))


def _exactly(pipe: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(pipe, min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side is gone")
        parts += part
    return bytes(parts)


class Incoming:
    """Assembles frames from pieces that an untrusted process sends."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts = bytearray()

    def take(self, pipe: int) -> bool:
        """Take what a non-blocking *pipe* has; False once nothing more can come."""
        try:
            part = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        self._parts += part
        return bool(part)

    def frames(self) -> Iterator[object]:
        """Yield the complete frames.

        Raises:
            ValueError: a frame is too long, or not JSON.

        """
        while len(self._parts) >= _HEAD:
            length = int.from_bytes(self._parts[:_HEAD], "big")
            if length > self._longest:
                raise ValueError(f"a frame of {length} bytes, over {self._longest}")
            if len(self._parts) < _HEAD + length:
                return
            data = bytes(self._parts[_HEAD : _HEAD + length])
            del self._parts[: _HEAD + length]
            yield orjson.loads(data)
