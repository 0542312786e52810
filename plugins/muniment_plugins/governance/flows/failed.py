"""How a flow fails: one line, with the step, the rule and what to do.

Rule: whatever a function of a flow raises fails the flow, and the error names it, an exit
(`SystemExit`) and a `BaseException` of its own included. What passes through is not the
function's: the user who interrupts, the kernel that pauses or ends the run, and a task that
is really being cancelled; also where it is one of several, in a group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from muniment.errors import MunimentError, printable
from muniment.lazy import loaded
from muniment.programs.awaiting import running_task

__all__ = ["FlowFailed", "passes_through", "told"]

_OURS = ("muniment", "muniment_plugins", "muniment_cli")


class FlowFailed(MunimentError):
    """A step broke its contract, was judged to fail, or exhausted a budget."""

    exit_code = 1


def passes_through(error: BaseException) -> bool:
    """Tell whether *error*, out of a function of a flow, is not the function's own."""
    return any(map(_is_outside, _leaves(error)))


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


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup) or isinstance(error, Exception):
        yield error
        return
    group = cast("BaseExceptionGroup[BaseException]", error)
    for one in group.exceptions:
        yield from _leaves(one)


def told(error: BaseException) -> str:
    """Return what a function raised, in a line."""
    name, text = type(error).__name__, printable(error)
    return f"{name}: {text}" if text else name
