"""Whose an error is that came out of a function: the function's own, or not.

Rule: what passes through is not the function's: the user who interrupts, the kernel that
pauses or ends the run, and a task that is really being cancelled; also where it is one of
several, in a group. Anything else is its own: an exit (`SystemExit`), a `BaseException` of
its own, and a cancellation that nobody asked for included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from muniment.errors import MunimentError
from muniment.lazy import loaded
from muniment.programs.awaiting import running_task

__all__ = ["leaves", "passes_through"]

_OURS = ("muniment", "muniment_plugins", "muniment_cli")


def passes_through(error: BaseException) -> bool:
    """Tell whether *error*, out of a function, is not the function's own."""
    return any(map(_is_outside, leaves(error)))


def _is_outside(error: BaseException) -> bool:
    if isinstance(error, MunimentError | KeyboardInterrupt):
        return True
    if isinstance(error, Exception):
        return False
    homes = (one.__module__.partition(".")[0] for one in type(error).__mro__)
    if any(home in _OURS for home in homes):
        return True  # it pauses or ends a run
    cancelled = loaded("asyncio", "CancelledError")
    if cancelled is None or not isinstance(error, cancelled):
        return False
    task = running_task()  # without one, nobody cancels
    return task is not None and task.cancelling() > 0


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield *error*, or what is in it if it is a group that is no ``Exception``."""
    if not isinstance(error, BaseExceptionGroup) or isinstance(error, Exception):
        yield error
        return
    group = cast("BaseExceptionGroup[BaseException]", error)
    for one in group.exceptions:
        yield from leaves(one)
