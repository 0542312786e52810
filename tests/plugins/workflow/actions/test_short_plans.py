"""A short plan makes no long graph: what it says for many actions is bounded.

Rules: plans multiply what they say by groups, names and references. Either the graph has a
bounded size, or the plan is refused, in a bounded time, with the place and what to do.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from muniment.errors import RefusedError
from muniment_plugins.workflow import action_graph

Plan = dict[str, Any]
MOST = 64 << 20
"""Bytes of memory."""
MANY = 20_000


def actions(first: int, count: int, **more: Any) -> list[Plan]:
    """Return so many actions."""
    return [
        {"id": f"a{n}", "title": f"t{n}", **more} for n in range(first, first + count)
    ]


def group(name: str, inside: list[Plan], **more: Any) -> Plan:
    """Return a group of actions."""
    return {"id": name, "actions": inside, **more}


PLANS: dict[str, Callable[[int], Plan]] = {
    "references to nothing, of a group": lambda n: {
        "batches": [group("g", actions(0, 300), depends_on=["x"] * n)]
    },
    "different references to nothing": lambda n: {
        "batches": [group("g", actions(0, 300), depends_on=[f"x{i}" for i in range(n)])]
    },
    "references that are none": lambda n: {
        "batches": [group("g", actions(0, 300), depends_on=[[]] * n)]
    },
    "references with two meanings": lambda n: {
        "batches": [
            group("g", actions(0, 200)),
            group("g", actions(200, 200)),
            group("h", actions(400, 300), depends_on=["g"] * n),
        ]
    },
    "references to a group": lambda n: {
        "batches": [
            group("g", actions(0, 200)),
            group("h", actions(200, 300), depends_on=["g"] * n),
        ]
    },
    "one name in many spellings": lambda n: {
        "batches": [
            group("g", actions(0, 1)),
            group(
                "h",
                actions(1, 300),
                depends_on=[f"task{'_' * i} 1" for i in range(min(n, 300))] * 9,
            ),
        ]
    },
    "tools of a group": lambda n: {
        "batches": [group("g", actions(0, 900), tools=[f"tool-{i}" for i in range(n)])]
    },
    "one long tool of a group": lambda n: {
        "batches": [group("g", actions(0, 900), tools=["t" * min(n, 9000)])]
    },
    "paths of a group": lambda n: {
        "batches": [
            group("g", actions(0, 900), target_paths=[f"p/{i}" for i in range(n)])
        ]
    },
}


@pytest.mark.parametrize("count", [3, MANY])
@pytest.mark.parametrize("plan", PLANS)
def test_a_short_plan_makes_no_long_graph(plan: str, count: int) -> None:
    """It is bounded, or refused with a place and a remedy; a small one is taken."""
    said, refused = PLANS[plan](count), None
    tracemalloc.start()
    try:
        made = action_graph(said)
    except RefusedError as error:
        refused = error
    else:
        assert len(json.dumps(made.document())) < MOST
        assert len(made.actions) > 100
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * MOST
    if refused is not None:
        assert (refused.rule, count) == ("workflow/plan-size", MANY)
        assert refused.place.startswith("the plan: batches[")
        assert refused.remedy


def test_what_an_action_says_twice_is_followed_once() -> None:
    """It depends on it once, and what was dropped is listed once."""
    twice: Plan = {"id": "b", "title": "b", "depends_on": ["a", "a", "x", "a", "x"]}
    made = action_graph({"actions": [{"id": "a", "title": "a"}, twice]})
    assert made.actions[1].depends_on == ("action-1",)
    assert [one["reference"] for one in made.dropped_refs] == ["x"]
