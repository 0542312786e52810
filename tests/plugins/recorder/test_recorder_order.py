"""What arrived before a question is worked on before it, at a price that others do not raise.

The loop runs nothing between what a program says and its question: the question is asked
at the earliest moment that there can be.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from muniment_plugins.providers.recorder.frames import CallsUnderWay, Connection, Frame
from muniment_plugins.providers.recorder.inside.wire import pack
from without_readers import WithoutReaders

Loop: TypeAlias = type[asyncio.AbstractEventLoop]
LOOPS = (asyncio.SelectorEventLoop, WithoutReaders)
END = pack({"end": None, "had": 1})
LARGE = pack({"came": {}}, [b"x" * (1 << 16)] * 2)


class Counted(socket.socket):
    """A socket that counts how often it is read."""

    reads = 0

    def recv(self, *arguments: int) -> bytes:
        """Read, and count it."""
        self.reads += 1
        return super().recv(*arguments)


class Call:
    """A call that a program performs: its end of the connection, and who hears it."""

    def __init__(self, under_way: CallsUnderWay, heard: list[str], name: str) -> None:
        ours, self.program = socket.socketpair()
        self.program.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.stream = Counted(fileno=ours.detach())
        self.program.sendall(pack({"ask": None}))
        self._under_way, self._heard, self._name = under_way, heard, name
        self.task = asyncio.create_task(self._performed())

    async def _performed(self) -> None:
        line = Connection(self.stream)
        try:
            await line.hear()
            with self._under_way.performing(line):
                await self._heard_to_the_end(line)
        finally:
            await line.close()

    async def _heard_to_the_end(self, line: Connection) -> None:
        try:
            while True:
                frame, _ = await line.hear()
                self._tell(frame)
        except asyncio.CancelledError:
            for frame in await line.last_words():
                self._tell(frame)
            self._tell({"gone": None})

    def _tell(self, frame: Frame) -> None:
        self._heard.append(f"{self._name} {next(iter(frame))}")

    def goes(self) -> None:
        """Let the program go."""
        self.program.close()


async def idle() -> None:
    """Let the loop do what it has to do."""
    for _ in range(10):
        await asyncio.sleep(0)


async def ask(under_way: CallsUnderWay, heard: list[str]) -> None:
    """Ask, as a call does that comes next."""
    await under_way.settled()
    heard.append("question")


def on(loop: Loop, program: Callable[[], Awaitable[None]]) -> None:
    """Run *program* on such a *loop*."""

    async def limited() -> None:
        async with asyncio.timeout(60):
            await program()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(limited())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("said", "goes", "before"),
    [
        (END, False, ["end"]),
        (END, True, ["end", "gone"]),
        (LARGE + END, False, ["came", "end"]),
        (LARGE + END, True, ["came", "end", "gone"]),
        (b"", True, ["gone"]),
        (END[:-1], True, ["gone"]),
    ],
    ids=["end", "end, gone", "long, end", "long, end, gone", "gone", "cut off"],
)
def test_what_arrived_first_is_worked_on_first(
    loop: Loop, said: bytes, goes: bool, before: list[str]
) -> None:
    """Whole frames, long ones and many, and that a program went: on whatever loop."""

    async def program() -> None:
        under_way, heard = CallsUnderWay(), list[str]()
        one, other = (Call(under_way, heard, name) for name in ("one", "other"))
        await idle()
        for call in (one, other):
            call.program.sendall(said)
            if goes:
                call.goes()
        await ask(under_way, heard)
        assert heard[-1] == "question"
        for name in ("one", "other"):
            told = [line for line in heard if line.startswith(f"{name} ")]
            assert told == [f"{name} {what}" for what in before]
        one.goes()
        other.goes()
        await asyncio.gather(one.task, other.task)

    on(loop, program)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_question_reads_only_where_something_arrived(loop: Loop) -> None:
    """Of a hundred calls, three said something; nobody looks at the others."""

    async def program() -> None:
        under_way, heard = CallsUnderWay(), list[str]()
        calls = [Call(under_way, heard, str(number)) for number in range(100)]
        await idle()
        before = [call.stream.reads for call in calls]
        for number in (0, 77, 99):
            calls[number].program.sendall(END)
        for _ in range(9):
            await ask(under_way, heard)
        after = [call.stream.reads for call in calls]
        read = [n for n, one in enumerate(before) if after[n] > one]
        assert read == [0, 77, 99]
        assert sum(after) - sum(before) <= 2 * len(read)
        for call in calls:
            call.goes()
        await asyncio.gather(*(call.task for call in calls))
        assert sorted(heard[:3]) == ["0 end", "77 end", "99 end"]

    on(loop, program)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_closed_is_known_to_no_loop(loop: Loop) -> None:
    """The next socket may have the number of one that was closed while it was read."""

    async def program() -> None:
        ours, theirs = socket.socketpair()
        line, number = Connection(ours), ours.fileno()
        await idle()
        await line.close()
        again, other = socket.socketpair()
        with theirs, again, other:
            again.setblocking(False)
            assert again.fileno() == number
            running = asyncio.get_running_loop()
            running.call_soon(other.send, b"x")
            assert await running.sock_recv(again, 1) == b"x"

    on(loop, program)
