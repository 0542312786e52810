"""The protocol between a program and its recorder.

    → {"token": "…", "ask": {"method": "POST", "url": "…", "headers": […]}}   body
    ← {"perform": true}                       unless the ledger answers
    → {"came": {"status": 200, "reason": "OK", "headers": […]}}               chunks
    ← {}
    → {"end": null, "had": 3}                 the program has it: three chunks

What the ledger answers, or does not take, is sent in place of that:

    ← {"answer": {"status": 200, "headers": […], "fault": null}}              chunks

A body of unknown length is a stream; each chunk is sent before it is handed on:

    → {"came": {"status": 200, "headers": […], "streams": true}}
    ← {}
    → {}                                       ← {}                           chunk
    → {"end": null, "had": 1}  or {"left": true, "had": 1}

Rules:

- An answer is recorded once the program has it. An exchange that ends otherwise for the
  program, whatever had come, is recorded as that: it ended by an error, was ``left``, or
  ``stopped`` by a cancellation, Ctrl-C or the like (`stops`). Nobody answers to that, and
  ``had`` is how many chunks the program has; -1, if not even the head.
- One connection for each exchange: threads, tasks and forked processes share nothing.
  One that ends early says that nobody waits for the answer any more.
- A frame is a JSON object after its length (4 bytes, network order); ``parts`` are the
  lengths of the bytes that follow it.
- Heads are sent as they arrived: each byte of a header is one character (Latin-1).
- The body is sent as it arrived. If it is compressed, as many parts follow with each
  chunk's unpacked form, ``unpacked``.
- An error is sent as its class and message, with those of its origins, and raised
  unchanged; a replay raises one of the same class, with origins of the same classes.
- A program whose recorder is gone makes no calls: they would not be recorded.
- This runs in the program's own interpreter: the standard library only, loaded late.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = [
    "FRAMING",
    "LENGTH",
    "PERFORMING",
    "Came",
    "Fault",
    "RecorderGone",
    "WireNames",
    "WireRequest",
    "arguments",
    "class_name",
    "class_of",
    "codings",
    "cut",
    "ending",
    "framed",
    "gone",
    "in_bytes",
    "in_text",
    "is_stream",
    "linked",
    "made",
    "origins",
    "pack",
]

LENGTH = struct.Struct("!I")

_BODILESS = (204, 304)
_CHUNKED = "chunked"
_FIRST_ERROR = 400
_MOST_ORIGINS = 8
_LONGEST_TEXT = 2000
_SYSTEM = ("builtins", "socket", "ssl")
"""The modules of system errors, which are made of a number and its text."""
_WRAPPING = ("httpcore", "httpcore2", "urllib3")
"""The libraries whose errors hold the error that they come from."""
_ERRNO = re.compile(r"\[Errno (-?\d+)\] (.*)", re.DOTALL)
_TLS = re.compile(r"\[(\w+): (\w+)\]")
"""How OpenSSL names what went wrong: its library, and the reason."""

FRAMING = ("connection", "content-encoding", "content-length", "transfer-encoding")
"""Headers that describe an answer's bytes, made again for answers of older records."""

PERFORMING: ContextVar[bool] = ContextVar("muniment_performing", default=False)
"""Whether a recorded exchange is being sent, which accounts for its connections."""


Fault = tuple[Any, ...]
"""Class and message of an error, its `origins` if they were sent, and what `stops` add."""


class RecorderGone(ConnectionError):
    """Nobody records this program any more."""


class WireRequest(NamedTuple):
    """A request, as it goes over the wire."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes


class Came(NamedTuple):
    """The outcome of a request: an answer, a fault, or part of an answer and a fault."""

    status: int
    """0 if there is no answer."""
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    fault: Fault | None
    """Class and message of the library's error."""
    more: Any = None
    """What gives the chunks of a stream; they are not among *chunks*."""
    close: Any = None
    """Ends the stream."""
    reason: str | None = None
    """The reason phrase after the status; None if unknown."""
    protocol: str | None = None
    """Such as ``HTTP/1.1``; None if the head is from an older record: see `framed`."""
    error: BaseException | None = None
    """The *fault* itself, where it was met in this process."""
    is_raw: bool = False
    """Whether the chunks hold all transfer codings that the headers name."""


class WireNames(NamedTuple):
    """How a library's errors are named, and made again; None for those of others."""

    named: Callable[[BaseException], Fault | None]
    made: Callable[[Fault], BaseException | None]
    other: Callable[[Fault], BaseException]
    """For a class that is not in this process."""

    def told(self, error: BaseException) -> Fault:
        """Return class, message and origins of *error*."""
        name, message = self.named(error) or (class_name(error), str(error))
        return name, message, origins(error)

    def again(self, fault: Fault) -> BaseException:
        """Return the error that *fault* describes, with its origins.

        The library makes it of class, message, and the error behind it, or None.
        """
        name, message, *told = fault
        behind: Sequence[Sequence[Any]] = told[0] if told else ()
        origin = _origin(behind)
        known = (name, message, origin)
        error = self.made(known) or made(name, message, origin) or self.other(known)
        return _linked(_saying(error, name, message), behind, origin)


def linked(
    error: BaseException, name: str, message: str, behind: Sequence[Sequence[Any]]
) -> BaseException:
    """Return *error*, of the class *name*, with this text and what is *behind* it."""
    return _linked(_saying(error, name, message), behind, _origin(behind))


def origins(error: BaseException) -> list[list[Any]]:
    """Return the origins of *error*, the nearest first.

    Of each: how (``cause``, ``context``, or a context that is ``hidden``), class, text,
    and number and its text, as the system gives them.
    """
    found: list[list[Any]] = []
    while len(found) < _MOST_ORIGINS:
        how = "cause" if error.__cause__ is not None else "context"
        if how == "context" and error.__suppress_context__:
            how = "hidden"
        origin = error.__cause__ or error.__context__
        if origin is None:
            break
        error = origin
        number = getattr(error, "errno", None) if isinstance(error, OSError) else None
        said = error.strerror if isinstance(error, OSError) else None
        known = isinstance(number, int) and isinstance(said, str)
        text = [int(number), said] if known else [None, None]  # type: ignore[arg-type]
        found.append([how, class_name(error), str(error)[:_LONGEST_TEXT], *text])
    return found


def _origin(behind: Sequence[Sequence[Any]]) -> BaseException | None:
    """Return the first error of those *behind* another, with the others behind it."""
    if not behind:
        return None
    _, name, message, number, said = behind[0]
    try:
        nearest = _origin(behind[1:])
        error = made(name, message, nearest)
        if isinstance(error, OSError) and number is not None:
            if type(error).__module__ in _SYSTEM:
                error = type(error)(number, said)
            error.errno, error.strerror = number, said
            told = _TLS.match(said) if name.startswith("ssl.") else None
            if told is not None:
                error.library, error.reason = told.groups()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a class that wants to be made in its own way
        return None
    if error is None:  # of a class that nobody loaded here
        return None
    return _linked(_saying(error, name, message), behind[1:], nearest)


def _linked(
    error: BaseException,
    behind: Sequence[Sequence[Any]],
    origin: BaseException | None,
) -> BaseException:
    if origin is not None:
        how = behind[0][0]
        error.__context__ = origin
        if how == "cause":
            error.__cause__ = origin
        error.__suppress_context__ = how != "context"
    return error


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


def codings(headers: Iterable[tuple[str, str]], name: str) -> list[str]:
    """Return what the headers *name* list, in the order in which it was applied."""
    said = ",".join(v for k, v in headers if k.lower() == name)
    return [one.strip().lower() for one in said.split(",") if one.strip()]


def ending(came: Came, names: WireNames, error: BaseException | None) -> Came:
    """Return *came*, which ended by *error*, if there is one."""
    fault = None if error is None else names.told(error)
    return came._replace(fault=fault, error=error)


def is_stream(came: Came, method: str) -> bool:
    """Tell whether nobody knows how long the body of *came* will be."""
    bodiless = method == "HEAD" or came.status in _BODILESS
    if came.is_raw and _CHUNKED in codings(came.headers, "transfer-encoding"):
        return not bodiless  # whoever reads the chunks knows
    refused = came.status >= _FIRST_ERROR  # errors have an end
    return not (bodiless or refused) and not any(
        k.lower() == "content-length" for k, _ in came.headers
    )


def in_text(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Return *headers* as they are sent, a character for each byte."""
    return [(k.decode("latin-1"), v.decode("latin-1")) for k, v in headers]


def in_bytes(came: Came, method: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of the answer *came* as they go over the wire."""
    coding = "utf-8" if came.protocol is None else "latin-1"
    return [
        (
            name.encode(coding, "surrogateescape"),
            value.encode(coding, "surrogateescape"),
        )
        for name, value in framed(came, method)
    ]


def framed(came: Came, method: str) -> list[tuple[str, str]]:
    """Return the headers for an answer made from its chunks: those that arrived.

    Older records have none of `FRAMING`, and unpacked bodies: their framing is made anew.
    """
    if came.protocol is not None:
        return came.headers
    kept = [one for one in came.headers if one[0].lower() not in FRAMING]
    said = [value for name, value in came.headers if name.lower() == "content-length"]
    if not said or came.fault is not None:
        return kept
    length = said[0] if method == "HEAD" else str(sum(map(len, came.chunks)))
    return [*kept, ("content-length", length)]


def _saying(error: BaseException, name: str, message: str) -> BaseException:
    """Return *error* with the text *message*, if a class of that *name* would say it.

    What it has no attributes for, it says all the same: as an error of a class below its own.
    """
    kind = type(error)
    if class_name(error) != name:
        return error
    with suppress(Exception):  # it may lack what its text is made of
        if str(error) == message:
            return error

    def text(_: BaseException) -> str:
        return message

    said: dict[str, Any] = {"__str__": text, "__module__": kind.__module__}
    if kind.__repr__ is not BaseException.__repr__:
        said["__repr__"] = text
    said["__qualname__"] = kind.__qualname__
    with suppress(TypeError):  # one of the interpreter's own
        error.__class__ = type(kind.__name__, (kind,), said)
    return error


def made(
    name: str, message: str, origin: BaseException | None = None
) -> BaseException | None:
    """Return an error of the class *name*, if this process has loaded it.

    Some libraries make their errors of the *origin*, whose text they have then.
    """
    kind = class_of(name)
    if kind is None:
        return None
    numbered = _ERRNO.match(message)
    if numbered is not None and issubclass(kind, OSError):
        return kind(int(numbered[1]), numbered[2])
    error = kind.__new__(kind)
    wraps = name.partition(".")[0] in _WRAPPING
    error.args = arguments(message, origin if wraps else None)
    return error


def class_of(name: str) -> type[BaseException] | None:
    """Return the class called *name*, if this process has loaded it."""
    module, _, qualname = name.rpartition(".")
    found: Any = sys.modules.get(module or "builtins")
    kind = getattr(found, qualname, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return kind
    kinds: list[type[BaseException]] = [BaseException]
    for one in kinds:  # a class of a function or of another class
        kinds += one.__subclasses__()
        if f"{one.__module__}.{one.__qualname__}" == name:
            return one
    return None


def arguments(message: str, origin: BaseException | None) -> tuple[Any, ...]:
    """Return what an error with this text was made of, if it holds its *origin*."""
    if origin is None:
        return (message,) if message else ()
    if str(origin) == message:
        return (origin,)
    end = f", {origin!r})"
    if message.startswith("(") and message.endswith(end):
        import ast  # noqa: PLC0415 - errors are few

        with suppress(SyntaxError, ValueError):
            return ast.literal_eval(message[1 : -len(end)]), origin
    return (message,)


def gone() -> RecorderGone:
    """Return the error of a program whose recorder is gone."""
    return RecorderGone("muniment does not record this program any more")
