"""What a program holds while it runs: a lane of a run, and the door for effects.

    with ledger.run("triage") as run:
        run.record("claim.stated", {"id": "c1", "text": "…", "acceptance": {}})
        hits = run.effect("tool", {"name": "search", "query": "…"}, perform=call_tool)
        with run.scope("map/3") as lane:
            lane.effect(...)

Rules:

- A lane is an explicit handle: it may be passed to threads and tasks. The current one
  is also in a context variable, which `asyncio` tasks inherit and threads do not.
- ``now``, ``random`` and ``uuid`` give equal answers in a replay: the first is a
  recorded fact, the others are derived from the run's seed, the scope and a counter.
- Inside a ``perform`` every lane of the run stands for its place below that effect.
- ``effect`` gives what the ledger can give back: the value as it was recorded.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import ParamSpec, Self, TypeVar, cast
from uuid import UUID

from muniment.canonical import canonical, parse
from muniment.comparing import PLUGIN_SCOPE, differences
from muniment.divergence import Divergence, several
from muniment.effects import Call, begin
from muniment.errors import UsageError
from muniment.events import SubjectLike, about, is_name, timestamp, when
from muniment.imports import refuse_importing
from muniment.runs import Handle, Recording
from muniment.streams import OpenEffect
from muniment.value_types import ValueTypes
from muniment.values import encode

__all__ = ["Lane", "current_run", "effect"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_CURRENT: ContextVar[tuple[Lane, ...]] = ContextVar("muniment_run", default=())
"""The lanes that were entered here and not left, the current one last."""


def current_run() -> Lane:
    """Return the lane that the calling code runs in.

    Raises:
        UsageError: no run is active here; a thread gets its lane handed over.

    """
    refuse_importing()
    lanes = _CURRENT.get()
    if not lanes:
        raise UsageError(
            "no run is active here",
            rule="run/none",
            remedy="open one with `ledger.run(…)`; hand `run` to threads yourself",
        )
    return lanes[-1]


class Lane:
    """One scope of a run. The run itself is the lane of the root scope ``""``."""

    __slots__ = ("_call", "_recording", "scope_path")

    def __init__(
        self, recording: Recording, scope: str = "", call: Call | None = None
    ) -> None:
        self._recording = recording
        self._call = call
        self.scope_path = scope

    def __enter__(self) -> Self:
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # No token: one lane may be entered by several threads and tasks at once.
        _CURRENT.set(_CURRENT.get()[:-1])

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(exc_type, exc, traceback)

    @property
    def id(self) -> str:
        """The run's id, a ULID."""
        return self._recording.run_id

    @property
    def name(self) -> str:
        """The run's name."""
        return self._recording.name

    @property
    def mode(self) -> str:
        """``live``, ``replay``, ``resume`` or ``dry``."""
        return self._recording.mode

    @property
    def values(self) -> ValueTypes:
        """The classes whose instances the ledger takes as values."""
        return self._recording.port.values

    @property
    def idempotency_key(self) -> str:
        """A key for the outside world, equal for every attempt of one effect.

        Raises:
            UsageError: the code does not run inside a ``perform``.

        """
        if self._call is None:
            raise UsageError(
                "only the performer of an effect has an idempotency key",
                rule="effect/no-key",
                remedy="ask current_run() inside perform",
            )
        return self._call.idempotency_key

    def scope(self, name: str) -> Lane:
        """Return the lane *name* below this one; a context manager and a handle."""
        _check_scope(name)
        here, call = self._here(), self._call
        if here != self.scope_path:
            call = _CURRENT.get()[-1]._call  # noqa: SLF001 - of this class
        return Lane(self._recording, f"{here}/{name}" if here else name, call)

    def beside(self, plugin: str) -> Lane:
        """Return the lane of what *plugin* states beside the program; never compared."""
        return Lane(self._recording, f"{PLUGIN_SCOPE}/{plugin}")

    @property
    def memory(self) -> dict[str, object]:
        """What plugins remember of this run in this process; it is written nowhere."""
        return self._recording.memory

    def lacks(self, kind: str, what: str) -> None:
        """Say that facts *kind* of this lane tell of *what* is lacking: a warning."""
        self._recording.owner.require()
        self._recording.tell("lacks", self.scope_path, kind, what)
        record = self._recording.record_of
        if record is not None:
            self._recording.gaps += record.gaps(self.scope_path, kind, what)

    def _here(self) -> str:
        """Return the scope that this handle stands for where it is used.

        Inside a ``perform`` an outer lane of the same run means that lane's place below
        the effect: a replay answers the effect with all that was recorded inside it, and
        has to find it there.
        """
        lanes, path = _CURRENT.get(), self.scope_path
        call = lanes[-1]._call if lanes else None  # noqa: SLF001 - of this class
        if call is None or call.recording is not self._recording:
            return path
        inside, outer = call.inside, call.place.scope
        if path == inside or path.startswith((f"{inside}/", f"{PLUGIN_SCOPE}/")):
            return path
        below = path.removeprefix(outer).lstrip("/") if path.startswith(outer) else path
        return f"{inside}/{below}" if below else inside

    def record(
        self,
        kind: str,
        data: Mapping[str, object],
        *,
        subject: Iterable[SubjectLike] = (),
    ) -> Handle:
        """State a fact; it is written with the next effect, or at the run's end.

        Raises:
            RefusedError: the data is not what the type says, or a plugin refuses.
            ReplayDiverged: the record holds another fact here.

        """
        self._recording.port.refuse_reserved(kind)
        return self._recording.record(self._here(), kind, data, about(subject))

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Do what cannot be computed, or answer it from the record.

        ``<kind>.requested`` is durable before *perform* is called, the outcome before
        this returns. *perform* gets the request as it was recorded.

        Raises:
            EffectFailed: *perform* raised, now or when it was recorded.
            ReplayDiverged: the record holds no such request.

        """
        call = begin(self._recording, self._here(), kind, request)
        if call.answered:
            return call.answer()
        try:
            with Lane(self._recording, call.inside, call), call.permitted():
                value = perform(call.request)
                if inspect.isawaitable(value):
                    _refuse_awaitable(value, kind)
        except Exception as error:
            if call.is_halted_by(error):
                raise
            raise call.fail(error) from error
        return call.complete(value)

    async def aeffect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Do as `effect` does, awaiting what *perform* returns where it must be."""
        from asyncio import CancelledError, sleep  # noqa: PLC0415 - sync code needs none

        call = begin(self._recording, self._here(), kind, request)
        if call.answered:
            if call.patience is not None:
                try:
                    await sleep(call.patience)
                except CancelledError:
                    call.recount()
                    raise
            return call.answer()
        try:
            with Lane(self._recording, call.inside, call), call.permitted():
                value = perform(call.request)
                if inspect.isawaitable(value):
                    value = await cast("Awaitable[object]", value)
        except CancelledError:
            call.cancel()
            raise
        except Exception as error:
            if call.is_halted_by(error):
                raise
            raise call.fail(error) from error
        return call.complete(value)

    def open(self, kind: str, request: object) -> OpenEffect:
        """Begin an effect whose answer is handed on in parts; see `OpenEffect`.

        Raises:
            ReplayDiverged: the record holds no such request.

        """
        call = begin(self._recording, self._here(), kind, request)
        return OpenEffect(call, Lane(self._recording, call.inside, call))

    def hook(self, name: str, **arguments: object) -> object:
        """Ask the ledger's plugins; the first answer counts. They get this lane as run.

        Raises:
            CannotTellError: no active plugin answers.

        """
        self._recording.owner.require()
        return self._recording.port.hook(name, run=self, **arguments)

    def unguarded(self, *guards: str) -> AbstractContextManager[object]:
        """Lift the guards of a replay for a program that is another process.

        Whoever does keeps that process from *guards*, and the report names those alone.
        """
        recording = self._recording
        recording.owner.require()
        recording.guards = guards
        return nullcontext() if recording.permit is None else recording.permit()

    def require_param(self, name: str, recorded: object, present: object) -> None:
        """Diverge where *present* is not the parameter *name* that the record has.

        For a program that knows its parameters itself. Every member that differs is a
        finding of its own. A live run has no record, and compares nothing.

        Raises:
            ReplayDiverged: they differ.

        """
        recording = self._recording
        recording.owner.require()
        if recording.record_of is None:
            return
        started = recording.record_of.events[0].seq
        was, now = (parse(canonical(encode(one))) for one in (recorded, present))
        found = [
            Divergence("params", "", started, *one)
            for one in differences(was, now, name)
        ]
        recording.divergences += found
        for one in found:
            recording.tell("differs", one.to_json())
        if found and not recording.tolerant:
            raise recording.halt(several(found, self.id))

    def now(self) -> datetime:
        """Return the time, aware, in UTC; a replay gives the recorded one."""
        moment = timestamp(datetime.now(UTC))
        read = self._recording.record(self._here(), "clock.read", {"time": moment})
        known = read.written
        return when(moment if known is None else cast("str", known.raw["time"]))

    def random(self) -> float:
        """Return a number from [0, 1), derived from the run's seed."""
        return self._recording.draw_float(self._here())

    def uuid(self) -> UUID:
        """Return a random-looking UUID (version 4), derived from the run's seed."""
        return self._recording.draw_uuid(self._here())


def _refuse_awaitable(value: object, kind: str) -> None:
    if inspect.iscoroutine(value):
        value.close()
    raise UsageError(
        "perform returned an awaitable",
        rule="effect/async",
        place=kind,
        remedy="use `await run.aeffect(…)`",
    )


def _check_scope(name: str) -> None:
    segments = name.split("/") if is_name(name) else [""]
    if not all(segments) or any(s[0] in "$@" for s in segments):
        raise UsageError(
            f"{name!r:.80} is not the name of a scope",
            rule="scope/name",
            remedy="use short segments like `map/3`; `@` and `$` are kept",
        )
    if segments[0] == "plugin":
        raise UsageError(
            "the scopes below plugin/ belong to plugins' hooks",
            rule="scope/plugin",
            remedy="choose another first segment",
        )


def effect(kind: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Make calls of a function effects of the current run.

    The request is ``{"name": …, "arguments": {…}}`` with defaults filled in. Coroutine
    functions are awaited. Outside a run such a call is refused, since nothing would
    record it; the plain function stays reachable as ``function.__wrapped__``.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        signature = inspect.signature(function)

        def request(*args: _P.args, **kwargs: _P.kwargs) -> dict[str, object]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return {"name": function.__qualname__, "arguments": dict(bound.arguments)}

        def perform(asked: object) -> object:
            arguments = cast("dict[str, dict[str, object]]", asked)["arguments"]
            return _call(function, signature, arguments)

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            lane = current_run()
            return cast("_T", lane.effect(kind, request(*args, **kwargs), perform))

        @functools.wraps(function)
        async def acall(*args: _P.args, **kwargs: _P.kwargs) -> object:
            lane = current_run()
            return await lane.aeffect(kind, request(*args, **kwargs), perform)

        if inspect.iscoroutinefunction(function):
            return cast("Callable[_P, _T]", acall)
        return call

    return decorate


def _call(
    function: Callable[..., object],
    signature: inspect.Signature,
    arguments: Mapping[str, object],
) -> object:
    bound = inspect.BoundArguments(signature, dict(arguments))
    return function(*bound.args, **bound.kwargs)
