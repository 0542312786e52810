"""What a batch may do: no more than its actions name, their class says, and its template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment import Run
from muniment.errors import MunimentError, RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    StageCall,
    action_graph,
    action_graph_batches,
    action_graph_flow,
    action_graph_run,
    tool_define,
    tool_registry,
    workflow_execute,
    workflow_graph,
)
from muniment_plugins.workflow.actions.words import LEVELS
from muniment_plugins.workflow.ceilings.levels import SideEffectLevel, level_rank
from muniment_plugins.workflow.stages.permissions import permissions_of
from muniment_plugins.workflow.tools.gate import ToolGate
from workflow_stages import says

KNOWN: dict[str, SideEffectLevel] = {
    "read": "read_only",
    "edit": "workspace_write",
    "run": "process_exec",
    "net": "network",
}
PATHS = ("src/a", "docs/a", "a")
BELOW = {
    "*": ["a"],
    "**": [*PATHS],
    "src": ["src/a"],
    "docs/**": ["docs/a"],
    "..": [*PATHS],
}
"""Target path → which of the paths it allows."""


def done(path: str) -> str:
    """Write a file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("new")
    return "done"


def registry(**handlers: Any) -> Any:
    """Return tools of all levels, each of which takes a path."""
    made = tool_registry()
    for name, level in KNOWN.items():
        said = {
            "parameters": {"path": {"type": "string"}},
            "handler": handlers.get(name, done),
            "policy": {"side_effect_level": level, "path_params": ["path"]},
        }
        made = tool_define(made, name, name, said)
    return made


TOOLS = registry()
ROW = st.fixed_dictionaries(
    {"title": st.sampled_from(["Look", "Fix it", "Test it"])},
    optional={
        "tools": st.one_of(
            st.none(), st.lists(st.sampled_from([*KNOWN]), max_size=2, unique=True)
        ),
        "tool_class": st.sampled_from(
            ["read", "write", "exec", "mixed", "generic", "verify"]
        ),
        "phase": st.sampled_from(["research", "execute", "verify"]),
        "target_paths": st.one_of(
            st.none(),
            st.lists(st.sampled_from(["*", "**", "src", "docs/**", ".."]), max_size=2),
        ),
        "depends_on": st.just([1]),
    },
)
APPROVALS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "auto_approve": st.just(["edit", "read"]),
            "auto_deny": st.just(["net"]),
            "require_approval": st.just(["run"]),
            "write_path_allowlist": st.sampled_from([[], ["src"], ["**"]]),
            "default": st.sampled_from(["ask", "allow", "deny"]),
        },
    ),
)
CAPABILITIES = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "tools": st.sampled_from([[], ["*"], ["read", "edit"]]),
            "side_effect_level": st.sampled_from([*KNOWN.values()]),
        },
    ),
)


def answers(
    flow: Any, node: Any, approvals: Any, tools: Any = None
) -> dict[tuple[str, str], int]:
    """Return for all calls what the gate of a node says: 0 no, 1 somebody is asked, 2 yes."""
    may = permissions_of(flow, node, None, approvals)
    gate = ToolGate(
        tools or node.document["tools"],
        policy=may.policy,
        approvals=may.approvals,
        base="/repo",
    )
    ranks = {"denied": 0, "needs_approval": 1, "allowed": 2}
    return {
        (name, path): ranks[gate.check(name, {"path": path}).outcome]
        for name in KNOWN
        for path in PATHS
    }


@given(
    rows=st.lists(ROW, min_size=1, max_size=3),
    capabilities=CAPABILITIES,
    policies=st.tuples(APPROVALS, APPROVALS, APPROVALS),
)
def test_a_batch_does_no_more_than_its_actions_name(
    rows: list[Any], capabilities: Any, policies: tuple[Any, Any, Any]
) -> None:
    """Whatever a plan says: a call that passes is named, within class and paths.

    And nothing passes, or passes unasked, that the configuration alone would not let pass.
    """
    own, whole, of_run = policies
    template = {
        "handler": says,
        "tools": TOOLS,
        "capability_policy": capabilities,
        "approval_policy": own,
    }
    template = {key: one for key, one in template.items() if one is not None}
    config = {"stage": template, "verify": {"command": "true", **template}}
    del config["verify"]["handler"]
    if whole is not None:
        config["approval_policy"] = whole
    plan = action_graph(rows)
    flow = action_graph_flow(plan, config)
    alone = action_graph_flow(
        [{"title": "all", "phase": "execute", "tools": [*KNOWN]}], config
    )
    most = answers(alone, alone.nodes["batch_1"], of_run, TOOLS)
    for batch in action_graph_batches(plan):
        node = flow.nodes[batch.id.replace("-", "_")]
        named = [name for one in batch.actions for name in one.tools]
        level: Any = LEVELS.get(batch.tool_class, "network")
        for (name, path), rank in answers(flow, node, of_run).items():
            assert rank <= most[name, path]
            if rank == 0:
                continue
            assert name in named
            assert level_rank(KNOWN[name]) <= level_rank(level)
            if name != "read" and all(one.target_paths for one in batch.actions):
                allowed = {p for one in batch.actions for p in one.target_paths}
                assert any(path in BELOW[one] for one in allowed)


def calls_all(run: Run, stage: StageCall) -> object:
    """Call every tool; say which of them did something."""
    del run
    made: list[str] = []
    for name in KNOWN:
        try:
            stage.tool(name, {"path": "src/a"})
        except MunimentError:
            continue
        made.append(name)
    return " ".join(made) or "nothing"


@pytest.mark.parametrize(
    ("row", "did"),
    [
        ({"tools": []}, "nothing"),
        ({}, "nothing"),
        ({"tools": [], "kind": "research", "tool_class": "read"}, "nothing"),
        ({"tools": ["read"]}, "read"),
        ({"tools": ["read", "edit"]}, "read edit"),
        ({"tools": ["run"]}, "nothing"),
        ({"tools": ["run"], "target_paths": ["src"]}, "nothing"),
        ({"tools": ["edit"], "target_paths": ["src"]}, "edit"),
        ({"tools": ["edit"], "target_paths": ["docs"]}, "nothing"),
        ({"target_paths": ["**"], "tool_class": "read"}, "nothing"),
    ],
)
def test_what_runs(book: Ledger, row: dict[str, Any], did: str) -> None:
    """An action that names no tools has none; target paths approve nothing."""
    config = {
        "stage": {
            "handler": calls_all,
            "tools": TOOLS,
            "approval_policy": {"auto_approve": ["edit"]},
        }
    }
    run = action_graph_run(book, "t", [{"title": "a", **row}], config)
    assert (run.status, run.visible_text) == ("completed", did)


def test_a_tool_of_a_server_has_to_be_named() -> None:
    """What servers of tools offer is held to the names of the actions, too."""
    template = {
        "mode": "agent",
        "model_policy": {"model": "openai:m"},
        "tool_servers": ["m:f"],
    }
    rows = [{"title": "a", "tools": ["files/read"]}, {"title": "b", "after": 1}]
    flow = action_graph_flow(rows, {"stage": template})
    held = [flow.nodes[one].part("capability_policy")["tools"] for one in flow.nodes]
    assert held == [["files/read"], []]
    with pytest.raises(MunimentError) as error:
        action_graph_flow([{"title": "a", "tools": ["*"]}], {"stage": template})
    assert error.value.place == "the plan: action-1.tools[0]"


@pytest.mark.parametrize(
    ("declared", "passes"), [(None, False), ("read_only", True), ("network", False)]
)
def test_a_plan_declares_nothing(
    book: Ledger, declared: str | None, *, passes: bool
) -> None:
    """Under a ceiling a handler declares what it does itself; the class of a plan does not."""
    own = {} if declared is None else {"side_effect_level": declared}
    template = {"handler": calls_all, "tools": TOOLS, "capability_policy": own}
    flow = action_graph_flow(
        [{"title": "a", "tools": ["read"], "tool_class": "read"}], {"stage": template}
    )
    options = {"ceiling": {"side_effect_level": "read_only"}}
    if passes:
        done = workflow_execute(book, "t", flow, options=options)
        assert done.status == "completed", done.error
        return
    with pytest.raises(RefusedError) as error:
        workflow_execute(book, "t", flow, options=options)
    assert error.value.rule == "workflow/invalid"


@pytest.mark.parametrize("where", ["graph", "node", "run"])
def test_approvals_count_without_a_capability_policy(where: str) -> None:
    """What is denied by a graph, a node or a run is denied, whatever else limits nothing."""
    denied = {"auto_deny": ["read"], "default": "allow"}
    template: dict[str, Any] = {"kind": "stage", "handler": says, "tools": TOOLS}
    whole: dict[str, Any] = {"nodes": {"a": template}}
    if where != "run":
        (whole if where == "graph" else template)["approval_policy"] = denied
    graph = workflow_graph(whole)
    found = answers(graph, graph.nodes["a"], denied if where == "run" else None)
    assert {name for name, _ in found if found[name, "src/a"]} == {"edit", "run", "net"}
