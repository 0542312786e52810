"""One request on its way: known from the record, settled whole, or handed on in chunks.

    flow = Flow.of(run, sent)
    outcome = flow.known()                  # None: it has to be sent
    outcome = flow.settle(received)         # whole; or, if it is a stream:
    flow.begin(head)
    flow.hand_on(chunk)                     # and only then to the program
    flow.end(fault) or flow.leave()
    flow.offer(received)                    # whole, to a program in another process,
    flow.had(count)                         # which says what it had of it
    flow.end()

Rules:

- An answer whose length is known beforehand is settled whole. Any other may be endless:
  its chunks are handed on as they arrive, and recorded before anything that follows.
- An answer that is offered to another process is recorded once the program there has it.
  What it did not get is taken back, and the record says how the exchange ended for it.
- Chunks in which a secret may have begun are written once the rest of it has arrived. If
  it never arrives, its beginning is hidden.
- A program that reads no further leaves; the record says so, and a replay in which it
  reads on diverges. A program that was cancelled while it waited for a chunk gets the
  chunks before it in a replay, and waits again.
- If a resume finds a stream that began and has no end, it gives the chunks that were
  recorded, and the stream is cut off there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.codec import decode
from muniment.errors import EffectFailed
from muniment.runs.streams import Offered
from muniment_plugins.providers.clients.exchange import (
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
from muniment_plugins.providers.recorder.description import EXACT_BODIES
from muniment_plugins.providers.secrets.issued import Issued
from muniment_plugins.providers.secrets.names import NAMES, SecretNames

if TYPE_CHECKING:
    from muniment.runs.run import Run
    from muniment.runs.streams import OpenEffect

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
        """Why the effect failed, once it has."""
        self._head: Received | None = None
        self._chunks: list[bytes] = []
        self._said: list[bytes] = []
        self._unsearched: str | None = None
        """Why not all of a compressed body was searched; None if it is not compressed."""
        self._head_told: dict[str, object] | None = None
        self._told = -1
        """How many chunks were recorded; -1 before the head is."""
        self._offered: Offered | WireError | None = None
        """What is recorded of a whole answer once the program has it."""

    @classmethod
    def of(
        cls,
        lane: Run,
        sent: Sent,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: SecretNames = NAMES,
    ) -> Flow:
        """Take *sent* as an effect of *lane*."""
        one = _exchange(lane, sent, volatile, secrets, names)
        return cls(one, lane.open(one.kind, one.request))

    @classmethod
    async def aof(
        cls,
        lane: Run,
        sent: Sent,
        volatile: Iterable[str] = (),
        secrets: Iterable[str] = (),
        names: SecretNames = NAMES,
    ) -> Flow:
        """Do as `of` does, awaiting plugins that have to be awaited."""
        one = _exchange(lane, sent, volatile, secrets, names)
        return cls(one, await lane.aopen(one.kind, one.request))

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        return self.effect.patience

    def known(self) -> Outcome | None:
        """Return the outcome that the record or a plugin has; None if neither has."""
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
        """Do as `known` does; wait first if the program waited until cancelled."""
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
        from muniment_plugins.providers.clients.stand_ins import (  # noqa: PLC0415 - few need it
            on_the_wire,
        )

        self.effect.translate(lambda given: on_the_wire(self.one, given))
        try:
            value = self.effect.answer()
        except EffectFailed as failure:
            return self._failed(failure)
        return self.one.answer(value)

    def settle(self, outcome: Outcome) -> Outcome:
        """Record the whole *outcome*; return what the program gets."""
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
        """Record the answer chunk by chunk from here on, after its *head*."""
        older = head.protocol is None
        self._head = replace(head, headers=unframed(head)) if older else head
        self.effect.begin(self._taken, self.leave)

    def hand_on(
        self, chunk: bytes, said: bytes | None = None, unsearched: str = ""
    ) -> None:
        """Take in the program's next chunk, and its decoded form *said* if compressed."""
        self.effect.require_going()
        self._chunks.append(chunk)
        self._said.append(chunk if said is None else said)
        self._unsearched = None if said is None else unsearched

    def offer(self, whole: Received) -> None:
        """Pass on a *whole* answer: `end` records it.

        Raises:
            EffectFailed: it cannot be written, or a plugin says no; that is recorded.

        """
        self.begin(whole)
        self._chunks, self._said = [*whole.chunks], [*whole.said]
        self._unsearched = None if whole.plain is None else whole.unsearched
        try:
            self._offered = self.effect.offer(self.one.settle(whole))
        except WireError as error:
            self._offered = error
        except EffectFailed as failure:
            self.failure = failure
            raise

    def had(self, count: int) -> None:
        """Take back all chunks but *count*; of -1, the whole answer."""
        if count < len(self._chunks):
            self._offered = None
            del self._chunks[max(count, 0) :], self._said[max(count, 0) :]
        if count < 0:
            self._offered = self._head = None

    def end(self, fault: Fault | None = None) -> EffectFailed | None:
        """Record that the answer ended, by *fault* or by itself."""
        if self._offered is not None:
            return self._ended(self._offered)
        if self._head is not None:
            return self._ended(replace(self._whole, fault=fault))
        if fault is not None:
            return self._ended(fault)
        self.interrupt()
        return None

    def leave(self, *, held: bool = False) -> EffectFailed | None:
        """Record that the program reads no further; *held*, if the run goes on."""
        if self._head is None:
            self.interrupt()
            return None
        return self._ended(replace(self._whole, closed=True), held=held)

    def lose(self) -> None:
        """Record that the program is gone without a word, if the run goes on."""
        if self._offered is not None:
            self.had(-1)
        self.leave(held=True)

    def interrupt(self, stop: Fault | None = None, message: str = "") -> None:
        """Record that the program was stopped while it waited, if the run goes on.

        Without a *stop*, it was cancelled, with that *message*.
        """
        data = dict[str, object]()
        if self._head is not None:
            recorded, _ = self.one.recorded(self._whole, is_open=True)
            data = {**recorded, **self.one.secrets}
        if stop is not None:
            data |= self.one.stopped(stop)
        name = "CancelledError" if stop is None else stop.name
        said = self.one.redaction.text(message if stop is None else stop.message)
        self.effect.cancel(name, data or None, said)

    def _ended(
        self, what: Outcome | Offered | WireError, *, held: bool = False
    ) -> EffectFailed | None:
        try:
            if isinstance(what, WireError):
                raise what
            if isinstance(what, Offered):
                self.effect.accept(what)
            else:
                self.effect.complete(self.one.settle(what), held=held)
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
        whole = replace(self._head, chunks=tuple(self._chunks))
        if self._unsearched is None:
            return whole
        return replace(whole, plain=tuple(self._said), unsearched=self._unsearched)

    @property
    def _recorded_head(self) -> dict[str, object]:
        whole = self._whole
        size = None if self._unsearched is None else sum(map(len, self._said))
        return {**self.one.head(whole, size), **self.one.secrets}

    def _recorded(self, start: int = 0, stop: int | None = None) -> list[object]:
        chunks = self.one.redaction.chunks(self._said, self.one.answered, is_open=True)
        return [readable(chunk) for chunk in chunks[start:stop]]

    def _whole_until(self) -> int:
        """Return how many chunks hold no secret that has only begun."""
        left = self.one.redaction.begun(b"".join(self._said))
        whole = 0
        for chunk in self._said:
            left -= len(chunk)
            if left < 0:
                break
            whole += 1
        return max(whole, self._told)

    def _taken(self) -> dict[str, object] | None:
        if self._head is None or self._told == len(self._said):
            return None
        told, self._told = self._told, self._whole_until()
        if told == self._told:
            return None
        parts = self._recorded(max(told, 0), self._told)
        head = self._recorded_head
        known, self._head_told = self._head_told, head
        return {"parts": parts, "head": None if head == known else head}


def _exchange(
    lane: Run,
    sent: Sent,
    volatile: Iterable[str],
    secrets: Iterable[str],
    names: SecretNames,
) -> Exchange:
    issued = cast("Issued", lane.memory.setdefault("providers.issued", Issued()))
    exact = lane.memory.get(EXACT_BODIES) is not False
    one = Exchange.of(sent, volatile, secrets, names, issued, exact=exact)
    if not lane.has_record or lane.holds(one.kind, one.request):
        return one
    # A run that began when fewer requests were known as calls to models.
    then = Exchange.of(
        sent, volatile, secrets, names, issued, exact=exact, earlier=True
    )
    return then if lane.holds(then.kind, then.request) else one
