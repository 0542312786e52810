"""How many effects of each kind there were, how long they took, what they used.

    Tally(kind="llm", requested=3, completed=2, failed=1, duration_us=1200345,
          longest_us=900112, input_tokens=412, output_tokens=96)

Rules:

- A projection over payloads; attempts count one by one.
- An effect is one place of a run: its scope and ordinal. It is *open* while the last
  request there has no outcome. A request in doubt that a resume repeated is no longer
  open: the later one's outcome is the effect's.
- An outcome that no request waits for does not count, nor does a number below zero: a
  writer with another program can sign both.
- Tokens are those that the effects' outcomes state inline, cached ones among them
  (`muniment.events.token_counts`). What another run's record answered in a fork used none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeGuard, cast

from muniment.encoding.canonical import JsonValue
from muniment.events.token_counts import tokens_taken
from muniment.formats.statement import Event
from muniment.queries.projections import Projection

__all__ = ["EffectTally", "Tally", "total"]


@dataclass(frozen=True, slots=True)
class Tally:
    """The sums over the effects of one kind."""

    kind: str
    requested: int = 0
    completed: int = 0
    failed: int = 0
    open: int = 0
    """How many effects wait for an outcome; each counts once, whatever its attempts."""
    duration_us: int = 0
    longest_us: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def repeated(self) -> int:
        """How many attempts have no outcome, and were followed by another one.

        With it the numbers add up: each attempt ended, is open, or was repeated.
        """
        return self.requested - self.completed - self.failed - self.open


_COUNTS = {one.name for one in fields(Tally)} - {"kind", "longest_us"}


class EffectTally(Projection[tuple[Tally, ...]]):
    """The fold behind `Tally`; over all runs, or over one."""

    name = "effect-tally"
    version = 5

    def initial(self) -> JsonValue:
        """Return the state of a ledger without effects."""
        return {"kinds": {}, "waiting": {}}

    def apply(self, state: JsonValue, event: Event) -> JsonValue:
        """Add *event* if it belongs to an effect."""
        parts = cast("dict[str, dict[str, dict[str, int]]]", state)
        kinds, waiting = parts["kinds"], parts["waiting"]
        kind, _, verb = event.type.rpartition(".")
        if event.run is None:
            return state
        place = f"{event.run} {event.ordinal} {event.scope}"
        if verb == "requested":
            _add(kinds.setdefault(kind, {}), "requested", 1)
            waiting.setdefault(kind, {})[place] = 1
        elif verb in ("completed", "failed") and place in waiting.get(kind, ()):
            del waiting[kind][place]
            _add(kinds[kind], verb, 1)
            _add_outcome(kinds[kind], event)
        return state

    def view(self, state: JsonValue) -> tuple[Tally, ...]:
        """Return the tallies, by kind."""
        parts = cast("dict[str, dict[str, dict[str, int]]]", state)
        return tuple(
            Tally(kind, **parts["kinds"][kind], open=len(parts["waiting"][kind]))
            for kind in sorted(parts["kinds"])
        )


def total(parts: Iterable[Iterable[Tally]]) -> tuple[Tally, ...]:
    """Return the tallies over several runs, by kind."""
    sums: dict[str, dict[str, int]] = {}
    for tally in (one for part in parts for one in part):
        mine = sums.setdefault(tally.kind, {})
        for name in _COUNTS:
            _add(mine, name, getattr(tally, name))
        longest = max(tally.longest_us, mine.get("longest_us", 0))
        mine["longest_us"] = longest
    return tuple(Tally(kind, **sums[kind]) for kind in sorted(sums))


def _add_outcome(tally: dict[str, int], event: Event) -> None:
    took = event.raw.get("duration_us")
    if _is_count(took):
        _add(tally, "duration_us", took)
        tally["longest_us"] = max(took, tally.get("longest_us", 0))
    by = event.raw.get("answered_by")
    if not (isinstance(by, dict) and by.get("who") in ("record", "change")):
        _add_tokens(tally, event.raw.get("about"))


def _add(tally: dict[str, int], name: str, count: int) -> None:
    tally[name] = tally.get(name, 0) + count


def _add_tokens(tally: dict[str, int], about: JsonValue) -> None:
    usage = about.get("usage") if isinstance(about, dict) else None
    taken = tokens_taken(usage)
    for name, count in (
        ("input_tokens", taken.read),
        ("output_tokens", taken.written),
    ):
        if count is not None:
            _add(tally, name, count)


def _is_count(value: JsonValue) -> TypeGuard[int]:
    return type(value) is int and value >= 0
