"""The graph that a plan becomes, and its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment import Run, replay
from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    action_graph,
    action_graph_flow,
    action_graph_render,
    action_graph_run,
    tool_define,
    tool_registry,
    workflow_validate,
)
from muniment_plugins.workflow.actions.batches import action_graph_batches
from workflow_stages import says

STEPS: list[dict[str, Any]] = [
    {"id": "inspect", "kind": "research", "title": "Inspect parser", "tools": ["read"]},
    {"id": "patch", "title": "Patch diagnostics", "tools": ["edit"]},
    {"id": "docs", "title": "Update notes", "tools": ["edit"], "after": ["inspect"]},
    {"id": "check", "kind": "verify", "title": "Run the tests", "after": ["patch"]},
]
CONFIG: dict[str, Any] = {
    "research": {"handler": says},
    "execute": {"handler": says},
    "verify": {"command": "echo fine", "expect_status": 0},
}


def tools(**handlers: Any) -> Any:
    """Return a registry of tools that read, edit and run."""
    known = tool_registry()
    for name, level in [
        ("read", "read_only"),
        ("edit", "workspace_write"),
        ("run", "process_exec"),
    ]:
        said = {
            "parameters": {"path": {"type": "string"}},
            "handler": handlers.get(name),
            "policy": {"side_effect_level": level, "path_params": ["path"]},
        }
        known = tool_define(known, name, f"To {name}", said)
    return known


def written(path: str) -> str:
    """Write a file."""
    Path(path).write_text("new")
    return f"wrote {path}"


def edits(run: Run, stage: StageCall) -> object:
    """Write where its metadata says, by its tool."""
    del run
    return str(stage.tool("edit", {"path": str(stage.metadata["writes"])}))


def test_p20_a_plan_of_four_steps(book: Ledger) -> None:
    """P20: four steps, mended, in three batches, as a graph whose third stage verifies."""
    plan = action_graph({"steps": STEPS}, {"task": "Fix parser diagnostics"})
    assert plan.actions[1].depends_on == ("action-1",)
    assert plan.actions[3].depends_on == ("action-2",)
    batches = action_graph_batches(plan)
    assert [(b.tool_class, len(b.actions)) for b in batches] == [
        ("read", 1),
        ("write", 2),
        ("verify", 1),
    ]
    assert "- **action-2** Patch diagnostics (write), after action-1" in (
        action_graph_render(plan)
    )
    assert workflow_validate(action_graph_flow(plan, CONFIG)).valid

    run = action_graph_run(book, "Fix parser diagnostics", plan, CONFIG)
    assert run.status == "completed"
    stages = run.run["stages"]
    assert [one["node_id"] for one in stages] == [
        "batch_1",
        "batch_2",
        "batch_3",
        "final_verify",
    ]
    assert [one["kind"] for one in stages][2:] == ["verify", "verify"]
    assert run.artifacts[0].kind == "plan"
    assert run.transcript[1] == {"node": "batch_2", "text": "batch_2: 2"}
    assert run.visible_text.strip() == "fine"
    said = run.document()
    assert (said["_type"], len(said["batches"])) == ("action_graph_run", 3)
    report = replay(book, run.runtime.run_id)
    assert (report.verdict, report.result_digest) == (
        "acceptable",
        run.runtime.result_digest,
    )


def test_b28_what_was_dropped_is_in_the_ledger(book: Ledger) -> None:
    """B28: a plan's dropped references and cycles are signed facts, if it runs or not."""
    rows = [{"id": "a", "title": "A", "after": ["nobody"]}]
    action_graph_run(book, "t", rows, CONFIG)
    ring = [
        {"id": "a", "title": "A", "after": "b"},
        {"id": "b", "title": "B", "after": "a"},
    ]
    with pytest.raises(RefusedError, match="wait for each other"):
        action_graph_run(book, "t", ring, CONFIG)
    first, second = book.events(type="plan.normalized")
    assert first.data["dropped_refs"][0]["reference"] == "nobody"  # type: ignore[index]
    assert second.data["cycles"] == [["action-1", "action-2"]]
    assert len([*book.events(type="plan.batched")]) == 1


def test_batches_of_a_wave_run_at_once(book: Ledger) -> None:
    """The batches of one wave are branches of a fork; what they made meets at its join."""
    rows = [
        {"title": "a", "phase": "execute", "tools": ["read"]},
        {"title": "b", "phase": "execute", "tools": ["edit"]},
        {"title": "c", "phase": "execute", "after": [1, 2]},
    ]
    run = action_graph_run(book, "t", rows, CONFIG)
    assert run.status == "completed"
    joined = next(book.events(run=run.runtime.run_id, type="branches.joined"))
    assert joined.data["arrived"] == ["batch_1", "batch_2"]
    assert run.transcript[2]["text"] == "batch_3: 3"


def test_checks_act(book: Ledger) -> None:
    """A batch that verifies fails the run if its check fails; the rest is not begun."""
    config = {**CONFIG, "verify_phase": {"command": "false"}}
    rows = [*STEPS, {"title": "Ship", "phase": "execute", "after": ["check"]}]
    run = action_graph_run(book, "t", rows, config)
    assert run.status == "failed"
    assert (run.run_id, run.error) == (run.runtime.run_id, run.runtime.error)
    assert run.error is not None
    assert [one["node_id"] for one in run.run["stages"]][-1] == "batch_3"


def test_an_evaluation_ends_it() -> None:
    """What is to evaluate comes last: a stage, or a judge if it has something to check."""
    flow = action_graph_flow(STEPS, {**CONFIG, "evaluate": {"handler": says}})
    assert flow.nodes["final_evaluate"].kind == "stage"
    judged = {"mode": "llm", "model_policy": {"model": "m"}, "rubric": "Is it good?"}
    flow = action_graph_flow(STEPS, {**CONFIG, "evaluate": judged})
    assert flow.nodes["final_evaluate"].kind == "verify"
    assert workflow_validate(flow).valid


def test_tools_are_those_of_the_batch_under_its_class() -> None:
    """A batch gets the tools that its actions name, and no more than their class."""
    config = {**CONFIG, "stage": {"handler": edits, "tools": tools()}}
    del config["execute"], config["research"]
    flow = action_graph_flow(STEPS, config)
    said = flow.nodes["batch_2"].document
    assert [one["name"] for one in said["tools"]["tools"]] == ["edit"]  # type: ignore[index,call-overload,union-attr]
    assert said["capability_policy"]["side_effect_level"] == "workspace_write"  # type: ignore[index,call-overload]
    with pytest.raises(RefusedError) as error:
        action_graph_flow([{"title": "a", "tools": ["browser"]}], config)
    assert (error.value.rule, error.value.place) == (
        "workflow/plan-tool",
        "the plan: action-1.tools",
    )


def test_a_tool_is_no_more_than_its_class(book: Ledger) -> None:
    """A tool that is called read, and runs processes, is refused under a reading batch."""
    odd = tool_define(
        tool_registry(), "read", "", {"policy": {"side_effect_level": "process_exec"}}
    )
    config = {"research": {"handler": edits, "tools": odd}}
    with pytest.raises(RefusedError) as error:
        action_graph_run(book, "t", STEPS[:1], config)
    assert error.value.rule == "workflow/invalid"
    assert "nodes.batch_1" in error.value.place


@pytest.mark.parametrize(("path", "status"), [("src/a", "completed"), ("b", "failed")])
def test_target_paths_hold(book: Ledger, path: str, status: str) -> None:
    """Where a plan names the paths, tools that write files write nowhere else."""
    Path("src").mkdir()
    rows = [{"title": "a", "tools": ["edit"], "target_paths": ["src/**"]}]
    config = {
        "execute": {
            "handler": edits,
            "tools": tools(edit=written),
            "metadata": {"writes": path},
        },
        "approval_policy": {"auto_approve": ["edit"]},
    }
    run = action_graph_run(book, "t", rows, config)
    assert (run.status, Path(path).exists()) == (status, status == "completed")


@pytest.mark.parametrize(
    ("plan", "config", "rule", "place"),
    [
        (STEPS, {"execute": {"handler": says}}, "plan-template", "config: research"),
        (STEPS, {"stage": {"handler": says}}, "plan-check", "the plan: action-4"),
        (STEPS, {"reserch": {}}, None, "config: reserch"),
        (STEPS, {"research": 3}, None, "config: research"),
        (STEPS, {**CONFIG, "execute": {"handlr": "a:b"}}, None, "handlr"),
    ],
)
def test_refusals(plan: Any, config: Any, rule: str | None, place: str) -> None:
    """What a plan needs and a configuration lacks is refused, with its place."""
    with pytest.raises((RefusedError, UsageError)) as error:
        action_graph_flow(plan, config)
    assert rule is None or error.value.rule == f"workflow/{rule}"
    assert place in error.value.place


def test_nothing_left() -> None:
    """A plan that is done is only verified, if there is something to verify with."""
    done = [f"action-{n}" for n in range(1, 5)]
    assert list(action_graph_flow(STEPS, CONFIG, done).nodes) == ["final_verify"]
    with pytest.raises(RefusedError) as error:
        action_graph_flow(STEPS, {}, done)
    assert error.value.rule == "workflow/plan-done"


def test_markdown_of_a_plan() -> None:
    """The page of a plan has its phases, its actions, and what was made of references."""
    rows = [
        {
            "id": "a",
            "title": "A *bold* one",
            "instruction": "Do\nit",
            "tools": ["read"],
        },
        {
            "title": "B",
            "phase": "execute",
            "after": ["a", "zzz"],
            "target_paths": ["s"],
        },
        {"id": "c", "title": "C", "phase": "verify"},
    ]
    page = action_graph_render(action_graph(rows, {"task": "T", "summary": "S"}))
    assert page.startswith(
        "# T\n\nS\n\n## Research\n\n- **action-1** A \\*bold\\* one (read)"
    )
    assert "  writes to s\n" in page
    assert "- added: action-3 comes after action-2 (verify after execute)\n" in page
    assert "- dropped: zzz at [1].after[1] (unknown)\n" in page


def test_a_plan_runs_once_by_key(book: Ledger) -> None:
    """With a key, only the first run runs; the second one is given that run."""
    one = action_graph_run(book, "t", STEPS, CONFIG, key="k")
    two = action_graph_run(book, "t", STEPS, CONFIG, key="k")
    assert one.runtime.run_id == two.runtime.run_id


@pytest.mark.parametrize(("count", "length"), [(20, 500), (100, 100), (1000, 900)])
def test_long_plans_run(book: Ledger, count: int, length: int) -> None:
    """A plan of many actions is told whole: the prompt of a batch is as long as it is."""
    rows = [
        {"title": f"T{n}", "instruction": "x" * length, "phase": "execute"}
        for n in range(count)
    ]
    run = action_graph_run(book, "t", rows, {"execute": {"handler": says}})
    assert run.status == "completed"
    assert len(run.batches[0].prompt) > count * length


def test_what_is_too_long() -> None:
    """What nobody can be told at once is refused, with its place and what helps."""
    with pytest.raises(UsageError) as error:
        action_graph([{"title": "a", "prompt": "x" * 100_001}])
    assert error.value.place == "the plan: [0].prompt"
    assert error.value.remedy == "write at most 100000"
    rows = [{"title": "a", "prompt": f"Do {'x' * 99_000}"} for _ in range(11)]
    with pytest.raises(RefusedError) as refused:
        action_graph_flow(rows, {"execute": {"handler": says}})
    assert refused.value.rule == "workflow/plan-size"
