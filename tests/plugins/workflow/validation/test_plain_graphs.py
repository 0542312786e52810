"""Whatever Python gives as a graph is held to what a file can hold, and never a bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute, workflow_validate

DEEPEST = 32


def act(stage: Any) -> str:
    """Do the work."""
    return f"done by {stage.node}"


def nested(depth: int) -> dict[str, Any]:
    """Return an object that nests so deep."""
    found: dict[str, Any] = {}
    for _ in range(depth - 1):
        found = {"a": found}
    return found


def with_metadata(value: object) -> dict[str, Any]:
    """Return a graph that says *value* of its node."""
    return {"nodes": {"act": {"handler": act, "metadata": {"x": value}}}}


def in_itself() -> Any:
    """Return a graph in which it is itself."""
    graph: dict[str, Any] = {"nodes": {"act": {"kind": "subagent"}}}
    graph["nodes"]["act"]["graph"] = graph
    return graph


def list_in_itself() -> Any:
    """Return a list in which it is itself."""
    items: list[Any] = []
    items.append(items)
    return with_metadata(items)


ODD: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a key that is a number": (
        lambda: with_metadata({1: 2}),
        "FORM_TYPE",
        "nodes.act.metadata.x",
    ),
    "a node called 1": (lambda: {"nodes": {1: {"handler": act}}}, "FORM_TYPE", "nodes"),
    "a key that is None": (lambda: {None: 1, "nodes": {}}, "FORM_TYPE", ""),
    "a graph in itself": (in_itself, "FORM_DEPTH", "nodes.act.graph"),
    "a list in itself": (list_in_itself, "FORM_DEPTH", "nodes.act.metadata.x[0]"),
    "very deep": (
        lambda: with_metadata(nested(5000)),
        "FORM_DEPTH",
        "nodes.act.metadata.x",
    ),
    "nan": (
        lambda: with_metadata(float("nan")),
        "FORM_NUMBER",
        "nodes.act.metadata.x",
    ),
    "infinite": (
        lambda: with_metadata(float("-inf")),
        "FORM_NUMBER",
        "nodes.act.metadata.x",
    ),
    "a large number": (
        lambda: {"nodes": {"act": {"handler": act, "max_visits": 2**53}}},
        "FORM_NUMBER",
        "nodes.act.max_visits",
    ),
    "a set": (lambda: with_metadata({1}), "FORM_TYPE", "nodes.act.metadata.x"),
    "bytes": (lambda: with_metadata(b"x"), "FORM_TYPE", "nodes.act.metadata.x"),
    "half a character": (
        lambda: with_metadata("\ud800"),
        "FORM_ENCODING",
        "nodes.act.metadata.x",
    ),
    "a name that nobody sees": (
        lambda: {"nodes": {"a\u200b": {"handler": act}}},
        "FORM_VALUE",
        "nodes",
    ),
    "a name with an escape": (
        lambda: {"nodes": {"a\x1b[31mb": {"handler": act}}},
        "FORM_VALUE",
        "nodes",
    ),
    "a name that looks like another": (
        lambda: {"nodes": {"e\u0301": {"handler": act}}},
        "FORM_VALUE",
        "nodes",
    ),
    "a long name": (
        lambda: {"nodes": {"a" * 201: {"handler": act}}},
        "FORM_VALUE",
        "nodes",
    ),
}
"""What Python can give, its code, and where its place begins."""


@pytest.mark.parametrize("case", sorted(ODD))
def test_what_no_file_can_hold(case: str, book: Ledger) -> None:
    """Validation finds it with a place; a run refuses it alike, and records that."""
    make, code, place = ODD[case]
    (found,) = workflow_validate(make()).errors
    assert (found.code, found.place.startswith(place)) == (code, True), found
    with pytest.raises(UsageError):
        workflow_execute(book, "t", make())
    (refused,) = book.events(type="workflow.refused")
    said: Any = book.resolve(refused)
    (row,) = said["findings"]
    assert (row["code"], row["place"]) == (code, found.place)


def test_what_validates_can_be_run_at_every_depth(book: Ledger) -> None:
    """The limit is 32 for both: the graph, its nodes, a node and metadata are four."""
    for depth in (DEEPEST - 5, DEEPEST - 4, DEEPEST - 3):
        graph = with_metadata(nested(depth))
        valid = workflow_validate(graph).valid
        try:
            assert workflow_execute(book, "t", graph).status == "completed"
            ran = True
        except UsageError:
            ran = False
        assert (valid, ran) == (depth <= DEEPEST - 4,) * 2


def test_the_longest_name_can_be_run(book: Ledger) -> None:
    """A name that validates has room for the number of its visit, and can be read back."""
    done = workflow_execute(book, "t", {"nodes": {"a" * 200: {"handler": act}}})
    assert done.status == "completed"
    assert [one.text for one in done.artifacts] == [f"done by {'a' * 200}"]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=2)
    | st.just(act)
    | st.sets(st.integers(), max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(
            st.text(max_size=3)
            | st.integers()
            | st.none()
            | st.sampled_from(
                ["nodes", "edges", "entry", "kind", "act", "graph", "body"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(values)
def test_no_value_is_a_bug(value: Any) -> None:
    """A report comes of everything, as a graph and in one, and what is wrong has a code."""
    for graph in (
        value,
        {"nodes": value},
        {"nodes": {"act": value}},
        with_metadata(value),
    ):
        report = workflow_validate(graph)
        assert all(one.code and one.severity for one in report.findings)
