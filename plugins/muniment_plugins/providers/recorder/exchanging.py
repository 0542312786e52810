"""An exchange that a program asks for over the wire: the effect, and its answer.

Rules: this is loaded while the program starts, which takes as long. When the program
ends its end of the connection, nobody waits for the answer any more, and the effect is
cancelled; a stream ends there, with what was handed on.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.errors import EffectFailed
from muniment_plugins.providers.exchange import Fault, Outcome, Received, Sent
from muniment_plugins.providers.flow import Flow
from muniment_plugins.providers.recorder.frames import Frame, received
from muniment_plugins.providers.recorder.wire import pack
from muniment_plugins.providers.turns import Turns

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from muniment.lanes import Lane
    from muniment_plugins.providers.secret_names import Names

__all__ = ["Exchanging"]


class Exchanging:
    """Makes effects of a run of what its program sends."""

    def __init__(
        self,
        lane: Lane,
        volatile: tuple[str, ...],
        secrets: tuple[str, ...],
        names: Names,
    ) -> None:
        self._lane = lane
        self._volatile = volatile
        self._secrets = secrets
        self._names = names
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
        line = _Line(reader, writer)
        try:
            await self._exchange(sent, line)
        except EffectFailed as refused:  # by a plugin; the program sees an error
            self.failure = refused
            await line.say(_answer(Fault("", str(refused))))
        finally:
            line.close()

    async def _exchange(self, sent: Sent, line: _Line) -> None:
        flow = Flow.of(self._lane, sent, self._volatile, self._secrets, self._names)
        known = await flow.aknown()
        if known is not None:
            self.failure = flow.failure
            await _hand_on(flow, known, line)
            return
        try:
            await line.say(pack({"perform": True}))
            frame, chunks = await line.hear()
        except asyncio.CancelledError:
            flow.interrupt()
            raise
        came = frame["came"]
        if came.get("stopped"):
            flow.interrupt(_text(came["fault"][0]))
            await line.say(pack({}))
        elif came.get("streams"):
            await self._stream(
                flow, Received(int(came["status"]), _headers(came), ()), line
            )
        else:
            outcome = flow.settle(_outcome(came, chunks))
            self.failure = flow.failure
            await line.say(_answer(outcome))

    async def _stream(self, flow: Flow, head: Received, line: _Line) -> None:
        """Record the chunks of an answer, each before the program goes on with it."""
        flow.begin(head)
        self.failure = None
        try:
            await line.say(pack({"answer": {"streams": True}}))
            while True:
                frame, chunks = await line.hear()
                if self._ends(flow, frame):
                    break
                for chunk in chunks:
                    flow.hand_on(chunk)
                await line.say(pack({}))
        except asyncio.CancelledError:  # it is gone, and may have said how
            if not any(self._ends(flow, frame) for frame, _ in line.unheard()):
                flow.leave(held=True)
            raise
        await line.say(pack({}))

    def _ends(self, flow: Flow, frame: Frame) -> bool:
        """Record how the stream ended, if *frame* says so."""
        if "stopped" in frame:
            flow.interrupt(_text(frame["stopped"]))
        elif "left" in frame:
            self.failure = flow.leave()
        elif "end" in frame:
            told = frame["end"]
            fault = None if told is None else Fault(_text(told[0]), _text(told[1]))
            self.failure = flow.end(fault)
        else:
            return False
        return True


async def _hand_on(flow: Flow, known: Outcome, line: _Line) -> None:
    """Give the program what is *known*, in turns where there are any."""
    turns = Turns(flow.effect, known) if isinstance(known, Received) else None
    if isinstance(known, Received) and turns:
        await line.say(_answer(known, in_turns=True))
        try:
            await line.hear()
            async for group in turns:
                await line.say(pack({"last": False}, group))
                await line.hear()
            await line.say(pack({"last": True}))
        except asyncio.CancelledError:
            if flow.patience is not None:
                flow.effect.recount()
            raise
    else:
        await line.say(_answer(known))
    if isinstance(known, Received) and (known.closed or known.waits):
        await _left(flow, line)


async def _left(flow: Flow, line: _Line) -> None:
    """Wait for the program to go as it went, and diverge where it reads on.

    What reads ahead cannot tell whether the program would have gone while it waited.
    """
    try:
        frame, _ = await line.hear()
    except asyncio.CancelledError:
        if flow.patience is not None:
            flow.effect.recount()
        raise
    if flow.patience is not None:
        await flow.wait()
    if frame.get("patient"):
        await asyncio.sleep(flow.effect.took)
    flow.effect.read_on()


class _Line:
    """The connection of one exchange."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._writer = writer
        self._frames: asyncio.Queue[tuple[Frame, list[bytes]]] = asyncio.Queue()
        waiting = cast("asyncio.Task[None]", asyncio.current_task())
        self._pump = asyncio.create_task(_pump(reader, self._frames, waiting))

    async def hear(self) -> tuple[Frame, list[bytes]]:
        """Return what the program says next."""
        return await self._frames.get()

    def unheard(self) -> list[tuple[Frame, list[bytes]]]:
        """Return what the program said before it went."""
        return [self._frames.get_nowait() for _ in range(self._frames.qsize())]

    async def say(self, data: bytes) -> None:
        """Answer the program, if it is there."""
        self._writer.write(data)
        with suppress(ConnectionError):
            await self._writer.drain()

    def close(self) -> None:
        """Hear nothing any more."""
        self._pump.cancel()


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


def _answer(outcome: Outcome, *, in_turns: bool = False) -> bytes:
    if isinstance(outcome, Fault):
        fault = [outcome.name, outcome.message]
        return pack({"answer": {"status": 0, "headers": [], "fault": fault}})
    cut_off = outcome.fault
    head = {
        "status": outcome.status,
        "headers": [list(one) for one in outcome.headers],
        "fault": None if cut_off is None else [cut_off.name, cut_off.message],
        "open": outcome.closed or outcome.waits,
        "in_turns": in_turns,
    }
    return pack({"answer": head}, () if in_turns else outcome.chunks)
