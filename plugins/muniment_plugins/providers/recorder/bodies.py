"""The bodies of answers, as a program's libraries read them.

Rules:

- Each chunk of a stream is recorded before it is handed on, and so is how it ended: by
  itself, by an error, or since the program closed it. One that is forgotten ends with
  its connection.
- A known answer gives the chunks that were recorded, then what ended them. A program
  that reads on where the recorded one stopped is ended by the recorder.
- This runs in the program's own interpreter: the standard library only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder import wire
    from muniment_plugins.providers.recorder.client import AsyncLine, Line
    from muniment_plugins.providers.recorder.wire import Came, Names
else:
    try:
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder import wire

__all__ = ["AsyncBody", "Body", "Known", "is_cancelled"]

_AHEAD = 0.01
_LEFT = wire.pack({"left": True})
_NEXT = wire.pack({"next": True})
_CANCELLED = ("Cancelled", "CancelledError")


class Body:
    """The chunks of a stream; each is recorded before it is handed on."""

    def __init__(self, line: Line, came: Came, names: Names) -> None:
        self._line: Line | None = line
        self._came, self._names = came, names

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk as it comes."""
        try:
            for chunk in self._came.more:
                if chunk and self._line is not None:
                    self._line.ask(wire.pack({}, [chunk]))
                    yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._over(_ended(error, self._names))
            raise
        self._over(wire.pack({"end": None}))

    def close(self) -> None:
        """Read no further."""
        self._over(_LEFT)
        self._came.close()

    def _over(self, data: bytes) -> None:
        line, self._line = self._line, None
        if line is not None:
            with suppress(wire.RecorderGone):
                line.ask(data)
            line.close()


class AsyncBody:
    """The same, on a loop."""

    def __init__(self, line: AsyncLine, came: Came, names: Names) -> None:
        self._line: AsyncLine | None = line
        self._came, self._names = came, names
        self.unwanted: Any = None
        """Set by a reader that reads ahead: it is cancelled when the program leaves."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give each chunk as it comes."""
        try:
            async for chunk in self._came.more:
                if chunk and self._line is not None:
                    await self._line.ask(wire.pack({}, [chunk]))
                    yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            left = self.unwanted is not None and is_cancelled(error)
            data = _LEFT if left else _ended(error, self._names)
            if is_cancelled(error) and self._line is not None:
                self._line.say(data)
                self._line.close()
                self._line = None
            await self._over(data)
            raise
        await self._over(wire.pack({"end": None}))

    async def aclose(self) -> None:
        """Read no further."""
        await self._over(_LEFT)
        await self._came.close()

    async def _over(self, data: bytes) -> None:
        line, self._line = self._line, None
        if line is not None:
            with suppress(wire.RecorderGone):
                await line.ask(data)
            line.close()


class Known:
    """The chunks of an answer that is known, and how it ended."""

    def __init__(
        self, line: Any, came: Came, names: Names, head: dict[str, Any]
    ) -> None:
        self._line, self._came, self._names = line, came, names
        self.is_open = bool(head.get("open"))
        """Whether the recorded program read no further."""
        self._in_turns = bool(head.get("in_turns"))
        """Whether the recorder hands the chunks on, each when it is due."""
        self.unwanted: Any = None
        """Tells, of a reader that reads ahead, whether nobody waits for more."""
        if not self.is_open and not self._in_turns:
            line.close()

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk, and raise what ended them."""
        yield from self._came.chunks
        while self._in_turns:
            yield from self._next(*self._line.ask(_NEXT))
        if self._came.fault is not None:
            raise self._names.again(self._came.fault)
        if self.is_open:
            self._line.ask(wire.pack({"more": True}))  # which ends this process

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Do the same."""
        for chunk in self._came.chunks:
            yield chunk
        while self._in_turns:
            for chunk in self._next(*await self._line.ask(_NEXT)):
                yield chunk
        if self._came.fault is not None:
            raise self._names.again(self._came.fault)
        if self.is_open and self.unwanted is not None:
            from asyncio import sleep  # noqa: PLC0415 - the program has it

            while self.unwanted():  # noqa: ASYNC110 - nobody else says when
                await sleep(_AHEAD)
        if self.is_open:
            patient = self.unwanted is not None
            await self._line.ask(wire.pack({"more": True, "patient": patient}))

    def _next(self, frame: dict[str, Any], chunks: list[bytes]) -> list[bytes]:
        self._in_turns = not frame["last"]
        if frame["last"] and not self.is_open:
            self._line.close()
        return chunks

    def close(self) -> None:
        """Read no further, as it was recorded or not."""
        self._line.close()

    async def aclose(self) -> None:
        """Do the same."""
        self._line.close()


def _ended(error: BaseException, names: Names) -> bytes:
    if isinstance(error, Exception):
        return wire.pack({"end": names.told(error)})
    return wire.pack({"stopped": type(error).__name__})


def is_cancelled(error: BaseException) -> bool:
    """Tell whether *error* is how a loop stops what waits in it."""
    return not isinstance(error, Exception) and type(error).__name__ in _CANCELLED
