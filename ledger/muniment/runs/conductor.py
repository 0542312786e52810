"""Running programs to their end, for a ledger and for runs that call others.

Rules:

- However a program ends, its end is an event of the run, and a checkpoint signs it;
  only a process that was killed leaves a run without an end.
- The process that has left such a run may resume it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from muniment.programs.functions import Program
from muniment.runs import execution
from muniment.runs.execution import Done, Ending
from muniment.runs.recording import Recording

__all__ = ["Conductor"]


class Conductor:
    """Runs programs in one open ledger."""

    def __init__(self, checkpoint: Callable[[], object], left: set[str]) -> None:
        self._checkpoint = checkpoint
        self._left = left

    def conduct(
        self, recording: Recording, program: Program, params: Mapping[str, object]
    ) -> Done:
        """Call *program* with *params*, and return how it ended."""
        with self.ending(recording) as ending:
            value = execution.call(recording, program, params)
            ending.done = execution.finish(recording, value, ending.began)
        return ending.result

    async def aconduct(
        self, recording: Recording, program: Program, params: Mapping[str, object]
    ) -> Done:
        """Do as `conduct` does, for a *program* that may be asynchronous."""
        with self.ending(recording) as ending:
            value = await execution.acall(recording, program, params)
            ending.done = execution.finish(recording, value, ending.began)
        return ending.result

    @contextmanager
    def ending(self, recording: Recording) -> Generator[Ending]:
        """Write how the run of the body ended."""
        ending = Ending(time.monotonic())
        try:
            yield ending
        except BaseException as error:  # noqa: BLE001 - every end is an event
            ending.done = execution.stop(recording, error, ending.began)
        finally:
            if recording.owner.is_here:
                self._left.add(recording.run_id)
                if recording.mode.writes:
                    self._checkpoint()
