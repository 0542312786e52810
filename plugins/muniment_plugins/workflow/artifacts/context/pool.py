"""A pool of artifacts that grows, and is selected from again and again.

    pool = ArtifactPool([code, plan])
    selected, fact = pool.context({"max_artifacts": 100, "max_tokens": 8000})
    lane = pool.branch()
    lane.add(note)          # pool does not have it

Rules:

- What comes in, and the fact about it, are those of `artifact_select_adaptive` on the
  list of the pool, and of `context_fact`, for every policy.
- Adding takes O(log n). A selection takes O(log n) for each artifact that came since the
  last one under such a policy, that comes in, that is listed as lost, or is pinned. It
  does not look at others, but for these two cases:
  a policy whose kinds, stages, or preferences are new here looks at all that they may
  have in, once; where how many artifacts there are decides to how many tokens the long
  ones are cut, all candidates are looked at. That ends at a candidate for each 500 tokens
  of the budget, and about half of those come in.
- An artifact that is there already is not added again; another one with its id is refused.
- A branch has what its origin has, and neither sees what the other one adds. Making one
  takes the same time for any pool. A pool belongs to one thread, each branch may belong
  to another one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact, read_artifact
from muniment_plugins.workflow.artifacts.context.adaptive import LEAST_SHARE, share_of
from muniment_plugins.workflow.artifacts.context.context_fact import selection_fact
from muniment_plugins.workflow.artifacts.context.context_policy import (
    ContextPolicy,
    context_policy,
)
from muniment_plugins.workflow.artifacts.context.pooling.candidates import (
    Candidates,
    Standpoint,
    bare,
    caught_up,
    in_order,
)
from muniment_plugins.workflow.artifacts.context.pooling.pool_filling import PoolFilling
from muniment_plugins.workflow.artifacts.context.pooling.pool_history import (
    PoolEntry,
    PoolHistory,
)
from muniment_plugins.workflow.artifacts.context.pooling.pool_pins import (
    PinnedFirst,
    pinned_first,
)
from muniment_plugins.workflow.artifacts.context.pooling.pool_views import (
    HeldViews,
    SharedViews,
)
from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    SortedNode,
    find,
    size_of,
    values,
)
from muniment_plugins.workflow.artifacts.context.selection import (
    ContextSelection,
    GivenArtifacts,
    GivenPolicy,
)

__all__ = ["ArtifactPool"]

_HERE = At("pool", "workflow")


class ArtifactPool:
    """Artifacts in the order in which they came, each id once."""

    __slots__ = ("_history", "_shared", "_views")

    def __init__(self, artifacts: GivenArtifacts = ()) -> None:
        """Make a pool of *artifacts*, or of their JSON objects.

        Raises:
            UsageError: one of them is no artifact, or two that differ share an id.

        """
        self._history = PoolHistory()
        self._views = HeldViews()
        self._shared: SharedViews | None = None
        self.extend(artifacts)

    def __iter__(self) -> Iterator[Artifact]:
        """Yield the artifacts, the first one first; what comes meanwhile is left out."""
        return iter(self._history.arrived())

    def __len__(self) -> int:
        """Return how many artifacts there are."""
        return self._history.size

    def __contains__(self, name: object) -> bool:
        """Tell whether an artifact has the id *name*."""
        return isinstance(name, str) and self._find(name) is not None

    def add(self, artifact: Artifact | Mapping[str, object]) -> None:
        """Add an artifact; one that is there already changes nothing.

        Raises:
            UsageError: it is no artifact, or another one has its id.

        """
        one = read_artifact(artifact, _HERE)
        known = self._find(one.id)
        if known is None:
            self._history.add(one)
        elif known.artifact != one:
            raise _HERE.wrong(
                f"another artifact has the id {one.id}",
                "duplicate",
                "give each artifact an id of its own; artifact_derive does",
            )

    def extend(self, artifacts: GivenArtifacts) -> None:
        """Add *artifacts*, one after the other, up to one that is refused.

        Raises:
            UsageError: as `add`.

        """
        for one in artifacts:
            self.add(one)

    def branch(self) -> ArtifactPool:
        """Return a pool with the same artifacts, which goes its own way."""
        shared = self._shared
        if shared is None:
            shared = SharedViews(copy.copy(self._history))
        elif shared.history.number != self._history.number:
            shared = shared.followed(copy.copy(self._history))
        shared.offer(self._views)
        self._shared = shared
        made = ArtifactPool()
        made._history = copy.copy(self._history)
        made._shared = shared
        return made

    def context(
        self, policy: GivenPolicy = None
    ) -> tuple[tuple[Artifact, ...], dict[str, JsonValue]]:
        """Return what comes into the prompt of a stage, and the fact about it.

        Args:
            policy: a context policy; without any, everything comes in.

        Raises:
            UsageError: the policy is none.

        """
        rules = context_policy(policy)
        at = Standpoint(bare(rules))
        plain = self._candidates(at)
        pinned = pinned_first(rules, plain, self._history)
        count = size_of(plain.order) - len(pinned.replaced) + len(pinned.first)
        order, at = self._order(rules, at, plain, count)
        filling = PoolFilling(rules)
        filling.pins(pinned.first)
        filling.others(pinned.others(order, at), at.share)
        chosen = ContextSelection(
            selected=tuple(filling.selected),
            left_out=(),
            policy=rules,
            cuts=tuple(filling.cuts),
            missing_pins=pinned.missing,
        )
        counts = self._counts(rules, plain, pinned, count) | filling.counts(count)
        said = {name: number for name, number in sorted(counts.items()) if number}
        unmet = pinned.refused | filling.unmet
        return chosen.selected, selection_fact(chosen, filling.lost, said, unmet)

    def _find(self, name: str) -> PoolEntry | None:
        return find(self._history.by_id, (name,))

    def _candidates(self, at: Standpoint) -> Candidates:
        """Return the candidates of now."""
        known = self._views.get(at)
        if known is None:
            known = Candidates() if self._shared is None else self._shared.get(at)
        found = caught_up(known, at, self._history)
        self._views.keep(at, found)
        return found

    def _order(
        self, rules: ContextPolicy, at: Standpoint, plain: Candidates, count: int
    ) -> tuple[SortedNode[PoolEntry] | None, Standpoint]:
        """Return the candidates in order, cut if they are long, and what that is by."""
        share = share_of(rules, count)
        longest = 0 if plain.order is None else plain.order.high
        if share is None or longest <= 2 * share:
            return plain.order, at
        cut = Standpoint(at.rules, share)
        if _is_settled(rules, share, count):
            return self._candidates(cut).order, cut
        return in_order(values(plain.order), cut), cut

    def _counts(
        self, rules: ContextPolicy, plain: Candidates, pinned: PinnedFirst, count: int
    ) -> dict[str, int]:
        """Return how many stay out by filter and heuristics."""
        of_kind = self._history.arrivals_of
        kinds = sum(map(of_kind, rules.include_kinds - rules.exclude_kinds))
        if not rules.include_kinds:
            kinds = len(self) - sum(map(of_kind, rules.exclude_kinds))
        stale = plain.stale - pinned.stale
        return {
            "kind": len(self) - kinds,
            "stage": kinds - plain.admitted,
            "stale": stale,
            "duplicate": plain.admitted - stale - count,
        }


def _is_settled(rules: ContextPolicy, share: int, count: int) -> bool:
    """Tell whether the share stays the same while *count* grows."""
    most = rules.max_artifacts
    return share <= LEAST_SHARE or (most is not None and count >= most)
