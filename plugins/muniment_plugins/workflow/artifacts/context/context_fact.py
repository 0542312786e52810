"""What a record keeps of a selection: enough to say why, and never more than so much.

    {"selected": ["a1"], "tokens": 12, "budget": 1200, "lost": [{"id": "a2", …}],
     "left_out": {"budget": 1, "kind": 40}, "pins": [], "cuts": []}

Rules:

- All that came in is named. What lost by count or budget is named with the reason, the
  nearest first, at most 32 of them. All that stayed out is counted by reason, those that
  are named, too: if ``lost`` is shorter than their count, the rest is the difference.
- Each pin that did not come in is named with its reason, ``missing`` if nothing has its id.
- A second stage of chunks adds the same about chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.context.assembled import AssembledContext
from muniment_plugins.workflow.artifacts.context.selection import (
    ContextSelection,
    LeftOut,
)

__all__ = ["LISTED", "context_fact", "lost_row", "selection_fact"]

LISTED = 32
"""How many of those that lost are named at most: a hundred rows are a tenth of a stage."""

_BY_POLICY = frozenset({"count", "budget"})


def context_fact(
    chosen: ContextSelection, assembled: AssembledContext | None = None
) -> dict[str, JsonValue]:
    """Return the data of ``context.selected`` for a selection, and its chunks if any."""
    lost = [lost_row(one) for one in chosen.left_out if one.reason in _BY_POLICY]
    pinned = chosen.policy.pinned_ids
    came_in = {one.id for one in chosen.selected}
    unmet: dict[str, str] = {
        one.id: one.reason
        for one in chosen.left_out
        if one.id in pinned and one.id not in came_in
    }
    fact = selection_fact(chosen, lost, chosen.counts, unmet)
    if assembled is not None:
        fact["assembled"] = chunks_fact(assembled)
    return fact


def selection_fact(
    chosen: ContextSelection,
    lost: Sequence[JsonValue],
    counts: Mapping[str, int],
    unmet: Mapping[str, str],
) -> dict[str, JsonValue]:
    """Return the fact about *chosen*, without looking at what it says was left out.

    Args:
        chosen: the selection; its ``left_out`` may be empty.
        lost: the rows of what lost by count or budget, the nearest first: `LISTED` of
            them suffice.
        counts: reason → how many stayed out by it, by the name of the reason.
        unmet: the id of a pin that did not come in → its reason.

    """
    pins = [
        *sorted(unmet.items()),
        *((one, "missing") for one in chosen.missing_pins),
    ]
    return {
        "selected": [one.id for one in chosen.selected],
        "tokens": chosen.tokens,
        "budget": chosen.policy.budget,
        "lost": [*lost[:LISTED]],
        "left_out": {**counts},
        "pins": [{"id": name, "reason": reason} for name, reason in pins],
        "cuts": [{**asdict(one)} for one in chosen.cuts],
    }


def lost_row(one: LeftOut) -> dict[str, JsonValue]:
    """Return what a fact says of *one* that lost by count or budget."""
    return {"id": one.id, "reason": one.reason, "tokens": one.tokens}


def chunks_fact(assembled: AssembledContext) -> dict[str, JsonValue]:
    """Return what a record keeps of the chunks of a context."""
    lost = [
        one.chunk_id for one in assembled.dropped if one.reason == "budget_exceeded"
    ]
    counts = Counter(one.reason for one in assembled.dropped)
    return {
        "chunks": [one.id for one in assembled.chunks],
        "tokens": assembled.total_tokens,
        "budget": assembled.budget_tokens,
        "lost": [{"id": one, "reason": "budget_exceeded"} for one in lost[:LISTED]],
        "left_out": {**dict(sorted(counts.items()))},
        "strategy": assembled.strategy,
        "dedup": assembled.dedup,
    }
