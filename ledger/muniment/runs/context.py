"""A run whose program is the body of a ``with`` statement."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeAlias

from muniment.runs.execution import Ending, begun, finish
from muniment.runs.recording import Recording
from muniment.runs.run import Run

__all__ = ["RunContext"]

Conclude: TypeAlias = Callable[[Recording], AbstractContextManager[Ending]]
"""Writes how the run of the ``with`` body ended."""


class RunContext:
    """An open run as a context manager; the body's exception is its failure."""

    def __init__(self, recording: Recording, ending: Conclude) -> None:
        self._recording = recording
        self._ending = ending
        self._lane = Run(recording)
        self._began = time.monotonic()

    def __enter__(self) -> Run:
        try:
            self._lane = begun(self._recording)
        except BaseException as error:
            self._conclude(error)
            raise
        return self._lane.__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lane.__exit__(exc_type, exc, traceback)
        self._conclude(exc)

    def _conclude(self, exc: BaseException | None) -> None:
        with self._ending(self._recording) as ending:
            if exc is not None:
                raise exc
            ending.done = finish(self._recording, None, self._began)
        if exc is None:
            ending.result.raise_failure()

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(exc_type, exc, traceback)
