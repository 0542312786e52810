"""Functions called in processes of their own.

    experiment.run(replicates=20, executor="processes")
    experiment.run(replicates=20, executor=Processes(workers=8))

Rules:

- A worker is this very interpreter with the same path; it does not import the running
  script again.
- If a worker dies, the effect that it was working on fails; another worker replaces it.
- If this process dies, however that is, its workers die, too: whoever resumes the run is
  alone with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import BinaryIO, ClassVar, cast

from muniment.runs.executors import Reach, Send
from muniment_plugins.executors.worker import receive, send

__all__ = ["Processes", "WorkerLost"]

_PATIENCE = 5.0
_MODULE = "muniment_plugins.executors.worker"


class WorkerLost(Exception):
    """A worker process ended in the middle of a call."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Functions in processes; parts of the run in as many threads, which wait."""

    name: ClassVar[str] = "processes"
    reach: ClassVar[Reach] = "process"
    workers: int | None = None

    @property
    def lanes(self) -> int:
        """As many as workers; without a number, one for each processor."""
        return self.workers or os.cpu_count() or 1

    def require(self) -> None:
        """Need nothing."""

    @contextmanager
    def host(self, serve: str) -> Generator[Send]:
        """Start workers when they are needed, and end them all."""
        pool = _Pool(serve, self.lanes)
        try:
            yield pool.call
        finally:
            pool.close()


class _Worker:
    """One process; used by one thread at a time."""

    def __init__(self, serve: str) -> None:
        path = os.pathsep.join(one or os.getcwd() for one in sys.path)  # noqa: PTH109 - a text
        self.process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-m", _MODULE, serve],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )

    def call(self, sent: bytes) -> bytes:
        """Return the answer to *sent*."""
        answer = None
        with suppress(BrokenPipeError):
            send(cast("BinaryIO", self.process.stdin), sent)
            answer = receive(cast("BinaryIO", self.process.stdout))
        if answer is None:
            code = self.process.wait()
            raise WorkerLost(f"the worker process ended with {code}")
        return answer

    def close(self) -> None:
        """Let the process end; kill it if it does not."""
        with suppress(BrokenPipeError):
            cast("BinaryIO", self.process.stdin).close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        cast("BinaryIO", self.process.stdout).close()


class _Pool:
    """Workers, started when they are first needed."""

    def __init__(self, serve: str, size: int) -> None:
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        from concurrent.futures import (  # noqa: PLC0415 - is slow
            ThreadPoolExecutor,
        )

        self._serve = serve
        self._size = size
        # Linux kills workers with the *thread* that started them: one that stays.
        self._starts = ThreadPoolExecutor(1)
        for _ in range(size):
            self._idle.put(None)

    def call(self, sent: bytes) -> bytes:
        """Return the answer of the next free worker to *sent*."""
        worker = self._idle.get()
        try:
            worker = worker or self._starts.submit(_Worker, self._serve).result()
        except BaseException:
            self._idle.put(None)
            raise
        try:
            answer = worker.call(sent)
        except BaseException:
            worker.process.kill()
            worker.close()
            self._idle.put(None)
            raise
        self._idle.put(worker)
        return answer

    def close(self) -> None:
        """End all workers."""
        for _ in range(self._size):
            worker = self._idle.get()
            if worker is not None:
                worker.close()
        self._starts.shutdown()
