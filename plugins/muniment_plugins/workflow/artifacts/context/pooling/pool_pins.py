"""Pins on the candidates of a pool: they go first, whatever the heuristics say.

Rule: a pinned artifact that the filter has in is neither stale nor a duplicate. All others
with its content are duplicates, so the one that stays without pins makes room for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from muniment_plugins.workflow.artifacts.context.context_policy import ContextPolicy
from muniment_plugins.workflow.artifacts.context.pooling.candidates import (
    Candidates,
    Standpoint,
)
from muniment_plugins.workflow.artifacts.context.pooling.pool_history import (
    PoolEntry,
    PoolHistory,
)
from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    SortedNode,
    find,
    take,
)
from muniment_plugins.workflow.artifacts.context.selection import place_of, reason_of

__all__ = ["PinnedFirst", "pinned_first"]


@dataclass(frozen=True, slots=True)
class PinnedFirst:
    """What pins change."""

    first: tuple[PoolEntry, ...]
    """Those that the filter has in, in their order."""
    replaced: tuple[PoolEntry, ...]
    """The candidates that are not among the others any more."""
    refused: dict[str, str]
    """The id of a pin that the filter keeps out → the reason."""
    missing: tuple[str, ...]
    stale: int
    """How many of them would be stale."""

    def others(
        self, order: SortedNode[PoolEntry] | None, at: Standpoint
    ) -> SortedNode[PoolEntry] | None:
        """Return *order* without those that are pinned or make room for pins."""
        for one in self.replaced:
            order = take(order, at.item(one)[0])
        return order


def pinned_first(
    rules: ContextPolicy, plain: Candidates, history: PoolHistory
) -> PinnedFirst:
    """Return what the pins of *rules* change.

    Args:
        rules: the policy.
        plain: the candidates without pins.
        history: the pool.

    """
    first: list[PoolEntry] = []
    refused: dict[str, str] = {}
    missing: list[str] = []
    for name in sorted(rules.pinned_ids):
        entry = find(history.by_id, (name,))
        reason = None if entry is None else reason_of(entry.artifact, rules)
        if entry is None:
            missing.append(name)
        elif reason is not None:
            refused[name] = reason
        else:
            first.append(entry)
    first.sort(key=lambda one: (*place_of(one.artifact, rules), one.index))
    stale = [one for one in first if history.is_stale(one)]
    return PinnedFirst(
        first=tuple(first),
        replaced=_replaced(first, stale, plain, Standpoint(rules)),
        refused=refused,
        missing=tuple(missing),
        stale=len(stale),
    )


def _replaced(
    pinned: Collection[PoolEntry],
    stale: Collection[PoolEntry],
    plain: Candidates,
    at: Standpoint,
) -> tuple[PoolEntry, ...]:
    """Return the candidates that are pinned, or have the content of a pinned one."""
    contents = [(one, at.content_of(one)) for one in pinned]
    having = [plain.first_of(content) for _, content in contents if content]
    without = [one for one, content in contents if not content and one not in stale]
    found = {one.index: one for one in (*having, *without) if one is not None}
    return tuple(found.values())
