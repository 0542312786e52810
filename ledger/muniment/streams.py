"""Effects whose answers are handed on in parts, as they come.

    llm.streamed  {"head": {"status": 200, …}, "parts": ["data: a…", …]}

    stream = run.open("llm", request)
    if stream.answered:
        value = stream.answer()
    else:
        stream.begin(taken, left)           # and hand the parts on
        value = stream.complete(whole)      # or fail(error)

Rules:

- A part is handed on at once. Before the next fact, effect or end of the run is
  written, those that were handed on are: what follows may have come of them.
- The outcome holds the whole answer. An effect during which nothing else was written
  has no event of its parts.
- A stream that nobody reads on, or closes, ends with the run.
- A crash loses only parts that nothing was written after. A resume that finds parts,
  and what came of them, but no end answers with these parts (`parts`), and the effect
  fails after them; where nothing came of them, it is performed again, or in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from muniment.batch import Draft
from muniment.canonical import JsonValue
from muniment.divergence import Divergence
from muniment.errors import EffectFailed
from muniment.recorded import Recorded
from muniment.values import decode

if TYPE_CHECKING:
    from muniment.effects import Call
    from muniment.events import Place

__all__ = ["OpenEffect", "Taken"]

Taken: TypeAlias = Callable[[], "Mapping[str, object] | None"]
"""Gives the fields of ``<kind>.streamed`` for what was handed on since; None for none."""


class OpenEffect:
    """One effect that its caller performs, from request to outcome."""

    __slots__ = ("_call", "_left", "_taken", "performing")

    def __init__(self, call: Call, performing: AbstractContextManager[object]) -> None:
        self._call = call
        self.performing = performing
        """What the code that performs it runs in: the lane inside the effect."""
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

    def answer(self) -> object:
        """Return the value that is known already, or raise the recorded failure."""
        return self._call.answer()

    @property
    def cancelled(self) -> JsonValue:
        """What had come of an answer until the program stopped waiting for it."""
        call = self._call
        if call.patience is None or call.recorded is None or not call.recorded.outcome:
            return None
        record = cast("Recorded", call.recording.record_of)
        return record.data(call.recorded.outcome).get("data")

    @property
    def turns(self) -> list[tuple[int, int]]:
        """When the parts of a known answer came: how many, before which event.

        The last says when it ended. Empty where nothing else was written meanwhile.
        """
        item = self._call.recorded
        if item is None or item.outcome is None or not item.streamed:
            return []
        record = cast("Recorded", self._call.recording.record_of)
        count, found = 0, list[tuple[int, int]]()
        for event in item.streamed:
            count += len(cast("list[object]", record.data(event)["parts"]))
            found.append((count, event.seq))
        return [*found, (count, item.outcome.seq)]

    def is_due(self, seq: int) -> bool:
        """Tell whether the program asked for all that it had before the event *seq*."""
        with self._call.recording.lock:
            return cast("Recorded", self._call.recording.record_of).has_asked(seq)

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        return self._call.patience

    @property
    def took(self) -> float:
        """Seconds that the recorded effect took, and some grace."""
        return self._call.took

    def recount(self) -> None:
        """Count the recorded cancellation, which came again."""
        self._call.recount()

    @property
    def parts(self) -> tuple[object, list[object]] | None:
        """Head and parts that were recorded, where the record has no end of them."""
        call = self._call
        if not call.cut_off or call.recorded is None:
            return None
        record = cast("Recorded", call.recording.record_of)
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
            self._call.recording.streams.append(self)

    def require_going(self) -> None:
        """Raise what stopped the run."""
        self._call.recording.require_going()

    def draft(self) -> Draft | None:
        """Return the event of the parts that were handed on since, if any were."""
        call = self._call
        fields = None if self._taken is None else self._taken()
        if fields is None:
            return None
        prepared = call.recording.port.validate(f"{call.kind.name}.streamed", fields)
        return call.recording.draft(prepared, call.place)

    def close(self) -> None:
        """Write the outcome of a stream that nobody reads on."""
        if self._left is not None:
            self._left()

    def complete(self, value: object, *, held: bool = False) -> object:
        """Write the whole answer; where it is *held*, only if the run goes on."""
        self._call.recording.owner.require()
        with self._call.recording.lock:
            if held:
                self._call.recording.take_parts()
            self._end()
            return self._call.complete(value, held=held)

    def fail(self, error: Exception) -> EffectFailed:
        """Write the failure, and return what the program gets to see."""
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._end()
            return self._call.fail(error)

    def cancel(self, name: str = "CancelledError", data: object = None) -> None:
        """Say by which error the program stopped waiting; it stands if the run goes on.

        *data* is what had come until then.
        """
        self._call.recording.owner.require()
        with self._call.recording.lock:
            self._call.recording.take_parts()
            self._end()
            self._call.cancel(name, data)

    def read_on(self) -> NoReturn:
        """Diverge, since the program reads on where it stopped in the record."""
        call = self._call
        if call.patience is not None:
            call.refuse_uncancelled()
        seq = None
        if call.recorded is not None and call.recorded.outcome is not None:
            seq = call.recorded.outcome.seq
        scope = call.place.scope
        found = Divergence("outcome", scope, seq, "value.closed", True, False)
        call.recording.tell("differs", found.to_json())
        call.recording.report(found)

    def _end(self) -> None:
        recording = self._call.recording
        self._taken = None
        if self in recording.streams:
            recording.streams.remove(self)
