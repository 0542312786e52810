"""Spreading the parts of a run: one after another, or as an executor does it.

    with executor.host("acme.calls:serve") as send:     None where functions are called here
        spread(work, jobs, executor.lanes, stop)

Rules:

- The run stays in one process: lanes, effects, facts and the result digest are the same
  whoever calls the functions.
- An executor says how many parts run at once, and carries calls elsewhere: bytes to a
  function ``bytes → bytes`` named by its import path, and its bytes back. The caller
  decides what they mean; no object is pickled.
- When one part ends the run (a policy, a lost ledger, Ctrl-C), parts that have not begun
  never do, and *stop* tells those that are running; nothing is left running.
- `Serial` and replays need no plugin; other executors come from the hook ``executors``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Executor", "Reach", "Send", "Serial", "spread"]

_T = TypeVar("_T")

Send = Callable[[bytes], bytes]
Reach = Literal["here", "process", "machine"]


class Executor(Protocol):
    """Spreads the parts of a run."""

    name: ClassVar[str]
    """What users call it, and what a run's labels say."""
    reach: ClassVar[Reach]
    """Where functions are called: here, in other processes, on other machines."""

    @property
    def lanes(self) -> int:
        """How many parts run at once."""
        ...

    def require(self) -> None:
        """Check that all it needs is there, before anything is written or asked.

        Raises:
            CannotTellError: a package or a cluster is missing.

        """
        ...

    def host(self, serve: str) -> AbstractContextManager[Send | None]:
        """Return a context that carries calls to the function *serve*, ``module:name``.

        As many threads as there are lanes call it at once. If it is None, functions are
        called in this process.
        """
        ...


@dataclass(frozen=True, slots=True)
class Serial:
    """Does one part after another, in the calling thread."""

    name: ClassVar[str] = "serial"
    reach: ClassVar[Reach] = "here"

    @property
    def lanes(self) -> int:
        """One."""
        return 1

    def require(self) -> None:
        """Need nothing."""

    def host(self, serve: str) -> AbstractContextManager[Send | None]:
        """Call functions here."""
        del serve
        return nullcontext()


def spread(
    work: Callable[[_T], None],
    jobs: Iterable[_T],
    lanes: int,
    stop: threading.Event,
) -> None:
    """Do *work* on every job, *lanes* at once; the first error stops the others."""
    if lanes == 1:
        for job in jobs:
            work(job)
        return
    from concurrent.futures import (  # noqa: PLC0415 - where several are at work
        FIRST_EXCEPTION,
        ThreadPoolExecutor,
        wait,
    )

    with ThreadPoolExecutor(lanes) as pool:
        waiting = [pool.submit(copy_context().run, work, job) for job in jobs]
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
