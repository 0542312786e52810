"""Batches: an order that keeps the dependencies, with as much at once as there can be."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drawn_plans import planner_plans
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment_plugins.workflow import action_graph, action_graph_batches

ROWS = [
    {"id": "look", "phase": "research", "title": "Look", "tools": ["read"]},
    {"id": "ask", "phase": "research", "title": "Ask", "tools": ["browser"]},
    {
        "id": "patch",
        "title": "Patch",
        "tools": ["edit"],
        "instruction": "Patch it\nwell",
    },
    {"id": "docs", "title": "Docs", "tools": ["write"]},
    {"id": "late", "title": "Late", "tools": ["edit"], "after": ["docs"]},
]


def test_batches() -> None:
    """Waves in order; in a wave, a batch for each phase and class; all fields are there."""
    batches = action_graph_batches(ROWS)
    assert [(b.wave, b.phase, b.tool_class, b.action_ids) for b in batches] == [
        (1, "research", "read", ("action-1",)),
        (1, "research", "generic", ("action-2",)),
        (2, "execute", "write", ("action-3", "action-4")),
        (3, "execute", "write", ("action-5",)),
    ]
    said = batches[2].document()
    assert said["_type"] == "action_batch"
    assert (said["id"], said["count"]) == ("batch-3", 2)
    assert said["depends_on"] == ["batch-1", "batch-2"]
    assert said["action_titles"] == ["Patch", "Docs"]
    assert "Patch it\n   well" in str(said["prompt"])
    assert "Late" not in str(said["prompt"])


def test_what_is_done_is_left_out() -> None:
    """What is completed is in no batch, and nobody waits for it."""
    batches = action_graph_batches(ROWS, ["action-1", "action-2", "action-4"])
    assert [b.action_ids for b in batches] == [("action-3", "action-5")]
    with pytest.raises(UsageError) as error:
        action_graph_batches(ROWS, ["action-1", "action-11"])
    assert error.value.place == "completed: [1]"


def test_a_cycle_is_refused() -> None:
    """Nothing of a cycle is forced: the plan is refused until somebody opens it."""
    rows = [
        {"id": "a", "title": "A", "after": ["b"]},
        {"id": "b", "title": "B", "after": ["a"]},
        {"id": "c", "title": "C", "after": ["b"]},
    ]
    with pytest.raises(RefusedError) as error:
        action_graph_batches(rows)
    assert error.value.rule == "workflow/plan-cycle"
    assert error.value.place == "the plan: action-1"
    left = action_graph_batches(rows, ["action-2"])
    assert [b.action_ids for b in left] == [("action-1", "action-3")]


@given(planner_plans, st.randoms())
def test_order_and_width(raw: object, random: object) -> None:
    """Each action that is left is in one batch, in the first wave in which it can be."""
    try:
        graph = action_graph(raw)
    except MunimentError:
        return
    assume(not graph.cycles)
    known = [one.id for one in graph.actions]
    done = {one for one in known if random.random() < 0.2}  # type: ignore[attr-defined]
    wave = dict.fromkeys(done, 0)
    seen: list[str] = []
    for batch in action_graph_batches(graph, sorted(done)):
        assert {(a.phase, a.tool_class) for a in batch.actions} == {
            (batch.phase, batch.tool_class)
        }
        for action in batch.actions:
            seen.append(action.id)
            assert all(one in wave for one in action.depends_on)
            before = [wave[one] for one in action.depends_on]
            assert batch.wave == 1 + max(before, default=0)
        if batch.wave not in wave.values():
            assert batch.wave == 1 + max(wave.values(), default=0)
        pending = {action.id: batch.wave for action in batch.actions}
        wave |= pending
    assert sorted(seen) == sorted({*known} - done)
