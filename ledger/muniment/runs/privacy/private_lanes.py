"""What a run keeps private: lanes whose events say so, for everybody who shows them.

    llm.requested  {"visibility": "private", "request": {"$blob": …}, …}

Rules:

- A lane that is kept private is so with all lanes below it, inside effects, too, and with
  the runs that it calls: whatever of it is an effect, or a fact with a ``visibility``, says
  ``private``. Nothing is taken out: the contents are in the record, and views, exports and
  reports leave them out unless they are asked for (`events.visibility`).
- An effect whose performer keeps its lane private has a private outcome.
- With *effects* alone the facts of a lane stay as they are; what people are asked there, and
  by what the run fails, is private with the effects.
- What came out of a private lane as an error is private, too, and so is whatever says it
  again: the failure of an effect, the end of the run, and the call of it in another run.
  An error that was worded without it (`MunimentError.is_discreet`) is not.
- No replay compares it: a record says what it said, whatever is kept private today.
- What a fork copies from the record of another run says what it says there; a value that
  its caller changed is the caller's, and not private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.errors import EffectFailed, RunPaused
from muniment.events.types import Prepared
from muniment.events.visibility import PRIVATE, VISIBILITY
from muniment.formats.decisions import ASKED
from muniment.formats.lifecycle import COMPLETED, FAILED
from muniment.formats.statement import Place
from muniment.recorded.match_keys import effect_scope
from muniment.runs.privacy.private_errors import keep_error, says_private

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event

__all__ = ["Privacy"]

_OF_EFFECTS = (".requested", ".streamed", ".completed", ".failed")
_BESIDE_EFFECTS = (ASKED, FAILED)
"""What is no effect, and says what effects were told."""


class Privacy:
    """The lanes of one run that are kept private."""

    __slots__ = ("_copies", "_lanes", "_of_effects")

    def __init__(self) -> None:
        self._lanes: frozenset[str] = frozenset()
        self._of_effects: frozenset[str] = frozenset()
        self._copies: dict[tuple[str, int | None], tuple[JsonValue, JsonValue]] = {}
        """Place of an effect → what its request and its outcome say in another record."""

    def keep(self, scope: str, *, effects: bool = False) -> None:
        """Keep *scope* private, with what is below; its *effects* alone, if so."""
        if effects:
            self._of_effects |= {scope}
        elif not _within(scope, self._lanes):
            self._lanes |= {scope}

    def covers(self, place: Place, kind: str) -> bool:
        """Tell whether an event of the type *kind* at *place* is private."""
        if not (self._lanes or self._of_effects):
            return False
        name, _, verb = kind.rpartition(".")
        scope = place.scope
        if kind in _BESIDE_EFFECTS:
            return _within(scope, self._lanes | self._of_effects)
        if f".{verb}" not in _OF_EFFECTS or name == "run":
            return _within(scope, self._lanes)
        inside = effect_scope(scope, name, place.ordinal or 0)
        return _within(inside, self._lanes) or _within(scope, self._of_effects)

    @property
    def is_used(self) -> bool:
        """Whether anything of the run is kept private."""
        return bool(self._lanes or self._of_effects)

    def holds(self, scope: str) -> bool:
        """Tell whether an effect that begins in *scope* is private."""
        return _within(scope, self._lanes | self._of_effects)

    def copy(self, place: Place, asked: Event, ended: Event | None) -> None:
        """Let the effect at *place* say what another record says, of which it is a copy.

        Without *ended* its value was changed.
        """
        outcome = None if ended is None else ended.raw.get(VISIBILITY)
        self._copies[place.scope, place.ordinal] = asked.raw.get(VISIBILITY), outcome

    def follow(self, scope: str, error: BaseException | None) -> None:
        """Note that *error* leaves the lane *scope*: if that is private, it is so, too.

        One that ends the process says what effects were told, as the end of a run does.
        """
        if error is None or isinstance(error, RunPaused):
            return
        lanes = self._lanes
        if not isinstance(error, Exception):
            lanes |= self._of_effects
        if _within(scope, lanes):
            keep_error(error)

    def tells(self, error: BaseException | None) -> bool:
        """Tell whether *error* says something private, as far as is known of it here."""
        return says_private(error, self._failed)

    def tells_end(self, error: BaseException | None) -> bool:
        """Tell whether the end of the run by *error* is private."""
        return self.covers(Place("", "", 0), FAILED) or self.tells(error)

    @property
    def covers_end(self) -> bool:
        """Whether what the run returns is private."""
        return self.covers(Place("", "", 0), COMPLETED)

    def fail(self, inside: str, error: BaseException) -> None:
        """Keep the effect private within which is *inside*, if its *error* tells something."""
        if self.tells(error):
            self.keep(inside)

    def answer(self, inside: str, outcome: Event) -> None:
        """Keep the effect private that the record answers, if its *outcome* says so."""
        if outcome.raw.get(VISIBILITY) == PRIVATE:
            self.keep(inside)

    def pause(self, scope: str, reason: str) -> RunPaused:
        """Return what stops the run for a pause in *scope*."""
        paused = RunPaused(reason)
        paused.is_private = _within(scope, self._lanes)
        return paused

    def _failed(self, error: BaseException) -> bool:
        """Tell whether *error* is the failure of a private effect."""
        if not isinstance(error, EffectFailed) or error.effect is None:
            return False
        scope, ordinal = error.effect
        said = self._copies.get((scope, ordinal), (None, None))[1]
        kind = f"{error.kind}.failed"
        return said == PRIVATE or self.covers(Place("", scope, ordinal), kind)

    def mark(self, prepared: Prepared, place: Place) -> None:
        """Let *prepared* say that it is private, if it is, and its type can say so."""
        kind = prepared.type.name
        copied = self._copies.get((place.scope, place.ordinal))
        if copied is not None and kind.endswith(_OF_EFFECTS):
            said = copied[0 if kind.endswith(".requested") else 1]
            if said is not None:
                prepared.inline[VISIBILITY] = said
        elif self.covers(place, kind) and VISIBILITY in prepared.type.marks:
            prepared.inline[VISIBILITY] = PRIVATE
        if prepared.inline.get(VISIBILITY) == PRIVATE:
            prepared.veil()


def _within(scope: str, lanes: frozenset[str]) -> bool:
    """Tell whether *scope*, or one around it, is in *lanes*."""
    if "" in lanes or scope in lanes:
        return True
    return any(scope.startswith(f"{one}/") for one in lanes)
