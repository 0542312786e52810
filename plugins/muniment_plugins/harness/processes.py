"""Functions of an experiment called in processes of their own.

    experiment.run(replicates=20, executor="processes")
    experiment.run(replicates=20, executor=Processes(workers=8))

Rules:

- Only what can be imported goes there; a lambda is refused before anything runs. The
  script that runs the experiment is not imported again.
- A worker that dies fails the effect that it was at; another takes its place.
- Code of a model runs in the capsule, which is a process anyway.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, ClassVar, cast

from muniment_plugins.harness.registration import functions_of
from muniment_plugins.harness.remote import require_importable, task, unpacked
from muniment_plugins.harness.worker import receive, send

if TYPE_CHECKING:
    from muniment_plugins.harness.hosts import Caller, Host
    from muniment_plugins.harness.programs import ExperimentProgram
    from muniment_plugins.harness.references import Function
    from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["Processes", "WorkerLost", "admit_importable"]

_PATIENCE = 5.0
_MODULE = "muniment_plugins.harness.worker"


class WorkerLost(Exception):
    """A worker process ended in the middle of a call."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Functions in processes, replicates in as many threads that wait for them."""

    name: ClassVar[str] = "processes"
    workers: int | None = None

    @property
    def lanes(self) -> int:
        """As many as workers; without a number, one for each processor."""
        return self.workers or os.cpu_count() or 1

    def admit(self, program: ExperimentProgram) -> None:
        """Refuse a program with functions that cannot be imported."""
        admit_importable(program, self.name)

    @contextmanager
    def host(self, caller: Caller | None) -> Generator[Host]:
        """Start workers as they are needed, and end them all."""
        del caller
        pool = _Pool(self.lanes)
        try:
            yield pool
        finally:
            pool.close()


def admit_importable(program: ExperimentProgram, executor: str) -> None:
    """Refuse a *program* whose functions other processes cannot import.

    Raises:
        UsageError: it names the first such function, and what to do.

    """
    judges = {id(one.verifier.function) for one in program.hypotheses}
    for function in functions_of(program):
        if id(function) not in judges:  # those judge in the run's own process
            require_importable(function, executor)


class _Worker:
    """One process; used by one thread at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join(one or os.getcwd() for one in sys.path)  # noqa: PTH109 - a text
        self.process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-m", _MODULE],
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
        """Let the process end; kill it when it does not."""
        with suppress(BrokenPipeError):
            cast("BinaryIO", self.process.stdin).close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        cast("BinaryIO", self.process.stdout).close()


class _Pool:
    """Workers, made when they are first needed."""

    def __init__(self, size: int) -> None:
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        self._size = size
        for _ in range(size):
            self._idle.put(None)

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Call *function* in the next worker that is free."""
        return unpacked(self._answer(task(function, arguments, named)))

    def _answer(self, sent: bytes) -> bytes:
        worker = self._idle.get() or _Worker()
        try:
            answer = worker.call(sent)
        except BaseException:
            worker.process.kill()
            worker.close()
            self._idle.put(None)
            raise
        self._idle.put(worker)
        return answer

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Ask the plugins of the run."""
        return around.hook("execute_code", request=request)

    def close(self) -> None:
        """End all workers."""
        for _ in range(self._size):
            worker = self._idle.get()
            if worker is not None:
                worker.close()
