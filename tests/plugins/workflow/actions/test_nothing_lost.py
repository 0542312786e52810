"""Nothing that a planner writes is lost on the way to the normal form."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from drawn_plans import plans_of_marks
from muniment.errors import UsageError
from muniment_plugins.workflow import (
    action_graph,
    action_graph_batches,
    action_graph_render,
)

_MARKS = re.compile(r"7[0-9]{6}")
_SHARED = {"tools", "capabilities", "target_paths", "needs", "after"}
"""What each action of a group has of the group, or is told about."""


def marks(value: object) -> Counter[str]:
    """Return how often each mark is in a value."""
    return Counter(_MARKS.findall(json.dumps(value)))


def repeated(value: Any, *, inside: bool = False) -> set[str]:
    """Return the marks of a plan that may be in several actions."""
    if isinstance(value, list):
        return {one for row in value for one in repeated(row, inside=inside)}
    if not isinstance(value, dict):
        return {*marks(value)} if inside else set()
    return {
        one
        for key, row in value.items()
        for one in repeated(row, inside=inside or key in _SHARED)
    }


def told(graph: Any) -> Counter[str]:
    """Return the marks of a normal form; a title that is the instruction counts once."""
    document: Any = json.loads(json.dumps(graph.document()))
    for one in document["actions"]:
        mine = {
            *(one.pop("title"), one.pop("instruction")),
            str(one["metadata"].pop("source_id", "")),
        }
        one["own"] = [*mine]
    return marks(document)


def normalised(raw: object) -> tuple[Any, str]:
    """Return the graph of a plan, or the place of what refuses it."""
    try:
        return action_graph(raw), ""
    except UsageError as error:
        return None, error.place


@settings(max_examples=300)
@given(plans_of_marks)
def test_every_text_and_number_is_somewhere(raw: Any) -> None:
    """Each leaf of a plan is in its normal form: once, unless several actions share it."""
    graph, place = normalised(raw)
    if graph is None:
        assert place.startswith("the plan")
        return
    found, shared = told(graph), repeated(raw)
    if graph.metadata["source"] == "action":  # then its task is that of the plan, too
        shared |= {*marks([graph.task, graph.summary])}
    for mark in marks(raw):
        assert found[mark] >= 1, (mark, raw)
        assert found[mark] == 1 or mark in shared, (mark, raw)
    assert action_graph(graph.document()) == graph


@pytest.mark.parametrize(
    ("raw", "titles"),
    [
        ({"steps": ["A"], "tasks": ["B"]}, "A B"),
        ({"tasks": ["B"], "steps": ["A"]}, "A B"),
        ({"actions": [], "steps": ["A"]}, "A"),
        ({"steps": ["A"], "verify": "run the tests"}, "A run the tests"),
        ([{"title": "P", "steps": ["A"], "substeps": ["B"]}], "A B"),
        ('Sure: {"steps": ["A", "B"]} is it.', "A B"),
        ('Plan:\n[{"title": "A"}, {"title": "B"}]\nthat is all', "A B"),
        ('Use {x}, as in {"a": 1}.\n```json\n{"steps": ["A"]}\n```', "A"),
        ('Write {"a": [1]} to c.json [2]', 'Write {"a": [1]} to c.json [2]'),
        ('{"' * 1, None),
        ('x [{"a":' * 10_000, ...),
    ],
)
def test_all_lists(raw: object, titles: Any) -> None:
    """All lists of actions count, in order; a plan in prose is found, and the prose kept."""
    if titles is None:
        with pytest.raises(UsageError):
            action_graph(raw)
        return
    graph = action_graph(raw)
    if titles is not ...:
        assert " ".join(one.title for one in graph.actions) == titles


@pytest.mark.parametrize(
    ("raw", "place", "says"),
    [
        ({"steps": ["A"], "batches": [["A"]]}, "the plan: batches", "beside steps"),
        (
            '```json\n["A"]\n```\nor\n```json\n["B"]\n```',
            "the plan",
            "2 plans in the text, at the lines 2, 6",
        ),
        ('a {"steps": ["A"]} b {"steps": ["B"]}', "the plan", "2 plans"),
        ({"phases": {"one": ["A"]}}, "the plan: phases", "says nothing"),
    ],
)
def test_what_could_be_two_plans(raw: object, place: str, says: str) -> None:
    """Where nobody knows which actions are meant, the plan is refused by place."""
    with pytest.raises(UsageError) as error:
        action_graph(raw)
    assert error.value.place == place
    assert says in error.value.message


def test_prose_is_kept() -> None:
    """What a text says around a plan stays with it."""
    graph = action_graph('Sure: {"steps": ["A"], "owner": "Lena"} Done.')
    assert graph.given == {"owner": "Lena", "text": ["Sure:", "Done."]}
    told_again = action_graph(graph, {"task": "T"})
    assert action_graph(told_again, {"task": "U"}).given["task"] == "T"


def test_a_group_keeps_what_it_says() -> None:
    """A step with steps keeps title, instruction, id and tools; its steps are told them."""
    step = {
        "id": "a",
        "title": "Move it",
        "instruction": "Keep the spans.",
        "tools": ["edit"],
        "target_paths": ["src"],
        "steps": ["One", {"title": "Two", "tools": ["read"]}],
    }
    graph = action_graph([step, {"title": "B", "needs": ["a"]}])
    assert [one.tools for one in graph.actions] == [("edit",), ("read",), ()]
    assert [one.target_paths for one in graph.actions] == [("src",), ("src",), ()]
    assert [one.depends_on for one in graph.actions][2] == ("action-1", "action-2")
    row = graph.groups[0]
    assert (row["place"], row["actions"]) == ("[0]", ["action-1", "action-2"])
    assert row["given"] == {key: step[key] for key in step if key != "steps"}
    prompt = action_graph_batches(graph)[0].prompt
    assert "   A part of: Move it\n   A part of: Keep the spans.\n" in prompt
    assert "- group: Move it is action-1, action-2\n" in action_graph_render(graph)


@pytest.mark.parametrize(
    ("raw", "waves"),
    [
        (
            {"batches": [{"actions": ["A", "B"]}, {"actions": ["C"]}]},
            [["A", "B"], ["C"]],
        ),
        ({"batches": [["A", "B"], ["C"], ["D"]]}, [["A", "B"], ["C"], ["D"]]),
        ({"batches": ["A", "B"]}, [["A"], ["B"]]),
        (
            {
                "phases": [
                    {"title": "x", "steps": ["A"]},
                    {"title": "y", "steps": ["B"]},
                ]
            },
            [["A"], ["B"]],
        ),
        (
            {
                "batches": [
                    {"id": "b", "after": "c", "steps": ["A"]},
                    {"id": "c", "steps": ["B"]},
                ]
            },
            [["B"], ["A"]],
        ),
    ],
)
def test_the_order_of_batches(raw: object, waves: list[list[str]]) -> None:
    """Batches and phases of the planner come one after the other, which is listed."""
    graph = action_graph(raw)
    assert not graph.cycles
    found: dict[int, list[str]] = {}
    for one in action_graph_batches(graph):
        found.setdefault(one.wave, []).extend(two.title for two in one.actions)
    assert [*found.values()] == waves
    reasons = {str(one["reason"]) for one in graph.repairs}
    assert reasons <= {"batch 2 after batch 1", "batch 3 after batch 2"}


def test_phases_by_name() -> None:
    """A phase that is called by its word gives its actions that phase."""
    rows = [
        {"name": "research", "steps": ["Look"]},
        {"name": "execute", "tasks": ["Do it"]},
    ]
    graph = action_graph({"phases": rows})
    assert [one.phase for one in graph.actions] == ["research", "execute"]


@pytest.mark.parametrize("number", [-1, "-1", "step -1", 0, "# -2", 99])
def test_numbers_that_name_nothing(number: object) -> None:
    """A number below 1, or above the last action, names nothing, and is listed."""
    graph = action_graph(["A", {"title": "B", "phase": "execute", "needs": [number]}])
    assert graph.actions[1].depends_on == ()
    assert [one["reference"] for one in graph.dropped_refs] == [number]


def test_a_text_of_tools() -> None:
    """Tools in a text are those between its commas, as references are."""
    for said in ("read, edit", ["read, edit"], ["read", "edit"]):
        assert action_graph([{"title": "a", "tools": said}]).actions[0].tools == (
            "read",
            "edit",
        )
