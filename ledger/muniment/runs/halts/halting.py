"""What stops a run, and what stops one of its lanes while others go on.

    with recording.apart(["fork.1/a", "fork.1/b"], "fork.1"):
        …                                   each lane in a thread or a task of its own

Rules:

- What stops a run stops all of it: whoever records something next gets the error again,
  also a program that swallowed it.
- Lanes that are at once wait each for itself: where people have not decided what one of
  them asks, or it states a pause, it stops, with what is below it, and the others go on.
  Once all of them have come to an end, the run stops by what any of them waits for, or the
  lane that they are in, if that is one of several again.
- A block that ends by something else leaves what its lanes wait for: no run completes before
  that, whatever became of the error.
- What a lane that waits states only if the run goes on, others do not write for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from muniment.errors import LaneWaits, RunPaused

if TYPE_CHECKING:
    from muniment.runs.owner import RunOwner
    from muniment.runs.seams import RunState

__all__ = ["Halting"]

E = TypeVar("E", bound=BaseException)

_TOLD = 8
"""How many reasons to wait are told; the others are counted."""


class Halting:
    """A run that stops, and lanes of it that do."""

    halted: BaseException | None = None
    """The error that stopped the run; a program that swallows it gets it again."""
    ended: bool = False
    ending: bool = False
    """Whether only the end itself remains to be written."""
    parent: RunState | None = None
    """The run that called this one in this process, if one did."""

    def __init__(self, owner: RunOwner) -> None:
        self.owner = owner
        self._apart: dict[str, BaseException | None] = {}
        """Lane that waits for itself → what it waits for, once it does."""
        self.left: list[BaseException] = []
        """What lanes waited for whose block ended by something else."""

    def halt(self, error: E) -> E:
        """Remember the first *error* that nothing may follow; return it to be raised."""
        self.halted = self.halted or error
        return error

    def stop(self, scope: str, error: BaseException) -> BaseException:
        """Stop what waits with *scope* by *error*: its lane, or the run; return what to raise."""
        lane = self._apart_lane(scope)
        if lane is None:
            return self.halt(error)
        self._apart[lane] = self._apart[lane] or error
        return LaneWaits(str(error), getattr(error, "waits_for", ()))

    def _apart_lane(self, scope: str) -> str | None:
        """Return the innermost lane around *scope* that waits for itself, if one does."""
        return next((one for one in _around(scope) if one in self._apart), None)

    def stops_with(self, scope: str, other: str) -> bool:
        """Tell whether what is stated in *other* comes to a stop with *scope*.

        It does not if it is in a lane that waits for itself, and *scope* is not.
        """
        lane = self._apart_lane(other)
        return lane is None or lane in _around(scope)

    @property
    def stopped(self) -> BaseException | None:
        """What stopped the run, or one of its ancestors."""
        above = None if self.parent is None else self.parent.stopped
        return self.halted or above

    def waits(self, scope: str) -> BaseException | None:
        """Return what the lane of *scope* waits for, while others may go on."""
        if not self._apart:
            return None
        waiting = (self._apart.get(one) for one in _around(scope))
        return next((one for one in waiting if one is not None), None)

    def waits_apart(self, scopes: Iterable[str]) -> bool:
        """Tell whether one of *scopes* is a lane that waits for itself already."""
        return not self._apart.keys().isdisjoint(scopes)

    def require_going(self, scope: str = "") -> None:
        """Raise what stopped the run, its parent or the lane of *scope* again.

        Raises:
            UsageError: the run ended.

        """
        if (stopped := self.stopped) is not None:
            raise self.halt(stopped)
        if self.ended or self.ending:
            raise self.owner.ended()
        if (waited := self.waits(scope)) is not None:
            raise LaneWaits(str(waited), getattr(waited, "waits_for", ()))

    @contextmanager
    def apart(self, lanes: Sequence[str], scope: str) -> Generator[None]:
        """Let *lanes*, which are below *scope*, wait each for itself; then stop that."""
        self._apart |= dict.fromkeys(lanes)
        waited: list[BaseException] = []
        around: LaneWaits | None = None
        try:
            yield
        except LaneWaits as error:
            around = error
        except BaseException:
            self.left += [one for one in map(self._apart.get, lanes) if one is not None]
            raise
        finally:
            came = [self._apart.pop(one) for one in lanes]
            waited += [one for one in came if one is not None]
        if waited:
            raise self.stop(scope, _together(waited))
        if around is not None:  # of a lane that this one is in
            raise around


def _around(scope: str) -> Iterator[str]:
    """Yield *scope*, and those that it is in, from within."""
    while scope:
        yield scope
        scope = scope.rpartition("/")[0]


def _together(errors: Sequence[BaseException]) -> BaseException:
    """Return what a run stops by that waits for all of *errors*."""
    pauses = [one for one in errors if isinstance(one, RunPaused)]
    if len(pauses) < len(errors):  # none can be answered here
        return next(one for one in errors if not isinstance(one, RunPaused))
    if len(pauses) == 1:
        return pauses[0]
    reasons = [each for one in pauses for each in one.reasons]
    more = len(reasons) - _TOLD
    told = "; ".join(reasons[:_TOLD]) + (f"; and {more} more" if more > 0 else "")
    awaited = (leaf for one in pauses for leaf in one.waits_for)
    joint = RunPaused(told, tuple(dict.fromkeys(awaited)))
    joint.reasons = tuple(reasons)
    joint.is_private = any(one.is_private for one in pauses)
    return joint
