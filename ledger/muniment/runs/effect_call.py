"""The one door to the outside: an effect from its request to its outcome.

    <kind>.requested   durable before the performer is called
    <kind>.completed   durable before the program sees the value
    <kind>.failed      durable before the program sees the failure

Rules:

- A live run and a replay raise the same `EffectFailed` and give the same value: the
  decoded twin of what was written. A value that cannot be written exactly is a failure.
- The run's mode (`muniment.runs.modes`) says whether it is answered or performed.
- A plugin's ``before_effect`` may refuse or answer; the outcome names the plugin.
- When a program stops waiting (a timeout) and continues, ``failed`` has the reason
  *cancelled*; a replay waits again. If the run ended there, the effect is in doubt.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, cast

from muniment.encoding.canonical import JsonValue, parse
from muniment.encoding.codec import decode
from muniment.encoding.texts import hidden
from muniment.errors import (
    AppendRefused,
    EffectFailed,
    MunimentError,
    RefusedError,
    ValueRefused,
    origins,
    printable,
)
from muniment.events.types import Prepared
from muniment.formats.statement import Place
from muniment.recorded.compare import content_bytes, twin_of
from muniment.recorded.divergence import Divergence
from muniment.recorded.match_keys import effect_scope, match_key, nth_key
from muniment.recorded.run import Recorded
from muniment.runs.halts.leave import awaited
from muniment.runs.recording import Recording
from muniment.runs.seams import EffectState, GateAnswer
from muniment.runs.waits.own import OwnRequest, taken
from muniment.runs.waits.stand_ins import Reads, standing_in

if TYPE_CHECKING:
    from muniment.runs.waits.called_run import CalledRun

__all__ = ["Call", "begin"]

GRACE = 10.0
"""Seconds, beyond the recorded ones, that a program has to cancel an effect again."""


def begin(
    recording: Recording,
    scope: str,
    name: str,
    request: object,
    beside: Callable[[str], object],
) -> Call:
    """Take a request: find its answer in the record, or make it durable.

    *beside* makes the lane in which a plugin states facts of its own.

    Plugins must be asked about a new call: `Call.before`, `Call.abefore`.

    Raises:
        ValueRefused: the request cannot be written exactly; nothing was written.
        RefusedError: the kind's model says no, or its outcome is in doubt.
        UsageError: it would be recorded as a call, and runs nothing.
        ReplayDiverged: the record holds no such request.

    """
    recording.owner.require()
    kind = recording.port.kind(name)
    request, own, reads = taken(recording, kind, request)
    kind.check_request(request)
    fields = {"request": request, "about": dict(kind.about_request(request)) or None}
    prepared = recording.port.validate(f"{name}.requested", fields)
    content = content_bytes(prepared, "request")
    key = match_key(name, content)
    with recording.lock:
        recording.require_going(scope)
        mode = recording.mode
        item = mode.request(recording, scope, kind, key, fields, prepared)
        ordinal = recording.next_ordinal(scope) if item is None else item.ordinal
        call = Call(
            recording=recording,
            kind=kind,
            request=twin_of(prepared, "request", recording.port.values),
            asked=prepared,
            place=Place(recording.run_id, scope, ordinal),
            inside=effect_scope(scope, name, ordinal),
            idempotency_key=nth_key(
                recording.run_id,
                (scope, ordinal),
                key,
                recording.occurrences,
                shared=kind.shares_key,
            ),
            beside=beside,
            recorded=item,
            own=own,
            reads=reads,
        )
        call.answered = mode.offers(call) if item is None else mode.answers(call, item)
        call.is_new = not (call.answered or call.cut_off)
        if call.is_new and mode.writes:
            call.ask(prepared)
    return call


@dataclass(slots=True, kw_only=True)
class Call(EffectState):
    """One effect on its way from request to outcome."""

    recording: Recording = field()  # pyright: ignore[reportIncompatibleMethodOverride] - never set again
    """The run; without `field` the property of the base would be its default."""
    own: OwnRequest | None = None
    """What performs it, if its kind lets nobody else."""
    reads: Reads | None = None
    struck: EffectFailed | None = None
    """The failure by which a plugin halts the run; written before anybody asks for it."""

    def ask(self, prepared: Prepared) -> None:
        """Make the request durable, as a further attempt if there was one before."""
        if self.recorded is not None:
            prepared.inline["attempt"] = self.recorded.attempts + 1
        if self.doubt is not None:
            prepared.inline["doubt"] = dict(self.doubt)
        self.recording.write(self.recording.draft(prepared, self.place))
        self.started = time.monotonic()

    def perform(self, by: Callable[[object], object], *, awaits: bool) -> object:
        """Return what the performer returns: that of the kind, or the caller's, *by*."""
        if self.own is not None:
            return self.own.perform(self, awaits=awaits)
        return by(self.request)

    def conduct(self, called: CalledRun, *, awaits: bool) -> object:
        """Run what was *called* to its end; return what it returned, or what returns it."""
        children = self.recording.port.children
        return (children.aconduct if awaits else children.conduct)(self, called)

    def before(self) -> None:
        """Let plugins, or the kind in a dry run, answer or refuse a new call."""
        self.recording.mode.settle(self)
        if self.is_new:
            asking, said = self.recording.mode.consult(self), cast("object", None)
            try:
                while True:
                    waiting = asking.send(said)
                    if inspect.iscoroutine(waiting):
                        waiting.close()
                    said = "its before_effect has to be awaited: use run.aeffect(…)"
            except StopIteration as end:
                self._take(cast("GateAnswer | None", end.value))

    async def abefore(self) -> None:
        """Do as `before` does, awaiting plugins where needed."""
        from asyncio import CancelledError  # noqa: PLC0415 - sync code needs none

        if self.is_new:
            asking, said = self.recording.mode.consult(self), cast("object", None)
            try:
                while True:
                    said = await awaited(asking.send(said))
            except StopIteration as end:
                self._take(cast("GateAnswer | None", end.value))
            except CancelledError:
                self.cancel()
                raise

    def _take(self, given: GateAnswer | None) -> None:
        """Apply what a plugin answered, if one did."""
        self.given = given
        if given is not None and given.refusal is not None:
            refusal = RefusedError(given.refusal, rule="effect/plugin")
            raise self.fail(refusal, reason="refused") from refusal
        self.answered = given is not None
        if given is not None and given.halts and given.error is not None:
            self.struck = self.fail(given.error)
            self.recording.fatal.strike(self.struck)

    def answer(self) -> object:
        """Return the value that is known already, or raise the recorded failure."""
        if self.given is not None:
            if self.struck is not None:
                raise self.struck from self.given.error
            if self.given.error is not None:
                raise self.fail(self.given.error, self.reason) from self.given.error
            return self.complete(self.given.value)
        self.recording.mode.settle(self)
        outcome = self.recorded_outcome
        if self.patience is not None:
            self.refuse_uncancelled()
        try:
            data = self.record.data(outcome)
        except MunimentError as error:
            self.recording.halt(error)
            raise
        with self.recording.lock:
            self._count(outcome.type, data)
            self.recording.mode.answered(self.kind, data)
        if outcome.type.endswith(".completed"):
            return decode(data.get("value"), self.recording.port.values)
        self.recording.privacy.answer(self.inside, outcome)
        message = cast("str", data.get("message", ""))
        named = cast("str", data["error_type"])
        failure = self._failure(named, message, data.get("data"))
        self._halts(outcome.raw.get("answered_by"), failure)
        raise failure

    def _halts(self, by: object, failure: EffectFailed) -> None:
        """Let the run fail with *failure* if whoever it is *by* says so."""
        if isinstance(by, dict) and cast("dict[str, object]", by).get("halts") is True:
            self.recording.fatal.strike(failure)

    def _failure(self, error_type: str, message: str, data: JsonValue) -> EffectFailed:
        failure = EffectFailed(self.kind.name, error_type, message, data)
        failure.effect = (self.place.scope, self.place.ordinal)
        return failure

    def complete(self, value: object, *, held: bool = False) -> object:
        """Write the value, and return it as the record gives it back.

        A *held* outcome is written only if the run continues.

        Raises:
            EffectFailed: it cannot be written exactly, or the kind's model says no.

        """
        prepared, twin = self.prepare(value)
        self.write(prepared, held=held)
        told = self.recording.mode.worded(self, "value", cast("JsonValue", twin))
        return twin if told is twin else decode(told, self.recording.port.values)

    def prepare(self, value: object) -> tuple[Prepared, object]:
        """Return the outcome to be written for *value*, and its decoded twin.

        Raises:
            EffectFailed: it cannot be written exactly, or the kind's model says no.

        """
        if (struck := self.recording.fatal.inside(self.inside)) is not None:
            raise self.fail(struck) from struck
        try:
            value = standing_in(self, self.reads, value)
            self.kind.check_response(value)
            said = {} if self.is_copied else self.kind.about_answer(value) or {}
            about = {**said, **self.about} or None
            fields: dict[str, object] = {"value": value, "about": about}
            prepared = self._outcome("completed", fields)
            values = self.recording.port.values
            twin = twin_of(prepared, "value", values, value)  # before it changes
            self.recording.mode.admit_outcome(
                self.recording, prepared.type.name, fields
            )
        except AppendRefused as error:
            was_performed = {"performed": True} if self.given is None else {}
            by = {**error.by, **was_performed}
            self.given = GateAnswer(by=by, refusal=error.message)
            raise self.fail(error, reason="refused") from error
        except ValueRefused as error:
            raise self.fail(error, reason="unrecordable") from error
        except RefusedError as error:
            raise self.fail(error, reason="refused") from error
        except Exception as error:
            raise self.fail(error) from error
        return prepared, twin

    def is_halted_by(self, error: BaseException | None) -> bool:
        """Tell whether *error* comes from what stopped the run, not from the effect."""
        halted = self.recording.halted
        return halted is not None and any(one is halted for one in origins(error))

    def fail(self, error: Exception, reason: str | None = None) -> EffectFailed:
        """Write the failure, and return the error that the program sees."""
        self.recording.privacy.fail(self.inside, error)
        self.halts |= self.recording.fatal.inside(self.inside) is not None
        worded = isinstance(error, RefusedError) or self._is_given(error)
        said = str(getattr(error, "message", "")) if worded else printable(error)
        known = getattr(error, "redacted", False) is True  # by the code that raised it
        hide = str if known else self.recording.redacted
        name = reason or type(error).__name__
        if isinstance(error, EffectFailed) and self._is_given(error):
            name = error.error_type
        fields: dict[str, object] = {"error_type": name, "message": hide(said)}
        fields["reason"] = reason
        try:
            data = hidden(getattr(error, "data", None), hide)
            prepared = self._outcome("failed", {**fields, "data": data})
        except Exception:  # noqa: BLE001 - whatever a foreign attribute raises
            prepared = self._outcome("failed", fields)
        self.write(prepared)
        told = self.recording.mode.worded(
            self, "data", parse(content_bytes(prepared, "data"))
        )
        failure = self._failure(name, cast("str", fields["message"]), told)
        if self.halts:
            self.recording.fatal.strike(failure)
        return failure

    def _is_given(self, error: Exception) -> bool:
        """Tell whether *error* is what a plugin answered with."""
        return self.given is not None and self.given.error is error

    def cancel(
        self, name: str = "CancelledError", data: object = None, message: str = ""
    ) -> None:
        """Record that the program stopped waiting; written only if the run continues.

        *name* is the error that stopped it, *message* its text, as it may be written. A
        replay raises one again that is no ``CancelledError``, such as Ctrl-C.
        """
        fields: dict[str, object] = {
            "error_type": name,
            "message": message,
            "data": data,
            "reason": "cancelled",
        }
        self.write(self._outcome("failed", fields), held=True)

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the cancellation that the record holds; None for none."""
        item = self.recorded
        if self.given is not None or item is None:
            return None
        if item.outcome is None:
            return GRACE  # the run ended, and waited no more
        named = item.outcome.raw.get("error_type") if item.cancelled else None
        return self.took if named == "CancelledError" else None

    @property
    def took(self) -> float:
        """Seconds that the recorded effect took, and some grace."""
        took = cast("int", self.recorded_outcome.raw.get("duration_us", 0))
        return took / 1_000_000 + GRACE

    def recount(self) -> None:
        """Count the recorded cancellation, which happened again, if there is one."""
        if self.recorded is None or self.recorded.outcome is None:
            return
        outcome = self.recorded.outcome
        with self.recording.lock:
            self._count(outcome.type, self.record.data(outcome))
        told = str(outcome.raw.get("error_type")), "", None
        self._halts(outcome.raw.get("answered_by"), self._failure(*told))

    @property
    def record(self) -> Recorded:
        """The record in which the call was found."""
        return cast("Recorded", self.recording.mode.record)

    def refuse_uncancelled(self) -> NoReturn:
        """Diverge, since the program still waits where it stopped in the record."""
        seq = self.recorded_outcome.seq
        found = Divergence(
            "outcome", self.place.scope, seq, "reason", "cancelled", None
        )
        self.recording.mode.declare(self.recording, found)

    def _outcome(self, verb: str, fields: Mapping[str, object]) -> Prepared:
        by = dict[str, object](
            {"who": "performer"} if self.given is None else self.given.by
        )
        if self.halts and verb == "failed":
            by["halts"] = True
        elapsed = round((time.monotonic() - self.started) * 1_000_000)
        return self.recording.port.validate(
            f"{self.kind.name}.{verb}",
            {**fields, "answered_by": by, "duration_us": elapsed},
        )

    def write(self, prepared: Prepared, *, held: bool = False) -> None:
        """Write the outcome, and count it; *held*, only if the run continues."""
        recording = self.recording
        recording.owner.require()
        with recording.lock:
            recording.mode.outcome(self, prepared, held=held)
            self._count(prepared.type.name, prepared)

    def _count(self, kind: str, outcome: dict[str, JsonValue] | Prepared) -> None:
        digest, scope = self.recording.digest, self.place.scope
        digest.add(scope, f"{self.kind.name}.requested", self.asked)
        digest.add(scope, kind, outcome)
