"""The places of one run: which fact or effect has which ordinal of which scope.

    a 3  llm.requested   takes the place
    a 3  llm.streamed    parts, while the attempt lasts
    a 3  llm.completed   ends the attempt; only a further request begins another

Rules:

- In a scope, each fact and request has a higher ordinal than those before it. An equal
  one goes on with the same effect.
- Parts and an outcome belong to an attempt that was asked for and has not ended. Where
  nothing was asked for, only those of the kernel's kinds are known to be some: a fact of
  a plugin may have a type that ends in ``.completed``.
- What completed is not asked for again: whoever reads the first answer and whoever reads
  the last would tell two stories. What failed, or has no outcome, may be; and so may,
  after a resumption, what states that its answer had secrets, which no record holds.
"""

from __future__ import annotations

from typing import Any, cast

__all__ = ["OF_RUNS", "Places"]

_KINDS = ("command", "data", "execution", "human", "llm", "tool")
_OUTCOMES = ("completed", "failed")
_ANSWERS = frozenset(
    f"{kind}.{verb}" for kind in _KINDS for verb in ("streamed", *_OUTCOMES)
)


OF_RUNS = frozenset(
    {
        *(f"run.{verb}" for verb in ("started", "resumed", "interrupted", *_OUTCOMES)),
        *(f"{kind}.requested" for kind in _KINDS),
        *_ANSWERS,
    }
)
"""The types of events that stand in a run: its life, and effects."""


class Places:
    """Which places of a run are taken, and which effects at them have not ended."""

    __slots__ = ("_asked", "_done", "_going", "_next")

    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        """The least ordinal of each scope that no event has."""
        self._asked: dict[tuple[str, int], str] = {}
        """The kinds of the effects that were requested."""
        self._done: dict[tuple[str, int], bool] = {}
        """Where an attempt completed, and whether with secrets."""
        self._going: set[tuple[str, int]] = set()
        """Where the last attempt has no outcome yet."""

    def taken(
        self, scope: str, ordinal: int, kind: str, data: Any
    ) -> tuple[str, str] | None:
        """Take the place for *kind*, or go on there; return the rule it breaks, why."""
        stem, _, verb = kind.rpartition(".")
        place = scope, ordinal
        if ordinal >= self._next.get(scope, 0):
            self._next[scope] = ordinal + 1
            return self._begun(place, kind)
        if self._asked.get(place) != stem:
            return "run/ordinal", f"ordinal {ordinal} of the scope {scope!r} is taken"
        if place in self._done and verb == "requested":
            return "run/order", f"{kind} asks again for what completed"
        if verb == "requested":
            self._going.add(place)
        elif place not in self._going:
            return "run/order", f"{kind} stands after the outcome of its effect"
        elif verb in _OUTCOMES:
            self._going.discard(place)
            if verb == "completed":
                self._done[place] = _had_secrets(data)
        return None

    def _begun(self, place: tuple[str, int], kind: str) -> tuple[str, str] | None:
        stem, _, verb = kind.rpartition(".")
        if verb == "requested":
            self._asked[place] = stem
            self._going.add(place)
        elif kind in _ANSWERS:
            return "run/order", f"{kind} stands where nothing was requested"
        elif kind == "run.resumed":
            for secretive in [one for one, had in self._done.items() if had]:
                del self._done[secretive]
        return None


def _had_secrets(data: Any) -> bool:
    about = data.get("about")
    told = cast("dict[str, Any]", about) if isinstance(about, dict) else {}
    return told.get("secrets") is True
