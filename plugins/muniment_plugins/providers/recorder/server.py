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
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from muniment.errors import ImportElsewhere
from muniment_plugins.providers.recorder.frames import Connection
from muniment_plugins.providers.recorder.inside.wire import pack
from muniment_plugins.providers.recorder.unrecorded import Hello, Unrecorded
from muniment_plugins.providers.secrets.names import NAMES, SecretNames

if TYPE_CHECKING:
    from muniment.errors import EffectFailed
    from muniment.runs.run import Run
    from muniment_plugins.providers.clients.unsearched import UnsearchedBody
    from muniment_plugins.providers.recorder.wire_exchange import Exchanging

__all__ = ["RecorderServer"]

_WAITING = 1024
"""How many connections may wait until they are accepted."""
_AGAIN = 0.1
"""Seconds after which a connection is accepted that there was no descriptor for."""


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
        self._listening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails with the error that must stop the program."""
        self.unrecorded = Unrecorded()
        """What the program did that bypassed its record."""
        self.tried: list[tuple[str, str]] = []
        """What reached for the network in a replay: audit event and address."""
        self._lacked: dict[int, str] = {}
        """Process → the import by whose failure it ended, in a replay."""
        self._exchanging: Exchanging | None = None

    @property
    def lacked(self) -> ImportElsewhere | None:
        """By which import the program failed, if it did.

        Only what its own process says counts, unless that is no recorded Python.
        """
        own = self.unrecorded.own
        said = [w for pid, w in self._lacked.items() if own is None or pid == own]
        return ImportElsewhere(said[-1]) if said else None

    @property
    def failure(self) -> EffectFailed | None:
        """What the last exchange failed by, if it did."""
        return None if self._exchanging is None else self._exchanging.failure

    @property
    def unsearched(self) -> list[UnsearchedBody]:
        """What was not searched for secrets."""
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
            listener = socket.create_server(("127.0.0.1", 0), backlog=_WAITING)
            host, port = listener.getsockname()[:2]
            place = f"{host}:{port}"
        else:
            place = str(directory / "recorder")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(place)
            listener.listen(_WAITING)
        listener.setblocking(False)
        self._listening = asyncio.create_task(self._accept(listener))
        return f"{self._token}@{place}"

    async def close(self) -> None:
        """Stop listening, and end the exchanges under way."""
        tasks = [*self._tasks]
        if self._listening is not None:
            tasks.append(self._listening)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.stopped.done():
            self.stopped.exception()  # it was seen, or came with another end

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                try:
                    stream, _ = await loop.sock_accept(listener)
                except OSError:  # no descriptor is left: exchanges give theirs back
                    await asyncio.sleep(_AGAIN)
                    continue
                task = asyncio.create_task(self._serve(stream))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _serve(self, stream: socket.socket) -> None:
        connection = Connection(stream)
        try:
            await self._heard(connection)
        except asyncio.CancelledError:
            pass  # nobody waits for the answer
        except Exception as error:  # noqa: BLE001 - it ends the program, and is raised
            if not self.stopped.done():
                self.stopped.set_exception(error)
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()  # any answer would be wrong
        finally:
            await connection.close()

    async def _heard(self, connection: Connection) -> None:
        frame, parts = await connection.hear()
        if not hmac.compare_digest(str(frame.get("token")), self._token):
            return
        if "ask" in frame:
            await self.prepare().exchange(frame["ask"], parts, connection)
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
        if "lacked" in frame:
            pid, what = frame["lacked"]
            self._lacked[int(pid)] = str(what)
        await connection.say(pack({}))
