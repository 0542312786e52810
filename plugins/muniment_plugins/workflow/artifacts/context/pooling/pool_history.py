"""The history of a pool: which artifacts came, and which of them got outdated, in order.

Rules:

- An artifact is stale, by the rule of `adaptive`, when it comes, or later by one that
  writes what it is evidence on. Nothing makes it sound again: each gets stale once.
- Changes are linked from the last one to the first, all of them, those of each kind and
  those of each stage. Who knows the history up to a number reads what came after it, and
  nothing else.
- Nothing that a history holds is ever changed, so a copy is one of its few references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.adaptive import paths_of
from muniment_plugins.workflow.artifacts.context.pooling.sorted_tree import (
    Key,
    SortedNode,
    find,
    first_from,
    put,
    take,
)
from muniment_plugins.workflow.artifacts.kinds import is_fresh
from muniment_plugins.workflow.artifacts.stamps import microseconds

__all__ = ["PoolChange", "PoolEntry", "PoolHistory"]

_LONG_AGO = float("-inf")


@dataclass(frozen=True, slots=True, eq=False)
class PoolEntry:
    """An artifact of a pool."""

    index: int
    """How many came before it."""
    artifact: Artifact
    digest: str
    """SHA-256 of its content; empty if that is."""
    evidence: tuple[str, ...]
    """The paths by which it may get stale."""
    sound_until: float
    """From which time of a write on it is stale: microseconds since 1970."""


class PoolChange(NamedTuple):
    """That an artifact came, or that one that is there got stale."""

    number: int
    """From 1, in the whole history."""
    entry: PoolEntry
    came: bool
    stale: bool
    arrivals: int
    """How many artifacts came so far, of those that are linked."""
    before: PoolChange | None

    def since(self, number: int) -> Iterator[PoolChange]:
        """Yield the changes after *number*, the last one first."""
        change: PoolChange | None = self
        while change is not None and change.number > number:
            yield change
            change = change.before


_Changes = SortedNode[PoolChange] | None


@dataclass(slots=True, eq=False, repr=False)
class PoolHistory:
    """What came into a pool. A copy (`copy.copy`) goes its own way."""

    last: PoolChange | None = None
    by_kind: _Changes = None
    """(kind,) → its last change."""
    by_stage: _Changes = None
    by_id: SortedNode[PoolEntry] | None = None
    stale: SortedNode[PoolEntry] | None = None
    """(index,) → the artifact."""
    written: SortedNode[int] | None = None
    """(path,) → when something fresh changed it last."""
    watched: SortedNode[PoolEntry] | None = None
    """(path, sound until, index) → what a write on the path may make stale."""

    @property
    def number(self) -> int:
        """How many changes there are."""
        return 0 if self.last is None else self.last.number

    @property
    def size(self) -> int:
        """How many artifacts came."""
        return 0 if self.last is None else self.last.arrivals

    def arrived(self) -> list[Artifact]:
        """Return all artifacts, the first one first."""
        changes = () if self.last is None else self.last.since(0)
        return [one.entry.artifact for one in changes if one.came][::-1]

    def arrivals_of(self, kind: str) -> int:
        """Return how many artifacts of *kind* came."""
        found = find(self.by_kind, (kind,))
        return 0 if found is None else found.arrivals

    def is_stale(self, entry: PoolEntry) -> bool:
        """Tell whether an artifact got stale."""
        return find(self.stale, (entry.index,)) is not None

    def add(self, one: Artifact) -> None:
        """Take in an artifact whose id is new, and let it outdate others."""
        fresh = is_fresh(one.freshness)
        evidence = () if fresh else tuple({*paths_of(one, "evidence_paths")})
        changed = paths_of(one, "changed_paths") if fresh else []
        time = microseconds(one.created_at) if evidence or changed else 0
        until = _LONG_AGO if one.freshness == "stale" else time
        said = one.content.encode("utf-8", "surrogatepass")
        digest = sha256(said).hexdigest() if said else ""
        entry = PoolEntry(self.size, one, digest, evidence, until)
        self.by_id = put(self.by_id, (one.id,), entry)
        stale = self._watch(entry)
        self._link(entry, came=True, stale=stale)
        for path in changed:
            self._write(path, time)

    def _watch(self, entry: PoolEntry) -> bool:
        """Tell whether an artifact that comes is stale; else watch what it is about."""
        times = (find(self.written, (path,)) for path in entry.evidence)
        if any(time is not None and time >= entry.sound_until for time in times):
            self.stale = put(self.stale, (entry.index,), entry)
            return True
        for key in _watches(entry):
            self.watched = put(self.watched, key, entry)
        return False

    def _write(self, path: str, time: int) -> None:
        """Note that *path* was written, and that what was older is stale."""
        before = find(self.written, (path,))
        if before is not None and before >= time:
            return
        self.written = put(self.written, (path,), time)
        while True:
            first = first_from(self.watched, (path, _LONG_AGO))
            if first is None or first.key[0] != path:
                return
            entry = first.value
            if entry.sound_until > time:
                return
            for key in _watches(entry):
                self.watched = take(self.watched, key)
            self.stale = put(self.stale, (entry.index,), entry)
            self._link(entry, came=False, stale=True)

    def _link(self, entry: PoolEntry, *, came: bool, stale: bool) -> None:
        number, one = self.number + 1, entry.artifact

        def after(before: PoolChange | None) -> PoolChange:
            arrivals = (0 if before is None else before.arrivals) + came
            return PoolChange(number, entry, came, stale, arrivals, before)

        kind, stage = (one.kind,), one.stage
        self.last = after(self.last)
        self.by_kind = put(self.by_kind, kind, after(find(self.by_kind, kind)))
        if stage is not None:
            last = find(self.by_stage, (stage,))
            self.by_stage = put(self.by_stage, (stage,), after(last))


def _watches(entry: PoolEntry) -> list[Key]:
    return [(path, entry.sound_until, entry.index) for path in entry.evidence]
