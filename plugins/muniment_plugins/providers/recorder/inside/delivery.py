"""What a program had of an answer that `aiohttp` was given ahead of it.

Rules:

- A chunk is the program's once it was given without anybody waiting for it, or once who
  waited goes on. Until then a timeout may strike, and the program never sees the chunk.
- How the answer ended is said at the moment when the program sees it: that it is over, or
  the error. A program that was interrupted where it waited has stopped; one that closes
  the answer elsewhere has left.
- This runs in the program's own interpreter: the standard library only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment_plugins.providers.recorder.inside import bodies, stops
else:
    try:
        import _muniment_bodies as bodies
        import _muniment_stops as stops
    except ImportError:  # in the recorder's own process
        from muniment_plugins.providers.recorder.inside import bodies, stops

__all__ = ["Delivery", "Nowhere", "is_wanted"]

_UNREAD = 0.1
"""Seconds after which we look what was read, where nobody told."""


class Delivery:
    """Tells the recorder what the program had of one answer, if it is a live one."""

    def __init__(self, body: Any) -> None:
        self._body = body if isinstance(body, bodies.AsyncBody) else None
        self._given = -1
        self._waits = self._is_closed = False
        self._struck: BaseException | None = None
        """What interrupted the program where it waited."""
        self._last: tuple[BaseException | None] | None = None
        """How the answer ended: an error or None; None if it has not."""
        self.payload: Any = None
        """What the program reads from."""

    async def awaited(self, given: Awaitable[Any]) -> Any:
        """Wait with the program for what is *given* next."""
        self._has_all()
        self._waits, self._struck = True, None
        value = error = None
        try:
            value = await given
        except BaseException as struck:  # noqa: BLE001 - raised again below
            error = struck
        self._waits = False
        if error is not None:
            try:
                with stops.raising(error):
                    if self._body is not None:
                        self._body.notice()
                    self._missed(error)
            finally:
                del error  # or its traceback would keep it
        self._has_all()
        if self._last is not None:
            self._say(self._last[0])
        elif self._is_closed:
            self.close()
        return value

    def give(self) -> None:
        """Notice that the head, or the next chunk, is given now."""
        self._given += 1
        if not self._waits and self._struck is None:
            self._has_all()

    def end(self, error: BaseException | None) -> None:
        """Notice that the end is given now, or the *error* in its place."""
        if self._last is None:
            self._last = (error,)
            if not self._waits:
                self._say(error)

    def close(self) -> None:
        """Notice that the program closed the answer."""
        self._is_closed = True
        if self._body is None or self._last is not None or self._waits:
            return
        if self._struck is not None:
            if self._body.had >= 0 and not getattr(self.payload, "_buffer", True):
                self._has_all()
            self._say(self._struck)
        else:
            self._body.leave()

    def _missed(self, error: BaseException) -> None:
        if self._last is not None and self._last[0] is error:
            self._has_all()
            self._say(error)
        elif not isinstance(error, Exception) or isinstance(
            error, asyncio.TimeoutError
        ):
            late = isinstance(error, asyncio.TimeoutError)
            self._struck = asyncio.CancelledError() if late else error
            if self._last is not None or self._is_closed:
                self._say(self._struck)
        else:  # what the library makes of the bytes
            self._has_all()
            if self._body is not None and (self._last is not None or self._is_closed):
                self._body.leave()

    def _has_all(self) -> None:
        if self._body is not None:
            self._body.had = self._given

    def _say(self, error: BaseException | None) -> None:
        if self._body is not None:
            self._body.end(error)


class Nowhere(asyncio.Transport):
    """Takes the request, which was sent already."""

    def __init__(self, told: Delivery, lost: Callable[[], object]) -> None:
        super().__init__()
        self._closing = self._gives = False
        self._told = told
        self._lost = lost
        self.feeding: asyncio.Future[None] | None = None
        """What brings the answer."""
        self.going = asyncio.Event()
        self.going.set()
        self.read = asyncio.Event()
        """Set when something was read, or more is wanted."""

    def give(self, protocol: Any, *parts: bytes) -> None:
        """Let *protocol* receive *parts*; it closes if that is the last, or is wrong."""
        for _ in parts:
            self._told.give()
        self._gives = True
        try:
            protocol.data_received(b"".join(parts))
        finally:
            self._gives = False
        if self._told.payload is None:
            self._told.payload = protocol._payload  # noqa: SLF001 - what is read
        payload = self._told.payload
        if self._closing and protocol.exception() is not None:
            self._told.close()
        elif self._closing or (payload is not None and payload.is_eof()):
            self._told.end(None)

    async def taken(self, payload: Any) -> None:
        """Wait until all of *payload* was read: no two pieces are read as one."""
        loop = asyncio.get_running_loop()
        while getattr(payload, "_buffer", None) and not is_wanted(payload):
            self.read.clear()
            # Some versions do not tell. `wait_for` would lose that this is cancelled.
            looks = loop.call_later(_UNREAD, self.read.set)
            try:
                await self.read.wait()
            finally:
                looks.cancel()

    def write(self, data: Any) -> None:
        """Forget *data*."""

    def writelines(self, list_of_data: Any) -> None:
        """Forget them."""

    def is_closing(self) -> bool:
        """Tell whether somebody closed it."""
        return self._closing

    def close(self) -> None:
        """Be closed, and let nothing more come."""
        if not self._closing:
            self._closing = True
            if not self._gives:
                self._told.close()
            if self.feeding is not None:
                self.feeding.cancel()
            with suppress(RuntimeError):  # there is no loop any more
                asyncio.get_running_loop().call_soon(self._lost)

    abort = close

    def pause_reading(self) -> None:
        """Let the answer wait."""
        self.going.clear()

    def resume_reading(self) -> None:
        """Let it go on."""
        self.going.set()

    def get_write_buffer_size(self) -> int:
        """Say that nothing waits."""
        return 0


def is_wanted(payload: Any) -> bool:
    """Tell whether somebody waits for more of *payload*, or for its end."""
    waiting = (getattr(payload, one, None) for one in ("_waiter", "_eof_waiter"))
    return any(one is not None for one in waiting)
