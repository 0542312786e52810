"""Programs that are written once, whether their functions must be awaited or not.

Rules:

- A program with a coroutine function among those that it was given is asynchronous, and
  is awaited; any other is driven to its end at once, and awaits nothing.
- A performer is called in a live run only: what it must await has a loop of its own.
- Code that nothing awaits needs no loop, and does not load asyncio to learn so.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import UsageError
from muniment.lazy import loaded

if TYPE_CHECKING:
    import asyncio

__all__ = ["awaited", "driven", "running_task", "settled"]


def running_task() -> asyncio.Task[Any] | None:
    """Return the task of asyncio that the caller runs in; None outside of any."""
    current = loaded("asyncio", "current_task")
    try:
        return None if current is None else current()
    except RuntimeError:  # no loop runs here
        return None


async def awaited(value: object) -> object:
    """Return *value*, or what it gives once it is awaited."""
    if inspect.isawaitable(value):
        return await cast("Awaitable[object]", value)
    return value


def driven(coroutine: Coroutine[object, object, object]) -> object:
    """Return what *coroutine* returns without waiting for anything.

    Raises:
        UsageError: it waits.

    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("object", end.value)
    coroutine.close()
    raise UsageError(
        "a function returned something that must be awaited",
        rule="program/async",
        remedy="define it with `async def`, so that the program is known to be asynchronous",
    )


def settled(value: object) -> object:
    """Return *value*; await it first, on a loop of its own, if it is an awaitable."""
    if not inspect.isawaitable(value):
        return value
    import asyncio  # noqa: PLC0415 - for what has to be awaited only
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - the same

    waiting = awaited(value)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waiting)
    # A loop cannot run inside another one, and the flow may be started within one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, waiting).result()
