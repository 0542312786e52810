"""Projections: pure folds over events, remembered up to a position.

    class RunSummaries(Projection[...]):
        name, version, types = "run-record", 1, ("*",)
        def initial(self): ...
        def apply(self, state, event): ...
        def view(self, state): ...

Rules:

- The state is JSON; ``apply`` reads the event's payload only (never a content), so an
  erasure changes no projection. It returns the new state and has no other effect.
- Folding from event 0 gives the same as continuing from a remembered state.
- States are remembered in ``cache.db`` beside the ledger, under the ledger's id, the
  projection's name and version, and the hash of the last event folded; a state that
  does not fit, or that another user may have written, is folded again
  (`muniment.storage.cache`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import Event
from muniment.storage.cache import Cache

__all__ = ["Projection", "fold"]

V_co = TypeVar("V_co", covariant=True)


class Projection(Generic[V_co]):
    """A fold with a name; subclass it, and pass the class to ``ledger.project``."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Goes up whenever `initial` or `apply` change; old states are thrown away."""

    def initial(self) -> JsonValue:
        """Return the state before the first event."""
        raise NotImplementedError

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Return the state after *event*; may change *state* in place."""
        raise NotImplementedError

    def view(self, state: JsonValue) -> V_co:
        """Return the result that callers see."""
        raise NotImplementedError


def fold(
    projection: Projection[V_co],
    events: Callable[[int], Iterable[Event]],
    cache: Cache | None,
    run: str = "",
    still_there: Callable[[int, str], bool] = lambda _size, _head: True,
) -> V_co:
    """Return the view of *projection* over all events.

    Args:
        projection: the projection to fold.
        events: the events with a ``seq`` of at least the argument, in order.
        cache: remembers states; None for a fold from event 0.
        run: the run that the events are restricted to, or ``""``.
        still_there: tells whether the event before *size* still has the hash *head*.

    """
    size, head, remembered = (0, "", b"")
    if cache is not None:
        size, head, remembered = cache.load(projection, run)
        if size and not still_there(size, head):
            size, remembered = 0, b""
    try:
        state = json.loads(remembered) if remembered else projection.initial()
    except json.JSONDecodeError:
        size, state = 0, projection.initial()
    start = size
    for event in events(size):
        state = projection.apply(state, event)
        size, head = event.seq + 1, event.hash
    if cache is not None and size > start:
        # Not canonical: the order of members and 1.0 are part of the state.
        cache.save(projection, run, size, head, json.dumps(state).encode())
    return projection.view(state)
