"""How one attempt at the work of a node is performed, and how long it may take.

Rules:

- Where branches are threads, the attempt is made in that of its branch. Where they are
  tasks, a coroutine function is awaited on the loop, and everything else runs in a thread
  of its own: so no function holds up the others, whether it must be awaited or not.
- What takes too long has failed, with a `TimeoutError`. A coroutine is cancelled. A thread
  is left alone, since Python cannot end it: what it returns is dropped.
- Code that calls `sys.exit`, or raises another `BaseException` of its own, has failed: it
  ends itself, and neither thread, task nor run.
- A command keeps the time itself (`contracts.processes`): it is killed then, with all that
  it started, and the attempt ends when nothing of it is left.
- A task that is cancelled while its function is in a thread waits for the end of that, which
  is recorded, and is cancelled then; cancelled once more, it does not wait.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import cast

from muniment.runs.run import Run
from muniment_plugins.workflow.runtime.own_context import (
    failure_in_task,
    owned,
    raised_again,
)

__all__ = ["Attempt", "ChosenLate", "ended_well", "performed", "within"]

Perform = Callable[[object], object]
_ENDED_WELL = "muniment_ended_well"


@dataclass(frozen=True, slots=True)
class ChosenLate:
    """What performs, chosen when it is needed: a replay performs nothing.

    So a record is replayed where its functions are not to be found.
    """

    choose: Callable[[], Perform]

    def __call__(self, request: object) -> object:
        """Perform *request*."""
        return self.choose()(request)


def within(seconds: float | None, perform: Perform) -> Perform:
    """Return *perform*, or what calls it in a thread and waits no longer than *seconds*."""
    return perform if seconds is None else _timed(seconds, perform)


async def performed(
    lane: Run,
    kind: str,
    request: object,
    perform: Perform,
    *,
    seconds: float | None,
    is_async: bool,
) -> object:
    """Perform an effect of *lane* within so many *seconds*; in a task if *is_async*.

    Raises:
        EffectFailed: *perform* raised, or took too long.

    """
    if not is_async:
        return lane.effect(kind, request, _ended_alone(within(seconds, perform)))
    attempt, is_good = Attempt(seconds, perform), False
    try:
        value = await lane.aeffect(kind, request, attempt.perform)
        is_good = True
        return value
    finally:
        if attempt.is_cancelled:  # its end is recorded now
            from asyncio import CancelledError  # noqa: PLC0415 - sync code needs none

            late = CancelledError()
            vars(late)[_ENDED_WELL] = is_good
            raise late


def ended_well(error: BaseException) -> bool:
    """Tell whether what was cancelled by *error* had ended then, and well."""
    return bool(vars(error).get(_ENDED_WELL))


def _ended_alone(perform: Perform) -> Perform:
    def ended_alone(request: object) -> object:
        try:
            return perform(request)
        except Exception:
            raise  # an effect fails by it as it is
        except BaseException as error:  # noqa: BLE001 - raised again
            raised_again(error, failure_in_task(error))

    return ended_alone


def _late(seconds: float) -> TimeoutError:
    return TimeoutError(f"it took longer than {seconds:g} s")


@dataclass(slots=True)
class _Work:
    """A call in a thread of its own, with a copy of the context of whoever began it."""

    ended: list[object] = field(default_factory=list[object])
    raised: list[BaseException] = field(default_factory=list[BaseException])

    def begin(
        self, perform: Perform, request: object, then: Callable[[], None] | None = None
    ) -> threading.Thread:
        """Call *perform* with *request*, and *then* say so."""

        def call() -> None:
            try:
                self.ended.append(perform(request))
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                self.raised.append(error)
            if then is not None:
                then()

        context = copy_context()
        thread = threading.Thread(target=context.run, args=(call,), daemon=True)
        thread.start()
        return thread


def _timed(seconds: float, perform: Perform) -> Perform:
    def timed(request: object) -> object:
        work = _Work()
        work.begin(perform, request).join(seconds)
        if work.raised:
            raise work.raised[0]
        if not work.ended:
            raise _late(seconds)
        return work.ended[0]

    return timed


@dataclass(slots=True)
class Attempt:
    """An attempt in a task."""

    seconds: float | None
    """How long it may take; None for as long as it does."""
    by: Perform
    is_cancelled: bool = False
    """Whether the task was cancelled while a thread worked for it."""

    async def perform(self, request: object) -> object:
        """Return what the function returns for *request*, once it is awaited if need be."""
        by = self.by.choose() if isinstance(self.by, ChosenLate) else self.by
        if inspect.iscoroutinefunction(by):
            return await self._awaited(by(request))
        value = await self._in_thread(by, request)
        return await self._awaited(value) if inspect.isawaitable(value) else value

    async def _awaited(self, value: Awaitable[object]) -> object:
        import asyncio  # noqa: PLC0415 - sync code needs none

        value = owned(value)
        if self.seconds is None:
            return await value
        limit = asyncio.timeout(self.seconds)
        try:
            async with limit:
                return await value
        except TimeoutError:
            if limit.expired():
                raise _late(self.seconds) from None
            raise

    async def _in_thread(self, by: Perform, request: object) -> object:
        import asyncio  # noqa: PLC0415 - sync code needs none

        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(over.set_result, None)

        work = _Work()
        work.begin(by, request, tell)
        end = None if self.seconds is None else loop.time() + self.seconds
        while not over.done() and (end is None or loop.time() < end):
            rest = None if end is None else end - loop.time()
            try:
                await asyncio.wait({over}, timeout=rest)
            except asyncio.CancelledError:
                if self.is_cancelled:
                    raise
                self.is_cancelled = True
        if work.raised:
            raise failure_in_task(work.raised[0])
        if not work.ended:
            raise _late(cast("float", self.seconds))
        return work.ended[0]
