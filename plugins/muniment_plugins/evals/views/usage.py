"""What a run took, with what the runs below it took: each number, or that it is not known.

    spent(view)      {"input_tokens": 30, "output_tokens": 12, "uncounted_calls": 1, …}

Rules:

- What a called run does is counted as its own, and as its caller's.
- The way of a fork began with what its origin answered: that is counted, too.
- A number that an answer does not state is no zero: ``uncounted_calls`` and
  ``unpriced_calls`` say of how many calls it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from muniment_plugins.evals.views.rows import Row, part

__all__ = ["added", "spent", "stages_of", "tokens_in", "unread", "way_usage"]

_TOKENS = ("input_tokens", "output_tokens", "other_tokens")


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> Row:
    """Return the sum of two usages."""
    found: Row = {**one, **other}
    for name, value in one.items():
        if name == "total_cost":
            found[name] = f"{Decimal(value) + Decimal(other.get(name, '0')):f}"
        elif isinstance(value, int):
            found[name] = value + other.get(name, 0)
    models = {*one.get("models", []), *other.get("models", [])}
    return {**found, "models": sorted(models)}


def way_usage(record: Mapping[str, Any]) -> Row:
    """Return what the way of a run took; a fork's began with what its origin answered."""
    before = part(record, "answered_usage")
    return added(before, record["usage"]) if before else dict(record["usage"])


def spent(view: Mapping[str, Any]) -> Row:
    """Return what the run in *view* took, with the runs below it."""
    below = part(part(view, "called"), "usage")
    return added(view["usage"], below) if below else dict(view["usage"])


def tokens_in(usage: Mapping[str, Any]) -> int:
    """Return how many tokens a *usage* has, at least."""
    return sum(usage.get(name, 0) for name in _TOKENS)


def stages_of(view: Mapping[str, Any]) -> int:
    """Return how many stages the run in *view* has, with the runs below it."""
    below: int = part(view, "called").get("stages", 0)
    return len(view["stages"]) + below


def unread(view: Mapping[str, Any]) -> int:
    """Return of how many runs below that in *view* it is not known what they took."""
    called = part(view, "called")
    found: int = called.get("unknown", 0) + called.get("open", 0)
    return found
