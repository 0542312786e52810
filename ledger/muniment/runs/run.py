"""What a program holds while it runs: a lane of a run, through which effects go.

    with ledger.run("triage") as run:
        run.record("claim.stated", {"id": "c1", "text": "…", "acceptance": {}})
        hits = run.effect("tool", {"name": "search", "query": "…"}, perform=call_tool)
        with run.scope("map/3") as lane:
            lane.effect(...)

Rules:

- A lane is an explicit handle: it may be passed to threads and tasks. The current lane
  is also in a context variable, which `asyncio` tasks inherit and threads do not.
- ``now``, ``random`` and ``uuid`` give equal answers in a replay: the first is recorded,
  the others follow from the run's seed, the scope and a counter.
- Inside a ``perform`` every lane of the run stands for its place below that effect, also
  in threads that it starts and in what it submits to thread pools.
- ``effect`` returns what the ledger can give back: the value as it was recorded.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, cast
from uuid import UUID

from muniment.encoding.registry import ValueTypes
from muniment.errors import UsageError
from muniment.formats.answers import refuse_answer
from muniment.formats.statement import SubjectLike, about, is_name, timestamp, when
from muniment.programs.import_guard import refuse_importing
from muniment.recorded.compare import PLUGIN_SCOPE
from muniment.runs.effect_call import Call, begin
from muniment.runs.recording import Handle, Recording
from muniment.runs.streams import OpenEffect
from muniment.runs.threads import Inherited
from muniment.runs.waits.holding import holds
from muniment.runs.waits.lane import WaitingLane
from muniment.runs.waits.own import refuse_opening

__all__ = ["Handle", "Run", "current_run", "lanes_of"]

_CURRENT: ContextVar[tuple[Run, ...]] = ContextVar("muniment_run", default=())
"""The lanes that were entered here and not yet left, the current one last."""


def current_run() -> Run:
    """Return the lane that the calling code runs in.

    Raises:
        UsageError: no run is active here; a thread must be given its lane.

    """
    refuse_importing()
    lanes = _LANES.get()
    if not lanes:
        raise UsageError(
            "no run is active here",
            rule="run/none",
            remedy="open one with `ledger.run(…)`; hand `run` to threads yourself",
        )
    return lanes[-1]


class Run(WaitingLane):
    """One scope of a run. The run itself is the lane of the root scope ``""``."""

    __slots__ = ("_call", "_recording", "scope_path")

    def __init__(
        self, recording: Recording, scope: str = "", call: Call | None = None
    ) -> None:
        self._recording = recording
        self._call = call
        self.scope_path = scope

    def __enter__(self) -> Self:
        if self._call is not None:
            _LANES.follow()
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])  # no token: threads share lanes
        self._leave(exc)

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
        """``live``, ``replay``, ``resume``, ``fork`` or ``dry``."""
        return self._recording.mode.name

    @property
    def has_record(self) -> bool:
        """Whether the run is compared with a record: in a resume, a replay, a fork."""
        return self._recording.mode.is_held

    def holds(self, kind: str, request: object) -> bool:
        """Tell whether the record has such an effect here, and not answered it yet."""
        return holds(self._recording, self._here(), kind, request)

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

    def scope(self, name: str) -> Run:
        """Return the lane *name* below this one, a handle and a context manager."""
        _check_scope(name)
        here, call = self._here(), self._call
        if here != self.scope_path:
            call = self._performing()
        return Run(self._recording, f"{here}/{name}" if here else name, call)

    @property
    def memory(self) -> dict[str, object]:
        """What is kept for this run and its children in this process; not that of hooks."""
        return self._recording.memory

    def lacks(self, kind: str, what: str) -> None:
        """Warn that *what* is missing, as facts *kind* of this lane say."""
        self._recording.owner.require()
        self._recording.mode.lacks(self.scope_path, kind, what)

    def _here(self) -> str:
        """Return the scope that this handle stands for where it is used.

        Inside a ``perform`` an outer lane of the same run means that lane's place below
        the effect: a replay answers the effect with everything recorded inside it, and
        must find it there.
        """
        call, path = self._performing(), self.scope_path
        if call is None:
            return path
        inside, outer = call.inside, call.place.scope
        if path == inside or path.startswith((f"{inside}/", f"{PLUGIN_SCOPE}/")):
            return path
        below = path.removeprefix(outer).lstrip("/") if path.startswith(outer) else path
        return f"{inside}/{below}" if below else inside

    def _performing(self) -> Call | None:
        """Return the effect of this run whose performer is calling, if one is."""
        for lane in reversed(_LANES.get()):
            call = lane._call  # noqa: SLF001 - of this class
            if call is not None and call.recording is self._recording:
                return call
        return self._call

    def record(
        self,
        type: str,  # noqa: A002 - as `Ledger.append` has it
        data: Mapping[str, object],
        *,
        subject: Iterable[SubjectLike] = (),
        series: Iterable[str] = (),
        held: bool = False,
    ) -> Handle:
        """State a fact; it is written with the next effect, or at the run's end.

        One may be *held*: it is dropped if, before anything follows it, the run is
        interrupted, waits for people or cancels itself; not by a pause, nor by its end.
        Where an effect was cut off before it, what its thread stated next goes with it.

        Raises:
            RefusedError: the data is not what the type says, or a plugin refuses.
            ReplayDiverged: the record holds another fact here.

        """
        self._recording.port.refuse_reserved(type)
        refuse_answer(type, data)
        said = (self._here(), type, data, about(subject), series, held)
        return self._recording.record(*said)

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
        call = self._begin(kind, request)
        call.before()
        if call.answered:
            return call.answer()
        try:
            inside = Run(self._recording, call.inside, call)
            with inside, self._recording.mode.performing(call):
                value = call.perform(perform, awaits=False)
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
        """Do as `effect` does, awaiting what *perform* returns if needed."""
        from asyncio import CancelledError, sleep  # noqa: PLC0415 - sync code needs none

        call = self._begin(kind, request)
        await call.abefore()
        if call.answered:
            if call.patience is not None:
                try:
                    await sleep(call.patience)
                except CancelledError:
                    call.recount()
                    raise
            return call.answer()
        try:
            with (
                Run(self._recording, call.inside, call),
                self._recording.mode.performing(call),
            ):
                value = call.perform(perform, awaits=True)
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

    def _begin(self, kind: str, request: object) -> Call:
        beside = lanes_of(self._recording)
        return begin(self._recording, self._here(), kind, request, beside)

    def _opened(self, kind: str, request: object) -> Call:
        refuse_opening(self._recording.port.kind(kind))
        return self._begin(kind, request)

    def open(self, kind: str, request: object) -> OpenEffect:
        """Begin an effect whose answer is passed on in parts; see `OpenEffect`.

        Raises:
            ReplayDiverged: the record holds no such request.

        """
        call = self._opened(kind, request)
        call.before()
        return OpenEffect(call, Run(self._recording, call.inside, call))

    async def aopen(self, kind: str, request: object) -> OpenEffect:
        """Do as `open` does, awaiting plugins where needed."""
        call = self._opened(kind, request)
        await call.abefore()
        return OpenEffect(call, Run(self._recording, call.inside, call))

    def hook(self, name: str, /, **arguments: object) -> object:
        """Ask the ledger's plugins, which get this lane as run; the first answer counts.

        Raises:
            CannotTellError: no active plugin answers.

        """
        self._recording.owner.require()
        return self._recording.port.hook(name, run=self, **arguments)

    def unguarded(self, *guards: str) -> AbstractContextManager[object]:
        """Lift the guards of a replay for a program that is another process.

        The caller guards that process with *guards*; the report names only those.
        """
        recording = self._recording
        recording.owner.require()
        return recording.mode.unguarded(guards)

    def require_param(
        self, name: str, recorded: object, present: object, *, warns: bool = False
    ) -> None:
        """Diverge if *present* is not the parameter *name* that the record has.

        For a program that knows its parameters itself. Every member that differs is a
        separate finding; with *warns* it is a warning, and the program continues. A live
        run has no record and compares nothing.

        Raises:
            ReplayDiverged: they differ.

        """
        recording = self._recording
        recording.owner.require()
        recording.mode.param(recording, name, recorded, present, warns=warns)

    def now(self) -> datetime:
        """Return the time, aware, in UTC; a replay gives the recorded one."""
        moment = timestamp(datetime.now(UTC))
        told, known = self._recording.read_clock(self._here(), moment)
        return when(cast("str", told["time"] if known is None else known.raw["time"]))

    def random(self) -> float:
        """Return a number from [0, 1), derived from the run's seed."""
        return self._recording.draw_float(self._here())

    def uuid(self) -> UUID:
        """Return a random-looking UUID (version 4), derived from the run's seed."""
        return self._recording.draw_uuid(self._here())


def lanes_of(recording: Recording) -> Callable[[str], Run]:
    """Return what makes the lane for facts that a plugin states by itself, by its name.

    Hooks get it from whoever calls them, and no lane of a program leads to it. What is
    stated there is never compared.
    """
    return lambda plugin: Run(recording, f"{PLUGIN_SCOPE}/{plugin}")


def _refuse_awaitable(value: object, kind: str) -> None:
    if inspect.iscoroutine(value):
        value.close()
    raise UsageError(
        "perform returned an awaitable",
        rule="effect/async",
        place=kind,
        remedy="use `await run.aeffect(…)`",
    )


def _performs(lanes: tuple[Run, ...]) -> bool:
    return any(lane._call is not None for lane in lanes)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - of this module


_LANES = Inherited(_CURRENT, _performs)
"""The lanes of this thread, and those of the performer that started it."""


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
