"""Some branch takes each edge, or the edge is named; and a name means one branch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute, workflow_validate
from muniment_plugins.workflow.documents.words import BRANCHES, SEMANTICS, SYNONYMS

BESIDE: dict[str, Any] = {
    "stage": {"handler": "a:b"},
    "verify": {"verify": {"command": "true"}},
    "condition": {},
    "join": {},
    "map": {"map_policy": {"items": [1]}},
    "reduce": {},
    "subagent": {"handler": "a:b"},
    "escalation": {},
}
NAMED = {"stage": {"success": "done"}, "verify": {"verify_fail": "broken"}}
"""Names of a node's own, for two kinds."""
Labels = tuple[str | None, ...]


def labels(kind: str) -> list[str | None]:
    """Return every label that an edge of *kind* can have."""
    own = NAMED.get(kind, {}).values()
    return [None, "*", *BRANCHES[kind].all, *SYNONYMS.get(kind, {}), *own]


def combined() -> Iterator[tuple[str, Labels]]:
    """Yield each kind with each pair of labels, in both orders, and each three."""
    for kind in BESIDE:
        known = labels(kind)
        for pair in permutations(known, 2):
            yield kind, pair
        for one in known:
            yield kind, (one, one)
        for three in combinations(known, 3):
            yield kind, three


def graph_of(kind: str, row: Labels, own: dict[str, str] | None = None) -> Any:
    """Return a graph whose first node has an edge to another one for each label."""
    node: dict[str, Any] = {"kind": kind, **BESIDE[kind]}
    if own is not None:
        node["branch_semantics"] = own
    nodes: dict[str, Any] = {"a": node}
    nodes |= {f"n{n}": {"handler": "a:b"} for n in range(len(row))}
    edges = [
        {"from": "a", "to": f"n{n}", **({} if one is None else {"branch": one})}
        for n, one in enumerate(row)
    ]
    return {"entry": "a", "nodes": nodes, "edges": edges}


def way(kind: str, row: Labels, branch: str) -> int | None:
    """Return the edge that *branch* takes: the documented rule, written once more."""
    own = {SEMANTICS[kind][key]: one for key, one in NAMED.get(kind, {}).items()}
    groups: list[Any] = [
        {branch, own.get(branch, branch)},
        {one for one, meant in SYNONYMS.get(kind, {}).items() if meant == branch},
        {"*"},
        {None} if branch in BRANCHES[kind].success else set(),
    ]
    for group in groups:
        for number, one in enumerate(row):
            if one in group:
                return number
    return None


@pytest.mark.parametrize("kind", sorted(BESIDE))
def test_each_edge_is_taken_or_named(kind: str) -> None:
    """All pairs in both orders, all threes: named are exactly those that nothing takes."""
    rows = [row for one, row in combined() if one == kind]
    for row in rows:
        live = {way(kind, row, one) for one in BRANCHES[kind].all}
        dead = {f"edges[{n}]" for n in range(len(row)) if n not in live}
        report = workflow_validate(graph_of(kind, row, NAMED.get(kind)))
        found = {one.place for one in report.errors if one.code.startswith("EDGE_")}
        assert found == dead, (row, report.errors)


@pytest.mark.parametrize("label", ["*", "fork", "x"])
def test_a_fork_takes_all_its_edges(label: str) -> None:
    """So a label of one of them says nothing, whatever it is."""
    nodes = {"f": {"kind": "fork"}, "a": {"handler": "a:b"}, "b": {"handler": "a:b"}}
    edges = [{"from": "f", "to": "a", "branch": label}, {"from": "f", "to": "b"}]
    report = workflow_validate({"entry": "f", "nodes": nodes, "edges": edges})
    assert [(one.code, one.place) for one in report.errors] == [
        ("FORK_LABEL", "edges[0].branch")
    ]


def names() -> Iterator[tuple[str, str, str]]:
    """Yield each kind, each member of its semantics, and each name it could take."""
    for kind, known in SEMANTICS.items():
        taken = [*BRANCHES[kind].all, *SYNONYMS.get(kind, {}), "*", "free"]
        for member in known:
            for name in taken:
                yield kind, member, name


@pytest.mark.parametrize(("kind", "member", "name"), [*names()])
def test_a_name_of_a_branch_means_one_branch(kind: str, member: str, name: str) -> None:
    """A usual name of another branch, another word for one, and `*` are taken."""
    branch = SEMANTICS[kind][member]
    means = {one: one for one in BRANCHES[kind].all} | dict(SYNONYMS.get(kind, {}))
    free = name not in {"*", *means} or means.get(name) == branch
    report = workflow_validate(graph_of(kind, (), {member: name}))
    found = [one.place for one in report.errors if one.code == "SEMANTICS_TAKEN"]
    assert found == ([] if free else [f"nodes.a.branch_semantics.{member}"])


@pytest.mark.parametrize("kind", sorted(SEMANTICS))
def test_two_branches_with_one_name(kind: str) -> None:
    """Two members that mean one branch may share a name; those of two may not."""
    for one, other in combinations(SEMANTICS[kind], 2):
        report = workflow_validate(graph_of(kind, (), {one: "x", other: "x"}))
        same = SEMANTICS[kind][one] == SEMANTICS[kind][other]
        codes = [found.code for found in report.errors]
        assert ("SEMANTICS_TAKEN" in codes) != same, (one, other)


def test_a_success_takes_no_failing_edge(book: Ledger) -> None:
    """The graph that let it is not run."""
    graph = graph_of("stage", ("failed", "success"), {"success": "failed"})
    with pytest.raises(Exception, match="SEMANTICS_TAKEN"):
        workflow_execute(book, "t", graph)
