r"""Texts in UTF-16 and UTF-32, and where in their bytes each character is.

    {\0"\0a\0p\0i\0_\0k\0e\0y\0…      UTF-16, in the order of most machines

Rules:

- They are recognised by the byte order mark, or by the zeros among the first four bytes,
  as readers of JSON do. In bytes wrongly taken for such a text, nothing is found.
- Each unit of 16 or 32 bits becomes one character, so that places can be counted.
- Any character of JSON may be escaped (``\u0070assword``), in texts, in names, and in JSON
  that is a text in JSON: however many backslashes there are, it is read as the character.
  Quotation marks, backslashes and control characters stay escaped in the usual way.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from dataclasses import dataclass

from muniment_plugins.providers.secrets.places import MASK, Span

__all__ = ["PlainText", "WideText", "plain_text", "wide_text"]

_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_ZEROS: dict[tuple[bool, ...], str] = {
    (True, True, True, False): "utf-32-be",
    (False, True, True, True): "utf-32-le",
    (True, False, True, False): "utf-16-be",
    (False, True, False, True): "utf-16-le",
}
_UNITS = {"utf-16": 2, "utf-32": 4}

_ESCAPE = re.compile(r"(?<!\\)(\\++)(?:u([0-9A-Fa-f]{4})|/)")
_LOW = re.compile(r"(\\+)u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_HIGH = range(0xD800, 0xDC00)
_LEVELS = 3
"""JSON, JSON in it, and JSON in that."""


@dataclass(frozen=True, slots=True)
class WideText:
    """A text, and how its characters are stored in bytes."""

    text: str
    codec: str

    @property
    def width(self) -> int:
        """How many bytes a character takes."""
        return _UNITS[self.codec[:6]]

    def placed(self, span: Span) -> Span:
        """Return *span* of the text as one of the bytes, with a character for each."""
        told = MASK if span.written is None else span.written
        written = told.encode(self.codec, "surrogatepass").decode("latin-1")
        start, stop = span.start * self.width, span.stop * self.width
        return span._replace(start=start, stop=stop, written=written)


def wide_text(data: bytes) -> WideText | None:
    """Return the text that *data* is in UTF-16 or UTF-32; None where it is neither."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    codec = marked or _ZEROS.get(tuple(byte == 0 for byte in data[:4]))
    if codec is None:
        return None
    whole = data[: len(data) - len(data) % _UNITS[codec[:6]]]
    if codec.startswith("utf-32"):
        return WideText(whole.decode(codec, "replace"), codec)
    units = array("H", whole)
    if codec.endswith("le") != (sys.byteorder == "little"):
        units.byteswap()
    return WideText("".join(map(chr, units)), codec)


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text without needless escapes."""

    text: str
    starts: array[int]
    """Where each character begins in what was escaped; and its end."""
    ends: array[int]
    """Where each of them ends there."""

    def placed(self, span: Span) -> Span:
        """Return *span* of the text as one of what was escaped."""
        start = self.starts[span.start]
        stop = self.ends[span.stop - 1] if span.stop > span.start else start
        return span._replace(start=start, stop=stop)


def plain_text(text: str) -> PlainText | None:
    """Return *text* without needless escapes, with a character for each byte of UTF-8.

    None, where nothing is escaped.
    """
    if "\\u" not in text and "\\/" not in text:
        return None
    parts: list[str] = []
    starts, ends = array("L"), array("L")
    at = 0
    for found in _ESCAPE.finditer(text):
        if found.start() < at:
            continue  # the lower half of a character
        start, end, plain = _character(text, found)
        parts += (text[at:start], plain)
        starts.extend(range(at, start))
        ends.extend(range(at + 1, start + 1))
        starts.extend([start] * len(plain))
        ends.extend([end] * len(plain))
        at = end
    if not at:
        return None
    starts.extend(range(at, len(text) + 1))
    ends.extend(range(at + 1, len(text) + 2))
    return PlainText("".join([*parts, text[at:]]), starts, ends)


def _character(text: str, found: re.Match[str]) -> tuple[int, int, str]:
    """Return where a character begins and ends in *text*, and what is read there.

    Backslashes before it stay: its own are one, or two, four, … where it is in JSON in JSON.
    """
    own = len(found[1]) & -len(found[1])
    start, end = found.end(1) - own, found.end()
    code = int(found[2], 16) if found[2] else ord("/")
    low = _LOW.match(text, end) if code in _HIGH else None
    if low is not None and len(low[1]) == own:
        code = 0x10000 + ((code & 0x3FF) << 10) + (int(low[2], 16) & 0x3FF)
        end = low.end()
    said = chr(code)
    for _ in range(min(own.bit_length(), _LEVELS)):
        said = json.dumps(said, ensure_ascii=False)[1:-1]
    return start, end, said.encode("utf-8", "surrogatepass").decode("latin-1")
