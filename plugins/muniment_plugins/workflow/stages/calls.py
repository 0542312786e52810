"""Calling handlers: here, in other processes, or on a cluster.

Rules:

- A handler is named by its import path, and by the digest of its source: the request says
  which code was called, so another code is another request.
- Where an executor carries calls elsewhere, a handler is imported there, and gets and
  returns plain values. A handler that takes the lane runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import settle
from muniment.programs.awaiting import awaited
from muniment.programs.references import Function, plain, refer
from muniment_plugins.workflow.runtime.attempts import ChosenLate
from muniment_plugins.workflow.runtime.own_context import apart
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.stages.handlers import (
    called,
    called_later,
    is_coroutine_function,
    written,
)
from muniment_plugins.workflow.stages.remote_calls import carried
from muniment_plugins.workflow.stages.tool_calls import call_of

if TYPE_CHECKING:
    from muniment.runs.executors import Send
    from muniment_plugins.workflow.runtime.seams import NodeVisit

__all__ = ["HandlerCalls"]

Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class HandlerCalls:
    """Calls the handlers of one graph."""

    functions: Mapping[str, Function]
    """Import path → function."""
    in_lane: frozenset[str] = frozenset()
    """The import paths of those that take the lane of their node."""
    send: Send | None = None
    """Carries calls elsewhere; None if they are made here."""

    async def work(self, here: NodeVisit, path: str, given: StageInput) -> object:
        """Return what the handler at *path* makes of what it is *given*.

        Raises:
            EffectFailed: it raised.

        """
        function = self.functions[path]
        if path in self.in_lane:
            here.path.stop.check()
            call = call_of(here, given.copied())
            value = await awaited(apart(plain(function), here.lane, call))
            return settle(written(value))  # what it keeps of it changes nothing
        context = here.conduct.digest_of(given.artifacts)
        request = {"handler": refer(function), **given.request(context)}
        perform = ChosenLate(partial(self._performer, function, given))
        return await here.effect("stage", request, perform)

    def _performer(
        self, function: Function, given: StageInput
    ) -> Callable[[object], object]:
        """Return what calls *function* wherever that is, and says if it is awaited."""
        send = self.send
        if send is not None:
            return lambda _: carried(send, function, given)
        if not is_coroutine_function(function):
            return lambda _: called(function, given.copied())

        async def later(_: object) -> object:
            return await called_later(function, given.copied())

        return later
