"""Candidates: what filter and heuristics leave of a pool, in the order of a policy.

Rules:

- Candidates belong to a policy without its limits and pins (`bare`), and to the share to
  which long texts are cut, if any. Those of many policies are the same.
- Candidates that know a pool up to a number follow it by what came since, each change in
  O(log n). The first ones are built at once.
- What stays out is not listed: the numbers of it are enough for a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from muniment_plugins.workflow.artifacts.context.adaptive import cut_to
from muniment_plugins.workflow.artifacts.context.context_policy import ContextPolicy
from muniment_plugins.workflow.artifacts.context.pooling.pool_history import (
    PoolChange,
    PoolEntry,
    PoolHistory,
)
from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    Key,
    SortedNode,
    balanced,
    find,
    first_from,
    put,
    take,
)
from muniment_plugins.workflow.artifacts.context.selection import place_of, reason_of

__all__ = ["Candidates", "Standpoint", "bare", "caught_up", "in_order"]

_Item = tuple[Key, PoolEntry, int]


@lru_cache  # a node asks for its own at each visit
def bare(rules: ContextPolicy) -> ContextPolicy:
    """Return *rules* without limits and pins: what candidates depend on."""
    include, exclude = rules.include_kinds, rules.exclude_kinds
    if include - exclude:  # else nothing comes in, which an empty set would not say
        include, exclude = include - exclude, frozenset[str]()
    return ContextPolicy(
        include_kinds=include,
        exclude_kinds=exclude,
        prioritize_kinds=rules.prioritize_kinds,
        include_stages=rules.include_stages,
        prefer_recent=rules.prefer_recent,
        prefer_fresh=rules.prefer_fresh,
        keep_duplicates=rules.keep_duplicates or None,
    )


@dataclass(frozen=True, slots=True)
class Standpoint:
    """What candidates belong to."""

    rules: ContextPolicy
    share: int | None = None
    """To how many tokens texts of more than twice as many are cut."""

    def item(self, entry: PoolEntry) -> _Item:
        """Return an artifact with what it is sorted by, and the tokens it takes."""
        one = entry.artifact
        cut = None if self.share is None else cut_to(one, self.share)
        shown = one if cut is None else cut[0]
        place = (*place_of(shown, self.rules), entry.index)
        return place, entry, shown.estimated_tokens

    def content_of(self, entry: PoolEntry) -> str:
        """Return what artifacts are duplicates by; empty if that is nothing."""
        return "" if self.rules.keep_duplicates else entry.digest

    def admits(self, entry: PoolEntry) -> bool:
        """Tell whether kinds and stages have an artifact in."""
        return reason_of(entry.artifact, self.rules) is None


@dataclass(slots=True)
class Candidates:
    """What is left of a pool at some number of its changes."""

    number: int = 0
    order: SortedNode[PoolEntry] | None = None
    """By place; the weights are tokens."""
    contents: SortedNode[PoolEntry] | None = None
    """By content, then the higher priority, then the earlier: the first stays of each."""
    admitted: int = 0
    """How many the filter let through."""
    stale: int = 0
    """How many of them are stale."""

    def first_of(self, digest: str) -> PoolEntry | None:
        """Return the one that stays of those that have a content."""
        found = first_from(self.contents, (digest,))
        return found.value if found is not None and found.key[0] == digest else None

    def come(self, entry: PoolEntry, at: Standpoint) -> None:
        """Take in an artifact; another one may have to make room."""
        if at.content_of(entry):
            key = _content_key(entry)
            first = self.first_of(entry.digest)
            self.contents = put(self.contents, key, entry)
            if first is not None:
                if _content_key(first) < key:
                    return
                self.order = take(self.order, at.item(first)[0])
        self.order = put(self.order, *at.item(entry))

    def leave(self, entry: PoolEntry, at: Standpoint) -> None:
        """Give up an artifact; another one may take its place."""
        content = at.content_of(entry)
        if content and self.first_of(content) is not entry:
            self.contents = take(self.contents, _content_key(entry))
            return
        self.order = take(self.order, at.item(entry)[0])
        if content:
            self.contents = take(self.contents, _content_key(entry))
            heir = self.first_of(content)
            if heir is not None:
                self.order = put(self.order, *at.item(heir))


def caught_up(known: Candidates, at: Standpoint, history: PoolHistory) -> Candidates:
    """Return the candidates of *history*, of which *known* ones know a beginning."""
    if known.number == history.number:
        return known
    changes = [
        change
        for change in _changes(history, at.rules, known.number)
        if at.admits(change.entry)
    ]
    if not known.admitted:
        return _built(changes, at, history)
    found = replace(known, number=history.number)
    for change in changes:
        found.admitted += change.came
        found.stale += change.stale
        if change.came and not change.stale:
            found.come(change.entry, at)
        elif not change.came:
            found.leave(change.entry, at)
    return found


def _changes(
    history: PoolHistory, rules: ContextPolicy, number: int
) -> list[PoolChange]:
    """Return what came after *number*, but little that the filter keeps out."""
    links: Iterable[PoolChange | None] = [history.last]
    if rules.include_stages:
        links = (find(history.by_stage, (one,)) for one in rules.include_stages)
    elif rules.include_kinds:
        links = (find(history.by_kind, (one,)) for one in rules.include_kinds)
    found = [one for last in links if last is not None for one in last.since(number)]
    found.sort(key=lambda change: change.number)
    return found


def _built(
    changes: Iterable[PoolChange], at: Standpoint, history: PoolHistory
) -> Candidates:
    """Return the candidates of all *changes* that there are."""
    entries: list[PoolEntry] = []
    gone: set[int] = set()
    for change in changes:
        if change.came:
            entries.append(change.entry)
        if change.stale:
            gone.add(change.entry.index)
    sound = [one for one in entries if one.index not in gone]
    contents: list[_Item] = [
        (_content_key(one), one, 0) for one in sound if at.content_of(one)
    ]
    contents.sort(key=lambda item: item[0])
    first: dict[str, PoolEntry] = {}
    for _, one, _ in contents:
        first.setdefault(one.digest, one)
    kept = [one for one in sound if first.get(at.content_of(one), one) is one]
    return Candidates(
        number=history.number,
        order=in_order(kept, at),
        contents=balanced(contents),
        admitted=len(entries),
        stale=len(gone),
    )


def in_order(
    entries: Iterable[PoolEntry], at: Standpoint
) -> SortedNode[PoolEntry] | None:
    """Return artifacts by their places, with their tokens as weights."""
    return balanced(sorted(map(at.item, entries), key=lambda item: item[0]))


def _content_key(entry: PoolEntry) -> Key:
    return entry.digest, -entry.artifact.priority, entry.index
