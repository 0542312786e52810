"""Plans of planners in their normal form: variants, references, repairs, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawn_plans import any_json, planner_plans
from muniment.errors import MunimentError, UsageError
from muniment_plugins.workflow import ActionGraph, action_graph

RAW: dict[str, Any] = {
    "steps": [
        {"id": "inspect", "kind": "research", "title": "Inspect", "tools": ["read"]},
        {"id": "patch", "title": "Patch diagnostics", "tools": ["edit"]},
        {"id": "docs", "title": "Update notes", "tools": ["edit"]},
        {"id": "tests", "title": "Run the tests", "kind": "verify"},
    ]
}


def ids(raw: object) -> list[list[str]]:
    """Return what each action of a plan depends on."""
    return [list(one.depends_on) for one in action_graph(raw).actions]


@pytest.mark.parametrize(
    "raw",
    [
        RAW,
        RAW["steps"],
        {"plan": RAW},
        {"plan": RAW["steps"]},
        json.dumps(RAW),
        f"Here is the plan:\n```json\n{json.dumps(RAW)}\n```\nDone.",
        {
            "batches": [
                {"phase": "research", "actions": RAW["steps"][:1]},
                {"actions": RAW["steps"][1:]},
            ]
        },
        {
            "research": RAW["steps"][:1],
            "execute": RAW["steps"][1:3],
            "verify": RAW["steps"][3:],
        },
    ],
)
def test_variants(raw: object) -> None:
    """However a planner puts its steps, they are the same actions, in order."""
    graph = action_graph(raw)
    assert [one.metadata["source_id"] for one in graph.actions] == [
        "inspect",
        "patch",
        "docs",
        "tests",
    ]
    assert [one.phase for one in graph.actions] == [
        "research",
        "execute",
        "execute",
        "verify",
    ]
    assert ids(raw) == [[], ["action-1"], ["action-1"], ["action-2", "action-3"]]
    assert [one["action"] for one in graph.repairs] == [
        "action-2",
        "action-3",
        "action-4",
    ]


def test_references() -> None:
    """Ids, titles, numbers, canonical ids, objects and lists in texts name actions."""
    first = {"id": "Inspect-It", "title": "Look around", "phase": "research"}
    ways: list[Any] = [
        ["inspect-it"],
        "look  AROUND",
        1,
        "action-1",
        [{"id": "Inspect-It"}],
        "step 1",
        "Inspect-It, nothing",
    ]
    rows = [{"title": f"Way {n}", "needs": way} for n, way in enumerate(ways)]
    graph = action_graph([first, *rows])
    assert [one.depends_on for one in graph.actions[1:]] == [("action-1",)] * len(ways)
    assert [one["reference"] for one in graph.dropped_refs] == ["nothing"]


def test_ids_of_the_planner_come_first() -> None:
    """Who numbers from ten means these numbers, and not places in the list."""
    rows = [
        {"id": 2, "title": "a"},
        {"id": 1, "title": "b"},
        {"title": "c", "depends_on": [1]},
    ]
    assert ids(rows)[2] == ["action-2"]


def test_b28_what_names_nothing_is_listed() -> None:
    """B28: dropped references say which, where and why; cycles are listed and stay."""
    rows = [
        {"id": "a", "title": "A", "after": ["b", "design", "a", None]},
        {"id": "b", "title": "B", "after": ["a"]},
        {"id": "c", "title": "C", "after": ["a"]},
    ]
    graph = action_graph({"steps": rows})
    assert [(one["place"], one["reason"]) for one in graph.dropped_refs] == [
        ("steps[0].after[1]", "unknown"),
        ("steps[0].after[2]", "self"),
        ("steps[0].after[3]", "form"),
    ]
    assert graph.cycles == (("action-1", "action-2"),)
    assert ids({"steps": rows}) == [["action-2"], ["action-1"], ["action-1"]]


def test_one_name_for_two() -> None:
    """Of two actions with one name the later is meant, which is listed."""
    rows = [
        {"id": "x", "title": "A"},
        {"id": "x", "title": "B"},
        {"title": "C", "needs": "x"},
    ]
    graph = action_graph(rows)
    assert graph.actions[2].depends_on == ("action-2",)
    assert graph.ambiguous_refs[0]["taken"] == ["action-2"]
    assert graph.ambiguous_refs[0]["others"] == ["action-1"]


def test_groups() -> None:
    """An action with steps of its own stands for them: order, phase, references."""
    rows = [
        {"id": "look", "phase": "research", "steps": ["Read a", "Read b"]},
        {"id": "do", "title": "Do", "depends_on": ["look"]},
        {
            "id": "late",
            "depends_on": ["do"],
            "steps": [{"title": "One"}, {"title": "Two"}],
        },
    ]
    assert ids(rows) == [[], [], ["action-1", "action-2"], ["action-3"], ["action-3"]]
    assert [one.phase for one in action_graph(rows).actions[:2]] == ["research"] * 2


@pytest.mark.parametrize(
    ("row", "phase", "tool_class"),
    [
        ({"title": "Fix", "type": "Discover"}, "research", "read"),
        ({"title": "a", "kind": "task", "category": "QA"}, "verify", "verify"),
        ({"title": "Test it"}, "verify", "verify"),
        ({"title": "a", "tools": ["grep", "Read"]}, "research", "read"),
        ({"title": "a", "tools": ["edit"]}, "execute", "write"),
        ({"title": "a", "tools": ["edit", "shell"]}, "execute", "mixed"),
        ({"title": "a", "tools": ["edit", "browser"]}, "execute", "generic"),
        ({"title": "a", "tools": {"name": "run"}}, "execute", "exec"),
        ({"title": "a", "tools": ["run"], "tool_class": "write"}, "execute", "write"),
        ({"title": "a"}, "execute", "generic"),
    ],
)
def test_phases_and_classes(row: Any, phase: str, tool_class: str) -> None:
    """Words of phases, first words, tools and explicit classes decide, in this order."""
    action = action_graph([row]).actions[0]
    assert (action.phase, action.tool_class) == (phase, tool_class)


def test_nothing_is_lost() -> None:
    """What stands under a key that means nothing is kept with the action."""
    action = action_graph([{"title": "a", "estimate": "2h", "kind": "Fix"}]).actions[0]
    assert action.metadata == {"given": {"estimate": "2h"}, "source_phase": "Fix"}


@pytest.mark.parametrize(
    ("raw", "place", "says"),
    [
        ("", "the plan", "empty"),
        ("{not json", "the plan", "line 1, column 2"),
        ('{"steps": [NaN]}', "the plan", "NaN"),
        ('{"steps": [], "steps": ["a"]}', "the plan", "twice"),
        ("[" * 100_000, "the plan", "deep"),
        (b"\xff", "the plan", "UTF-8"),
        (None, "the plan", "null is no plan"),
        (7, "the plan", "int is no plan"),
        ({}, "the plan", "no action"),
        ({"steps": []}, "the plan", "no action"),
        ({"steps": ["a"] * 1001}, "the plan", "more than 1000"),
        ({"steps": ["a", 3]}, "the plan: steps[1]", "no action"),
        ({"steps": [{"estimate": 3}]}, "the plan: steps[0]", "says nothing"),
        ([{"title": "a", "tools": [3]}], "the plan: [0].tools[0]", "names no tool"),
        (
            [{"title": "a", "tool_class": "x"}],
            "the plan: [0].tool_class",
            "no such class",
        ),
        ([{"title": "a", "metadata": 1}], "the plan: [0].metadata", "no object"),
        (
            [{"title": "a", "target_paths": [1]}],
            "the plan: [0].target_paths[0]",
            "no path",
        ),
        ({"_type": "action_graph"}, "the plan: task", ""),
        ([float("nan")], "the plan: [0]", ""),
        ([object()], "the plan: [0]", "no value of JSON"),
    ],
)
def test_refusals(raw: object, place: str, says: str) -> None:
    """What is no plan is refused by a rule, with its place."""
    with pytest.raises(UsageError) as error:
        action_graph(raw)
    assert error.value.place == place
    assert says in error.value.message
    assert error.value.rule.startswith("workflow/")


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("actions", 1, "id"), "action-7", "actions[1].id"),
        (("actions", 1, "depends_on"), ["action-9"], "actions[1].depends_on[0]"),
        (("actions", 1, "depends_on"), ["action-2"], "actions[1].depends_on[0]"),
        (("actions", 0, "phase"), "later", "actions[0].phase"),
        (("actions", 0, "depends_on"), ["action-2"], "metadata.cycles"),
        (("task",), 3, "task"),
    ],
)
def test_a_document_that_says_it_is_normal(path: Any, value: Any, place: str) -> None:
    """In an edited normal form nothing is guessed: a mistake is refused at its place."""
    document: Any = json.loads(json.dumps(action_graph(RAW).document()))
    there = document
    for key in path[:-1]:
        there = there[key]
    there[path[-1]] = value
    with pytest.raises(UsageError) as error:
        action_graph(document)
    assert error.value.place == f"the plan: {place}"


def normalised(raw: object) -> tuple[ActionGraph | None, Any]:
    """Return the graph of a plan, or the error that refuses it."""
    try:
        return action_graph(raw), None
    except MunimentError as error:
        return None, error


@given(st.one_of(planner_plans, any_json))
@example({"steps": [{"title": "a", "steps": [{"title": "b", "after": "a"}]}]})
def test_a_graph_or_a_refusal(raw: object) -> None:
    """Whatever JSON a planner writes gives a graph, or a refusal with a place.

    The normal form of the normal form is the same; references name other actions.
    """
    graph, error = normalised(raw)
    if graph is None:
        assert error.place.startswith("the plan")
        assert error.rule.startswith("workflow/")
        return
    assert action_graph(graph.document()) == graph == action_graph(graph)
    assert action_graph(graph.document()).digest == graph.digest
    known = [one.id for one in graph.actions]
    for one in graph.actions:
        assert {*one.depends_on} <= {*known} - {one.id}


@given(planner_plans)
def test_repairs_close_no_cycle(raw: object) -> None:
    """What is added never makes actions wait for each other."""
    graph, _ = normalised(raw)
    if graph is None:
        return
    rows: Any = graph.repairs
    added = {(one["action"], target) for one in rows for target in one["added"]}
    assert not any((a, b) in added for ring in graph.cycles for a in ring for b in ring)


@pytest.mark.parametrize("form", ["object", "text", "list"])
@pytest.mark.parametrize("deep", [14, 15])
def test_as_deep_as_the_page_says(form: str, deep: int) -> None:
    """Groups nest 14 deep, in whichever form a plan comes; deeper ones are refused."""
    plan: Any = "do it"
    for number in range(deep):
        plan = {"title": f"group {number}", "steps": [plan]}
    whole: Any = {"list": [plan], "object": {"steps": [plan]}}.get(form)
    raw = json.dumps({"steps": [plan]}) if form == "text" else whole
    if deep == 14:
        assert len(action_graph(raw, {"task": "T"}).actions) == 1
        return
    with pytest.raises(UsageError, match="deep"):
        action_graph(raw, {"task": "T"})


def grouped(levels: int) -> object:
    """Return a plan of one action, in groups so deep."""
    plan: object = {"title": "x"}
    for number in range(levels):
        plan = {"title": f"g{number}", "steps": [plan]}
    return {"steps": [plan]}


@pytest.mark.parametrize(
    ("fits", "more", "rule"),
    [
        ({"steps": ["a"] * 1000}, {"steps": ["a"] * 1001}, "plan-size"),
        ([{"title": "x" * 100_000}], [{"title": "x" * 100_001}], "value"),
        (
            [{"title": "a", "instruction": "x" * 100_000}],
            [{"title": "a", "instruction": "x" * 100_001}],
            "value",
        ),
        (grouped(14), grouped(15), "depth"),
        (
            [{"title": "a", "tools": [f"{n:0>999}" for n in range(4_190)]}],
            [{"title": "a", "tools": [f"{n:0>999}" for n in range(4_200)]}],
            "plan-size",
        ),
    ],
    ids=["actions", "title", "instruction", "groups", "names"],
)
def test_bounds(fits: object, more: object, rule: str) -> None:
    """What is at a bound is taken; more is refused by the rule that the page names."""
    assert action_graph(fits, {"task": "T"}).actions
    with pytest.raises(MunimentError) as refused:
        action_graph(more, {"task": "T"})
    assert refused.value.rule == f"workflow/{rule}"
    page = Path(__file__).parents[4] / "docs" / "how-to" / "action-graphs.md"
    assert f"`workflow/{rule}`" in page.read_text()
