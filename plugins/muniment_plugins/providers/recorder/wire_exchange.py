"""An exchange that a program asks for over the wire: the effect, and its answer.

Rules: this is loaded while the program starts, which takes as long. When the program
ends its end of the connection, nobody waits for the answer any more, and the effect is
cancelled; a stream ends there, with what was handed on. What it said before it went is
heard to the end, although it can be told nothing more. What it said before it asked is
recorded before the question: how one answer ended is no secret to the next request.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.errors import EffectFailed
from muniment_plugins.providers.clients.exchange import Fault, Outcome, Received, Sent
from muniment_plugins.providers.clients.faults import (
    fault_of,
    fault_told,
    interrupt,
    writable,
)
from muniment_plugins.providers.clients.flow import Flow
from muniment_plugins.providers.clients.turns import Turns
from muniment_plugins.providers.clients.unsearched import UnsearchedBody
from muniment_plugins.providers.recorder.frames import CallsUnderWay, Connection, Frame
from muniment_plugins.providers.recorder.inside.wire import pack

if TYPE_CHECKING:
    from muniment.runs.run import Run
    from muniment_plugins.providers.secrets.names import SecretNames

__all__ = ["Exchanging"]

_GRACE = 1.0
"""Seconds by which a process may come to its end later than the recorded one."""


class Exchanging:
    """Makes effects of a run of what its program sends."""

    def __init__(
        self,
        lane: Run,
        volatile: tuple[str, ...],
        secrets: tuple[str, ...],
        names: SecretNames,
    ) -> None:
        self._lane = lane
        self._volatile = volatile
        self._secrets = secrets
        self._names = names
        self.failure: EffectFailed | None = None
        """What the last exchange failed by, if it did."""
        self.unsearched: list[UnsearchedBody] = []
        """What was not searched for secrets."""
        self._under_way = CallsUnderWay()

    async def exchange(self, ask: Frame, parts: list[bytes], line: Connection) -> None:
        """Answer *ask* on *line*, from the ledger or after the program performed it."""
        await self._under_way.settled()
        sent = Sent(
            writable(ask["method"]), writable(ask["url"]), _headers(ask), parts[0]
        )
        try:
            await self._exchange(sent, line)
        except EffectFailed as refused:  # by a plugin; the program sees an error
            self.failure = refused
            await line.say(_answer(Fault("", str(refused))))

    async def _exchange(self, sent: Sent, line: Connection) -> None:
        options = (self._volatile, self._secrets, self._names)
        flow = await Flow.aof(self._lane, sent, *options)
        known = await flow.aknown()
        if known is not None:
            self.failure = flow.failure
            await _hand_on(flow, known, line)
            return
        try:
            await self._perform(flow, line)
        finally:
            self.unsearched += UnsearchedBody.of(flow.one)

    async def _perform(self, flow: Flow, line: Connection) -> None:
        """Let the program perform it, and record what the program had of it."""
        with self._under_way.performing(line):
            try:
                await line.say(pack({"perform": True}))
                while True:
                    frame, chunks = await line.hear()
                    if self._ends(flow, frame):
                        break
                    _pass_on(flow, frame, chunks)
                    await line.say(pack({}))
            except asyncio.CancelledError:  # it is gone, and may have said how
                if not any(self._ends(flow, one) for one in await line.last_words()):
                    flow.lose()
                raise

    def _ends(self, flow: Flow, frame: Frame) -> bool:
        """Record how the exchange ended for the program, if *frame* says so."""
        if "had" not in frame:
            return False
        flow.had(int(frame["had"]))
        if "stopped" in frame:
            interrupt(flow, frame["stopped"])
        elif "left" in frame:
            self.failure = flow.leave()
        else:
            told = frame["end"]
            self.failure = flow.end(None if told is None else fault_of(told))
        return True


def _pass_on(flow: Flow, frame: Frame, parts: list[bytes]) -> None:
    """Take in what the program is about to get: a whole answer, a head, or a chunk."""
    came = frame.get("came")
    if came is None:
        chunk, *said = parts
        why = writable(frame.get("unsearched", ""))
        flow.hand_on(chunk, said[0] if said else None, why)
    elif came["streams"]:
        flow.begin(_received(came, []))
    else:
        told = came["fault"]
        fault = None if told is None else fault_of(told)
        flow.offer(replace(_received(came, parts), fault=fault))


async def _hand_on(flow: Flow, known: Outcome, line: Connection) -> None:
    """Give the program the *known* answer, in turns if there are any."""
    turns = Turns(flow.effect, known)
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
        async for _ in turns:
            pass
        await line.say(_answer(known))
    if isinstance(known, Received) and (known.closed or known.waits):
        await _left(flow, line)


async def _left(flow: Flow, line: Connection) -> None:
    """Wait for the program to go as it went, and diverge where it reads on.

    A process may have ended while one of its threads waited for more: it has the time that
    it had. What reads ahead cannot tell whether the program would have gone: it has more.
    """
    try:
        frame, _ = await line.hear()
    except asyncio.CancelledError:
        if flow.patience is not None:
            flow.effect.recount()
        raise
    if flow.patience is not None:
        await flow.wait()
    effect = flow.effect
    patient = frame.get("patient")
    await asyncio.sleep(effect.took if patient else effect.lasted + _GRACE)
    effect.read_on()


def _received(came: Frame, parts: list[bytes]) -> Received:
    """Return the answer that *came* in *parts*: chunks, and what they say if packed."""
    known = {
        one: None if came[one] is None else writable(came[one])
        for one in ("reason", "protocol")
    }
    answer = Received(int(came["status"]), _headers(came), tuple(parts), **known)  # type: ignore[arg-type]
    if not came.get("unpacked"):
        return answer
    half = len(parts) // 2
    chunks, plain = tuple(parts[:half]), tuple(parts[half:])
    return replace(
        answer, chunks=chunks, plain=plain, unsearched=writable(came["unsearched"])
    )


def _headers(head: Frame) -> tuple[tuple[str, str], ...]:
    return tuple((writable(name), writable(value)) for name, value in head["headers"])


def _answer(outcome: Outcome, *, in_turns: bool = False) -> bytes:
    if isinstance(outcome, Fault):
        fault = fault_told(outcome)
        return pack({"answer": {"status": 0, "headers": [], "fault": fault}})
    cut_off = outcome.fault
    head = {
        "status": outcome.status,
        "reason": outcome.reason,
        "protocol": outcome.protocol,
        "headers": [list(one) for one in outcome.headers],
        "fault": None if cut_off is None else fault_told(cut_off),
        "open": outcome.closed or outcome.waits,
        "in_turns": in_turns,
    }
    return pack({"answer": head}, () if in_turns else outcome.chunks)
