"""One request on its way: known from the record, settled whole, or handed on in chunks.

    flow = Flow.of(run, sent)
    outcome = flow.known()                  # None: it has to be sent
    outcome = flow.settle(received)         # whole; or, where it is a stream:
    flow.begin(head)
    flow.hand_on(chunk)                     # and only then to the program
    flow.end(fault) or flow.leave()

Rules:

- An answer whose length is told beforehand is settled whole. Every other may be endless:
  its chunks are handed on as they come, and recorded before whatever follows them.
- Chunks in which a secret may have begun are written when the rest of it has come. Where
  it never comes, its beginning is hidden.
- A program that reads no further leaves; the record says so, and a replay in which it
  reads on diverges. One that is cancelled while it waits for a chunk is answered the
  chunks before, and waits again.
- A stream that a resume finds without an end, though something came of it, is answered
  as far as it was recorded, and is cut off there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.errors import EffectFailed
from muniment.values import decode
from muniment_plugins.providers.exchange import (
    FIRST_ERROR,
    Exchange,
    Fault,
    Outcome,
    Received,
    Sent,
    WireError,
    readable,
    received,
    unframed,
)
from muniment_plugins.providers.issued import Issued
from muniment_plugins.providers.secret_names import NAMES, Names

if TYPE_CHECKING:
    from muniment.lanes import Lane
    from muniment.streams import OpenEffect

__all__ = ["Flow", "is_stream"]

_BODILESS = (204, 304)
_CUT_OFF = "the recording was cut off here"


def is_stream(method: str, received: Received) -> bool:
    """Tell whether nobody knows how long the body of *received* will be."""
    bodiless = method == "HEAD" or received.status in _BODILESS
    refused = received.status >= FIRST_ERROR  # errors have an end
    return not (bodiless or refused) and not received.header("content-length")


class Flow:
    """A request as an effect, and its answer however it comes."""

    def __init__(self, one: Exchange, effect: OpenEffect) -> None:
        self.one = one
        self.effect = effect
        one.taken_as(effect.place.scope, effect.place.ordinal)
        self.failure: EffectFailed | None = None
        """What the effect failed by, once it did."""
        self._head: Received | None = None
        self._chunks: list[bytes] = []
        self._head_told: dict[str, object] | None = None
        self._told = -1
        """How many chunks were recorded; -1 before the head was."""

    @classmethod
    def of(
        cls,
        lane: Lane,
        sent: Sent,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: Names = NAMES,
    ) -> Flow:
        """Take *sent* as an effect of *lane*."""
        issued = cast("Issued", lane.memory.setdefault("providers.issued", Issued()))
        one = Exchange.of(sent, volatile, secrets, names, issued)
        return cls(one, lane.open(one.kind, one.request))

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        return self.effect.patience

    def known(self) -> Outcome | None:
        """Return the outcome that the record or a plugin has; None where none has."""
        if self.effect.answered:
            cancelled = self.effect.cancelled
            if cancelled is not None:
                value = cast("Mapping[str, object]", decode(cancelled))
                known = self.one.answer(value)
                return replace(known, waits=True)
            return self._answered()
        if self.effect.parts is None:
            return None
        head, parts = self.effect.parts
        value = {**cast("Mapping[str, object]", head), "chunks": parts}
        return self.settle(replace(received(value), fault=Fault("", _CUT_OFF)))

    async def aknown(self) -> Outcome | None:
        """Do as `known` does; wait first where the program did until it was cancelled."""
        if self.effect.answered and self.patience is not None:
            if self.effect.cancelled is not None:
                return self.known()
            await self.wait()
        return self.known()

    async def wait(self) -> None:
        """Wait to be cancelled, as the program was."""
        try:
            await asyncio.sleep(self.patience or 0)
        except asyncio.CancelledError:
            self.effect.recount()
            raise
        self.effect.read_on()

    def _answered(self) -> Outcome:
        try:
            value = self.effect.answer()
        except EffectFailed as failure:
            return self._failed(failure)
        return self.one.answer(value)

    def settle(self, outcome: Outcome) -> Outcome:
        """Record *outcome*, which is whole; return what the program gets."""
        try:
            value = self.effect.complete(self.one.settle(outcome))
        except WireError as error:
            failure = self.effect.fail(error)
            failure.__cause__ = error
            return self._failed(failure)
        except EffectFailed as failure:  # it cannot be written, or a plugin says no
            return self._failed(failure)
        return self.one.answer(value)

    def _failed(self, failure: EffectFailed) -> Outcome:
        self.failure = failure
        return self.one.fault(failure)

    def begin(self, head: Received) -> None:
        """Record the answer chunk by chunk from here on; *head* is what came of it."""
        self._head = replace(head, headers=unframed(head))
        self.effect.begin(self._taken, self.leave)

    def hand_on(self, chunk: bytes) -> None:
        """Take in a chunk that the program gets next."""
        self.effect.require_going()
        self._chunks.append(chunk)

    def end(self, fault: Fault | None = None) -> EffectFailed | None:
        """Record that the stream ended, by *fault* or by itself."""
        return self._ended(replace(self._whole, fault=fault))

    def leave(self, *, held: bool = False) -> EffectFailed | None:
        """Record that the program reads no further; *held*, if the run goes on."""
        return self._ended(replace(self._whole, closed=True), held=held)

    def interrupt(self, name: str = "CancelledError") -> None:
        """Record that the program was stopped while it waited, if the run goes on."""
        data = None
        if self._head is not None:
            chunks = self._recorded()
            data = {**self._recorded_head, "chunks": chunks}
        self.effect.cancel(name, data)

    def _ended(self, whole: Received, *, held: bool = False) -> EffectFailed | None:
        try:
            self.effect.complete(self.one.settle(whole), held=held)
        except WireError as error:
            self.failure = self.effect.fail(error)
            self.failure.__cause__ = error
        except EffectFailed as failure:
            self.failure = failure
        return self.failure

    @property
    def _whole(self) -> Received:
        if self._head is None:
            raise AssertionError("a stream has a head")
        return replace(self._head, chunks=tuple(self._chunks))

    @property
    def _recorded_head(self) -> dict[str, object]:
        return {**self.one.head(self._whole), **self.one.secrets}

    def _recorded(self, start: int = 0, stop: int | None = None) -> list[object]:
        chunks = self.one.redaction.chunks(
            self._chunks, self.one.answered, is_open=True
        )
        return [readable(chunk) for chunk in chunks[start:stop]]

    def _whole_until(self) -> int:
        """Return how many chunks hold no secret that has only begun."""
        left = self.one.redaction.begun(b"".join(self._chunks).decode("latin-1"))
        whole = 0
        for chunk in self._chunks:
            left -= len(chunk)
            if left < 0:
                break
            whole += 1
        return max(whole, self._told)

    def _taken(self) -> dict[str, object] | None:
        told, self._told = self._told, self._whole_until()
        if told == self._told:
            return None
        parts = self._recorded(max(told, 0), self._told)
        head = self._recorded_head
        known, self._head_told = self._head_told, head
        return {"parts": parts, "head": None if head == known else head}
