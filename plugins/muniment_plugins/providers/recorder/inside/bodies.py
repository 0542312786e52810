"""The bodies of answers, as a program's libraries read them.

Rules:

- A chunk of a stream is sent to the recorder before it is handed on.
- How an exchange ended is said at the moment when the program sees it, and nobody waits
  for an answer to that: between the two, no task can be cancelled. What is said names
  how many chunks the program ``had``, -1 if it did not even have the head: what was under
  way when it stopped waiting is not in the record.
- A stream that the program forgets ends with its connection.
- A known answer gives the recorded chunks, then what ended them. If a program reads on
  where the recorded one stopped, the recorder ends it.
- This runs in the program's own interpreter: the standard library only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import stops, unpacked, wire
    from muniment_plugins.providers.recorder.inside.wire import Came, WireNames
else:
    try:
        import _muniment_stops as stops
        import _muniment_unpacked as unpacked
        import _muniment_wire as wire
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import stops, unpacked, wire

__all__ = ["AsyncBody", "Body", "KnownBody", "ended", "say_last"]

_AHEAD = 0.01
_NEXT = wire.pack({"next": True})


class _Line(Protocol):
    """What a body needs of the connection of its exchange."""

    around: stops.Around | None

    def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]: ...
    def say(self, data: bytes) -> None: ...
    def last(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class _AsyncLine(Protocol):
    """The same, on a loop."""

    around: stops.Around | None

    async def ask(self, data: bytes) -> tuple[dict[str, Any], list[bytes]]: ...
    def last(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class _Told:
    """Makes frames of a stream's chunks, with their unpacked form if compressed."""

    def __init__(self, came: Came) -> None:
        self._unpacking = unpacked.unpacking(came.headers, is_raw=came.is_raw)

    @property
    def is_whole(self) -> bool:
        """Tell whether the chunks say of themselves that no more come."""
        return self._unpacking is not None and self._unpacking.is_whole

    def __call__(self, chunk: bytes) -> bytes:
        """Return the frame of *chunk*."""
        if self._unpacking is None:
            return wire.pack({}, [chunk])
        said = self._unpacking.add(chunk)
        frame = {"unpacked": True, "unsearched": self._unpacking.unsearched}
        return wire.pack(frame, [chunk, said])


class Body:
    """The chunks of a stream; each is recorded before it is handed on."""

    def __init__(self, line: _Line, came: Came, names: WireNames) -> None:
        self._line: _Line | None = line
        self._came, self._names = came, names
        self._told = _Told(came)
        self._had = 0

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk as it comes."""
        given = False
        try:
            for chunk in self._came.more:
                if chunk and self._line is not None:
                    self._line.ask(self._told(chunk))
                    self._had += 1
                    given = True
                    yield chunk
                    given = False
        except BaseException as error:
            if given and isinstance(error, GeneratorExit):
                raise  # whoever closes the body says so
            line, self._line = self._line, None
            if line is not None:
                say_last(line, error, self._names, self._had)
            raise
        self._say(ended(None, self._names, self._had))

    def close(self) -> None:
        """Read no further."""
        whole = self._told.is_whole
        self._say(ended(None, self._names, self._had) if whole else _left(self._had))
        self._came.close()

    def _say(self, data: bytes) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.say(data)
            line.close()


class AsyncBody:
    """The same, on a loop.

    A *pushed* body is not read by the program: somebody reads it ahead, and tells what the
    program had of it, and how it ended.
    """

    def __init__(
        self, line: _AsyncLine, came: Came, names: WireNames, *, pushed: bool = False
    ) -> None:
        self._line: _AsyncLine | None = line
        self._came, self._names = came, names
        self._told = _Told(came)
        self._pushed = pushed
        self.had = -1 if pushed else 0
        """How many chunks the program had."""
        self.source = came.more
        self.unwanted: Any = None
        self.stop: BaseException | None = None
        """For answers that are known."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give each chunk as it comes."""
        given, error = False, None
        try:
            async for chunk in self._came.more:
                if chunk and self._line is not None:
                    await self._line.ask(self._told(chunk))
                    self.had += not self._pushed
                    given = True
                    yield chunk
                    given = False
        except BaseException as struck:
            if given and isinstance(struck, GeneratorExit):
                raise  # whoever closes the body says so
            error = struck
        if error is None:
            if not self._pushed:
                self.end(None)
            return
        try:
            with stops.raising(error):
                if not self._pushed:
                    self.notice()
                    self.end(error)
        finally:
            del error  # or its traceback would keep it

    def notice(self) -> None:
        """Notice what has left the loop: see `stops`."""
        if self._line is not None and self._line.around is not None:
            self._line.around.notice()

    def end(self, error: BaseException | None) -> None:
        """Say that the program saw the end, or the *error* that came in its place."""
        line, self._line = self._line, None
        if line is not None:
            line.last(ended(error, self._names, self.had, line.around))

    def leave(self) -> None:
        """Say that the program reads no further."""
        line, self._line = self._line, None
        if line is not None:
            line.last(_left(self.had))

    async def aclose(self) -> None:
        """Read no further."""
        if not self._pushed:
            self.leave()
        await self._came.close()


class KnownBody:
    """The chunks of a known answer, and how it ended."""

    def __init__(
        self, line: Any, came: Came, names: WireNames, head: dict[str, Any]
    ) -> None:
        self._line, self._came, self._names = line, came, names
        self.is_open = bool(head.get("open"))
        """Whether the recorded program read no further."""
        self._in_turns = bool(head.get("in_turns"))
        """Whether the recorder hands on each chunk when it is due."""
        self.unwanted: Any = None
        """Set by a reader that reads ahead: tells whether nobody waits for more."""
        self.stop: BaseException | None = None
        """What it was ended by, once it was."""
        if not self.is_open and not self._in_turns:
            line.close()

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk, and raise what ended them."""
        yield from self._came.chunks
        while self._in_turns:
            yield from self._next(*self._line.ask(_NEXT))
        if self._came.fault is not None:
            raise self._broken(self._came.fault)
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
            if stops.leaves(self._came.fault):
                await self._wanted()
                await stops.leave(self._came.fault, self._line.around)
            raise self._broken(self._came.fault)
        if self.is_open:
            await self._wanted()
            patient = self.unwanted is not None
            await self._line.ask(wire.pack({"more": True, "patient": patient}))

    def _broken(self, fault: wire.Fault) -> BaseException:
        self.stop = self._came.error or stops.again(fault, self._names)
        return self.stop

    async def _wanted(self) -> None:
        """Wait until the program waits for more, if its reader reads ahead."""
        if self.unwanted is not None:
            from asyncio import sleep  # noqa: PLC0415 - the program has it

            while self.unwanted():  # noqa: ASYNC110 - nobody else says when
                await sleep(_AHEAD)

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


def ended(
    error: BaseException | None,
    names: WireNames,
    had: int,
    around: stops.Around | None = None,
) -> bytes:
    """Return what says that an exchange ended for a program that *had* so many chunks.

    Exchanges on a loop have something *around* them.
    """
    if error is None or isinstance(error, Exception):
        told = None if error is None else names.told(error)
        return wire.pack({"end": told, "had": had})
    stop = stops.told(error) if around is None else around.told(error)
    return wire.pack({"stopped": stop, "had": had})


def say_last(
    line: _Line | _AsyncLine, error: BaseException, names: WireNames, had: int
) -> None:
    """Say that the exchange ended by *error*, or by what strikes while that is said."""
    try:
        line.last(ended(error, names, had, line.around))
    except BaseException as struck:
        line.last(ended(struck, names, had, line.around))
        raise


def _left(had: int) -> bytes:
    return wire.pack({"left": True, "had": had})
