r"""The protocol of the pipes between parent and child: frames of JSON, limited in size.

    00 00 00 0d  {"go": true}            4 bytes length, big endian; then UTF-8 JSON

Rules:

- Parent to child: the request, then ``go``. Child to parent: the statement about its
  layers, then the result, then the end. Anything else is a violation.
- The child writes its result with `render`, from exact types only; a value that JSON
  lacks is refused there with its place, and the parent checks everything again with
  `read_frame`.
- NaN and the infinities pass under their JavaScript names: the parent decides whether
  they are results.
- Never pickle, never standard output.

The child imports this module before anything else: only built-in modules at the top.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any, TypeGuard

__all__ = [
    "MAX_FRAME_DEPTH",
    "MAX_INTEGER_BITS",
    "MAX_MESSAGE",
    "MAX_REQUEST",
    "MAX_RESULT",
    "MAX_RESULT_DEPTH",
    "MAX_TYPE",
    "FrameError",
    "Unsendable",
    "frame",
    "is_list",
    "is_object",
    "parse_json",
    "quoted",
    "receive",
    "render",
    "render_metrics",
    "send",
]

HEADER = 4
MAX_REQUEST = 256 * 1024 * 1024
MAX_RESULT = 1024 * 1024
MAX_RESULT_DEPTH = 16
MAX_FRAME_DEPTH = MAX_RESULT_DEPTH + 1  # {"ok": …} around the metrics
MAX_INTEGER_BITS = 1024
MAX_MESSAGE = 4096
MAX_TYPE = 200


class FrameError(Exception):
    """The other side ended early, or announced more than is allowed."""


class Unsendable(Exception):
    """A result holds something that cannot be sent; its arguments: rule, message."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether *value*, read from JSON, is an object."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Tell whether *value*, read from JSON, is a list."""
    return type(value) is list


def frame(body: bytes) -> bytes:
    """Return *body* with its length before it."""
    return len(body).to_bytes(HEADER, "big") + body


def send(descriptor: int, text: str) -> None:
    """Write one frame, whole."""
    left = memoryview(frame(text.encode()))
    while left:
        left = left[os.write(descriptor, left) :]


def receive(descriptor: int, limit: int = MAX_REQUEST) -> Any:
    """Read one frame and return its value."""
    size = int.from_bytes(_exactly(descriptor, HEADER), "big")
    if size > limit:
        raise FrameError(f"a frame of {size} bytes, allowed are {limit}")
    return parse_json(_exactly(descriptor, size).decode())


def _exactly(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise FrameError("the other side closed the pipe")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Scanning:
    """The attributes that the C scanner of the json package reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own, emptied by itself


def parse_json(text: str) -> Any:
    """Return the value of JSON *text* from the parent, without importing ``json``.

    The package imports ``re`` and ``enum``, half of the child's start; its C scanner is
    a separate module.
    """
    try:
        from _json import make_scanner  # noqa: PLC0415 - absent if Python is not C
    except ImportError:
        import json  # noqa: PLC0415 - see above

        return json.loads(text)
    return make_scanner(_Scanning)(text, 0)[0]  # type: ignore[arg-type]


_NON_FINITE = {"-inf": "-Infinity", "inf": "Infinity", "nan": "NaN"}
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), 0x22, 0x5C, 0x7F)}

# Typed so that isinstance narrows to Any: these are a program's values.
_MAPPING: Any = dict
_SEQUENCES: tuple[Any, ...] = (list, tuple)
_SUBCLASSES: tuple[tuple[type, Any], ...] = (
    (bool, bool),
    (int, int.__pos__),
    (float, float.__pos__),
    (str, str.__str__),
)


def quoted(text: str) -> str:
    """Return *text* as a JSON string; raises UnicodeEncodeError for surrogates."""
    text.encode()
    return f'"{text.translate(_ESCAPES)}"'


def render(value: Any, place: str = "", depth: int = 0) -> str:
    """Return *value* as JSON: numbers, text, truth values, None, lists and dicts.

    Tuples become lists; subclasses are read by their base class, not by their own
    methods. NumPy scalars and arrays become numbers and lists.

    Raises:
        Unsendable: *value* holds something else.

    """
    if depth > MAX_RESULT_DEPTH:
        raise Unsendable("result", f"{place} is nested deeper than {MAX_RESULT_DEPTH}")
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, _MAPPING):
        return _render_dict(value, place, depth)
    for sequence in _SEQUENCES:
        if isinstance(value, sequence):
            items = enumerate(sequence.__iter__(value))
            parts = [render(item, f"{place}[{i}]", depth + 1) for i, item in items]
            return f"[{','.join(parts)}]"
    for base, exact in _SUBCLASSES:
        if isinstance(value, base):
            return _render_scalar(exact(value), place)
    return render(_from_numpy(value, place), place, depth)


def render_metrics(metrics: object) -> str:
    """Return the frame with the result of the entrypoint.

    Raises:
        Unsendable: it is not a dict, is too large, or holds something else.

    """
    if not isinstance(metrics, dict):
        name = type(metrics).__name__
        raise Unsendable(
            "result", f"the entrypoint returned a value of type {name}, not a dict"
        )
    text = f'{{"ok":{render(metrics)}}}'
    if len(text.encode()) > MAX_RESULT:
        raise Unsendable("result-size", f"the metrics take over {MAX_RESULT} bytes")
    return text


def _render_dict(value: dict[Any, Any], place: str, depth: int) -> str:
    parts: list[str] = []
    for key, item in _MAPPING.items(value):
        if not isinstance(key, str):
            name = type(key).__name__
            raise Unsendable(
                "result", f"a key in {place or 'the result'} is of type {name}"
            )
        inner = f"{place}.{key}" if place else str.__str__(key)
        text = _render_scalar(str.__str__(key), inner)
        parts.append(f"{text}:{render(item, inner, depth + 1)}")
    return f"{{{','.join(parts)}}}"


def _render_scalar(value: Any, place: str) -> str:
    if isinstance(value, str):
        try:
            return quoted(value)
        except UnicodeEncodeError:
            raise Unsendable("result", f"{place} holds a lone surrogate") from None
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise Unsendable("result", f"{place} has over {MAX_INTEGER_BITS} bits")
        return int.__repr__(value)
    text = float.__repr__(value)
    return _NON_FINITE.get(text, text)


def _from_numpy(value: Any, place: str) -> Any:
    import sys  # noqa: PLC0415 - built in

    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        item = numpy.generic.item(value)
        if not isinstance(item, numpy.generic):
            return item
    if numpy is not None and isinstance(value, numpy.ndarray):
        item = numpy.ndarray.tolist(value)
        if not isinstance(item, (numpy.generic, numpy.ndarray)):
            return item  # a zero-dimensional array may hold itself
    name = type(value).__name__
    raise Unsendable("result", f"{place or 'the result'} is of type {name}")
