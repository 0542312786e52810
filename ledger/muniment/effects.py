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
- A plugin's ``before_effect`` may refuse or answer; the outcome names it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import cast

from muniment.canonical import JsonValue, parse
from muniment.comparing import comparable, content_bytes, first_difference
from muniment.divergence import Divergence
from muniment.errors import (
    CannotTellError,
    EffectFailed,
    RefusedError,
    ValueRefused,
)
from muniment.event_types import Prepared
from muniment.events import Place
from muniment.kinds import EffectKind
from muniment.recorded import Item, Recorded, effect_scope, match_key
from muniment.runs import Answer, Recording
from muniment.values import decode

__all__ = ["Call", "begin"]


def begin(recording: Recording, scope: str, name: str, request: object) -> Call:
    """Take a request: find its answer in the record, or make it durable.

    Raises:
        ValueRefused: the request cannot be written exactly; nothing was written.
        RefusedError: the kind's model or a plugin says no, or its outcome is in doubt.
        ReplayDiverged: the record holds no such request.

    """
    kind = recording.port.kind(name)
    kind.check_request(request)
    fields = {"request": request, "about": dict(kind.about_request(request)) or None}
    prepared = recording.port.prepare(f"{name}.requested", fields, recording.run_id)
    content = content_bytes(prepared, "request")
    key = match_key(name, content)
    with recording.lock:
        item = _find(recording, scope, key, prepared)
        ordinal = recording.next_ordinal(scope) if item is None else item.ordinal
        call = Call(
            recording,
            kind,
            decode(parse(content), recording.port.values),
            comparable(prepared),
            Place(recording.run_id, scope, ordinal),
            effect_scope(scope, name, ordinal),
            _idempotency_key(recording, scope, key),
            item,
        )
        call.answered = item is not None and call.is_answered_by(item)
        if not call.answered and recording.writes:
            call.ask(prepared)
    if not call.answered:
        call.before()
    return call


def _find(
    recording: Recording, scope: str, key: str, prepared: Prepared
) -> Item | None:
    record = recording.record_of
    if record is None:
        return None
    item = record.effect(scope, key)
    recording.compared += item is not None
    if item is None and recording.mode == "replay":
        expected = record.next_in(scope, effect=True)
        recording.diverge(scope, expected, prepared.type.name, comparable(prepared))
    return item


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
    asked: dict[str, JsonValue]
    """The request as it is compared."""
    place: Place
    inside: str
    """The scope of what the performer records."""
    idempotency_key: str
    recorded: Item | None = None
    answered: bool = False
    given: Answer | None = None
    started: float = field(default_factory=time.monotonic)

    def is_answered_by(self, item: Item) -> bool:
        """Tell whether the record answers, or the performer has to be called."""
        recording = self.recording
        if recording.mode == "replay":
            if item.outcome is None:
                raise CannotTellError(
                    "the record ends before this effect's outcome",
                    rule="replay/open",
                    place=f"run {recording.run_id}, event {item.event.seq}",
                    remedy=f"`muniment resume {recording.run_id}` goes on with the run",
                )
            return not self.kind.reproducible
        if item.outcome is None:
            self._settle_doubt(item)
            return False
        record = cast("Recorded", recording.record_of)
        return item.completed or not record.was_fatal(item)

    def _settle_doubt(self, item: Item) -> None:
        decision: str = self.kind.on_doubt
        if decision != "repeat" and self.recording.decide is not None:
            decision = self.recording.decide(self.kind.name, self.request)
        if decision != "repeat":
            raise RefusedError(
                f"a {self.kind.name} effect was requested and its outcome is unknown; "
                f"its kind says {self.kind.on_doubt}",
                rule="effect/doubt",
                place=f"run {self.recording.run_id}, event {item.event.seq}",
                remedy="find out whether it happened; `--repeat-doubtful` performs it "
                "again",
            )

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
                raise RefusedError(
                    f"the dry run ends here: {self.kind.name} cannot say its answer",
                    rule="run/dry-end",
                    place=f"run {recording.run_id}",
                )
            self.given = Answer(self.kind.dry(self.request), {"who": "dry run"})
        elif recording.writes:
            try:
                self.given = recording.port.before_effect(
                    recording, self.place.scope, self.kind.name, self.request
                )
            except RefusedError as error:
                self.given = Answer(None, {"who": "plugin", "name": error.place})
                raise self.fail(error, reason="refused") from error
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
        outcome = cast("Item", self.recorded).outcome
        if outcome is None:
            raise AssertionError("a call that the record answers has an outcome")
        data = record.data(outcome)
        with self.recording.lock:
            self._count(outcome.type, data)
        if outcome.type.endswith(".completed"):
            return decode(data.get("value"), self.recording.port.values)
        message = cast("str", data.get("message", ""))
        return self._raise(cast("str", data["error_type"]), message, data.get("data"))

    def _raise(self, error_type: str, message: str, data: JsonValue) -> object:
        raise self._failure(error_type, message, data)

    def _failure(self, error_type: str, message: str, data: JsonValue) -> EffectFailed:
        failure = EffectFailed(self.kind.name, error_type, message, data)
        failure.effect = (self.place.scope, self.place.ordinal)
        return failure

    def complete(self, value: object) -> object:
        """Write the value, and return it as the record gives it back.

        Raises:
            EffectFailed: it cannot be written exactly, or the kind's model says no.

        """
        try:
            self.kind.check_response(value)
            about = dict(self.kind.about_response(value)) or None
            prepared = self._outcome("completed", {"value": value, "about": about})
        except ValueRefused as error:
            raise self.fail(error, reason="unrecordable") from error
        except RefusedError as error:
            raise self.fail(error, reason="refused") from error
        self._write(prepared)
        return decode(
            parse(content_bytes(prepared, "value")), self.recording.port.values
        )

    def fail(self, error: Exception, reason: str | None = None) -> EffectFailed:
        """Write the failure, and return what the program gets to see."""
        message = error.message if isinstance(error, RefusedError) else str(error)
        fields: dict[str, object] = {
            "error_type": reason or type(error).__name__,
            "message": message.encode("utf-8", "backslashreplace").decode(),
            "reason": reason,
        }
        try:
            prepared = self._outcome(
                "failed", {**fields, "data": getattr(error, "data", None)}
            )
        except ValueRefused:
            # What the error carries has no exact form; its type and message have.
            prepared = self._outcome("failed", fields)
        self._write(prepared)
        return self._failure(
            cast("str", fields["error_type"]),
            cast("str", fields["message"]),
            parse(content_bytes(prepared, "data")),
        )

    def _outcome(self, verb: str, fields: Mapping[str, object]) -> Prepared:
        by = {"who": "performer"} if self.given is None else dict(self.given.by)
        elapsed = round((time.monotonic() - self.started) * 1_000_000)
        return self.recording.port.prepare(
            f"{self.kind.name}.{verb}",
            {**fields, "answered_by": by, "duration_us": elapsed},
            self.recording.run_id,
        )

    def _write(self, prepared: Prepared) -> None:
        recording, outcome = self.recording, comparable(prepared)
        with recording.lock:
            if recording.mode == "replay":
                self._compare(prepared.type.name, outcome)
            elif recording.writes:
                recording.write(recording.draft(prepared, self.place))
            self._count(prepared.type.name, outcome)

    def _compare(self, kind: str, outcome: dict[str, JsonValue]) -> None:
        record = cast("Recorded", self.recording.record_of)
        recorded = cast("Item", self.recorded).outcome
        if recorded is None:
            raise AssertionError("a replay compares with a recorded outcome")
        expected: JsonValue = {"type": recorded.type, **record.data(recorded)}
        difference = first_difference(expected, {"type": kind, **outcome})
        if difference is not None:
            found = Divergence("outcome", self.place.scope, recorded.seq, *difference)
            self.recording.report(found)

    def _count(self, kind: str, outcome: dict[str, JsonValue]) -> None:
        digest, scope = self.recording.digest, self.place.scope
        digest.add(scope, f"{self.kind.name}.requested", self.asked)
        digest.add(scope, kind, outcome)
