"""Calls of handlers, each in a context of its own, so that one leaves nothing to the next.

Rules:

- A handler sees the context variables of whoever runs the graph. What it sets there, no
  other handler sees, whether they are called in one thread, in several, or in tasks.
- Code that raises `asyncio.CancelledError` though nobody cancelled its task has failed like
  code that raises anything else. So has code that calls `sys.exit`, as `argparse` does for
  arguments that it cannot read, and code that raises a `BaseException` of its own: it ends
  itself, and not the run (`muniment.runs.halts.raised`). Ctrl-C ends the run, and so does a
  handler of signals that calls `sys.exit` while other code runs.
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from functools import partial
from traceback import walk_tb
from typing import Any, NoReturn, cast

from muniment.errors import printable
from muniment.lazy import loaded
from muniment.programs.awaiting import awaited
from muniment.runs.halts.raised import leaves, passes_through

__all__ = ["apart", "cancels", "failure_in_task", "owned", "raised_again"]


class _Failure(Exception):
    """Stands for what Python treats as no error, under its name."""


def _failure_of(error: BaseException) -> BaseException:
    """Return *error* as an effect can fail by it, if it is that of the code that was called.

    A `CancelledError` would say that the task was cancelled, a `SystemExit` end the run.
    """
    if (
        isinstance(error, Exception)
        or passes_through(error)
        or not _exits_itself(error)
    ):
        return error
    return _named(error)


def failure_in_task(error: BaseException) -> BaseException:
    """Return *error*, which a thread raised, as a coroutine can raise it in its place.

    A `StopIteration` would end that, and nobody cancels a thread.
    """
    if isinstance(error, StopIteration) or cancels(error):
        return _named(error)
    return _failure_of(error)


def raised_again(error: BaseException, failure: BaseException) -> NoReturn:
    """Raise the *failure* that stands for *error*, which may be that itself."""
    if failure is error:
        raise error
    raise failure from error


def _named(error: BaseException) -> Exception:
    made: type[Exception] = type(type(error).__name__, (_Failure,), {})
    return made(printable(error))


def apart(function: Callable[..., object], *given: object) -> object:
    """Call *function* with what is *given* in a context of its own.

    What it returns, if it must be awaited, has the same context.
    """
    context = copy_context()
    try:
        value = context.run(function, *given)
    except Exception:
        raise  # an effect fails by it as it is
    except BaseException as error:  # noqa: BLE001 - raised again
        raised_again(error, failure_in_task(error))
    return _Apart(value, context.run) if inspect.isawaitable(value) else value


def owned(value: Awaitable[object]) -> Awaitable[object]:
    """Return what awaits *value*, and fails where that raises what no effect fails by."""
    return _Apart(value, _here)


def _here(step: Callable[[], object]) -> object:
    return step()


class _Apart(Awaitable[object]):
    """Something that is awaited, by the task that awaits it, step by step."""

    def __init__(
        self, value: Awaitable[object], run: Callable[[Callable[[], object]], object]
    ) -> None:
        self._value = value
        self._run = run
        """Takes each step, in a context if it has one."""

    def close(self) -> None:
        """Await it no more, if it is a coroutine."""
        if inspect.iscoroutine(self._value):
            self._value.close()

    def __await__(self) -> Generator[Any, Any, object]:
        steps = awaited(self._value)
        step: Callable[[], object] = partial(steps.send, None)
        while True:
            try:
                waiting = self._run(step)
            except StopIteration as end:
                return end.value
            except Exception:
                raise  # an effect fails by it as it is
            except BaseException as error:  # noqa: BLE001 - raised again
                raised_again(error, _failure_of(error))
            try:
                got = yield waiting
            except GeneratorExit:
                self._run(steps.close)
                raise
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's to take
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, got)


def cancels(error: BaseException) -> bool:
    """Tell whether *error* is that of a task that was cancelled."""
    cancelled = loaded("asyncio", "CancelledError")
    return cancelled is not None and isinstance(error, cancelled)


def _exits_itself(error: BaseException) -> bool:
    """Tell whether *error* is that of code that ends itself, if it exits.

    A handler of signals that calls `sys.exit` was called by somebody who ends the process.
    """
    left = [one for one in leaves(error) if isinstance(one, SystemExit)]
    if not left:
        return True
    handlers = {_code_of(signal.getsignal(one)) for one in signal.valid_signals()}
    frames = (frame.f_code for one in left for frame, _ in walk_tb(one.__traceback__))
    return handlers.isdisjoint(frames)


def _code_of(handler: Any) -> object:
    """Return the code that runs when *handler* is called; None if it is none of Python."""
    function: Any = getattr(handler, "func", handler)  # of a partial one
    function = getattr(function, "__func__", function)  # of a method
    call: Any = getattr(cast("object", type(function)), "__call__", None)  # noqa: B004
    return getattr(function, "__code__", getattr(call, "__code__", None))
