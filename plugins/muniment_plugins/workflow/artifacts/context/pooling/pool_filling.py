"""Filling a prompt from artifacts in order, without looking at each that stays out.

Rule: what comes in and what is listed is looked at. Once enough losers are listed, what
does not fit into the rest of the budget is passed over at once, by the least tokens of
whole parts of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.adaptive import cut_to
from muniment_plugins.workflow.artifacts.context.compaction import CutText
from muniment_plugins.workflow.artifacts.context.context_fact import (
    LISTED,
    lost_row,
)
from muniment_plugins.workflow.artifacts.context.context_policy import ContextPolicy
from muniment_plugins.workflow.artifacts.context.pooling.pool_history import PoolEntry
from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    SortedNode,
    first_fit,
    leading,
    nodes,
)
from muniment_plugins.workflow.artifacts.context.selection import LeftOut, Reason

__all__ = ["PoolFilling"]


@dataclass(slots=True)
class PoolFilling:
    """A prompt that is being filled."""

    rules: ContextPolicy
    selected: list[Artifact] = field(default_factory=list[Artifact])
    cuts: list[CutText] = field(default_factory=list[CutText])
    lost: list[JsonValue] = field(default_factory=list[JsonValue])
    """The first that lost by count or budget: rows of the fact."""
    unmet: dict[str, str] = field(default_factory=dict[str, str])
    """The id of a pin that lost → the reason."""
    seen: int = 0
    """How many had their turn before the prompt was full by count."""
    used: int = 0
    """Tokens."""

    @property
    def is_full(self) -> bool:
        """Whether as many are in as may come in."""
        most = self.rules.max_artifacts
        return most is not None and len(self.selected) >= most

    def counts(self, candidates: int) -> dict[str, int]:
        """Return how many of all *candidates* lost by count, and by budget."""
        seen = self.seen if self.is_full else candidates
        return {"budget": seen - len(self.selected), "count": candidates - seen}

    def pins(self, entries: tuple[PoolEntry, ...]) -> None:
        """Give pinned artifacts their turn; they are never cut."""
        for one in entries:
            lost = self._turn(one.artifact, one.artifact.estimated_tokens, None)
            if lost is not None:
                self.unmet[lost.id] = lost.reason

    def others(self, order: SortedNode[PoolEntry] | None, share: int | None) -> None:
        """Give all others their turn, cut to *share* tokens if they are long.

        Args:
            order: by place; the weights are the tokens that they take.
            share: None if nothing is cut.

        """
        place = 0
        for one in nodes(order):
            if self.is_full or len(self.lost) >= LISTED:
                break
            place += 1
            self._turn(one.value.artifact, one.weight, share)
        if len(self.lost) < LISTED:  # all the rest loses alike
            listed = leading(order, place + LISTED - len(self.lost))
            self.lost.extend(
                {"id": one.value.artifact.id, "reason": "count", "tokens": one.weight}
                for one in listed[place:]
            )
        while not self.is_full:
            found = first_fit(order, place, self._room(order))
            if found is None:
                return
            self.seen += found[0] - place
            place = found[0] + 1
            self._turn(found[1].value.artifact, found[1].weight, share)

    def _room(self, order: SortedNode[PoolEntry] | None) -> int:
        """Return how many tokens still fit; those of the longest if all do."""
        budget = self.rules.budget
        if budget is None:
            return 0 if order is None else order.high
        return budget - self.used

    def _turn(self, one: Artifact, tokens: int, share: int | None) -> LeftOut | None:
        """Take an artifact in, or return why it lost."""
        reason = self._reason(tokens)
        if reason is not None:
            lost = LeftOut(one.id, reason, tokens)
            if len(self.lost) < LISTED:
                self.lost.append(lost_row(lost))
            return lost
        cut = None if share is None else cut_to(one, share)
        self.selected.append(one if cut is None else cut[0])
        self.cuts += [] if cut is None else [cut[1]]
        self.used += tokens
        return None

    def _reason(self, tokens: int) -> Reason | None:
        if self.is_full:
            return "count"
        self.seen += 1
        budget = self.rules.budget
        return None if budget is None or self.used + tokens <= budget else "budget"
