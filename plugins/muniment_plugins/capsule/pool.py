"""The workers that wait for programs, and which program may use which.

    with pool().child(surroundings, time_s) as child: …

Rules:

- One worker serves one execution at a time; as many are kept as were needed at once,
  `MOST_IDLE` at most. Beyond that, the one that waited longest is ended.
- Programs share a worker only if all their surroundings are the same: environment,
  paths, layers, and imports. An import leaves traces, such as names in other modules,
  which a program that did not ask for it must not find.
- After `MOST_USES` programs a worker is replaced: its children share one memory layout,
  which nobody should have time to learn.
- The first child in any surroundings is a probe, whose findings are reported with every
  program in the same surroundings.
- If forking is unsafe, because a package started threads, or not known to be safe, as
  everywhere except on Linux, each execution has an interpreter of its own.
- A process that was forked from this one starts workers of its own.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from muniment.errors import CannotTellError
from muniment_plugins.capsule.parent import start
from muniment_plugins.capsule.parent.examination import TIME_S, examine
from muniment_plugins.capsule.parent.findings import Machine
from muniment_plugins.capsule.parent.start import Alone, Child, ChildSurroundings
from muniment_plugins.capsule.parent.warm_start import Unforkable, Worker

__all__ = ["MOST_IDLE", "MOST_USES", "PATIENCE_S", "Pool", "pool"]

MOST_IDLE = 8
MOST_USES = 1000
PATIENCE_S = 1.0
"""Seconds that an idle worker gets to reap its children: as the first process of a
container, this process would inherit them."""

_Key = tuple[object, ...]
_T = TypeVar("_T")


class Pool:
    """The idle workers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[_Key, Worker]] = []
        self._lent: set[Worker] = set()
        self._unforkable: set[_Key] = set()
        self._found: dict[_Key, Machine] = {}

    @contextmanager
    def child(
        self,
        surroundings: ChildSurroundings,
        time_s: float,
        ask: Callable[[], object] = lambda: None,
    ) -> Generator[Child]:
        """Lend a child that waits for its request; the borrower must `end` it.

        *time_s* is how long its program may run. A child without a worker has no
        probe's findings: *ask* gets them before it starts, which may use the only free
        process.

        Raises:
            CannotTellError: no process could be started.

        """
        key, began = _key(surroundings), time.monotonic()
        imports = surroundings.imports
        with _spawning():
            forked = self._have(
                key, surroundings, lambda worker: worker.fork(imports, time_s)
            )
            if forked is None:
                ask()
                yield alone(surroundings, time.monotonic() - began)
                return
            worker, child = forked
            try:
                yield child
            except BaseException:
                self._end(worker)
                raise
        if child.is_lost:
            self._end(worker)
        elif worker.uses >= MOST_USES:
            self._end(worker, PATIENCE_S)
        else:
            self._give_back(key, worker)

    def examined(self, surroundings: ChildSurroundings) -> Machine:
        """Return what a probe child in these surroundings found.

        Raises:
            CannotTellError: no process could be started.

        """
        key = _key(surroundings)
        with _spawning():
            had = self._have(key, surroundings, lambda worker: worker.found)
            found = (had and had[1]) or examine(alone(surroundings))
        if had is not None:
            self._give_back(key, had[0])
        return found

    def close(self) -> None:
        """End every idle worker."""
        idle = [*iter(self._take, None)]
        for worker in idle:
            worker.dismiss()
        for worker in idle:
            worker.close(PATIENCE_S)

    def forget(self) -> None:
        """Start over in a forked process: the workers belong to its parent."""
        self._lock = threading.Lock()
        for worker in (*self._lent, *(worker for _, worker in self._idle)):
            worker.forget()
        self._lent, self._idle = set(), []

    def _have(
        self, key: _Key, surroundings: ChildSurroundings, use: Callable[[Worker], _T]
    ) -> tuple[Worker, _T] | None:
        """Return an examined worker and the result of *use*; None if there is none."""
        if sys.platform != "linux" or key in self._unforkable:
            return None
        # A waiting worker may have been killed meanwhile; a new one has no such excuse.
        while True:
            waiting = self._take(key)
            worker = waiting or Worker(surroundings, self._found.get(key[1:]))
            self._lent.add(worker)
            try:
                self._examine(key, worker, surroundings.imports)
                return worker, use(worker)
            except Unforkable as error:
                self._end(worker)
                if error.lasting:
                    self._unforkable.add(key)
                if waiting is None or error.lasting:
                    return None  # an interpreter of its own will say why
            except BaseException:
                self._end(worker)
                raise

    def _examine(self, key: _Key, worker: Worker, imports: tuple[str, ...]) -> None:
        """Let a child of *worker* try to get out, if none did in the same surroundings.

        It has *imports* loaded, before the worker enters its own namespaces.

        Raises:
            Unforkable: it did not live to report, which says nothing about the machine.

        """
        if worker.found is not None:
            return
        child = worker.fork(imports, TIME_S)
        found = examine(child)
        if child.is_lost:
            raise Unforkable("the worker is gone")
        worker.found = self._found[key[1:]] = found
        worker.uses = 0

    def _take(self, key: _Key | None = None) -> Worker | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if key is None or self._idle[place][0] == key:
                    return self._idle.pop(place)[1]
        return None

    def _end(self, worker: Worker, patience_s: float = 0.0) -> None:
        self._lent.discard(worker)
        worker.close(patience_s)

    def _give_back(self, key: _Key, worker: Worker) -> None:
        with self._lock:
            self._lent.discard(worker)
            self._idle.append((key, worker))
            beyond = self._idle.pop(0)[1] if len(self._idle) > MOST_IDLE else None
        if beyond is not None:
            beyond.close(PATIENCE_S)


@contextmanager
def _spawning() -> Generator[None]:
    """Turn the system's refusals, while this process has a child, into our errors."""
    try:
        yield
    except OSError as error:
        raise CannotTellError(
            f"the child could not be started: {error}",
            rule="capsule/spawn",
            place=sys.executable,
            remedy="free processes, descriptors or memory, then try again",
        ) from error


def alone(surroundings: ChildSurroundings, spent_s: float = 0.0) -> Child:
    """Start an interpreter for one execution, as this system does it."""
    if sys.platform == "win32":
        from muniment_plugins.capsule.parent.windows_jobs import JobChild  # noqa: PLC0415 - of one system

        return JobChild(surroundings, spent_s)
    return Alone(surroundings, spent_s)


def _key(surroundings: ChildSurroundings) -> _Key:
    """Return the key of a worker: imports first, then what its layers depend on."""
    around = (surroundings.outside, surroundings.env, surroundings.text)
    return (surroundings.imports, start.WORKER, sys.executable, *around)


@functools.cache
def pool() -> Pool:
    """Return the pool of this process, with which it ends."""
    made = Pool()
    atexit.register(made.close)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.forget)
    return made
