"""A policy of a join that cannot hold where its paths come from is refused, and no other.

Rule: as many paths may be asked for as meet in the join: the branches of the fork that it
closes, or the single one that a condition lets through.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_regions import met_graphs
from muniment_plugins.workflow import workflow_validate
from workflow_stages import Document, edge, graph_of, stage

POLICIES: list[Document] = [
    {},
    {"strategy": "first"},
    {"require_all_inputs": True},
    *({"min_completed": most} for most in (1, 2, 3, 4)),
    *({"strategy": "quorum", "min_completed": most} for most in (1, 2, 3, 4)),
]


def refused(graph: Document) -> set[str]:
    """Return the places of policies that *graph* is refused for."""
    report = workflow_validate(graph)
    assert {one.code for one in report.errors} <= {"JOIN_QUORUM"}, report.errors
    return {one.place for one in report.errors}


def ways(begin: Document, policy: Document, label: bool) -> Document:
    """Return a graph of a node with two ways, both of which lead to a join."""
    join = {"kind": "join", "join_policy": policy}
    nodes = {"begin": begin, "x": stage(), "y": stage(), "j": join, "end": stage()}
    labels = ("true", "false") if label else (None, None)
    edges = [edge("begin", "x", labels[0]), edge("begin", "y", labels[1])]
    edges += [edge("x", "j"), edge("y", "j")]
    return graph_of(nodes, *edges, edge("j", "end"))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_join_where_ways_of_a_condition_meet(policy: Document) -> None:
    """One way comes: what asks for more is refused, what one path fulfils is not."""
    found = refused(ways({"kind": "condition"}, policy, label=True))
    place = "nodes.j.join_policy."
    expected: set[str] = set()
    if policy.get("require_all_inputs"):
        expected = {f"{place}require_all_inputs"}
    if policy.get("min_completed", 1) > 1:
        expected = {f"{place}min_completed"}
    assert found == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_a_join_that_closes_a_fork(policy: Document) -> None:
    """Two branches come: as many may be asked for, however many edges there are."""
    graph = ways({"kind": "fork"}, policy, label=False)
    graph["nodes"]["x"] = {"kind": "condition"}
    graph["nodes"] |= {"z": stage()}
    graph["edges"].remove(edge("x", "j"))
    graph["edges"] += [edge("x", "j", "true"), edge("x", "z", "false"), edge("z", "j")]
    asks = policy.get("min_completed", 1)
    assert refused(graph) == (
        {"nodes.j.join_policy.min_completed"} if asks > 2 else set()
    )


def test_a_path_may_come_past_the_fork() -> None:
    """A join that closes a fork, and that a way around the fork leads to, has one path then."""
    graph = ways({"kind": "fork"}, {"min_completed": 2}, label=False)
    assert refused(graph) == set()
    around = {"kind": "condition"}
    graph = {**graph, "entry": "c", "nodes": {**graph["nodes"], "c": around}}
    graph["edges"] += [edge("c", "begin", "true"), edge("c", "j", "false")]
    assert refused(graph) == {"nodes.j.join_policy.min_completed"}


@given(met_graphs(), st.data())
@settings(max_examples=60, deadline=None)
def test_any_graph(drawn: tuple[Document, dict[str, int]], data: st.DataObject) -> None:
    """Whatever is around a join, what it may ask for is what comes, and no more."""
    graph, meets = drawn
    expected: set[str] = set()
    for name, count in meets.items():
        policy = data.draw(st.sampled_from(POLICIES))
        graph["nodes"][name]["join_policy"] = policy
        at = f"nodes.{name}.join_policy."
        if policy.get("min_completed", 1) > count:
            expected.add(f"{at}min_completed")
        elif policy.get("require_all_inputs") and count == 1:
            expected.add(f"{at}require_all_inputs")
    report = workflow_validate(graph)
    found = {one.place for one in report.errors if one.code == "JOIN_QUORUM"}
    assert found == expected
