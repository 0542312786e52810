"""How many effects of each kind there were, how long they took, what they used.

    Tally(kind="llm", requested=3, completed=2, failed=1, duration_us=1200345,
          longest_us=900112, input_tokens=412, output_tokens=96)

Rules: a projection over payloads; attempts count one by one; a request that nothing
followed is *open*. Tokens are those that the effects' outcomes say inline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from muniment.canonical import JsonValue
from muniment.events import Event
from muniment.projections import Projection

__all__ = ["EffectTally", "Tally"]

_TOKENS = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """The sums over the effects of one kind."""

    kind: str
    requested: int = 0
    completed: int = 0
    failed: int = 0
    duration_us: int = 0
    longest_us: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def open(self) -> int:
        """How many requests have no outcome."""
        return self.requested - self.completed - self.failed


class EffectTally(Projection[tuple[Tally, ...]]):
    """The fold behind `Tally`; over all runs, or over one."""

    name = "effect-tally"
    version = 1

    def initial(self) -> JsonValue:
        """Return the state of a ledger without effects."""
        return {}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Add *event* where it belongs to an effect."""
        tallies = cast("dict[str, dict[str, int]]", state)
        kind, _, verb = event.type.rpartition(".")
        if event.run is None:
            return state
        if verb == "requested":
            tally = tallies.setdefault(kind, {})
            _add(tally, "requested", 1)
        elif verb in ("completed", "failed") and kind in tallies:
            tally = tallies[kind]
            _add(tally, verb, 1)
            took = event.raw.get("duration_us")
            if isinstance(took, int):
                _add(tally, "duration_us", took)
                tally["longest_us"] = max(took, tally.get("longest_us", 0))
            _add_tokens(tally, event.raw.get("about"))
        return state

    def view(self, state: JsonValue) -> tuple[Tally, ...]:
        """Return the tallies, by kind."""
        tallies = cast("dict[str, dict[str, int]]", state)
        return tuple(Tally(kind, **tallies[kind]) for kind in sorted(tallies))


def _add(tally: dict[str, int], name: str, count: int) -> None:
    tally[name] = tally.get(name, 0) + count


def _add_tokens(tally: dict[str, int], about: JsonValue) -> None:
    usage = about.get("usage") if isinstance(about, dict) else None
    if not isinstance(usage, dict):
        return
    for name, spellings in _TOKENS.items():
        counts = [usage[one] for one in spellings if type(usage.get(one)) is int]
        if counts:
            _add(tally, name, cast("int", counts[0]))
