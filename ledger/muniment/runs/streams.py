"""Effects whose answers are passed on in parts, as they arrive.

    llm.streamed  {"head": {"status": 200, …}, "parts": ["data: a…", …]}

    stream = run.open("llm", request)
    if stream.answered:
        value = stream.answer()
    else:
        stream.begin(taken, left)           # and hand the parts on
        value = stream.complete(whole)      # or fail(error)

        offered = stream.offer(whole)       # to a program that may not take it:
        stream.accept(offered)              # or cancel(), or fail(error)

Rules:

- A part is passed on at once. Parts that were passed on are written before the next
  fact, effect or end of the run, which may depend on them.
- The outcome holds the whole answer. An effect during which nothing else was written
  has no event of its parts.
- A whole answer can be offered: it is checked first, passed on, and written once it was
  taken. If it was not, the effect ends in another way.
- An owner that lost the run passes nothing on.
- A stream that nobody reads further or closes ends with the run.
- A crash loses only parts after which nothing was written. A resume that finds parts
  and later events, but no end, answers with these parts (`parts`), and the effect fails
  after them; without later events, it is performed again, or in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode
from muniment.errors import EffectFailed, RefusedError, UsageError
from muniment.events.types import Prepared
from muniment.recorded.divergence import Divergence
from muniment.storage.sealing import Draft

if TYPE_CHECKING:
    from muniment.formats.statement import Place
    from muniment.runs.effect_call import Call
    from muniment.runs.seams import GateAnswer

__all__ = ["Offered", "OpenEffect", "Taken"]

Taken: TypeAlias = Callable[[], "Mapping[str, object] | None"]
"""Returns the fields of ``<kind>.streamed`` for new parts; None if there are none."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A whole answer that was checked, and is written once it was taken."""

    outcome: Prepared


class OpenEffect:
    """One effect that its caller performs, from request to outcome."""

    __slots__ = ("_call", "_left", "_taken", "performing")

    def __init__(self, call: Call, performing: AbstractContextManager[object]) -> None:
        call.recording.mode.settle(call)
        self._call = call
        self.performing = performing
        """The lane inside the effect, in which the code that performs it runs."""
        self._taken: Taken | None = None
        self._left: Callable[[], object] | None = None

    @property
    def place(self) -> Place:
        """The run, scope and ordinal of the effect."""
        return self._call.place

    @property
    def answered(self) -> bool:
        """Whether the record, or a plugin, has its outcome."""
        return self._call.answered

    def translate(self, made: Callable[[GateAnswer], GateAnswer]) -> None:
        """Let what a plugin answered be what *made* returns for it, before it is written.

        Raises:
            RefusedError: a fork's caller gave it, and it is another then: whoever verifies
                the fork compares what was declared.

        """
        call = self._call
        given = None if call.struck is not None else call.given
        if given is None:
            return
        call.given = made(given)
        if given.by.get("who") == "change" and call.given != given:
            refusal = RefusedError(
                "the changed value is no answer as this program's are recorded",
                rule="fork/change",
                place=f"run {call.recording.run_id}, scope {call.place.scope!r}",
                remedy="give one of the same shape as the recorded one",
            )
            raise call.recording.halt(refusal)

    def answer(self) -> object:
        """Return the value that is known already, or raise the recorded failure."""
        return self._call.answer()

    @property
    def cancelled(self) -> JsonValue:
        """What had arrived of an answer until the program stopped waiting for it."""
        call = self._call
        if call.patience is None or call.recorded is None or not call.recorded.outcome:
            return None
        return call.record.data(call.recorded.outcome).get("data")

    @property
    def turns(self) -> list[tuple[int, int]]:
        """When the parts of a known answer arrived: how many, before which event.

        The last says when it ended. Empty if nothing else was written meanwhile.
        """
        item = self._call.recorded
        if item is None or item.outcome is None or not item.streamed:
            return []
        record = self._call.record
        count, found = 0, list[tuple[int, int]]()
        for event in item.streamed:
            count += len(cast("list[object]", record.data(event)["parts"]))
            found.append((count, event.seq))
        return [*found, (count, item.outcome.seq)]

    @property
    def ended(self) -> int:
        """The event of the recorded outcome; 0 if there is none."""
        item = self._call.recorded
        return 0 if item is None or item.outcome is None else item.outcome.seq

    def is_due(self, seq: int) -> bool:
        """Tell whether the program asked again for all it had before the event *seq*."""
        with self._call.recording.lock:
            return self._call.record.has_asked(seq)

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        return self._call.patience

    @property
    def took(self) -> float:
        """Seconds that the recorded effect took, and some grace."""
        return self._call.took

    @property
    def lasted(self) -> float:
        """Seconds that the recorded effect took."""
        told = self._call.recorded_outcome.raw.get("duration_us", 0)
        return cast("int", told) / 1_000_000

    def recount(self) -> None:
        """Count the recorded cancellation, which happened again."""
        self._call.recount()

    @property
    def parts(self) -> tuple[object, list[object]] | None:
        """The recorded head and parts, if the record has no end of the answer."""
        call = self._call
        if not call.cut_off or call.recorded is None:
            return None
        record = call.record
        values, head, parts = call.recording.port.values, None, list[object]()
        for event in call.recorded.streamed:
            data = record.data(event)
            head = decode(data["head"], values) if "head" in data else head
            parts += cast("list[object]", decode(data["parts"], values))
        return head, parts

    def begin(self, taken: Taken, left: Callable[[], object]) -> None:
        """Ask *taken* for parts before anything else is written; *left* ends it."""
        self._taken, self._left = taken, left
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._call.recording.require_going()
            self._call.recording.require_owned()
            self._call.recording.streams.append(self)

    def require_going(self) -> None:
        """Raise what stopped the run."""
        self._call.recording.owner.require()
        self._call.recording.require_going()

    def draft(self) -> Draft | None:
        """Return the event of the parts passed on since the last one, if any were."""
        call = self._call
        fields = None if self._taken is None else self._taken()
        if fields is None:
            return None
        prepared = call.recording.port.validate(f"{call.kind.name}.streamed", fields)
        return call.recording.draft(prepared, call.place)

    def close(self) -> None:
        """Write the outcome of a stream that nobody reads any further."""
        if self._left is not None:
            self._left()

    def complete(self, value: object, *, held: bool = False) -> object:
        """Write the whole answer; if *held*, only if the run continues."""
        self._call.recording.owner.require()
        self._refuse_answered()
        with self._call.recording.lock:
            if held:
                self._call.recording.take_parts()
            self._end()
            return self._call.complete(value, held=held)

    def offer(self, value: object) -> Offered:
        """Check the whole answer, which is passed on next.

        Raises:
            EffectFailed: it cannot be written exactly, or is refused; that is written.

        """
        self._call.recording.owner.require()
        self._refuse_answered()
        with self._call.recording.lock:
            try:
                return Offered(self._call.prepare(value)[0])
            except EffectFailed:
                self._end()
                raise

    def accept(self, offered: Offered) -> None:
        """Write the answer that was *offered*, and taken."""
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._end()
            self._call.write(offered.outcome)

    def fail(self, error: Exception) -> EffectFailed:
        """Write the failure, and return the error that the program sees."""
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._end()
            return self._call.fail(error)

    def cancel(
        self, name: str = "CancelledError", data: object = None, message: str = ""
    ) -> None:
        """Record the error that ended the waiting; written only if the run continues.

        *data* is what had arrived until then; *message* is the error's text, as it may
        be written.
        """
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._call.recording.take_parts()
            self._end()
            self._call.cancel(name, data, message)

    def read_on(self) -> NoReturn:
        """Diverge, since the program reads further than in the record."""
        call = self._call
        if call.patience is not None:
            call.refuse_uncancelled()
        seq = None
        if call.recorded is not None and call.recorded.outcome is not None:
            seq = call.recorded.outcome.seq
        scope = call.place.scope
        found = Divergence("outcome", scope, seq, "value.closed", True, False)
        call.recording.mode.declare(call.recording, found)

    def _refuse_answered(self) -> None:
        """Refuse an answer of the performer's to what a plugin answered, or failed."""
        item = self._call.recorded
        recorded = self._call.answered and item is not None and item.is_gated
        if recorded and self._call.recording.mode.replays:
            with suppress(EffectFailed):  # it is counted, as it was when it was written
                self._call.answer()
        if self._call.given is not None or recorded:
            raise UsageError(
                "a plugin has answered this effect",
                rule="effect/answered",
                place=f"{self._call.kind.name} in {self._call.place.scope!r}",
                remedy="look at `answered` first, and take `answer()`",
            )

    def _end(self) -> None:
        recording = self._call.recording
        self._taken = None
        if self in recording.streams:
            recording.streams.remove(self)
