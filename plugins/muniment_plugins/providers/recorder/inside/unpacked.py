"""Unpacking compressed bodies for the record, which is read and searched for secrets.

    Content-Encoding: gzip      the program gets the bytes that came, and unpacks them as
                                it does alone; beside them stands what they say
    Transfer-Encoding: gzip, chunked     the same, with the chunks where a library left
                                them in the body: `http.client` reads only ``chunked``

Rules:

- A body unpacks to at most 8 MiB, and sixteen times the bytes that arrived. If there is
  more, or it breaks in the middle, or the coding is unknown here, the record says that it
  was not searched; what it said until then was searched, to the byte.
- A body that is not compressed, or ends too early as such, counts as it is.
- brotli and zstd are unpacked by the libraries that the program has loaded for them.
- This runs in the program's own interpreter: the standard library only, loaded late.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import wire
else:
    try:
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import wire

__all__ = ["Unpacking", "unpacking"]

_ROOM, _TIMES = 1 << 23, 16
_SLICE = {"br": 16, "zstd": 64}
_USUAL_SLICE = 1 << 10
"""Bytes that are unpacked at once: each may become a thousand, of brotli a million."""
_CHUNKED = "chunked"
_LENGTH = re.compile(rb"([0-9A-Fa-f]{0,8})[ \t]{0,8}\r?\n?$")
"""The line before an HTTP chunk, as far as it came."""
_END = b"\r\n"
_HEADER = 2
"""Bytes by which zlib's form is told from the bare one."""
_GZIP = 31


class _Decoder(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


class _Coding(Protocol):
    coding: str
    size: int
    is_unknown: bool
    breaks_off: bool
    is_over: bool

    def add(self, data: bytes) -> bytes: ...


class Unpacking:
    """One body, unpacked as it comes: to each chunk belongs what it added."""

    def __init__(self, codings: list[str]) -> None:
        self._steps: list[_Coding] = [
            _Chunks() if one == _CHUNKED else _Step(one) for one in reversed(codings)
        ]
        self._came = self._became = 0
        unknown = [one.coding for one in self._steps if one.is_unknown]
        self._is_unknown = bool(unknown)
        self.unsearched = (
            f"nothing here unpacks {', '.join(unknown)}" if unknown else ""
        )
        """Why not all of the body could be searched; "" where it was."""

    @property
    def is_whole(self) -> bool:
        """Tell whether the last HTTP chunk came, where they are left in the body."""
        return self._steps[0].is_over

    def add(self, chunk: bytes) -> bytes:
        """Return what *chunk* adds to what the body says."""
        if self._is_unknown:
            return chunk
        if self.unsearched:
            return b""
        self._came += len(chunk)
        said: list[bytes] = []
        for piece in _slices([chunk], self._steps):
            said.append(piece)
            self._became += len(piece)
            if self._became > _ROOM + _TIMES * self._came:
                self.unsearched = f"it unpacks to more than {self._became} bytes"
                break
        if broken := [one.coding for one in self._steps if one.breaks_off]:
            self.unsearched = f"it breaks off as {', '.join(broken)}"
        return b"".join(said)


class _Step:
    """One coding: members of a file, one after the other."""

    is_over = False
    """No member is known to be the last."""

    def __init__(self, coding: str) -> None:
        self.coding = coding
        self.size = _SLICE.get(coding, _USUAL_SLICE)
        self.is_unknown = coding not in ("gzip", "deflate") and _other(coding) is None
        self.breaks_off = False
        """Whether a member said something, and then broke."""
        self._is_broken = False
        self._decoder: Any = None
        self._fed: bytearray = bytearray()
        """What came of this member so far."""
        self._says = False
        """Whether something came of that."""

    def add(self, data: bytes) -> bytes:
        """Return what *data* becomes; as it stands, once something else came."""
        said: list[bytes] = []
        while data and not (self._is_broken or self.breaks_off):
            told, data = self._member(data)
            said.append(told)
        return b"".join([*said, b"" if self.breaks_off else data])

    def _member(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what *data* adds to this member, and what is left for the next one."""
        if self._decoder is None:
            self._fed += data
            if len(self._fed) < _HEADER:
                return b"", b""
            data, self._fed = bytes(self._fed), bytearray()
            self._decoder = self._new(data)
        try:
            said = self._decoder.decompress(data)
            rest: bytes = getattr(self._decoder, "unused_data", b"")
        except Exception:  # noqa: BLE001 - each library has its own
            said, rest = self._bytewise(data)
        self._says = self._says or bool(said)
        if getattr(self._decoder, "eof", False):
            self._decoder, self._says = None, False
            self._fed.clear()
        elif rest:
            self.breaks_off, self._is_broken = self._says, not self._says
            rest = bytes(self._fed) + data
        else:
            self._fed += data
        return said, rest

    def _bytewise(self, data: bytes) -> tuple[bytes, bytes]:
        """Do the same, where *data* breaks the decoder: as far as it goes."""
        self._decoder = self._new(bytes(self._fed[:_HEADER]) or data)
        self._decoder.decompress(bytes(self._fed))
        said: list[bytes] = []
        for at in range(len(data)):
            try:
                said.append(self._decoder.decompress(data[at : at + 1]))
            except Exception:  # noqa: BLE001 - each library has its own
                return b"".join(said), data[at:]
            if getattr(self._decoder, "eof", False):
                return b"".join(said), data[at + 1 :]
        return b"".join(said), b""

    def _new(self, begun: bytes) -> _Decoder:
        if self.coding == "gzip":
            return zlib.decompressobj(wbits=_GZIP)
        if self.coding == "deflate":
            number = int.from_bytes(begun[:_HEADER], "big")
            has_header = begun[0] & 15 == zlib.DEFLATED and not number % 31
            return zlib.decompressobj(wbits=15 if has_header else -15)
        return _other(self.coding)  # type: ignore[return-value]  # known from the beginning


class _Chunks:
    """HTTP chunks, and what follows the last of them; what is none counts as it is."""

    coding = _CHUNKED
    size = _USUAL_SLICE
    is_unknown = False

    def __init__(self) -> None:
        self.breaks_off = False
        """Whether a line says more than the length of a chunk."""
        self.is_over = self._is_broken = False
        self._line = b""
        """The beginning of a line that says how long the next chunk is."""
        self._left = 0
        """How much of a chunk is to come, with the end of its line."""

    def add(self, data: bytes) -> bytes:
        """Return what *data* adds to what the chunks hold."""
        said: list[bytes] = []
        while data and not (self._is_broken or self.is_over or self.breaks_off):
            if self._left:
                said.append(data[: max(self._left - len(_END), 0)])
                data, self._left = data[self._left :], max(self._left - len(data), 0)
            else:
                data = self._begin(data)
        return b"".join([*said, data.lstrip(_END) if self.is_over else data])

    def _begin(self, data: bytes) -> bytes:
        """Read on in the line before a chunk; return what follows it."""
        line, end, rest = data.partition(b"\n")
        self._line += line + end
        found = _LENGTH.match(self._line)
        if found is None or (end and not found[1]):
            self.breaks_off = b";" in self._line
            self._is_broken = not self.breaks_off
            return b"" if self.breaks_off else self._line + rest
        if end:
            length = int(found[1], 16)
            self.is_over, self._left = not length, length and length + len(_END)
            self._line = b""
        return rest


def unpacking(
    headers: Iterable[tuple[str, str]], *, is_raw: bool = False
) -> Unpacking | None:
    """Return what unpacks a body with these *headers*; None where it is not packed.

    If the body *is_raw*, it holds the HTTP chunks that the headers name.
    """
    known = [*headers]
    transferred = wire.codings(known, "transfer-encoding")
    if _CHUNKED in transferred and not is_raw:
        del transferred[-1 - transferred[::-1].index(_CHUNKED)]
    said = [*wire.codings(known, "content-encoding"), *transferred]
    codings = [one.removeprefix("x-") for one in said if one != "identity"]
    return Unpacking(codings) if codings else None


def _slices(parts: Iterable[bytes], steps: list[_Coding]) -> Iterable[bytes]:
    """Yield what *parts* become by all the *steps*, no more of it than is asked for."""
    if not steps:
        yield from parts
        return
    first, *others = steps
    for part in parts:
        for at in range(0, len(part), first.size):
            yield from _slices([first.add(part[at : at + first.size])], others)


def _other(coding: str) -> _Decoder | None:
    """Return a decoder of what the program has loaded for *coding*."""
    for name, kind, wrap in _DECODERS.get(coding, ()):
        made = getattr(sys.modules.get(name), kind, None)
        if made is not None:  # and not a module that another thread is loading now
            return wrap(made())
    return None


def _same(decoder: Any) -> _Decoder:
    return decoder  # type: ignore[no-any-return]


def _of_zstandard(decompressor: Any) -> _Decoder:
    return decompressor.decompressobj()  # type: ignore[no-any-return]


class _Brotli:
    """The decoder of either library for brotli."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        decoder = self._decoder
        self.decompress = getattr(decoder, "decompress", None) or decoder.process

    @property
    def eof(self) -> bool:
        """Whether the end has come; what follows in one piece with it is an error."""
        try:
            return bool(self._decoder.is_finished())
        except Exception:  # noqa: BLE001 - it broke
            return False


_DECODERS: dict[str, tuple[tuple[str, str, Callable[[Any], _Decoder]], ...]] = {
    "br": (
        ("brotlicffi", "Decompressor", _Brotli),
        ("brotli", "Decompressor", _Brotli),
    ),
    "zstd": (
        ("compression.zstd", "ZstdDecompressor", _same),
        ("backports.zstd", "ZstdDecompressor", _same),
        ("zstandard", "ZstdDecompressor", _of_zstandard),
    ),
}
"""Coding → the module that may be loaded, its class, and how that becomes a decoder."""
