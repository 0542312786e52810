"""How a program and its recorder speak.

    → {"token": "…", "ask": {"method": "POST", "url": "…", "headers": […]}}   body
    ← {"perform": true}                       unless the ledger answers
    → {"came": {"status": 200, "headers": […]}}                               chunks
    ← {"answer": {"status": 200, "headers": […], "fault": null}}              chunks

A body of unknown length is a stream; each chunk is said before it is handed on:

    → {"came": {"status": 200, "headers": […], "streams": true}}
    ← {"answer": {"streams": true}}
    → {}                                       ← {}                           chunk
    → {"end": null}  or {"left": true}         ← {}

Rules:

- One connection for each exchange: threads, tasks and forked processes share nothing.
  One that ends early says that nobody waits for the answer any more.
- A frame is a JSON object behind its length (4 bytes, network order); ``parts`` are the
  lengths of the bytes that follow it.
- An error is told by its class and message, and raised as it is; in a replay one of the
  same class is. What is no `Exception`, such as Ctrl-C, only *stopped* the exchange.
- A program whose recorder is gone makes no calls: they would not be recorded.
- This runs in the program's own interpreter: the standard library only, loaded late.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = [
    "FRAMING",
    "LENGTH",
    "PERFORMING",
    "Came",
    "Fault",
    "Names",
    "RecorderGone",
    "Sent",
    "class_name",
    "cut",
    "framed",
    "gone",
    "is_stream",
    "made",
    "pack",
]

LENGTH = struct.Struct("!I")

_BODILESS = (204, 304)
_FIRST_ERROR = 400
_ERRNO = re.compile(r"\[Errno (-?\d+)\] (.*)", re.DOTALL)
FRAMING = ("connection", "content-encoding", "content-length", "transfer-encoding")
"""Headers that speak of the bytes of an answer, which is made anew here."""

PERFORMING: ContextVar[bool] = ContextVar("muniment_performing", default=False)
"""Whether a recorded exchange is being sent: what it connects is recorded with it."""


Fault = tuple[str, str]
"""Class and message of an error."""


class RecorderGone(ConnectionError):
    """Nobody records this program any more."""


class Sent(NamedTuple):
    """A request, as it goes over the wire."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes


class Came(NamedTuple):
    """What came of it: an answer, a fault, or a part of one and then the other."""

    status: int
    """0 where there is no answer."""
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    fault: Fault | None
    """Class and message of the library's error."""
    more: Any = None
    """What gives the chunks of a stream; they are not among *chunks*."""
    close: Any = None
    """Ends the stream."""


class Names(NamedTuple):
    """How a library's errors are told, and made again; None for those of others."""

    named: Callable[[BaseException], Fault | None]
    made: Callable[[Fault], BaseException | None]
    other: Callable[[Fault], BaseException]
    """For a class that is not in this process."""

    def told(self, error: BaseException) -> Fault:
        """Return class and message of *error*."""
        return self.named(error) or (class_name(error), str(error))

    def again(self, fault: Fault) -> BaseException:
        """Return the error that was told as *fault*."""
        return self.made(fault) or made(*fault) or self.other(fault)


def class_name(error: BaseException) -> str:
    """Return the name by which the class of *error* is found again."""
    kind = type(error)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{where}{kind.__qualname__}"


def pack(frame: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """Return *frame* and *parts* as they are sent."""
    head = json.dumps({**frame, "parts": [len(part) for part in parts]}).encode()
    return b"".join([LENGTH.pack(len(head)), head, *parts])


def cut(sizes: Sequence[int], data: bytes) -> list[bytes]:
    """Return the parts of *data* that have *sizes*."""
    parts: list[bytes] = []
    begin = 0
    for size in sizes:
        parts.append(data[begin : begin + size])
        begin += size
    return parts


def is_stream(came: Came, method: str) -> bool:
    """Tell whether nobody knows how long the body of *came* will be."""
    bodiless = method == "HEAD" or came.status in _BODILESS
    refused = came.status >= _FIRST_ERROR  # errors have an end
    return not (bodiless or refused) and not any(
        k.lower() == "content-length" for k, _ in came.headers
    )


def framed(came: Came, method: str) -> list[tuple[str, str]]:
    """Return the headers for an answer that is made anew of its chunks.

    What was redacted has another length than what was sent.
    """
    kept = [one for one in came.headers if one[0].lower() not in FRAMING]
    said = [value for name, value in came.headers if name.lower() == "content-length"]
    if not said or came.fault is not None:
        return kept
    length = said[0] if method == "HEAD" else str(sum(map(len, came.chunks)))
    return [*kept, ("content-length", length)]


def made(name: str, message: str) -> BaseException | None:
    """Return an error of the class *name*, where this process has loaded it."""
    module, _, qualname = name.rpartition(".")
    found: Any = sys.modules.get(module or "builtins")
    kind = getattr(found, qualname, None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return None
    numbered = _ERRNO.match(message)
    if numbered is not None and issubclass(kind, OSError):
        return kind(int(numbered[1]), numbered[2])
    error = kind.__new__(kind)
    error.args = (message,) if message else ()
    return error


def gone() -> RecorderGone:
    """Return the error of a program whose recorder is gone."""
    return RecorderGone("muniment does not record this program any more")
