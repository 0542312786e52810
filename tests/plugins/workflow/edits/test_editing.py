"""Editing: each function does what it says, keeps the rest, and says what it did (B21)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment_plugins.workflow import WorkflowGraph, workflow_graph
from muniment_plugins.workflow.edits.editing import (
    workflow_clone,
    workflow_insert_node,
    workflow_remove_node,
    workflow_replace_node,
    workflow_rewire,
    workflow_rewrite,
)
from muniment_plugins.workflow.edits.history import performed
from muniment_plugins.workflow.edits.inspection import (
    workflow_inspect,
    workflow_policy_report,
)
from muniment_plugins.workflow.edits.setting import (
    workflow_set,
    workflow_set_auto_compact,
    workflow_set_capability_policy,
    workflow_set_context_policy,
    workflow_set_model_policy,
    workflow_set_output_visibility,
    workflow_set_retry_policy,
)
from muniment_plugins.workflow.edits.structural import workflow_diff
from workflow_stages import chain, edge, graph_of, says, stage

FORK = graph_of(
    {
        "begin": stage(),
        "fork": {"kind": "fork"},
        "a": stage(),
        "b": stage(),
        "c": stage(),
        "join": {"kind": "join"},
    },
    edge("begin", "fork"),
    edge("fork", "a"),
    edge("fork", "b"),
    edge("a", "join"),
    edge("b", "join"),
)
LOOP = graph_of(
    {"act": stage(), "verify": {"kind": "verify", "verify": {"command": "true"}}},
    edge("act", "verify"),
    edge("verify", "act", "failed"),
)


def out(graph: WorkflowGraph, node: str) -> list[tuple[str, str | None]]:
    """Return where *node* leads to, and in which branch."""
    return [(one.target, one.branch) for one in graph.out(node)]


def test_nothing_given_changes() -> None:
    """The graph that is edited, and a document that is given, stay as they are."""
    document = chain(a=stage(), b=stage())
    before, kept = workflow_graph(document), repr(document)
    edited = workflow_set(before, "a", "timeout_s", 5)
    nodes: Any = edited.document["nodes"]
    nodes["b"]["handler"] = "other:one"
    assert before == workflow_graph(document)
    assert repr(document) == kept
    assert before.edits == ()


def test_edit_says() -> None:
    """B21: an edit has its op, node, field, digests, patch, reason and actor, for good."""
    before = workflow_graph(chain(a=stage()))
    after = workflow_set_retry_policy(
        before, "a", {"max_attempts": 3}, reason="it is flaky", actor="ann"
    )
    (edit,) = after.edits
    assert edit.document() == {
        "op": "set_policy",
        "node": "a",
        "field": "retry_policy",
        "before": before.digest,
        "after": after.digest,
        "patch": [
            {
                "op": "add",
                "path": "/nodes/a/retry_policy",
                "value": {"max_attempts": 3},
            }
        ],
        "reason": "it is flaky",
        "actor": "ann",
    }
    edit.patch.clear()
    assert len(edit.patch) == 1
    with pytest.raises(FrozenInstanceError):
        edit.reason = "another"  # type: ignore[misc]


def test_insert() -> None:
    """A node gets its id, or the first free ``node_<n+1>``; an edge leads to or from it."""
    one = workflow_insert_node(chain(a=stage()), {"id": "b", **stage()}, {"from": "a"})
    assert out(one, "a") == [("b", None)]
    two = workflow_insert_node(one, stage(), {"from": "a", "branch": "failed"})
    assert out(two, "a") == [("b", None), ("node_3", "failed")]
    three = workflow_insert_node(two, {"id": "node_5", **stage()})
    four = workflow_insert_node(three, stage(), {"to": "b", "branch": None})
    assert out(four, "node_6") == out(two, "a")[:1] == [("b", None)]
    assert [one.op for one in four.edits] == ["insert_node"] * 4


def test_insert_functions() -> None:
    """A function that is given as such is kept beside the graph, as always."""
    graph = workflow_insert_node(chain(a=stage()), {"id": "b", "handler": says})
    assert graph.nodes["b"].handler == "workflow_stages:says"
    again = workflow_set(graph, "a", "timeout_s", 1)
    assert set(again.functions) == {"workflow_stages:says"}


@pytest.mark.parametrize(
    ("node", "line", "rule"),
    [
        ({"id": "a"}, None, "node-taken"),
        ({"id": "x"}, {"from": "b"}, "node-unknown"),
        ({"id": "x"}, {"branch": "failed"}, "edge"),
        ({"id": "x"}, {"from": "a", "when": "late"}, "unknown-key"),
        ({"id": "x/y"}, None, "value"),
        ({"id": ""}, None, "value"),
        ({"id": 7}, None, ""),
        ({"id": "x", "colour": "red"}, None, "unknown-key"),
    ],
)
def test_insert_refuses(node: Any, line: Any, rule: str) -> None:
    """A taken name is never overwritten; unknown ends and mistakes of form are refused."""
    with pytest.raises(UsageError) as caught:
        workflow_insert_node(chain(a=stage()), node, line)
    assert rule in caught.value.rule


@pytest.mark.parametrize("name", ["a b", "a/b", "", "$a", "a\n"])
def test_names(name: str) -> None:
    """A name that no edge could have is refused where it stands in ``nodes``, too."""
    with pytest.raises(UsageError) as caught:
        workflow_graph({"nodes": {name: stage()}, "entry": "a"})
    assert "nodes" in caught.value.place


def test_replace_and_remove() -> None:
    """A node is replaced as a whole, or removed with its edges; it has to be there."""
    graph = workflow_graph(LOOP)
    other = workflow_replace_node(graph, "act", stage("says_later"))
    assert other.nodes["act"].handler == "workflow_stages:says_later"
    assert other.edges == graph.edges
    less = workflow_remove_node(other, "verify")
    assert (list(less.nodes), less.edges) == (["act"], ())
    calls: list[Callable[[], object]] = [
        lambda: workflow_replace_node(graph, "actt", stage()),
        lambda: workflow_remove_node(graph, "actt"),
        lambda: workflow_set(graph, "actt", "timeout_s", 1),
    ]
    for call in calls:
        with pytest.raises(UsageError) as caught:
            call()
        assert "did you mean act?" in caught.value.remedy


def test_b21_rewire_keeps_fan_out() -> None:
    """B21: a fork keeps its other branches, whether one is added or led elsewhere."""
    added = workflow_rewire(FORK, "fork", "c")
    assert out(added, "fork") == [("a", None), ("b", None), ("c", None)]
    moved = workflow_rewire(FORK, "fork", "c", old="a")
    assert out(moved, "fork") == [("c", None), ("b", None)]
    assert workflow_rewire(FORK, "fork", "a").edits == ()
    with pytest.raises(UsageError, match="already"):
        workflow_rewire(FORK, "fork", "b", old="a")
    with pytest.raises(UsageError, match="no edge"):
        workflow_rewire(FORK, "fork", "c", old="join")


def test_rewire() -> None:
    """The edge of one branch leads elsewhere; edges of other branches stay."""
    graph = workflow_insert_node(LOOP, {"id": "end", **stage()})
    one = workflow_rewire(graph, "verify", "end")
    assert out(one, "verify") == [("act", "failed"), ("end", None)]
    two = workflow_rewire(one, "verify", "end", "failed")
    assert out(two, "verify") == [("end", "failed"), ("end", None)]
    three = workflow_rewire(two, "verify", "act", None)
    assert out(three, "verify") == [("end", "failed"), ("act", None)]
    several = graph_of({"a": stage(), "b": stage()}, edge("a", "a"), edge("a", "b"))
    with_c = workflow_insert_node(several, {"id": "c", **stage()})
    with pytest.raises(UsageError, match="2 edges") as caught:
        workflow_rewire(with_c, "a", "c")
    assert "old=" in caught.value.remedy


def test_policies() -> None:
    """Each policy is set as a whole, and taken away by None."""
    graph = workflow_graph(chain(a=stage()))
    for set_it, key, value in (
        (workflow_set_model_policy, "model_policy", {"model": "m"}),
        (workflow_set_context_policy, "context_policy", {"max_artifacts": 3}),
        (workflow_set_retry_policy, "retry_policy", {"max_attempts": 2}),
        (workflow_set_capability_policy, "capability_policy", {"tools": ["a"]}),
        (workflow_set_auto_compact, "auto_compact", {"enabled": True}),
        (workflow_set_output_visibility, "output_visibility", "private"),
    ):
        there = set_it(graph, "a", value)
        assert there.nodes["a"].document[key] == value
        assert [(one.op, one.field) for one in there.edits] == [("set_policy", key)]
        assert set_it(there, "a", None) == graph
        with pytest.raises(UsageError):
            set_it(graph, "a", {"no_such_key": 1})
    whole = workflow_set_capability_policy(graph, None, {"tools": ["a"]})
    assert whole.document["capability_policy"] == {"tools": ["a"]}


def test_clone() -> None:
    """A clone has another name and a version one higher; its edits are kept."""
    graph = workflow_set(chain(a=stage()), None, "name", "mine")
    clone = workflow_clone(graph)
    assert (clone.name, clone.version, graph.version) == ("mine_clone", 2, 1)
    assert [one.op for one in clone.edits] == ["set", "clone"]


def test_rewrite() -> None:
    """A document that was edited elsewhere is one edit; an equal one is none."""
    graph = workflow_graph(chain(a=stage()))
    other = workflow_rewrite(graph, chain(a=stage(), b=stage()))
    assert other == workflow_graph(chain(a=stage(), b=stage()))
    assert [one.op for one in other.edits] == ["rewrite"]
    assert workflow_rewrite(graph, chain(a=stage())) is graph


def test_no_edit() -> None:
    """What changes nothing is no edit."""
    graph = workflow_graph(chain(a=stage()))
    assert workflow_set(graph, "a", "timeout_s", None) is graph
    assert workflow_replace_node(graph, "a", stage()) is graph


def test_diff() -> None:
    """A difference is told by nodes, members, edges with their number, and order."""
    a = graph_of({"x": stage(), "y": stage()}, edge("x", "y"), edge("y", "x", "failed"))
    b = graph_of(
        {"x": stage(timeout_s=5), "z": stage()},
        edge("x", "z"),
        edge("x", "z"),
        name="n",
    )
    found = workflow_diff(a, b)
    assert found.changed
    assert (found.nodes_added, found.nodes_removed) == (("z",), ("y",))
    (change,) = found.nodes_changed["x"]
    assert change.document() == {"member": "timeout_s", "before": None, "after": 5}
    assert found.edges_added == ({"from": "x", "to": "z"},) * 2
    assert len(found.edges_removed) == 2
    assert [one.member for one in found.members] == ["name"]
    assert found.document()["patch"] == [*found.patch]
    same = workflow_diff(a, a)
    assert (same.changed, same.patch, same.edges_reordered) == (False, (), False)
    turned = workflow_diff(a, {**a, "edges": a["edges"][::-1]})
    assert (turned.edges_added, turned.edges_reordered) == ((), True)


def test_inspect() -> None:
    """An inspection has the graph, what is wrong with it, and how large it is."""
    found = workflow_inspect(LOOP, {"side_effect_level": "read_only"}).document()
    assert (found["node_count"], found["edge_count"]) == (2, 2)
    said: Any = found
    assert not said["validation"]["valid"]
    assert said["graph"] == workflow_graph(LOOP).document


def test_policy_report() -> None:
    """Of each node: what is left, which tools it may call, what it asks for in vain."""
    tools = {
        "tools": [
            {"name": "read", "policy": {"side_effect_level": "read_only"}},
            {"name": "run", "policy": {"side_effect_level": "process_exec"}},
        ]
    }
    asks = {"side_effect_level": "network"}
    graph = chain(a=stage(tools=tools, capability_policy=asks), b=stage())
    ceiling = {"side_effect_level": "read_only"}
    report = workflow_policy_report(graph, ceiling)
    a, b = report.nodes
    assert a.policy["side_effect_level"] == "read_only"
    assert (a.tools, list(a.denied)) == (("read",), ["run"])
    assert a.refused
    assert not b.refused
    assert report.document()["ceiling"] == ceiling
    free = workflow_policy_report(graph).nodes[0]
    assert free.tools == ("read", "run")


NAMES = st.sampled_from(["begin", "fork", "a", "b", "c", "join"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rewire"), NAMES, NAMES, st.none() | NAMES),
        st.tuples(st.just("set"), NAMES, st.sampled_from([None, 1, 2])),
        st.tuples(st.just("insert"), st.none() | NAMES),
        st.tuples(st.just("remove"), NAMES),
        st.tuples(st.just("clone")),
    ),
    max_size=8,
)


@given(STEPS)
def test_b21_edits_lead_to_the_graph(steps: list[tuple[Any, ...]]) -> None:
    """B21: performing the edits of a graph again comes to it, digest by digest."""
    graph = begun = workflow_graph(FORK)
    for step in steps:
        try:
            graph = after(graph, step)
        except UsageError:
            continue
    document: Any = dict(begun.document)
    for edit in graph.edits:
        document = performed(document, edit)
    assert document == graph.document
    assert graph.base == (begun.document if graph.edits else None)


def after(graph: WorkflowGraph, step: tuple[Any, ...]) -> WorkflowGraph:
    """Take a step."""
    if step[0] == "rewire":
        return workflow_rewire(graph, step[1], step[2], old=step[3])
    if step[0] == "set":
        return workflow_set(graph, step[1], "timeout_s", step[2])
    if step[0] == "insert":
        line = None if step[1] is None else {"from": step[1]}
        return workflow_insert_node(graph, stage(), line)
    if step[0] == "remove":
        return workflow_remove_node(graph, step[1])
    return workflow_clone(graph)
