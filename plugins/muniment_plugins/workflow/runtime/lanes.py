"""Branches and items at once: in threads, or as tasks of an event loop.

    ended = await lanes.each([job, job, job], at_once=2, needed=3)
    [FinishedPath(value=…), FailedPath(error=…), CancelledPath()]

Rules:

- The engine is written once, as coroutines. Where no handler must be awaited, each branch
  is driven in a thread of its own; else it is a task.
- Results come in the order of the jobs, whoever finished first.
- When as many as are *needed* arrived, jobs that have not begun never do, and those
  that run end at their next step; a coroutine ends where it awaits. They are cancelled,
  also those that came to their end meanwhile: so who won does not depend on the lanes.
- What ends the run (a pause, a divergence, Ctrl-C) ends all of them at their next step,
  tasks like threads: what is in flight ends, and is recorded. It is raised once they have
  ended; nothing is left running.
- Whoever cancels the task that waits for all of them cancels them.
- A path that waits for people ends alone. What it waits for ends the run once the others
  have come to an end.
- A failure that halts the run is raised then, too, but ends only its own job: the others
  end by their next effect, which is refused. So a replay finds all of them as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from muniment.errors import LaneWaits, RunEnded, RunUnneeded
from muniment.programs.awaiting import driven
from muniment_plugins.workflow.runtime.failures import (
    PathStopped,
    WorkflowFailed,
    halts,
)
from muniment_plugins.workflow.runtime.own_context import cancels

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "CancelledPath",
    "Ended",
    "FailedPath",
    "FinishedPath",
    "Job",
    "Lanes",
    "Stop",
    "TaskLanes",
    "ThreadLanes",
    "arrived",
    "needed",
]


@dataclass(frozen=True, slots=True)
class FinishedPath:
    """A branch came to its end."""

    value: Any


@dataclass(frozen=True, slots=True)
class FailedPath:
    """A branch failed."""

    error: WorkflowFailed


@dataclass(frozen=True, slots=True)
class CancelledPath:
    """A branch was not needed."""


Ended: TypeAlias = FinishedPath | FailedPath | CancelledPath


def arrived(end: Ended) -> bool:
    """Tell whether a path came to where the paths meet: one that ended before has not."""
    return isinstance(end, FinishedPath) and bool(end.value)


class Stop:
    """Tells branches that they are not needed any more; those outside stop them, too."""

    __slots__ = ("_event", "_lost", "_outer")

    def __init__(self, outer: Stop | None = None) -> None:
        self._event = threading.Event()
        self._lost = False
        self._outer = outer

    def set(self, *, lost: bool = False) -> None:
        """Stop whoever looks from now on; for good, if others won their race."""
        self._lost = self._lost or lost
        self._event.set()

    @property
    def is_set(self) -> bool:
        """Whether what is done here is not needed any more."""
        one: Stop | None = self
        while one is not None:
            if one._event.is_set():  # noqa: SLF001 - of this class
                return True
            one = one._outer  # noqa: SLF001 - of this class
        return False

    @property
    def is_lost(self) -> bool:
        """Whether nobody will ever need what is done here: it lost a race."""
        return self._lost or (self._outer is not None and self._outer.is_lost)

    def check(self) -> None:
        """Do nothing, if what is done here is still needed.

        Raises:
            PathStopped: it is not.

        """
        if self.is_set:
            raise PathStopped


Job: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
_Came: TypeAlias = tuple[BaseException | None, object]
"""What a job raised, or what it returned."""


class Lanes(Protocol):
    """Runs jobs at once."""

    is_async: bool

    def width(self, jobs: int, at_once: int | None) -> int:
        """Return how many of that many *jobs* run at a time, if *at_once* may."""
        ...

    async def each(
        self, jobs: Sequence[Job], at_once: int | None, needed: int, stop: Stop
    ) -> list[Ended]:
        """Return how each of *jobs* ended, of which *at_once* run at a time."""
        ...


def _settled(error: BaseException | None, value: object) -> Ended | None:
    """Return how a job ended; None if that ends the run."""
    if error is None:
        return FinishedPath(value)
    if isinstance(error, WorkflowFailed):
        return FailedPath(error)
    if isinstance(error, PathStopped | LaneWaits):
        return CancelledPath()  # one that waits ends the run once the others have ended
    return None


@dataclass(slots=True)
class _Race:
    """What came of the jobs so far."""

    needed: int
    ended: list[Ended]
    successes: int = 0
    fatal: BaseException | None = None

    @property
    def is_won(self) -> bool:
        """Whether as many arrived as are needed."""
        return self.successes >= self.needed

    def add(self, position: int, error: BaseException | None, value: object) -> bool:
        """Enter how a job ended; tell whether the others are still needed."""
        end = _settled(error, value)
        if end is None:
            self.fatal = self.fatal or error
            return halts(self.fatal)
        if not self.is_won:
            self.ended[position] = end
            self.successes += arrived(end)
        stopped = self.fatal is not None and not halts(self.fatal)
        return self.successes < self.needed and not stopped


@dataclass(frozen=True, slots=True)
class ThreadLanes:
    """Jobs in threads; in this one if they run one after the other."""

    most: int = 32
    """How many run at once where nobody says less."""
    is_async = False

    def width(self, jobs: int, at_once: int | None) -> int:
        """Return how many of that many *jobs* run at a time."""
        return min(at_once or self.most, self.most, max(1, jobs))

    async def each(
        self, jobs: Sequence[Job], at_once: int | None, needed: int, stop: Stop
    ) -> list[Ended]:
        """Return how each of *jobs* ended."""
        race = _Race(needed, [CancelledPath()] * len(jobs))
        width = self.width(len(jobs), at_once)
        if width == 1:
            self._in_turn(jobs, race, stop)
        else:
            self._at_once(jobs, width, race, stop)
        if race.fatal is not None:
            raise race.fatal
        return race.ended

    @staticmethod
    def _in_turn(jobs: Sequence[Job], race: _Race, stop: Stop) -> None:
        for position, job in enumerate(jobs):
            error, value = _called(job)
            if not race.add(position, error, value):
                stop.set(lost=race.is_won)
                return

    @staticmethod
    def _at_once(jobs: Sequence[Job], width: int, race: _Race, stop: Stop) -> None:
        from concurrent.futures import (  # noqa: PLC0415 - where several are at work
            FIRST_COMPLETED,
            Future,
            ThreadPoolExecutor,
            wait,
        )

        with ThreadPoolExecutor(width) as pool:
            running: dict[Future[_Came], int] = {}
            left = iter(enumerate(jobs))
            goes_on = True
            while True:
                while goes_on and len(running) < width:
                    begun = next(left, None)
                    if begun is None:
                        break
                    position, job = begun
                    call = pool.submit(copy_context().run, _called, job)
                    running[call] = position
                if not running:
                    return
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for one in sorted(ready, key=running.__getitem__):
                    error, value = one.result()
                    goes_on = race.add(running.pop(one), error, value) and goes_on
                if not goes_on:
                    stop.set(lost=race.is_won)


def _called(job: Job) -> _Came:
    try:
        return None, driven(job())
    except BaseException as error:  # noqa: BLE001 - it is raised where the jobs are awaited
        return error, None


async def _awaited(job: Job) -> _Came:
    try:
        return None, await job()
    except BaseException as error:  # noqa: BLE001 - as above; a loop would end by Ctrl-C
        return error, None


@dataclass(frozen=True, slots=True)
class TaskLanes:
    """Jobs as tasks of the running event loop."""

    most: int = 64
    is_async = True

    def width(self, jobs: int, at_once: int | None) -> int:
        """Return how many of that many *jobs* run at a time."""
        return min(at_once or self.most, self.most, max(1, jobs))

    async def each(
        self, jobs: Sequence[Job], at_once: int | None, needed: int, stop: Stop
    ) -> list[Ended]:
        """Return how each of *jobs* ended."""
        race = _Race(needed, [CancelledPath()] * len(jobs))
        tasks = _Tasks(jobs, self.width(len(jobs), at_once), race)
        try:
            while await tasks.go_on():
                if not tasks.are_needed:
                    stop.set(lost=race.is_won)
                    if race.is_won:
                        tasks.cancel()
        except BaseException:
            stop.set()
            await tasks.end()
            raise
        if race.fatal is not None:
            raise race.fatal
        return race.ended


class _Tasks:
    """Jobs, some of which run as tasks."""

    def __init__(self, jobs: Sequence[Job], width: int, race: _Race) -> None:
        self.are_needed = True
        self._left = iter(enumerate(jobs))
        self._width = width
        self._race = race
        self._running: dict[asyncio.Task[_Came], int] = {}

    async def go_on(self) -> bool:
        """Begin what may begin, and wait for the next end; tell whether there was one."""
        import asyncio  # noqa: PLC0415 - sync code needs none

        while self.are_needed and len(self._running) < self._width:
            begun = next(self._left, None)
            if begun is None:
                break
            self._running[asyncio.create_task(_awaited(begun[1]))] = begun[0]
        if not self._running:
            return False
        ready, _ = await asyncio.wait(
            self._running, return_when=asyncio.FIRST_COMPLETED
        )
        for one in sorted(ready, key=self._running.__getitem__):
            error, value = one.result()
            if self._race.is_won and isinstance(error, asyncio.CancelledError):
                error = PathStopped()
            needed = self._race.add(self._running.pop(one), error, value)
            self.are_needed = needed and self.are_needed
        return True

    def cancel(self) -> None:
        """Cancel what runs."""
        for one in self._running:
            one.cancel()

    async def end(self) -> None:
        """Cancel what runs, and wait for its end."""
        import asyncio  # noqa: PLC0415 - sync code needs none

        self.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


@contextmanager
def needed(stop: Stop | None) -> Generator[None]:
    """End a run that *stop* stops: for good, if its parent lost a race.

    Raises:
        RunEnded: the run that called it ends.
        RunUnneeded: others won the race that it was a part of.

    """
    try:
        yield
    except BaseException as error:
        ends = isinstance(error, PathStopped) or cancels(error)
        if stop is None or not ends:
            raise
        if stop.is_lost:
            raise RunUnneeded("others won the race that it was a part of") from None
        if isinstance(error, PathStopped):
            raise RunEnded("the run that called it ends", "stopped") from None
        raise
