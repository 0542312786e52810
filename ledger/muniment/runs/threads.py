"""Threads and pools of threads: what they inherit, and which of them are at work.

    lanes = Inherited(current, matters)     of a context variable, and what of it matters
    lanes.follow()                          from now on, to the end of the process
    lanes.get()                             of this thread: what it inherited, then its own
    at_work()                               threads, and calls in pools, that have not ended

Rules:

- A thread inherits the values of its starter, if they mattered. So does each call that
  is submitted to a `ThreadPoolExecutor`: the pool's threads may be older, and continue.
- A thread of a pool is at work only while a call that was submitted to it is.
- Threads that other languages start, and queues to threads that existed before, are not
  followed: nothing reports them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from muniment.programs.thread_starts import follow

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Inherited", "at_work", "follow_pools"]

T = TypeVar("T")


class _Pools:
    """What is submitted to pools of threads, from the first time that somebody asks."""

    def __init__(self) -> None:
        self._once = threading.RLock()
        self._follows = False
        self._submitting = ContextVar("muniment_submitting", default=False)
        self._wraps: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []
        self._calls: WeakSet[Future[Any]] = WeakSet()
        self._threads: WeakSet[threading.Thread] = WeakSet()
        """The threads of pools, which wait for calls."""

    def follow(self) -> None:
        """Follow pools from now on, to the end of the process."""
        with self._once:
            if not self._follows:
                follow(self._begin)
                self._replace_submit()
                self._follows = True

    def wrap(self, wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Submit, in place of each function, what *wrapped* returns for it."""
        self._wraps.append(wrapped)
        self.follow()

    @property
    def submits(self) -> bool:
        """Whether a thread that starts here and now belongs to a pool."""
        return self._submitting.get()

    def at_work(self) -> set[object]:
        """Return the threads outside of pools, and the calls in pools."""
        threads = set(threading.enumerate())
        with self._once:
            calls = [one for one in self._calls if not one.done()]
            return {*calls, *threads.difference(self._threads)}

    def _begin(self, thread: threading.Thread | None) -> None:
        if thread is not None and self.submits:
            with self._once:
                self._threads.add(thread)

    def _replace_submit(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - is slow

        submit: Callable[..., Any] = ThreadPoolExecutor.submit

        @wraps(submit)
        def submitting(
            pool: Any, function: Callable[..., Any], /, *args: Any, **named: Any
        ) -> Any:
            for wrapped in self._wraps:
                function = wrapped(function)
            # A thread that the pool starts for this call later runs others.
            token = self._submitting.set(True)
            try:
                call = submit(pool, function, *args, **named)
            finally:
                self._submitting.reset(token)
            with self._once:
                self._calls.add(call)
            return call

        setattr(ThreadPoolExecutor, "submit", submitting)  # noqa: B010 - not ours


_POOLS = _Pools()


def follow_pools() -> None:
    """Follow pools of threads from now on, to the end of the process."""
    _POOLS.follow()


def at_work() -> set[object]:
    """Return the threads that may be at work, and the calls in pools that have not ended.

    Calls that were submitted before `follow_pools` are not known.
    """
    return _POOLS.at_work()


class Inherited(Generic[T]):
    """A context variable with several values, some of which threads inherit."""

    def __init__(
        self,
        current: ContextVar[tuple[T, ...]],
        matters: Callable[[tuple[T, ...]], bool],
    ) -> None:
        self._current, self._matters = current, matters
        self._begun: WeakKeyDictionary[threading.Thread, tuple[T, ...]]
        self._begun = WeakKeyDictionary()
        self._once = threading.Lock()
        self._follows = False

    def get(self) -> tuple[T, ...]:
        """Return what the calling thread inherited, and what its context has."""
        values = self._current.get()
        if not self._begun:
            return values
        return (*self._begun.get(threading.current_thread(), ()), *values)

    def follow(self) -> None:
        """Let threads inherit from now on."""
        if self._follows:
            return
        with self._once:
            if not self._follows:
                follow(self._begin)
                _POOLS.wrap(self._inheriting)
                self._follows = True

    def _begin(self, thread: threading.Thread | None) -> None:
        if thread is None or _POOLS.submits:
            return
        values = self.get()
        if self._matters(values):
            self._begun[thread] = values

    def _inheriting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        values = self.get()
        if self._matters(values):
            return partial(self._within, values, function)
        return function

    def _within(
        self,
        values: tuple[T, ...],
        function: Callable[..., Any],
        /,
        *args: Any,
        **named: Any,
    ) -> Any:
        before = self._current.get()
        self._current.set(values)
        try:
            return function(*args, **named)
        finally:
            self._current.set(before)
