"""Calls of handlers, each in a context of its own, so that one leaves nothing to the next.

Rules:

- A handler sees the context variables of whoever runs the graph. What it sets there, no
  other handler sees, whether they are called in one thread, in several, or in tasks.
- A handler that raises `asyncio.CancelledError` though nobody cancelled its task has failed
  like one that raises anything else. So has code that calls `sys.exit`, as `argparse` does
  for arguments that it cannot read: it ends itself, and not the run. Ctrl-C ends the run,
  and so does a handler of signals that calls `sys.exit` while other code runs.
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context, copy_context
from functools import partial
from traceback import walk_tb
from typing import Any, cast

from muniment.lazy import loaded
from muniment.programs.awaiting import awaited, running_task

__all__ = ["apart", "cancels", "exits", "failure_in_task"]


class _Failure(Exception):
    """Stands for what Python treats as no error, under its name."""


def failure_in_task(error: BaseException) -> BaseException:
    """Return *error* as a coroutine can raise it for an effect that failed.

    A `StopIteration` would end it, a `CancelledError` would say that it was cancelled, and
    a `SystemExit` would end the run.
    """
    if isinstance(error, StopIteration) or exits(error) or cancels(error):
        made: type[Exception] = type(type(error).__name__, (_Failure,), {})
        return made(*error.args)
    return error


def apart(function: Callable[..., object], *given: object) -> object:
    """Call *function* with what is *given* in a context of its own.

    What it returns, if it must be awaited, has the same context.
    """
    context = copy_context()
    try:
        value = context.run(function, *given)
    except BaseException as error:
        if cancels(error) or exits(error):
            raise failure_in_task(error) from error
        raise
    return _Apart(context, value) if inspect.isawaitable(value) else value


class _Apart(Awaitable[object]):
    """Something that is awaited in a context of its own, by the task that awaits it."""

    def __init__(self, context: Context, value: Awaitable[object]) -> None:
        self._context = context
        self._value = value

    def close(self) -> None:
        """Await it no more, if it is a coroutine."""
        if inspect.iscoroutine(self._value):
            self._value.close()

    def __await__(self) -> Generator[Any, Any, object]:
        steps = awaited(self._value)
        step: Callable[[], object] = partial(steps.send, None)
        while True:
            try:
                waiting = self._context.run(step)
            except StopIteration as end:
                return end.value
            except BaseException as error:
                alone = cancels(error) and not _is_cancelled()
                if alone or exits(error):
                    raise failure_in_task(error) from error
                raise
            try:
                got = yield waiting
            except GeneratorExit:
                self._context.run(steps.close)
                raise
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's to take
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, got)


def cancels(error: BaseException) -> bool:
    """Tell whether *error* is that of a task that was cancelled."""
    cancelled = loaded("asyncio", "CancelledError")
    return cancelled is not None and isinstance(error, cancelled)


def exits(error: BaseException) -> bool:
    """Tell whether *error* is that of code that called `sys.exit` for itself.

    A handler of signals that does so was called by somebody who ends the process.
    """
    if not isinstance(error, SystemExit):
        return False
    handlers = {_code_of(signal.getsignal(one)) for one in signal.valid_signals()}
    frames = (frame.f_code for frame, _ in walk_tb(error.__traceback__))
    return handlers.isdisjoint(frames)


def _code_of(handler: Any) -> object:
    """Return the code that runs when *handler* is called; None if it is none of Python."""
    function: Any = getattr(handler, "func", handler)  # of a partial one
    function = getattr(function, "__func__", function)  # of a method
    call: Any = getattr(cast("object", type(function)), "__call__", None)  # noqa: B004
    return getattr(function, "__code__", getattr(call, "__code__", None))


def _is_cancelled() -> bool:
    """Tell whether somebody cancelled the running task."""
    task = running_task()
    return task is None or task.cancelling() > 0
