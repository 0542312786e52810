"""The response bodies of a recording client: known already, or as they arrive.

Rules: a live chunk is in the flow before it is handed on. Closing a response before its
end says that the program read no further; in a replay, reading on from there diverges.
If the program was cancelled, the replay waits for the cancellation.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from muniment_plugins.providers.clients.exchange import Fault, Outcome, Received
from muniment_plugins.providers.clients.faults import stopped
from muniment_plugins.providers.clients.turns import Turns

if TYPE_CHECKING:
    from muniment_plugins.providers.clients.flow import Flow

__all__ = ["Body", "LiveBody", "WholeBody", "stream_of"]


class LiveBody:
    """The body of a live response, recorded as it passes."""

    def __init__(
        self, flow: Flow, response: Any, fault: Callable[[Exception], Fault]
    ) -> None:
        self._flow = flow
        self._fault = fault
        self._response = response
        self._over = False

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk as it arrives."""
        try:
            for chunk in self._response.iter_bytes():
                self._flow.hand_on(chunk)
                yield chunk
        except BaseException as error:
            self._ended(error, on_loop=False)
            raise
        self._ended(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Do the same, awaiting them."""
        try:
            async for chunk in self._response.aiter_bytes():
                self._flow.hand_on(chunk)
                yield chunk
        except BaseException as error:
            self._ended(error)
            raise
        self._ended(None)

    def _ended(self, error: BaseException | None, *, on_loop: bool = True) -> None:
        if isinstance(error, GeneratorExit) or self._over:
            return  # whoever closes the response says so
        self._over = True
        if error is None:
            self._flow.end()
        elif isinstance(error, Exception):
            error.__cause__ = self._flow.end(self._fault(error))
        else:
            stopped(self._flow, error, on_loop=on_loop)

    def close(self) -> None:
        """Read no further."""
        self._leave()
        self._response.close()

    async def aclose(self) -> None:
        """Do the same."""
        self._leave()
        await self._response.aclose()

    def _leave(self) -> None:
        if not self._over:
            self._over = True
            self._flow.leave()


class WholeBody:
    """The chunks of a recorded answer, and how it ended."""

    def __init__(
        self, flow: Flow, outcome: Outcome, error: Callable[[Fault], BaseException]
    ) -> None:
        self._flow = flow
        self._outcome = outcome
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        """Give each chunk, and raise what ended them."""
        known = self._outcome
        if isinstance(known, Received):
            for group in Turns(self._flow.effect, known):
                yield from group
            if known.fault is not None:
                raise self._error(known.fault)
            if known.closed:
                self._flow.effect.read_on()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Do the same; wait if the program was cancelled."""
        known = self._outcome
        if not isinstance(known, Received):
            return
        async for group in Turns(self._flow.effect, known):
            for chunk in group:
                yield chunk
        if known.fault is not None:
            raise self._error(known.fault)
        if known.closed:
            self._flow.effect.read_on()
        if known.waits:
            await self._flow.wait()

    def close(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


Body: TypeAlias = LiveBody | WholeBody


@functools.cache
def _class(module: Any) -> Any:
    class Stream(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc]  # loaded late
        """A body, as the library wants it."""

        def __init__(self, body: Body) -> None:
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            yield from self._body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._body:
                yield chunk

        def close(self) -> None:
            self._body.close()

        async def aclose(self) -> None:
            await self._body.aclose()

    return Stream


def stream_of(module: Any, body: Body) -> Any:
    """Return *body* as a stream of the library *module*."""
    return _class(module)(body)
