"""Where the user's functions are called, and how their answers come back.

    case.host.call(llm, claim, spec, context)      here, in a process, on a cluster

Rules:

- The run decides and records; a host only calls: a function that reads data or asks a
  model, a custom step or transform, a capsule.
- A function is given copies on every host: what it does to them is its own affair.
- A function may be a coroutine function. It is awaited on the loop of the caller who
  awaits the experiment, else on a loop of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from muniment.programs.references import Function, plain
from muniment_plugins.harness.functions.handouts import handed
from muniment_plugins.harness.surroundings import Surroundings, here

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from threading import Event

__all__ = ["INLINE", "Caller", "Host", "Inline", "Unfinished", "settled"]

_TICK = 0.1
"""Seconds between looks at whether the caller still waits."""


class Unfinished(BaseException):
    """A replicate was stopped because the run ends; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller who awaits an experiment: its loop, and whether it stopped waiting."""

    loop: AbstractEventLoop
    stopped: Event

    def wait(self, awaitable: Awaitable[object]) -> object:
        """Return what *awaitable* gives on the caller's loop.

        Raises:
            Unfinished: the caller no longer waits; *awaitable* is cancelled.

        """
        from asyncio import run_coroutine_threadsafe  # noqa: PLC0415 - a loop is there

        future = run_coroutine_threadsafe(_awaited(awaitable), self.loop)
        while not self.stopped.wait(0):
            try:
                return future.result(_TICK)
            except TimeoutError:
                if future.done():  # raised by the awaitable itself
                    raise
        future.cancel()
        raise Unfinished


class Host(Protocol):
    """Calls functions."""

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Return what *function* returns for *arguments*; raise what it raises."""
        ...

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Return what the hook ``execute_code`` answers to *request*."""
        ...


class Inline:
    """Calls in the calling thread; coroutines go to the loop of a *caller*, if any."""

    def __init__(self, caller: Caller | None = None) -> None:
        self.caller = caller

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Call it here, with copies of the arguments."""
        types = here().values
        given = [handed(one, types) for one in arguments]
        by_name = {name: handed(one, types, name) for name, one in named.items()}
        return settled(plain(function)(*given, **by_name), self.caller)

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Ask the plugins of the run."""
        return around.hook("execute_code", request=request)


async def _awaited(awaitable: Awaitable[object]) -> object:
    return await awaitable


def settled(value: object, caller: Caller | None = None) -> object:
    """Return *value*; await it if necessary, on the caller's loop or one of its own."""
    if not inspect.isawaitable(value):
        return value
    awaitable = cast("Awaitable[object]", value)
    if caller is not None:
        return caller.wait(awaitable)
    import asyncio  # noqa: PLC0415 - for what has to be awaited only
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - the same

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(awaitable))
    # A loop cannot run inside another one, and a notebook calls from within its own.
    with ThreadPoolExecutor(1) as pool:
        run = copy_context().run
        return pool.submit(run, asyncio.run, _awaited(awaitable)).result()


INLINE = Inline()
