"""Running a program: open a run, call the program, finish with its result.

Rules:

- ``run.started`` is durable before the program is called. Its end is ``run.completed``,
  ``run.failed``, ``run.paused``, or ``run.interrupted`` (Ctrl-C, a cancelled task, an
  effect in doubt), which can be resumed; a crash leaves the run open, which can be
  resumed too. A program that says that nobody needs it ends with ``run.canceled``.
- A result that cannot be written exactly fails the run: what was not recorded did not
  happen.
- The end of every run is followed by a checkpoint.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self, cast

from muniment.encoding.canonical import JsonValue, parse
from muniment.encoding.codec import decode
from muniment.errors import (
    CannotTellError,
    EffectFailed,
    EffectInDoubt,
    RefusedError,
    ReplayDiverged,
    RunEnded,
    RunFenced,
    RunPaused,
    RunUnneeded,
    UsageError,
    ValueRefused,
    origins,
    printable,
)
from muniment.events.visibility import PRIVATE, VISIBILITY, is_private
from muniment.formats.lifecycle import (
    CANCELED,
    COMPLETED,
    ENDS,
    FAILED,
    INTERRUPTED,
    PAUSED,
    RESUMED,
)
from muniment.recorded.compare import content_bytes
from muniment.recorded.match_keys import effect_scope
from muniment.runs.privacy.private_errors import keep_error
from muniment.runs.recording import Recording
from muniment.runs.run import Run, lanes_of

__all__ = [
    "Done",
    "Ending",
    "acall",
    "begun",
    "call",
    "causes",
    "finish",
    "refuse_async",
    "stop",
]


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a run that ended."""

    run_id: str
    status: str
    """``completed``, ``failed``, ``refused``, ``diverged``, ``canceled``,
    ``paused`` or ``dry``."""
    result_digest: str
    """Equal for every run with the same inputs, facts, effects and result; empty while
    the run is paused."""
    value: object = None
    error: Exception | None = None
    pause: RunPaused | None = None
    """Why the run waits, if it is paused."""
    has_private: bool = False
    """Whether the run keeps anything private: then its digest confirms a guess of it, and
    is not for everybody."""
    is_private: bool = False
    """Whether what it returned, or how it failed, is."""

    @classmethod
    def paused(cls, run: str, pause: RunPaused) -> Self:
        """Return the result of a run that waits."""
        return cls(run, ENDS[PAUSED], "", pause=pause)

    def __str__(self) -> str:
        """One line: how the run ended, and with what."""
        if self.is_paused:
            return f"run {self.run_id}: {self.status}"
        if self.error is None:
            return f"run {self.run_id}: {self.status}, {self.value!r}"
        why = f"{type(self.error).__name__}: {self.error}"
        return f"run {self.run_id}: {self.status}, {why}"

    @property
    def ok(self) -> bool:
        """Whether the program returned."""
        return self.error is None and not self.is_paused

    @property
    def is_paused(self) -> bool:
        """Whether the run waits and has no result yet."""
        return self.status == ENDS[PAUSED]

    @property
    def result(self) -> object:
        """What the program returned; raises what it raised."""
        self.raise_failure()
        return self.value

    def raise_failure(self) -> None:
        """Raise what the program raised, if it did; refuse while the run is paused."""
        if self.error is not None:
            raise self.error
        if self.is_paused:
            raise CannotTellError(
                "the run is paused and has no result yet",
                rule="run/paused",
                place=f"run {self.run_id}",
                remedy=f"`muniment resume {self.run_id}` continues it",
            )


@dataclass(slots=True)
class Ending:
    """A run on its way to its end."""

    began: float
    done: Done | None = None

    @property
    def result(self) -> Done:
        """The result of the run, once it ended."""
        if self.done is None:
            raise AssertionError("a run that was left has an end")
        return self.done


def begun(recording: Recording) -> Run:
    """Return the lane of a program that is about to be called; plugins state facts first.

    These are durable before the program runs.
    """
    lane, known = Run(recording), recording.mode.record
    recording.mode.begin()
    resumed = recording.facts.resumed and known is not None
    before = tuple(known.events) if resumed and known else ()
    recording.port.at_start(lanes_of(recording), recording.facts, before)
    recording.flush()
    return lane


def call(
    recording: Recording, program: Callable[..., object], params: Mapping[str, object]
) -> object:
    """Call a sync *program* as the run *recording*."""
    lane = begun(recording)
    with lane:
        value = program(lane, **params)
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise _is_async(recording.name)
    return value


async def acall(
    recording: Recording, program: Callable[..., object], params: Mapping[str, object]
) -> object:
    """Call a sync or async *program* as the run *recording*."""
    lane = begun(recording)
    with lane:
        value = program(lane, **params)
        if inspect.isawaitable(value):
            value = await cast("Awaitable[object]", value)
    return value


def refuse_async(program: Callable[..., object]) -> None:
    """Refuse a program that must be awaited, before anything is written."""
    call = getattr(program, "__call__", None)  # noqa: B004 - the method is inspected
    if inspect.iscoroutinefunction(program) or inspect.iscoroutinefunction(call):
        raise _is_async(getattr(program, "__qualname__", type(program).__qualname__))


def _is_async(name: str) -> UsageError:
    return UsageError(
        "the program is asynchronous",
        rule="run/async",
        place=name,
        remedy="use `await ledger.aexecute(…)` or `await ledger.aresume(…)`",
    )


def finish(recording: Recording, value: object, began: float) -> Done:
    """Write ``run.completed`` with *value* and return the result of the run."""
    privacy = recording.privacy
    recording.owner.require()
    with recording.lock:
        recording.require_concluded()
        recording.mode.finish(recording)
        recording.close_streams()
        recording.drain()
        _tell_end(recording)
        fields = {**recording.completeness(), "result": value}
        fields["duration_us"] = _elapsed(began)
        prepared = recording.port.validate(COMPLETED, fields)
        recording.mode.admit(recording, "", COMPLETED, fields)
        if recording.mode.writes:
            recording.drain()
            prepared.inline.update(
                cast("dict[str, JsonValue]", recording.completeness())
            )
            recording.write_prepared(prepared)
        recording.ended = True
    content = content_bytes(prepared, "result")
    digest = recording.digest.result(parse(content))
    result = decode(parse(content), recording.port.values)
    return Done(
        recording.run_id,
        recording.mode.returned,
        digest,
        result,
        has_private=privacy.is_used,
        is_private=privacy.covers_end,
    )


def _tell_end(recording: Recording) -> None:
    """Let plugins state facts before the end, if the run is written."""
    if recording.mode.writes:
        recording.port.at_end(lanes_of(recording), recording.facts)
        recording.drain()


def stop(recording: Recording, error: BaseException, began: float) -> Done:
    """Write how *error* ended the run; return the result, or raise if it has none."""
    if not recording.owner.is_here:  # a forked child leaves its parent's run
        raise error
    if _may_wrap(error):
        error = recording.halted or error
    if isinstance(error, RunFenced) or recording.ended:
        raise error
    if isinstance(error, RunPaused):
        return _pause(recording, error)
    if not isinstance(error, Exception) or isinstance(error, EffectInDoubt):
        _interrupt(recording, error)
        raise error
    if isinstance(error, RunUnneeded):
        return _drop(recording, error)
    status = _status(error)
    with recording.lock:
        if recording.mode.writes:
            _write_failure(recording, error, status, began)
        recording.ended = True
    result: JsonValue = {
        "error": [type(error).__name__, recording.redacted(printable(error))]
    }
    digest = recording.digest.result(result)
    tells = recording.privacy.tells_end(error)
    used = tells or recording.privacy.is_used
    ended = Done(recording.run_id, status, digest, None, error)
    return replace(ended, has_private=used, is_private=tells)


def _may_wrap(error: object) -> bool:
    """Tell whether *error* may wrap what stopped the run."""
    return isinstance(error, Exception | BaseExceptionGroup)


def _pause(recording: Recording, error: RunPaused) -> Done:
    with recording.lock:
        if recording.mode.writes:
            recording.drop_held()
            data = {"reason": error.reason, "waits_for": [*error.waits_for] or None}
            recording.write_lifecycle(PAUSED, {**data, **_shown(error.is_private)})
        recording.ended = True
    return Done.paused(recording.run_id, error)


def _drop(recording: Recording, error: RunUnneeded) -> Done:
    """Cancel the run, as its own program says; nobody resumes it."""
    record = recording.mode.record
    known = () if record is None else record.events
    resumed = sum(one.type == RESUMED and one.run == recording.run_id for one in known)
    data = {"reason": printable(error), "generation": 1 + resumed}
    data |= _shown(recording.privacy.tells(error))
    with recording.lock:
        if recording.mode.writes:
            recording.drop_held()
            recording.write_lifecycle(CANCELED, data)
        recording.ended = True
    return Done(recording.run_id, ENDS[CANCELED], "", error=error)


def _interrupt(recording: Recording, error: BaseException) -> None:
    # Only the name of other errors: their messages may hold anything.
    named = error.reason if isinstance(error, RunEnded) else type(error).__name__
    if recording.privacy.tells(error):  # whoever words it has no run to ask
        keep_error(error)
    data: dict[str, object] = {"reason": named}
    if isinstance(error, EffectInDoubt):
        data = {"reason": printable(error), "doubt": error.doubt}
    with recording.lock:
        if recording.mode.writes:
            recording.drop_held()
            # A write that was interrupted may have been the run's end.
            with suppress(RunFenced):
                recording.write_lifecycle(INTERRUPTED, data)
        recording.ended = True


def _write_failure(
    recording: Recording, error: Exception, status: str, began: float
) -> None:
    recording.close_streams()
    recording.drain()
    _tell_end(recording)
    tells = recording.privacy.tells(error)
    fields: dict[str, object] = {
        **recording.completeness(),
        **_shown(tells),
        "error_type": type(error).__name__,
        "message": recording.redacted(printable(error)),
        "status": status,
        "cause": _causes(recording, error) or None,
        "duration_us": _elapsed(began),
    }
    end = recording.write_lifecycle(FAILED, fields)
    if is_private(end):  # whoever called the run says it again
        keep_error(error)


def _shown(private: bool) -> dict[str, object]:
    """Return what an end says of who is shown its contents."""
    return {VISIBILITY: PRIVATE} if private else {}


def _causes(recording: Recording, error: Exception) -> list[object]:
    """Return the effects that *error* comes from, and those with a fatal failure."""
    found = causes(error)
    fatal = [[*one.effect] for one in recording.fatal if one.effect is not None]
    return found + [one for one in fatal if one not in found]


def _status(error: Exception) -> str:
    if isinstance(error, ReplayDiverged):
        return "diverged"
    if isinstance(error, EffectFailed):
        return "refused" if error.error_type == "refused" else "failed"
    if isinstance(error, RefusedError) and not isinstance(error, ValueRefused):
        return "refused"
    return "failed"


def causes(error: BaseException | None, inside: str | None = None) -> list[object]:
    """Return scope and ordinal of the effects whose failures *error* comes from.

    Of failures in a sequence, only the last counts, and those inside it.
    """
    found: list[object] = []
    for one in origins(error):
        if isinstance(one, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", one)
            parts = [at for part in group.exceptions for at in causes(part, inside)]
            return found + parts
        if isinstance(one, EffectFailed) and one.effect is not None:
            scope, ordinal = one.effect
            if inside is None or f"{scope}/".startswith(f"{inside}/"):
                found.append([scope, ordinal])
                inside = effect_scope(scope, one.kind, ordinal)
    return found


def _elapsed(began: float) -> int:
    return round((time.monotonic() - began) * 1_000_000)
