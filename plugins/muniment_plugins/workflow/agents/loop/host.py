"""Where a loop runs: the lane of its effects, threads or tasks, time and attempts.

Rules:

- A loop knows no graph: a visit of a node and a plain program give it the same.
- A tool, and what asks a model, is called as the work of a node is: `runtime.attempts`.
- Those who listen hear an answer while it comes, or once it is recorded. They are told
  outside of what is recorded, and change nothing in it: `muniment.runs.lanes.listening`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast

from muniment.runs.lanes.listening import LISTENER, Listener, Receiver
from muniment.runs.run import Run
from muniment_plugins.workflow.runtime.attempts import performed
from muniment_plugins.workflow.runtime.lanes import Lanes, Stop
from muniment_plugins.workflow.runtime.providers import asked_provider

__all__ = ["AgentHost", "ModelCall", "Tell", "heard_by", "listening_to_models"]

Tell = Callable[[str, str], object]
"""Gets the scope in which a model answers, and what it adds to its answer."""
_TELL: ContextVar[tuple[Receiver, ...]] = ContextVar(
    "muniment_models_heard", default=()
)
"""Those who listen here, and all of them hear."""


@contextmanager
def listening_to_models(tell: Tell) -> Generator[None]:
    """Pass on what models answer in the runs that begin in this context.

    *tell* gets the scope of the call, and the text that is added, as it arrives where the
    policy says ``stream``, else as a whole. It may be called by several threads at once.
    The record is the same, with it and without it: what it raises is said once, on stderr,
    and it is told nothing more. A replay and a dry run tell nobody.

    Raises:
        UsageError: *tell* has to be awaited, or cannot be called like that.

    """
    with heard_by(Receiver.of(tell, "listening_to_models", ("scope", "text"))):
        yield


@contextmanager
def heard_by(receiver: Receiver) -> Generator[None]:
    """Let *receiver* listen, too."""
    token = _TELL.set((*_TELL.get(), receiver))
    try:
        yield
    finally:
        _TELL.reset(token)


@dataclass(slots=True)
class ModelCall:
    """One call of a model, with those who listen to it; it may take several attempts."""

    scope: str
    place: str
    """Who asks, for errors."""
    tells: tuple[Receiver, ...] = ()
    _heard: Listener | None = None
    """What was heard of the last attempt; None if nobody was asked."""

    @classmethod
    def of(cls, lane: Run, place: str) -> ModelCall:
        """Return the call that *place* makes in *lane*."""
        tells = _TELL.get() if lane.performs else ()
        return cls(lane.scope_path, place, tells)

    def perform(self, request: object) -> object:
        """Return what a provider answers to *request*; the performer of the effect.

        Raises:
            CannotTellError: no provider answers for the model.

        """
        self._heard = Listener(self._tell if self.tells else None)
        token = LISTENER.set(self._heard)
        try:
            return asked_provider(request, self.place)
        finally:
            LISTENER.reset(token)

    def heard(self, answer: object) -> None:
        """Pass on the whole *answer*, now that it is recorded, if nobody heard it yet."""
        said = cast(
            "Mapping[str, object]", answer if isinstance(answer, Mapping) else {}
        )
        text = said.get("text")
        if self.tells and isinstance(text, str):
            (self._heard or Listener(self._tell)).whole(text)

    def _tell(self, text: str) -> None:
        for one in self.tells:
            one(self.scope, text)


async def _once(work: Callable[[], Awaitable[object]]) -> object:
    return await work()


@dataclass(frozen=True, slots=True)
class AgentHost:
    """What runs the effects of a loop."""

    lane: Run
    """Whose scope the turns are below."""
    lanes: Lanes
    stop: Stop
    timeout_s: float | None = None
    """The seconds that one effect may take."""
    attempt: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]] = _once
    """Calls the model as often as it may be tried."""

    async def effect(
        self, lane: Run, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Perform an effect in a *lane* of the loop.

        Raises:
            EffectFailed: *perform* raised, or took too long.

        """
        self.stop.check()
        return await performed(
            lane,
            kind,
            request,
            perform,
            seconds=self.timeout_s,
            is_async=self.lanes.is_async,
        )

    async def settle(self) -> None:
        """Let tasks that are ready run, before the run waits for people."""
        if self.lanes.is_async:
            await asyncio.sleep(0)
