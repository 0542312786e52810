"""How two graphs differ: by nodes and their members, by edges, by what else they say.

    found = workflow_diff(old, new)
    found.nodes_changed["act"][0]      MemberChange('retry_policy', None, {'max_attempts': 3})
    found.edges_added                  ({'from': 'act', 'to': 'lint'},)

Rules:

- An edge is what it says: one that leads elsewhere is another edge. Equal ones are counted.
- The patch is the whole difference, and makes the one document of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical, parse
from muniment_plugins.workflow.documents.graph import GraphLike, workflow_graph
from muniment_plugins.workflow.edits.differences import patch_between
from muniment_plugins.workflow.edits.patches import PatchOperation, same_json

__all__ = ["MemberChange", "WorkflowDiff", "workflow_diff"]

Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A member that is not what it was."""

    member: str
    before: JsonValue
    """None if it was not there."""
    after: JsonValue
    """None if it is not there."""

    def document(self) -> dict[str, JsonValue]:
        """Return it as a JSON object."""
        return {"member": self.member, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class WorkflowDiff:
    """What is different about the graph on the right."""

    left: str
    """The digest of the one."""
    right: str
    """The digest of the other."""
    nodes_added: tuple[str, ...]
    nodes_removed: tuple[str, ...]
    nodes_changed: Mapping[str, tuple[MemberChange, ...]]
    edges_added: tuple[Object, ...]
    edges_removed: tuple[Object, ...]
    edges_reordered: bool
    """Whether the edges that both have are in another order: branches merge in it."""
    members: tuple[MemberChange, ...]
    """What else the graph says: ``entry``, ``version``, policies."""
    patch: tuple[PatchOperation, ...]
    """RFC 6902."""
    compared: Mapping[str, int]
    """How many nodes, edges and other members there were, in one of them or in both."""

    @property
    def changed(self) -> bool:
        """Whether they differ at all."""
        return self.left != self.right

    def document(self) -> dict[str, JsonValue]:
        """Return it as a JSON object."""
        return {
            "changed": self.changed,
            "left": self.left,
            "right": self.right,
            "nodes": {
                "added": [*self.nodes_added],
                "removed": [*self.nodes_removed],
                "changed": {
                    name: [one.document() for one in changes]
                    for name, changes in self.nodes_changed.items()
                },
            },
            "edges": {
                "added": [dict(one) for one in self.edges_added],
                "removed": [dict(one) for one in self.edges_removed],
                "reordered": self.edges_reordered,
            },
            "members": [one.document() for one in self.members],
            "patch": [*self.patch],
            "compared": dict(self.compared),
        }


def workflow_diff(a: GraphLike, b: GraphLike) -> WorkflowDiff:
    """Return what is different about the graph *b*, compared with *a*.

    Raises:
        UsageError: one of them has a mistake of form.

    """
    left, right = workflow_graph(a), workflow_graph(b)
    ours = {name: one.document for name, one in left.nodes.items()}
    theirs = {name: one.document for name, one in right.nodes.items()}
    both = sorted(ours.keys() & theirs.keys())
    changes = {name: tuple(_members(ours[name], theirs[name])) for name in both}
    rest = _rest(left.document), _rest(right.document)
    old, new = _edges(left.document), _edges(right.document)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return WorkflowDiff(
        left=left.digest,
        right=right.digest,
        nodes_added=tuple(sorted(theirs.keys() - ours.keys())),
        nodes_removed=tuple(sorted(ours.keys() - theirs.keys())),
        nodes_changed={name: one for name, one in changes.items() if one},
        edges_added=tuple(map(_edge, come.elements())),
        edges_removed=tuple(map(_edge, gone.elements())),
        edges_reordered=_without(old, gone) != _without(new, come),
        members=tuple(_members(*rest)),
        patch=tuple(patch_between(dict(left.document), dict(right.document))),
        compared={
            "nodes": len(ours.keys() | theirs.keys()),
            "edges": (Counter(old) | Counter(new)).total(),
            "members": len(rest[0].keys() | rest[1].keys()),
        },
    )


def _members(before: Object, after: Object) -> Iterator[MemberChange]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if (name in before) != (name in after) or not same_json(old, new):
            yield MemberChange(name, old, new)


def _rest(document: Object) -> Object:
    apart = ("nodes", "edges")
    return {name: one for name, one in document.items() if name not in apart}


def _edges(document: Object) -> list[bytes]:
    return [canonical(one) for one in cast("list[JsonValue]", document["edges"])]


def _edge(written: bytes) -> Object:
    return cast("Object", parse(written))


def _without(edges: list[bytes], some: Counter[bytes]) -> list[bytes]:
    """Return *edges* without the last ones of *some*."""
    left = Counter(some)
    found: list[bytes] = []
    for one in reversed(edges):
        if left[one] > 0:
            left[one] -= 1
        else:
            found.append(one)
    return found
