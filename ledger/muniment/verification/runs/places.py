"""The places in one run: scope and ordinal of each fact and effect.

    a 3  llm.requested   takes the place
    a 3  llm.streamed    parts, while the attempt lasts
    a 3  llm.completed   ends the attempt; only a further request begins another
    a/@llm.3 0           the first event recorded while it was performed

Rules:

- A run begins with `run.started`, once.
- In a scope, each fact and request has a higher ordinal than those before it. An equal
  one continues the same effect.
- Parts and an outcome belong to an attempt that was requested and has not ended.
  Without a request, only those of the kernel's kinds are recognised: a fact of a plugin
  may have a type that ends in ``.completed``.
- A scope below an effect belongs to one that was requested before. No segment of a scope
  begins with ``$``.
- Events about keys concern the whole ledger, and are in no run.
- An event that may follow an end is in the run's own scope, at a new ordinal: it
  answers nothing, and changes nothing in the record; a resumption, too. So is
  ``run.canceled``, which comes from outside, wherever it is.
- A completed effect is not requested again: readers of the first answer and readers of
  the last would tell two stories. An effect that failed, or has no outcome, may be; and
  so may, after a resumption, one whose answer had secrets, which no record holds.
- A resumption supersedes only what followed failures of the run: each effect that it
  names was requested, and its last attempt failed.
- This module alone judges places: for the pass over a log, from the version of the
  events on that has these rules, and for readers of one run. In older ledgers readers
  only require a start, and one event at each place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from muniment.format_versions import OWN_PLACES, RESERVED, WAITS
from muniment.formats.lifecycle import CANCELED, ENDS, LIFE, RESUMED, STARTED
from muniment.keys.keyring import KEY_EVENTS

__all__ = ["AFTER_END", "KERNEL_ANSWERS", "OF_RUNS", "Places"]

AFTER_END = ("decision.", "policy.amended", CANCELED, "replay.judged")
"""Prefixes of the types that may follow the end of a run; ``run.canceled`` only if the
end is not final."""

_KINDS = {
    **dict.fromkeys(
        ("command", "data", "execution", "human", "llm", "tool"), OWN_PLACES
    ),
    **dict.fromkeys(("child", "timer"), WAITS),
}
"""The kernel's effect kinds → the first version of the events that has them."""
_OUTCOMES = ("completed", "failed")
KERNEL_ANSWERS = {
    f"{kind}.{verb}": since
    for kind, since in _KINDS.items()
    for verb in ("streamed", *_OUTCOMES)
}


OF_RUNS: Mapping[str, int] = {
    **dict.fromkeys(LIFE, OWN_PLACES),
    **{f"{kind}.requested": since for kind, since in _KINDS.items()},
    **KERNEL_ANSWERS,
}
"""The types of events that must be in a run → the first version of the events in which
they must."""


class Places:
    """Which places of a run are taken, and which effects at them have not ended."""

    __slots__ = (
        "_asked",
        "_done",
        "_ended",
        "_going",
        "_named",
        "_next",
        "_performed",
        "_withheld",
        "seen",
    )

    def __init__(self) -> None:
        self.seen = False
        """Whether an event of the run was seen, sound or not."""
        self._next: dict[str, int] = {}
        """The least ordinal of each scope that no event has."""
        self._named: set[str] = set()
        """The scopes whose names may stand there."""
        self._asked: dict[tuple[str, int], str] = {}
        """The kinds of the effects that were requested."""
        self._performed: set[str] = set()
        """The scopes of events recorded while effects are performed."""
        self._done: dict[tuple[str, int], bool] = {}
        """The places where an attempt completed, and whether with secrets."""
        self._going: set[tuple[str, int]] = set()
        """The places where the last attempt has no outcome yet."""
        self._ended = False
        self._withheld: set[tuple[str, int]] = set()
        """The places of events that a bundle withholds."""

    @classmethod
    def ended(cls, free: int) -> Places:
        """Return the places of a completed run, of which only *free* is known."""
        places = cls()
        places.seen = places._ended = True
        places._next[""] = free
        return places

    @property
    def free(self) -> int:
        """The least ordinal of the run's own scope that no event has."""
        return self._next.get("", 0)

    def withhold(self, scope: str, ordinal: int) -> None:
        """Take the place of an event of which nothing else is known."""
        self.seen = True
        self._withheld.add((scope, ordinal))
        self._next[scope] = max(self._next.get(scope, 0), ordinal + 1)

    def asked(self, place: tuple[str, int], kind: str) -> bool:
        """Tell whether *kind* may be an outcome of what was requested at *place*."""
        stem = self._asked.get(place)
        return stem is not None and stem == kind.rpartition(".")[0]

    def broken(
        self, chain: Any, kind: str, data: Any, version: int
    ) -> list[tuple[str, str]]:
        """Place the next event of the run; return the rules it breaks, and why.

        Args:
            chain: the chain's own fields of the event: its scope and ordinal.
            kind: its type.
            data: its data.
            version: that of the events, as the genesis states it.

        """
        if kind in KEY_EVENTS and version >= RESERVED:
            return [("run/order", f"{kind} is in a run, and no run has keys")]
        scope, found = chain["scope"], list[tuple[str, str]]()
        if self.seen == (kind == STARTED):
            what = "begins again" if self.seen else f"begins with {kind}"
            if version >= OWN_PLACES or not self.seen:
                found.append(("run/start", f"the run {what}"))
        self.seen = True
        outside = kind == CANCELED or (self._ended and kind.startswith(AFTER_END))
        judged = outside and version >= OWN_PLACES
        if judged and (wrong := self._following(scope, chain["ordinal"], kind)):
            return [wrong]
        if self._ended and kind == RESUMED and scope and version >= OWN_PLACES:
            what = f"{kind} follows an end, in the scope {scope!r:.80}"
            found.append(("run/scope", what))
        if kind in ENDS or kind == RESUMED:
            self._ended = kind in ENDS
        if version >= OWN_PLACES and scope not in self._next:
            found += self._misnamed(scope, version)
        broken = self._taken((scope, chain["ordinal"]), kind, data, version)
        if broken and (version >= OWN_PLACES or broken[0] == "run/ordinal"):
            found.append(broken)
        return found

    def _following(self, scope: str, ordinal: int, kind: str) -> tuple[str, str] | None:
        """Refuse an event from outside that is not after everything else."""
        if scope:
            return (
                "run/scope",
                f"{kind} is said from outside, in the scope {scope!r:.80}",
            )
        if ordinal < self.free:
            what = f"ordinal {ordinal} is taken, and {kind} is said from outside"
            return "run/ordinal", what
        return None

    def _misnamed(self, scope: str, version: int) -> list[tuple[str, str]]:
        """Refuse a new *scope* of a reserved name, or of an effect not requested."""
        above, _, last = scope.rpartition("/")
        # Of scopes below one another each would be read from its first segment again.
        known = above in self._named
        end = len(above) if known else -1
        for segment in [last] if known else scope.split("/"):
            end += 1 + len(segment)
            if segment.startswith("$") and version >= RESERVED:
                return [("run/scope", f"the scope {scope!r:.80} has a reserved name")]
            if segment.startswith("@") and scope[:end] not in self._performed:
                what = f"the scope {scope!r:.80} is of an effect that was not requested"
                return [("run/scope", what)]
        self._named.add(scope)
        return []

    def _taken(
        self, place: tuple[str, int], kind: str, data: Any, version: int
    ) -> tuple[str, str] | None:
        """Take the *place* for *kind*, or continue there; return a broken rule, why."""
        stem, _, verb = kind.rpartition(".")
        scope, ordinal = place
        if ordinal >= self._next.get(scope, 0):
            self._next[scope] = ordinal + 1
            return self._begun(place, kind, data, version)
        if self._asked.get(place) != stem:
            return "run/ordinal", f"ordinal {ordinal} of the scope {scope!r} is taken"
        if place in self._done and verb == "requested":
            return "run/order", f"{kind} asks again for what completed"
        if verb == "requested":
            self._going.add(place)
        elif place not in self._going:
            return "run/order", f"{kind} comes after the outcome of its effect"
        elif verb in _OUTCOMES:
            self._going.discard(place)
            if verb == "completed":
                self._done[place] = _had_secrets(data)
        return None

    def _begun(
        self, place: tuple[str, int], kind: str, data: Any, version: int
    ) -> tuple[str, str] | None:
        stem, _, verb = kind.rpartition(".")
        if verb == "requested":
            self._asked[place] = stem
            scope = f"{place[0]}/" if place[0] else ""
            self._performed.add(f"{scope}@{stem}.{place[1]}")
            self._going.add(place)
        elif version >= KERNEL_ANSWERS.get(kind, version + 1):
            return "run/order", f"{kind} comes where nothing was requested"
        elif kind == RESUMED:
            for secretive in [one for one, had in self._done.items() if had]:
                del self._done[secretive]
            return self._superseded(data)
        return None

    def _superseded(self, data: Any) -> tuple[str, str] | None:
        """Refuse a resumption that names an effect that did not fail."""
        told = data.get("supersedes")
        for one in cast("Sequence[Any]", told) if isinstance(told, list) else ():
            match one:
                case [str(scope), int(ordinal)]:
                    place = scope, ordinal
                case _:
                    place = "", -1  # a place that nothing has
            if place in self._withheld:
                continue
            if place not in self._asked or place in self._going or place in self._done:
                what = f"what followed {one!r:.80}, which is not a failed effect"
                return "run/order", f"{RESUMED} supersedes {what}"
        return None


def _had_secrets(data: Any) -> bool:
    about = data.get("about")
    told = cast("dict[str, Any]", about) if isinstance(about, dict) else {}
    return told.get("secrets") is True
