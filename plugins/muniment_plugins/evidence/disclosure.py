"""What a redacted bundle discloses: an allow-list of payloads and of blobs.

    Disclosure(["verdict.*", "llm.*", "llm.completed/value"])

Rules:

- ``TYPE`` discloses the payloads of the event types that match, ``TYPE/FIELD`` the blobs of
  that field, too. ``*`` matches any part, as in a file name.
- Always disclosed are the payloads that verification rests on: start, ends and resumptions
  of the run, its claims, decisions of people, and what may follow an end. Keys, answers and
  erasures are in no run, and are never withheld.
- So are the payloads without which others are misread: what marks the run, the policies
  that it was held to, the budgets that were exhausted, the effects that a fallback answered,
  the violations that were noted. What these keep in blobs is withheld like any other blob.
- An effect is disclosed as a whole, or not at all: its request, its parts, its outcome, and
  what was recorded while it was performed.
- What is private (`events.visibility`) is withheld, whatever a pattern says: no pattern is
  that wide. How many contents a pattern names in vain is counted.
- A pattern that shows nothing is refused: it was mistyped, or names a part of an effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.events.readable import references
from muniment.events.visibility import hides
from muniment.formats.evidence import COUNTED_BY
from muniment.formats.lifecycle import LIFE, MARKED

if TYPE_CHECKING:
    from muniment.formats.statement import Event

__all__ = ["Disclosure"]

_ALWAYS = (
    *("decision.*", "policy.amended*", "replay.judged"),
    *(
        MARKED,
        "policy.adopted",
        "budget.exhausted",
        "effect.degraded",
        "violation.noted",
    ),
)
_REQUESTED = ".requested"


class Disclosure:
    """Decides which payloads and blobs of a run a bundle shows."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Take the allow-list."""
        split = [(one, *one.partition("/")) for one in patterns]
        self._types = [(one, kind) for one, kind, _, _ in split]
        self._fields = [(one, kind, field) for one, kind, _, field in split if field]
        self._unused: dict[str, Event | None] = {one: None for one, _ in self._types}
        """Pattern that shows nothing yet → an event that matches, and is withheld."""
        self._places: set[tuple[str, int]] = set()
        self._below: set[str] = set()
        self.shown: Counter[str] = Counter()
        """Type → how many payloads are disclosed."""
        self.withheld: Counter[str] = Counter()
        """Type → how many payloads are withheld."""
        self.private: set[str] = set()
        """The commitments of the contents that a pattern names, and that are private."""

    def learn(self, events: Iterable[Event]) -> None:
        """Look at all events of the run, before any is asked about."""
        always: list[Event] = []
        for event in events:
            if self._is_always(event.type):
                always.append(event) if event.scope else None
            elif not self._named(event.type):
                self._places.add((event.scope or "", event.ordinal or 0))
        self._always_within = always

    def settle(self, events: Iterable[Event]) -> None:
        """Close the choice over whole effects, and see what each pattern shows.

        Raises:
            UsageError: a pattern shows nothing, or what is always disclosed is within an
                effect that is not.

        """
        for event in events:
            place = event.scope or "", event.ordinal or 0
            if event.type.endswith(_REQUESTED) and place in self._places:
                stem = event.type.removesuffix(_REQUESTED)
                above = f"{place[0]}/" if place[0] else ""
                self._below.add(f"{above}@{stem}.{place[1]}")
            if self._unused:
                self._strike(event)
        for event in self._always_within:
            if self._is_below(event.scope or ""):
                raise UsageError(
                    f"{event.type} was recorded within an effect that is withheld",
                    rule="evidence/disclose",
                    place=f"event {event.seq}, scope {event.scope}",
                    remedy="disclose the effect: --disclose 'KIND.*'",
                )
        for one, hidden in self._unused.items():
            what = f"no event or blob of the run matches {one!r}"
            if hidden is not None and self.shows(hidden):
                what = f"{one!r} shows nothing: all that it names is private"
            elif hidden is not None:
                what = (
                    f"{one!r} shows nothing: {hidden.type} of event {hidden.seq} is "
                    "withheld with its effect, of which all must be named"
                )
            raise UsageError(
                what,
                rule="evidence/disclose",
                place="--disclose",
                remedy="`muniment events --run RUN` lists the types; a blob is TYPE/FIELD; "
                "'KIND.*' names a whole effect",
            )

    def shows(self, event: Event) -> bool:
        """Tell whether the payload of *event* is disclosed."""
        if event.run is None or self._is_always(event.type):
            return True
        place = event.scope or "", event.ordinal or 0
        return place not in self._places and not self._is_below(place[0])

    def shows_blob(self, event: Event, field: str) -> bool:
        """Tell whether the blob in *field* of *event* is disclosed."""
        named = any(
            fnmatchcase(event.type, pattern) and fnmatchcase(field, name)
            for _, pattern, name in self._fields
        )
        if named and hides(event, field):
            self.private.add(references(event)[field].digest)
            return False
        return named

    def _is_always(self, kind: str) -> bool:
        told = any(fnmatchcase(kind, one) for one in _ALWAYS)
        return told or kind in LIFE or kind in COUNTED_BY

    def _named(self, kind: str) -> bool:
        return any(fnmatchcase(kind, pattern) for _, pattern in self._types)

    def _is_below(self, scope: str) -> bool:
        parts = scope.split("/")
        within = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return any(one in self._below for one in within)

    def _strike(self, event: Event) -> None:
        """Strike the patterns by which *event* shows something."""
        is_shown = self.shows(event)
        for one in [*self._unused]:
            kind, _, field = one.partition("/")
            if not fnmatchcase(event.type, kind):
                continue
            blobs = [
                name
                for name, value in event.raw.items()
                if isinstance(value, dict) and "$blob" in value
            ]
            named = [name for name in blobs if fnmatchcase(name, field)]
            if "/" in one and not named:
                continue
            if is_shown and ("/" not in one or not all(hides(event, n) for n in named)):
                del self._unused[one]
            else:
                self._unused[one] = event
