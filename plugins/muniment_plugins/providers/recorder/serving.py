"""The recorder's side of the wire: every exchange of the program is an effect.

Rules:

- One task for each connection. When the program ends its end of it, the effect is
  cancelled as a task of its own would be: *failed, cancelled* where the program goes
  on, in doubt where the run ended with it.
- What the ledger refuses (a divergence, a plugin, a full disk) stops the program.
- Who does not know the token of this recording is not heard.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import EffectFailed
from muniment_plugins.providers.exchange import (
    Fault,
    Outcome,
    Received,
    Sent,
    aexchange,
)
from muniment_plugins.providers.recorder.wire import LENGTH, cut, pack

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from muniment.lanes import Lane

__all__ = ["Server"]

Frame = dict[str, Any]


class Server:
    """Answers the exchanges of one program, and of those that it starts."""

    def __init__(
        self, lane: Lane, volatile: Iterable[str] = (), secrets: Iterable[str] = ()
    ) -> None:
        self._lane = lane
        self._volatile = tuple(volatile)
        self._secrets = tuple(secrets)
        self._token = token_urlsafe(16)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails with what the program must not go on after."""
        self.greeted = 0
        """How many processes said that they are recorded."""
        self.tried: list[tuple[str, str]] = []
        """What reached for the network in a replay: audit event and address."""
        self.failure: EffectFailed | None = None
        """What the last exchange failed by, if it did."""

    async def listen(self, directory: Path) -> str:
        """Listen in *directory*, which is private; return the address for programs."""
        if sys.platform == "win32":
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            host, port = self._server.sockets[0].getsockname()[:2]
            return f"{self._token}@{host}:{port}"
        place = str(directory / "recorder")
        self._server = await asyncio.start_unix_server(self._serve, place)
        return f"{self._token}@{place}"

    async def close(self) -> None:
        """Hear nobody any more, and end what is under way."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.stopped.done():
            self.stopped.exception()  # it was seen, or came with another end

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        try:
            await self._heard(reader, writer)
        except asyncio.CancelledError:
            pass  # nobody waits for the answer
        except Exception as error:  # noqa: BLE001 - it ends the program, and is raised
            if not self.stopped.done():
                self.stopped.set_exception(error)
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()  # any answer would be wrong
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _heard(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            frame, parts = await _received(reader)
        except (EOFError, OSError, ValueError):
            return
        if not hmac.compare_digest(str(frame.get("token")), self._token):
            return
        if "ask" in frame:
            await self._exchange(frame["ask"], parts, reader, writer)
            return
        if "hello" in frame:
            self.greeted += 1
        if "tried" in frame:
            event, what = frame["tried"]
            self.tried.append((str(event), str(what)))
        writer.write(pack({}))
        await writer.drain()

    async def _exchange(
        self,
        ask: Frame,
        parts: list[bytes],
        reader: StreamReader,
        writer: StreamWriter,
    ) -> None:
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

    async def _outcome(self, sent: Sent, send: Any) -> Outcome:
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
            frames.put_nowait(await _received(reader))
    except (EOFError, OSError, ValueError):
        waiting.cancel()


async def _received(reader: StreamReader) -> tuple[Frame, list[bytes]]:
    (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    frame = cast("Frame", json.loads(await reader.readexactly(size)))
    sizes = cast("list[int]", frame["parts"])
    return frame, cut(sizes, await reader.readexactly(sum(sizes)))


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
