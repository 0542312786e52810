"""How replicates are spread: one after the other, over threads, processes, a cluster.

    experiment.run(replicates=20, executor="threads")
    experiment.run(replicates=20, executor=Threads(workers=4))

Rules:

- The run stays in one process: lanes, effects and facts are the same whoever calls the
  functions, and so are the result digest and whose call is whose.
- An executor says how many replicates are on their way at once, and on which host the
  functions of the user are called.
- When one replicate ends the run (a policy, a lost ledger, Ctrl-C), the others stop
  before their next step; nothing is left running.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, cast

from muniment.errors import UsageError
from muniment_plugins.harness.hosts import Caller, Host, Inline, Unfinished
from muniment_plugins.harness.naming import known_first

if TYPE_CHECKING:
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = ["Executor", "Serial", "Threads", "executor_of", "spread"]

_T = TypeVar("_T")

_PLACES = {
    "dask": ("clusters", "Dask"),
    "processes": ("processes", "Processes"),
    "ray": ("clusters", "Ray"),
}


class Executor(Protocol):
    """A way to spread replicates."""

    name: ClassVar[str]

    @property
    def lanes(self) -> int:
        """How many replicates are on their way at once."""
        ...

    def admit(self, program: ExperimentProgram) -> None:
        """Refuse a program that cannot run here."""
        ...

    @contextmanager
    def host(self, caller: Caller | None) -> Generator[Host]:
        """Give the host of one run."""
        ...


@dataclass(frozen=True, slots=True)
class Serial:
    """One replicate after the other, in the calling thread."""

    name: ClassVar[str] = "serial"

    @property
    def lanes(self) -> int:
        """One."""
        return 1

    def admit(self, program: ExperimentProgram) -> None:
        """Admit every program."""

    @contextmanager
    def host(self, caller: Caller | None) -> Generator[Host]:
        """Call functions here."""
        yield Inline(caller)


@dataclass(frozen=True, slots=True)
class Threads(Serial):
    """Replicates in threads of this process."""

    name: ClassVar[str] = "threads"
    workers: int | None = None

    @property
    def lanes(self) -> int:
        """As many as workers; without a number, one for each processor and 4 more."""
        return self.workers or (os.cpu_count() or 1) + 4


def executor_of(given: str | Executor | None) -> Executor:
    """Return the executor that *given* names.

    Raises:
        UsageError: it names none.

    """
    if given is None or given == "serial":
        return Serial()
    if given == "threads":
        return Threads()
    if not isinstance(given, str) and _admits(given):
        return given
    if not isinstance(given, str) or given not in _PLACES:
        names = known_first(given, sorted(("serial", "threads", *_PLACES)))
        raise UsageError(
            f"no executor is called {given!r}",
            rule="harness/executor",
            place="Experiment.run",
            remedy=f"known are: {', '.join(names)}",
        )
    module, name = _PLACES[given]
    found = getattr(import_module(f"muniment_plugins.harness.{module}"), name)
    return cast("Executor", found())


def _admits(given: object) -> bool:
    return callable(getattr(given, "admit", None)) and not isinstance(given, type)


def spread(
    work: Callable[[_T, Callable[[], None]], None],
    jobs: Iterable[_T],
    lanes: int,
    stop: threading.Event,
) -> None:
    """Do *work* on every job, *lanes* at once; the first error stops the others.

    *work* calls its second argument before each step; that raises `Unfinished` once
    the run is to end.
    """

    def begins() -> None:
        if stop.is_set():
            raise Unfinished

    def one(job: _T) -> None:
        begins()
        work(job, begins)

    if lanes == 1:
        for job in jobs:
            one(job)
        return
    with ThreadPoolExecutor(lanes) as pool:
        waiting = [pool.submit(copy_context().run, one, job) for job in jobs]
        try:
            wait(waiting, return_when=FIRST_EXCEPTION)
            ended_early = _first_error(waiting)
        except BaseException:
            _cancel(waiting, stop)
            raise
        if ended_early is not None:
            _cancel(waiting, stop)
            raise ended_early


def _first_error(waiting: list[Future[None]]) -> BaseException | None:
    errors = [one.exception() for one in waiting if one.done()]
    return next((error for error in errors if error is not None), None)


def _cancel(waiting: list[Future[None]], stop: threading.Event) -> None:
    stop.set()
    for one in waiting:
        one.cancel()
