"""The one door to the outside: an effect from its request to its outcome.

    <kind>.requested   durable before the performer is called
    <kind>.completed   durable before the program sees the value
    <kind>.failed      durable before the program sees the failure

Rules:

- Live and replay raise the same `EffectFailed`, and give the same value: the decoded
  twin of what was written. A value that cannot be written exactly is a failure.
- In a replay an effect is answered from the record; a reproducible one is performed
  again and its outcome compared.
- In a resume a completed effect is answered; the failure that ended the run is
  performed as a new attempt, every other one was dealt with by the program and is
  answered; a request without an outcome is in doubt, and its kind says what then.
- Where the record holds parts of an answer and what came of them, but no end, a resume
  gives these parts, and the effect fails after them; without what came of them, the
  request is in doubt.
- A resume cannot answer a secret, which is in no record: such an effect is in doubt, too.
- A plugin's ``before_effect`` may refuse or answer; the outcome names it.
- A program that stops waiting (a timeout) gets ``failed`` with the reason *cancelled*,
  if it goes on; a replay waits again. When the run ended with it, it is in doubt.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NoReturn, cast

from muniment.canonical import JsonValue, parse
from muniment.comparing import comparable, content_bytes, first_difference
from muniment.divergence import Divergence
from muniment.doubt import Refusal, answered_secret, outcome_unknown
from muniment.errors import (
    CannotTellError,
    EffectFailed,
    MunimentError,
    RefusedError,
    ValueRefused,
    origins,
    printable,
)
from muniment.event_types import Prepared
from muniment.events import Event, Place
from muniment.hiding import hidden
from muniment.kinds import EffectKind
from muniment.recorded import Item, Recorded, effect_scope, match_key
from muniment.runs import Recording
from muniment.seams import Answer
from muniment.value_plain import reread
from muniment.values import decode

__all__ = ["Call", "begin"]

GRACE = 10.0
"""Seconds beyond the recorded ones in which a program cancels what it had cancelled."""


def begin(recording: Recording, scope: str, name: str, request: object) -> Call:
    """Take a request: find its answer in the record, or make it durable.

    Raises:
        ValueRefused: the request cannot be written exactly; nothing was written.
        RefusedError: the kind's model or a plugin says no, or its outcome is in doubt.
        ReplayDiverged: the record holds no such request.

    """
    recording.owner.require()
    kind = recording.port.kind(name)
    kind.check_request(request)
    fields = {"request": request, "about": dict(kind.about_request(request)) or None}
    prepared = recording.port.validate(f"{name}.requested", fields)
    content = content_bytes(prepared, "request")
    key = match_key(name, content)
    with recording.lock:
        recording.require_going()
        recording.tell("effect", scope, name, kind.reproducible, prepared)
        item = _find(recording, scope, key, prepared, fields)
        ordinal = recording.next_ordinal(scope) if item is None else item.ordinal
        call = Call(
            recording,
            kind,
            _twin(prepared, "request", recording),
            prepared,
            Place(recording.run_id, scope, ordinal),
            effect_scope(scope, name, ordinal),
            _idempotency_key(recording, scope, key),
            item,
        )
        call.answered = item is not None and call.is_answered_by(item)
        performed = not (call.answered or call.cut_off)
        if performed and recording.writes:
            call.ask(prepared)
    if performed:
        call.before()
    return call


def _find(
    recording: Recording,
    scope: str,
    key: str,
    prepared: Prepared,
    fields: Mapping[str, object],
) -> Item | None:
    record, kind = recording.record_of, prepared.type.name
    item = None if record is None else record.effect(scope, key)
    recording.compared += item is not None
    if item is None and recording.mode != "dry":
        recording.port.admit(kind, fields, recording.run_id)
    if item is None and record is not None and recording.mode == "replay":
        expected = record.next_in(scope, effect=True)
        found = recording.difference(expected, scope, kind, comparable(prepared))
        recording.report(found)
    return item


def _twin(
    prepared: Prepared, name: str, recording: Recording, given: object = None
) -> object:
    """Return a content as the record gives it back: equal, and shared with nobody.

    *given* is what was written, where that is at hand.
    """
    content = prepared.contents.get(name)
    if content is None or not content.plain:
        return decode(parse(content_bytes(prepared, name)), recording.port.values)
    return reread(given, content.data)


def _idempotency_key(recording: Recording, scope: str, key: str) -> str:
    nth = recording.occurrences.get((scope, key), 0)
    recording.occurrences[scope, key] = nth + 1
    text = f"{recording.run_id}\0{scope}\0{key}\0{nth}"
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(slots=True)
class Call:
    """One effect on its way from request to outcome."""

    recording: Recording
    kind: EffectKind
    request: object
    """The decoded twin of what was asked: what the performer gets."""
    asked: Prepared
    """The request as it is written."""
    place: Place
    inside: str
    """The scope of what the performer records."""
    idempotency_key: str
    recorded: Item | None = None
    answered: bool = False
    cut_off: bool = False
    """Whether the record holds parts of its answer, and what came of them, but no end."""
    given: Answer | None = None
    started: float = field(default_factory=time.monotonic)

    def is_answered_by(self, item: Item) -> bool:
        """Tell whether the record answers, or the performer has to be called."""
        recording = self.recording
        if recording.mode == "replay":
            try:
                item.settled(recording.run_id)
            except CannotTellError as error:
                raise recording.halt(error) from None
            return not self.kind.reproducible or item.cancelled
        record = cast("Recorded", recording.record_of)
        self.cut_off = item.outcome is None and record.went_on(item)
        told = item.streamed if item.outcome is None else [item.outcome]
        lacks = self.kind.names_secrets and any(
            self.kind.holds_secret(record.data(event)) for event in told
        )
        if not self.cut_off and (item.outcome is None or record.was_cut_off(item)):
            self._require_repeat(item, outcome_unknown)
            return False
        if not (self.cut_off or item.completed) and record.was_fatal(item):
            return False
        if lacks:
            self._require_repeat(item, answered_secret)
        self.cut_off = self.cut_off and not lacks
        return not (self.cut_off or lacks)

    def _require_repeat(self, item: Item, refusal: Refusal) -> None:
        """Raise *refusal*, unless the effect may be performed again."""
        decision: str = self.kind.in_doubt(self.request)
        if decision != "repeat" and self.recording.decide is not None:
            decision = self.recording.decide(self.kind.name, self.request)
        if decision != "repeat":
            place = f"run {self.recording.run_id}, event {item.event.seq}"
            raise self.recording.halt(refusal(self.kind, place))

    def ask(self, prepared: Prepared) -> None:
        """Make the request durable, as a further attempt where there was one."""
        if self.recorded is not None:
            prepared.inline["attempt"] = self.recorded.attempts + 1
        self.recording.write(self.recording.draft(prepared, self.place))
        self.started = time.monotonic()

    def before(self) -> None:
        """Let plugins, or the kind in a dry run, answer or refuse."""
        recording = self.recording
        if recording.mode == "dry":
            if self.kind.dry is None:
                end = RefusedError(
                    f"the dry run ends here: {self.kind.name} cannot say its answer",
                    rule="run/dry-end",
                    place=f"run {recording.run_id}",
                )
                raise recording.halt(end)
            self.given = Answer(self.kind.dry(self.request), {"who": "dry run"})
        elif recording.writes:
            self.given = recording.port.before_effect(
                recording, self.place.scope, self.kind.name, self.request
            )
            if self.given is not None and self.given.refusal is not None:
                refusal = RefusedError(self.given.refusal, rule="effect/plugin")
                raise self.fail(refusal, reason="refused") from refusal
        self.answered = self.given is not None

    def permitted(self) -> AbstractContextManager[object]:
        """Lift the guards of a replay while a reproducible effect is performed."""
        permit = self.recording.permit
        return nullcontext() if permit is None else permit()

    def answer(self) -> object:
        """Return the value that is known already, or raise the recorded failure."""
        if self.given is not None:
            return self.complete(self.given.value)
        record = cast("Recorded", self.recording.record_of)
        outcome = self._recorded_outcome
        if self.patience is not None:
            self.refuse_uncancelled()
        try:
            data = record.data(outcome)
        except MunimentError as error:
            self.recording.halt(error)
            raise
        with self.recording.lock:
            self._count(outcome.type, data)
            if self.kind.holds_secret(data):
                self.recording.answer_secret()
        if outcome.type.endswith(".completed"):
            return decode(data.get("value"), self.recording.port.values)
        message = cast("str", data.get("message", ""))
        raise self._failure(cast("str", data["error_type"]), message, data.get("data"))

    def _failure(self, error_type: str, message: str, data: JsonValue) -> EffectFailed:
        failure = EffectFailed(self.kind.name, error_type, message, data)
        failure.effect = (self.place.scope, self.place.ordinal)
        return failure

    def complete(self, value: object, *, held: bool = False) -> object:
        """Write the value, and return it as the record gives it back.

        Where it is *held*, it stands only if the run goes on.

        Raises:
            EffectFailed: it cannot be written exactly, or the kind's model says no.

        """
        try:
            self.kind.check_response(value)
            about = self.kind.about_answer(value)
            fields: dict[str, object] = {"value": value, "about": about}
            prepared = self._outcome("completed", fields)
            # At once: what is done to the value from here on is not in the record.
            twin = _twin(prepared, "value", self.recording, value)
            if self.recording.writes:
                self.recording.port.admit(
                    prepared.type.name, fields, self.recording.run_id
                )
        except ValueRefused as error:
            raise self.fail(error, reason="unrecordable") from error
        except RefusedError as error:
            raise self.fail(error, reason="refused") from error
        except Exception as error:
            raise self.fail(error) from error
        self._write(prepared, held=held)
        return twin

    def is_halted_by(self, error: BaseException | None) -> bool:
        """Tell whether *error* comes of what stopped the run, and not of the effect."""
        halted = self.recording.halted
        return halted is not None and any(one is halted for one in origins(error))

    def fail(self, error: Exception, reason: str | None = None) -> EffectFailed:
        """Write the failure, and return what the program gets to see."""
        said = error.message if isinstance(error, RefusedError) else printable(error)
        fields: dict[str, object] = {
            "error_type": reason or type(error).__name__,
            "message": self.recording.redacted(said),
            "reason": reason,
        }
        try:
            data = hidden(getattr(error, "data", None), self.recording.redacted)
            prepared = self._outcome("failed", {**fields, "data": data})
        except Exception:  # noqa: BLE001 - whatever a foreign attribute raises
            # What the error carries has no exact form; its type and message have.
            prepared = self._outcome("failed", fields)
        self._write(prepared)
        return self._failure(
            cast("str", fields["error_type"]),
            cast("str", fields["message"]),
            parse(content_bytes(prepared, "data")),
        )

    def cancel(self, name: str = "CancelledError", data: object = None) -> None:
        """Say that the program stopped waiting, which stands only if it goes on.

        *name* is the error by which it did: one that is no ``CancelledError``, such as
        Ctrl-C, comes from nowhere in a replay, and is raised again.
        """
        fields: dict[str, object] = {
            "error_type": name,
            "message": "",
            "data": data,
            "reason": "cancelled",
        }
        self._write(self._outcome("failed", fields), held=True)

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        item = self.recorded
        if self.given is not None or item is None or not item.cancelled:
            return None
        named = self._recorded_outcome.raw.get("error_type")
        return self.took if named == "CancelledError" else None

    @property
    def took(self) -> float:
        """Seconds that the recorded effect took, and some grace."""
        took = cast("int", self._recorded_outcome.raw.get("duration_us", 0))
        return took / 1_000_000 + GRACE

    def recount(self) -> None:
        """Count the recorded cancellation, which came again."""
        outcome, record = self._recorded_outcome, self.recording.record_of
        with self.recording.lock:
            self._count(outcome.type, cast("Recorded", record).data(outcome))

    @property
    def _recorded_outcome(self) -> Event:
        outcome = None if self.recorded is None else self.recorded.outcome
        if outcome is None:
            raise AssertionError("a call that the record answers has an outcome")
        return outcome

    def refuse_uncancelled(self) -> NoReturn:
        """Diverge, since the program goes on waiting where it stopped in the record."""
        seq = self._recorded_outcome.seq
        found = Divergence(
            "outcome", self.place.scope, seq, "reason", "cancelled", None
        )
        self.recording.tell("differs", found.to_json())
        self.recording.report(found)

    def _outcome(self, verb: str, fields: Mapping[str, object]) -> Prepared:
        by = {"who": "performer"} if self.given is None else dict(self.given.by)
        elapsed = round((time.monotonic() - self.started) * 1_000_000)
        return self.recording.port.validate(
            f"{self.kind.name}.{verb}",
            {**fields, "answered_by": by, "duration_us": elapsed},
        )

    def _write(self, prepared: Prepared, *, held: bool = False) -> None:
        recording = self.recording
        recording.owner.require()
        with recording.lock:
            if recording.mode == "replay":
                at = self.place.ordinal
                recording.tell(
                    "outcome", self.place.scope, at, prepared.type.name, prepared
                )
                self._compare(prepared.type.name, comparable(prepared))
            elif recording.writes and held:
                recording.hold(recording.draft(prepared, self.place))
            elif recording.writes:
                recording.write(recording.draft(prepared, self.place))
            self._count(prepared.type.name, prepared)

    def _compare(self, kind: str, outcome: dict[str, JsonValue]) -> None:
        record = cast("Recorded", self.recording.record_of)
        recorded = self._recorded_outcome
        difference = first_difference(recorded.type, kind, "type")
        if difference is None:
            difference = first_difference(record.data(recorded), outcome)
        if difference is not None:
            found = Divergence("outcome", self.place.scope, recorded.seq, *difference)
            self.recording.report(found)

    def _count(self, kind: str, outcome: dict[str, JsonValue] | Prepared) -> None:
        digest, scope = self.recording.digest, self.place.scope
        digest.add(scope, f"{self.kind.name}.requested", self.asked)
        digest.add(scope, kind, outcome)
