"""An exchange that a program asks for over the wire: the effect, and its answer.

Rules: this is loaded while the program starts, which takes as long. When the program
ends its end of the connection, nobody waits for the answer any more, and the effect is
cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.errors import EffectFailed
from muniment_plugins.providers.exchange import (
    Fault,
    Outcome,
    Received,
    Sent,
    aexchange,
)
from muniment_plugins.providers.recorder.frames import Frame, received
from muniment_plugins.providers.recorder.wire import pack

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from muniment.lanes import Lane

__all__ = ["Exchanging"]

Send = Callable[[], Awaitable[Outcome]]


class Exchanging:
    """Makes effects of a run of what its program sends."""

    def __init__(
        self, lane: Lane, volatile: tuple[str, ...], secrets: tuple[str, ...]
    ) -> None:
        self._lane = lane
        self._volatile = volatile
        self._secrets = secrets
        self.failure: EffectFailed | None = None
        """What the last exchange failed by, if it did."""

    async def exchange(
        self,
        ask: Frame,
        parts: list[bytes],
        reader: StreamReader,
        writer: StreamWriter,
    ) -> None:
        """Answer *ask* on *writer*, from the ledger or after the program performed it."""
        sent = Sent(_text(ask["method"]), _text(ask["url"]), _headers(ask), parts[0])
        frames: asyncio.Queue[tuple[Frame, list[bytes]]] = asyncio.Queue()
        waiting = cast("asyncio.Task[None]", asyncio.current_task())
        pump = asyncio.create_task(_pump(reader, frames, waiting))

        async def send() -> Outcome:
            writer.write(pack({"perform": True}))
            frame, chunks = await frames.get()
            return _outcome(frame["came"], chunks)

        try:
            outcome = await self._outcome(sent, send)
        finally:
            pump.cancel()
        writer.write(_answer(outcome))
        with suppress(ConnectionError):
            await writer.drain()

    async def _outcome(self, sent: Sent, send: Send) -> Outcome:
        try:
            outcome = await aexchange(
                self._lane, sent, send, self._volatile, self._secrets
            )
        except EffectFailed as refused:  # by a plugin; the program sees an error
            self.failure = refused
            return Fault("", str(refused), refused)
        self.failure = outcome.failure
        return outcome


async def _pump(
    reader: StreamReader,
    frames: asyncio.Queue[tuple[Frame, list[bytes]]],
    waiting: asyncio.Task[None],
) -> None:
    """Read on while an effect is under way, to see when nobody waits for it."""
    try:
        while True:
            frames.put_nowait(await received(reader))
    except (EOFError, OSError, ValueError):
        waiting.cancel()


def _outcome(came: Frame, chunks: list[bytes]) -> Outcome:
    told = came["fault"]
    fault = None if told is None else Fault(_text(told[0]), _text(told[1]))
    if fault is not None and not came["status"]:
        return fault
    return Received(int(came["status"]), _headers(came), tuple(chunks), fault)


def _headers(head: Frame) -> tuple[tuple[str, str], ...]:
    return tuple((_text(name), _text(value)) for name, value in head["headers"])


def _text(value: object) -> str:
    """Return *value* as a text that can be written: no half of a character."""
    return str(value).encode("utf-8", "replace").decode()


def _answer(outcome: Outcome) -> bytes:
    if isinstance(outcome, Fault):
        fault = [outcome.name, outcome.message]
        return pack({"answer": {"status": 0, "headers": [], "fault": fault}})
    cut_off = outcome.fault
    head = {
        "status": outcome.status,
        "headers": [list(one) for one in outcome.headers],
        "fault": None if cut_off is None else [cut_off.name, cut_off.message],
    }
    return pack({"answer": head}, outcome.chunks)
