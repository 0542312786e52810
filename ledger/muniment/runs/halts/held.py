"""What waits to be written, and what of it an interruption drops.

    agent.ended    held: the loop was cancelled, which a resume need not come to again
    note.added     what the same thread stated after it

Rules:

- What is held is written with whatever the run goes on to: an effect, a question, a pause
  that it states, its end, be that a failure. An interruption drops it, so that a resume may
  state something else; so does waiting for people, and a program that cancels its run.
- A held fact that the same thread or task was past, since it stated something else, was
  gone on from: it stays.
- Unless an effect was cut off before it there, and has no outcome: then the fact may follow
  from that, and it is dropped with what its thread stated after it. A resume performs the
  effect again, and states what follows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from muniment.programs.awaiting import running_task

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.storage.sealing import Draft

__all__ = ["Flow", "HasEvent", "Pending", "flow", "left_by_interruption", "parted"]


class HasEvent(Protocol):
    """A recorded fact, which has an event once it is written."""

    written: Event | None


Flow: TypeAlias = tuple[int, object]
"""A thread, and its running task; None without one."""


def flow() -> Flow:
    """Return where the caller runs."""
    return threading.get_ident(), running_task()


@dataclass(slots=True)
class Pending:
    """A fact that waits to be written, parts of a stream, or an outcome."""

    draft: Draft
    handle: HasEvent | None = None
    """That of a fact of the program."""
    held: bool = False
    """Whether it is dropped if the run is interrupted before anything follows."""
    flow: Flow = field(default_factory=flow)
    """Where it was stated."""


def parted(
    waiting: Sequence[Pending], waits: Callable[[str], object]
) -> tuple[list[Pending], list[Pending]]:
    """Return what of *waiting* is written now, and what is held in lanes that wait."""
    now, kept = list[Pending](), list[Pending]()
    for one in waiting:
        place = one.draft.place
        keeps = one.held and place is not None and waits(place.scope) is not None
        (kept if keeps else now).append(one)
    return now, kept


def left_by_interruption(
    waiting: Sequence[Pending], cuts: Iterable[tuple[int, Flow]]
) -> list[Pending]:
    """Return what of *waiting* is written when the run is interrupted.

    *cuts* are the effects that came to no outcome: how much waited then, and where they ran.
    """
    left: list[Pending] = []
    cut, dropped = [*cuts], list[Flow]()
    for at, one in enumerate(waiting):
        if one.handle is None:
            if one.held:
                cut.append((at, one.flow))
            else:
                left.append(one)
            continue
        drops = any(_follows(one.flow, other) for other in dropped)
        if one.held and not drops:
            caused = any(n <= at and _follows(one.flow, other) for n, other in cut)
            drops = caused or not _is_passed(one, waiting[at + 1 :])
        if drops:
            dropped.append(one.flow)
        else:
            left.append(one)
    return left


def _is_passed(held: Pending, later: Iterable[Pending]) -> bool:
    """Tell whether something that is not held was stated where *held* was, after it."""
    stated = (one for one in later if one.handle is not None and not one.held)
    return any(_follows(one.flow, held.flow) for one in stated)


def _follows(later: Flow, earlier: Flow) -> bool:
    """Tell whether they are the same, or the *later* is its thread after a loop's end."""
    return later[0] == earlier[0] and later[1] in (None, earlier[1])
