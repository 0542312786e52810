"""Where the branches of a fork meet: one join to each fork, or none.

                ┌── lint ──┐
    act ── fork             join ── report        closes["fork"] == "join"
                └── test ──┘

Rules (structured concurrency, as in "Notes on structured concurrency", 2018, and the
single-entry, single-exit regions of Johnson, Pearson and Pingali, 1994):

- All branches of a fork meet in one join, or all of them end. A branch that is pruned by a
  condition may end early.
- Nothing leaves a branch but through that join. Joins within a branch bring together the
  ways of a condition.
- Forks nest: what a fork in a branch opens is closed in that branch.

So neither a deadlock nor a stale arrival is possible, and a join needs no scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from muniment_plugins.workflow.documents.graph import WorkflowGraph

__all__ = ["ForkRegion", "Structure", "structure_of"]

_SHOWN = 3
"""More names in a message say no more."""


@dataclass(frozen=True, slots=True)
class ForkRegion:
    """What is between a fork and its join."""

    fork: str
    join: str | None
    """The join that all branches meet; None if they end."""
    branches: Mapping[str, frozenset[str]]
    """First node of each branch → all nodes of the branch."""
    fault: str | None = None
    """Why it is no region, if it is none."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The regions of a graph."""

    regions: Mapping[str, ForkRegion]
    """Fork → its region."""

    def join_of(self, fork: str) -> str | None:
        """Return the join that closes *fork*."""
        return self.regions[fork].join


def structure_of(graph: WorkflowGraph) -> Structure:
    """Return the regions of *graph*, each with its fault if it has one."""
    forks = [name for name, node in graph.nodes.items() if node.kind == "fork"]
    found = {name: _region(graph, name) for name in forks}
    for name, region in found.items():
        for inner in frozenset[str]().union(*region.branches.values()) & found.keys():
            if region.join is not None and found[inner].join == region.join:
                fault = f"its branches meet in {region.join}, which closes {name}"
                found[inner] = replace(found[inner], join=None, fault=fault)
    return Structure(found)


def _region(graph: WorkflowGraph, fork: str) -> ForkRegion:
    """Return what is between *fork* and its join.

    What more than one branch comes to, without coming to the fork again, is behind the
    join; all else that a branch comes to is that branch.
    """
    reached = {one.target: _reached(graph, one.target, fork) for one in graph.out(fork)}
    times = Counter(name for nodes in reached.values() for name in nodes)
    shared = {name for name, count in times.items() if count > 1}
    own = {first: frozenset(nodes - shared) for first, nodes in reached.items()}
    entered = {first for first in own if first in shared}
    for nodes in own.values():
        for name in nodes:
            targets = [one.target for one in graph.out(name)]
            if fork in targets:
                return ForkRegion(fork, None, own, f"a branch leads back, by {name}")
            entered.update(one for one in targets if one in shared)
    fault = _fault(graph, entered, own)
    join = min(entered) if len(entered) == 1 and fault is None else None
    return ForkRegion(fork, join, own, fault)


def _reached(graph: WorkflowGraph, first: str, fork: str) -> set[str]:
    """Return the nodes to which paths from *first* lead that do not come to *fork*."""
    found, left = set[str](), [first]
    while left:
        name = left.pop()
        if name not in found and name != fork and name in graph.nodes:
            found.add(name)
            left += [one.target for one in graph.out(name)]
    return found


def _fault(
    graph: WorkflowGraph, entered: set[str], own: Mapping[str, frozenset[str]]
) -> str | None:
    """Return why branches that meet at *entered* are no region, if they are none."""
    shown = ", ".join(sorted(entered)[:_SHOWN])
    if len(entered) > 1:
        return f"its branches meet in several places: {shown}"
    if any(graph.nodes[one].kind != "join" for one in entered):
        return f"its branches meet in {shown}, which is no join"
    inside = frozenset[str]().union(*own.values())
    if graph.entry in inside:
        return f"{graph.entry}, where the graph begins, is in a branch"
    return None
