"""The outcome of a request, and how it is recorded.

    {"status": 200, "reason": "OK", "protocol": "HTTP/1.1",
     "headers": [["Content-Type", "text/plain"], ["Content-Encoding", "gzip"]],
     "chunks": ["what it says"], "encoded": [b"the bytes that came"]}

Rules:

- Head and body are as they arrived: each header in its place and spelling, with one
  character for each byte. ``encoded`` is a compressed body; ``chunks`` is its content.
- A compressed body from which a secret was taken is recorded unpacked: it is ``decoded``,
  and its headers name no coding, and its new length.
- ``unsearched`` says why not all of a compressed body was searched for secrets. The body
  is recorded as it arrived; if its beginning has secrets, only the beginning is.
- An answer without ``protocol`` is from an older record, or from a client in the process
  that records: its headers are in lower case, and describe the unpacked body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from muniment.errors import EffectFailed

__all__ = [
    "ErrorOrigin",
    "Fault",
    "Outcome",
    "Received",
    "StopMadeOf",
    "readable",
    "received",
    "reframed",
    "unframed",
]

_FRAMING = frozenset({"connection", "content-encoding", "transfer-encoding"})
"""Headers of answers that describe the bytes before they were decoded."""
_PACKING = frozenset({"content-encoding"})
_TRANSFER = "transfer-encoding"


@dataclass(frozen=True, slots=True)
class ErrorOrigin:
    """An error that another error comes from."""

    relation: str
    """How: as ``cause``, as ``context``, or as one that is ``hidden``."""
    name: str
    message: str
    errno: int | None = None
    strerror: str | None = None


@dataclass(frozen=True, slots=True)
class StopMadeOf:
    """What it takes to raise again what stopped a program in a call: see `stops`."""

    args: tuple[object, ...]
    attributes: Mapping[str, object]
    place: str
    """Where it is raised: in the ``call``, out of its ``loop``, or by a ``runner``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a library raised instead of giving an answer, or in the middle of one."""

    name: str
    """The class of its error, to raise it again."""
    message: str
    failure: EffectFailed | None = None
    """The effect that it made fail; errors raised for it name that as their cause."""
    origins: tuple[ErrorOrigin, ...] = ()
    """The errors that it comes from, the nearest first."""
    stop: StopMadeOf | None = None
    """If it is no error of the call, but stopped the program there, such as Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Received:
    """An answer as it came, and the fault that cut it off, if any."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[bytes, ...]
    fault: Fault | None = None
    failure: EffectFailed | None = None
    closed: bool = False
    """Whether the program read no further than these chunks."""
    waits: bool = False
    """Whether the program waited for more until it was cancelled."""
    reason: str | None = None
    """The reason phrase after the status; None if unknown."""
    protocol: str | None = None
    """Such as ``HTTP/1.1``; None if the body was unpacked before it came here."""
    plain: tuple[bytes, ...] | None = None
    """What each chunk says, unpacked, if the body is compressed."""
    unsearched: str = ""
    """Why not all of a compressed body could be unpacked."""

    @property
    def said(self) -> tuple[bytes, ...]:
        """The body's chunks, unpacked as far as possible."""
        return self.chunks if self.plain is None else self.plain

    @property
    def is_packed(self) -> bool:
        """Tell whether the unpacked body differs from the bytes that arrived."""
        return self.said != self.chunks

    def header(self, name: str) -> str:
        """Return the value of the header *name*, "" if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


Outcome: TypeAlias = Received | Fault


def readable(data: bytes) -> str | bytes:
    """Return *data* as text if it is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def unframed(received: Received) -> tuple[tuple[str, str], ...]:
    """Return the headers that describe the decoded body."""
    out = set(_FRAMING)
    length, body = received.header("content-length"), sum(map(len, received.chunks))
    if received.header("content-encoding") or body not in (0, _number(length)):
        out.add("content-length")
    return tuple(one for one in received.headers if one[0].lower() not in out)


def reframed(
    headers: list[list[str]], received: Received, size: int
) -> list[list[str]]:
    """Return *headers* as they describe the decoded body of *size* bytes."""
    packed = received.is_packed
    kept = [one for one in headers if not packed or one[0].lower() not in _PACKING]
    if packed:
        kept = _transferred(kept)
    if received.fault is not None and not packed:
        return kept  # what is missing stays missing
    length = "content-length"
    return [[k, str(size) if k.lower() == length else v] for k, v in kept]


def _transferred(headers: list[list[str]]) -> list[list[str]]:
    """Return *headers* with no transfer coding but chunks."""
    found: list[list[str]] = []
    for name, value in headers:
        if name.lower() != _TRANSFER:
            found.append([name, value])
        elif not any(one[0].lower() == _TRANSFER for one in found):
            found.append([name, "chunked"])
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def received(value: Mapping[str, object]) -> Received:
    """Return the answer that *value* records."""
    headers = cast("list[list[str]]", value["headers"])
    body = cast("list[object]", value.get("encoded", value["chunks"]))
    return Received(
        cast("int", value["status"]),
        tuple((name, told) for name, told in headers),
        tuple(map(_bytes, body)),
        closed=value.get("closed") is True,
        reason=cast("str | None", value.get("reason")),
        protocol=cast("str | None", value.get("protocol")),
    )


def _bytes(chunk: object) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else cast("bytes", chunk)
