"""Where functions of the user are called, and how their answers come back.

    case.host.call(llm, claim, spec, context)      here, in a process, on a cluster

Rules:

- What decides and what records stays with the run; a host only calls: a function that
  reads data or asks a model, a step or transform of the user's own, a capsule.
- A function may be a coroutine function. It is awaited on the loop of the caller who
  awaits the experiment, else on a loop of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Protocol, cast

from muniment_plugins.harness.references import Function, plain
from muniment_plugins.harness.surroundings import Surroundings

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["INLINE", "Host", "Inline", "settled"]


class Host(Protocol):
    """What calls functions."""

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Return what *function* returns for *arguments*; raise what it raises."""
        ...

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Return what the hook ``execute_code`` answers to *request*."""
        ...


class Inline:
    """Calls in the calling thread; coroutines go to *loop* if one is given."""

    def __init__(self, loop: AbstractEventLoop | None = None) -> None:
        self.loop = loop

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Call it here."""
        return settled(plain(function)(*arguments, **named), self.loop)

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Ask the plugins of the run."""
        return around.hook("execute_code", request=request)


def settled(value: object, loop: AbstractEventLoop | None = None) -> object:
    """Return *value*, awaited where it must be.

    Args:
        value: what a function returned.
        loop: a loop that another thread runs; one is made where none is given.

    """
    if not inspect.isawaitable(value):
        return value
    import asyncio  # noqa: PLC0415 - for what has to be awaited only
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - the same

    awaitable = cast("Awaitable[object]", value)

    async def wait() -> object:
        return await awaitable

    if loop is not None:
        return asyncio.run_coroutine_threadsafe(wait(), loop).result()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # A loop cannot be run inside another one: a notebook calls from within its own.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, wait()).result()


INLINE = Inline()
