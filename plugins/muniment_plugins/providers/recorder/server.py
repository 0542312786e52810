"""The recorder's side of the wire: every exchange of the program is an effect.

Rules:

- One task for each connection. When the program ends its end of it, the effect is
  cancelled as a task of its own would be: *failed, cancelled* where the program goes
  on, in doubt where the run ended with it.
- What the ledger refuses (a divergence, a plugin, a full disk) stops the program.
- A client without the token of this recording is ignored.
"""

from __future__ import annotations

import asyncio
import hmac
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, cast

from muniment_plugins.providers.recorder.frames import received
from muniment_plugins.providers.recorder.inside.wire import pack
from muniment_plugins.providers.recorder.unrecorded import Hello, Unrecorded
from muniment_plugins.providers.secrets.names import NAMES, SecretNames

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from muniment.errors import EffectFailed
    from muniment.runs.run import Run
    from muniment_plugins.providers.recorder.wire_exchange import Exchanging

__all__ = ["RecorderServer"]


class RecorderServer:
    """Answers the exchanges of one program, and of those that it starts."""

    def __init__(
        self,
        lane: Run,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: SecretNames = NAMES,
    ) -> None:
        self._lane = lane
        self._names = names
        self._volatile = tuple(volatile)
        self._secrets = tuple(secrets)
        self._token = token_urlsafe(16)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails with the error that must stop the program."""
        self.unrecorded = Unrecorded()
        """What the program did that bypassed its record."""
        self.tried: list[tuple[str, str]] = []
        """What reached for the network in a replay: audit event and address."""
        self._exchanging: Exchanging | None = None

    @property
    def failure(self) -> EffectFailed | None:
        """What the last exchange failed by, if it did."""
        return None if self._exchanging is None else self._exchanging.failure

    @property
    def unsearched(self) -> list[tuple[str, str, str]]:
        """What was not searched for secrets: part, method and URL, and why."""
        return [] if self._exchanging is None else self._exchanging.unsearched

    def prepare(self) -> Exchanging:
        """Load what exchanges need; best done while the program starts."""
        if self._exchanging is None:
            from muniment_plugins.providers.recorder.wire_exchange import (  # noqa: PLC0415
                Exchanging,
            )

            self._exchanging = Exchanging(
                self._lane, self._volatile, self._secrets, self._names
            )
        return self._exchanging

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
        """Stop listening, and end the exchanges under way."""
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
            frame, parts = await received(reader)
        except (EOFError, OSError, ValueError):
            return
        if not hmac.compare_digest(str(frame.get("token")), self._token):
            return
        if "ask" in frame:
            await self.prepare().exchange(frame["ask"], parts, reader, writer)
            return
        if "hello" in frame:
            pid, parent = frame["hello"]
            command = tuple(part.decode("utf-8", "surrogateescape") for part in parts)
            self.unrecorded.greet(Hello(int(pid), int(parent), command))
        if "noticed" in frame:
            self.unrecorded.notice(*frame["noticed"])
        if "tried" in frame:
            event, what = frame["tried"]
            self.tried.append((str(event), str(what)))
        writer.write(pack({}))
        await writer.drain()
