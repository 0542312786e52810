"""Whether a program does one thing at a time now, or other threads and tasks of it run.

    flow = ProgramFlow()         in the thread, and in the task, that calls the program
    flow.is_alone()       in whichever of its threads and tasks

Rules:

- What one thread or task does alone comes in one order. So whatever a run recorded, and
  its program has not come to, comes before anything new that it does.
- While others run, they may still come to it: then the order decides nothing.
- Others are the threads and tasks that began since the program was called, and calls in
  thread pools. Threads of before may take work from a queue; they are not followed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from muniment.lazy import loaded
from muniment.programs.awaiting import running_task
from muniment.runs.threads import at_work, follow_pools

if TYPE_CHECKING:
    import asyncio

__all__ = ["ProgramFlow"]


class ProgramFlow:
    """The thread and the task in which a program was called."""

    __slots__ = ("_before", "_task", "_tasks", "_thread")

    def __init__(self) -> None:
        follow_pools()
        self._thread = threading.current_thread()
        self._before: WeakSet[Any] = WeakSet(at_work())
        self._task = running_task()
        self._tasks = WeakSet(_tasks())

    def is_alone(self) -> bool:
        """Tell whether the caller is all of the program that runs now."""
        if threading.current_thread() is not self._thread:
            return False  # the thread that called the program has not ended
        current = running_task()
        if self._task is not None and current is not self._task:
            return False
        known = self._tasks
        others = (one for one in _tasks() if one is not current and one not in known)
        return not any(others) and not at_work().difference(self._before)


def _tasks() -> set[asyncio.Task[Any]]:
    """Return the tasks of this thread's loop that have not ended."""
    tasks = loaded("asyncio", "all_tasks")
    try:
        return set() if tasks is None else tasks()
    except RuntimeError:  # no loop runs here
        return set()
