"""A tool opens the file that was judged: in loops, graphs and handlers, wherever the process is."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agent_tools import calls
from muniment import Run, replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    agent_records,
    tool_define,
    tool_registry,
    workflow_execute,
)
from muniment_plugins.workflow.tools.gate import ToolGate
from muniment_plugins.workflow.tools.registry import ToolRegistry

Scripts = Callable[..., Ledger]
Way = Callable[..., tuple[list[str], str, Ledger]]
READS = {"side_effect_level": "read_only", "path_params": ["path"]}
WRITES = {"side_effect_level": "workspace_write", "path_params": ["path"]}
PATH = {"path": {"type": "string"}}


def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


async def read_later(path: str) -> str:
    """Read a file after others had a turn."""
    await asyncio.sleep(0)
    return read(path)


def write(path: str) -> str:
    """Write a file."""
    return str(Path(path).write_text("x"))


def move(path: str) -> str:
    """Change the folder of the process."""
    os.chdir(path)
    return "moved"


def secret(path: str = "../secret.txt") -> str:
    """Read what the function itself names."""
    return read(path)


def copy(path: str, to: str = "/nowhere/else") -> str:
    """Name two paths, one of them by itself."""
    return f"{path} {to}"


def tools(later: bool = False) -> ToolRegistry:
    """Return tools that open what they are given."""
    made = tool_registry()
    stated = {**PATH, "path": {"type": "string", "default": "a.txt"}}
    two = {**READS, "path_params": ["path", "to"]}
    for name, handler, parameters, policy in (
        ("read", read_later if later else read, PATH, READS),
        ("write", write, PATH, WRITES),
        ("move", move, PATH, READS),
        ("open", read, stated, READS),
        ("outer", read, {"path": {"default": "../secret.txt"}}, READS),
        ("secret", secret, PATH, READS),
        ("copy", copy, {**PATH, "to": {"required": False}}, two),
    ):
        given = {"parameters": parameters, "handler": handler, "policy": policy}
        made = tool_define(made, name, name, given)
    return made


@pytest.fixture
def tree(place: Path) -> Path:
    """Give a workspace with links, what lies beside it, and another folder."""
    for one in ("ws/inner", "out/deep", "elsewhere"):
        (place / one).mkdir(parents=True)
    for one in ("ws/a.txt", "ws/secret.txt"):
        (place / one).write_text("inside")
    for one in ("a.txt", "secret.txt", "out/secret.txt", "elsewhere/a.txt"):
        (place / one).write_text("OUTSIDE")
    (place / "ws/shared").symlink_to(place / "out/deep")
    (place / "ws/up").symlink_to("../out")
    (place / "ws/circle").symlink_to("circle")
    return place


Asked = list[tuple[str, dict[str, Any]]]


def told_by(ledger: Ledger, run: str) -> list[str]:
    """Return what the calls of a loop came to, in their order."""
    (record,) = agent_records(ledger, run)
    rows = [one for turn in record["turns"] for one in turn["calls"]]
    return [one.get("code") or one["status"] for one in rows]


LIMITS: dict[str, Any] = {
    "capability_policy": {"workspace_roots": ["."]},
    "approval_policy": {"auto_approve": ["*"], "write_path_allowlist": ["."]},
}
NODE = {"mode": "agent", "model_policy": {"model": "test:a"}, **LIMITS}


def in_loop(ledger: Ledger) -> tuple[Any, Any]:
    """Run a loop in a program."""

    def program(run: Run) -> list[str]:
        done = agent_loop(run, "x", model="test:a", tools=tools(), base="ws", **LIMITS)
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    done = ledger.execute(program)
    return done, program


def in_task(ledger: Ledger) -> tuple[Any, Any]:
    """Run a loop in a program that is awaited."""

    async def program(run: Run) -> list[str]:
        done = await agent_aloop(
            run, "x", model="test:a", tools=tools(later=True), base="ws", **LIMITS
        )
        return [str(one["content"]) for one in done.messages if one["role"] == "tool"]

    return asyncio.run(ledger.aexecute(program)), program


def in_graph(ledger: Ledger) -> tuple[Any, Any]:
    """Run a loop in a graph."""
    graph = {"nodes": {"act": {**NODE, "tools": tools()}}}
    return workflow_execute(ledger, "x", graph, [], {"cwd": "ws"}).done, None


WAYS = {"loop": in_loop, "task": in_task, "graph": in_graph}
ESCAPES: Asked = [
    ("read", {"path": "shared/../secret.txt"}),
    ("read", {"path": "up/secret.txt"}),
    ("read", {"path": "circle/../up/secret.txt"}),
    ("write", {"path": "shared/../new.txt"}),
    ("write", {"path": "up/new.txt"}),
    ("secret", {}),
    ("outer", {}),
    ("copy", {"path": "a.txt"}),
]


@pytest.mark.parametrize("way", WAYS)
def test_the_judged_file_is_the_opened_one(
    scripted: Scripts, tree: Path, way: str
) -> None:
    """Relative paths begin at the base, though the process is elsewhere, or goes there."""
    asked: Asked = [("read", {"path": "a.txt"}), ("open", {})]
    script = {
        1: calls(*asked, *ESCAPES),
        2: calls(("move", {"path": "inner"})),
        3: calls(("read", {"path": "secret.txt"}), ("read", {"path": "../a.txt"})),
        4: "Done.",
    }
    ledger = scripted(script)
    try:
        done, program = WAYS[way](ledger)
    finally:
        os.chdir(tree)
    assert done.status == "completed", done.error
    codes = told_by(ledger, done.run_id)
    assert codes[:2] == ["done", "done"]
    assert set(codes[2:10]) <= {
        "path_outside_roots",
        "write_path_refused",
        "argument_missing",
    }
    assert codes[10:] == ["done", "done", "path_outside_roots"]
    requests: list[Any] = [
        cast("Any", ledger.resolve(one))["request"]["arguments"]
        for one in ledger.events(run=done.run_id, type="tool.requested")
    ]
    assert {"path": "a.txt"} in requests  # the record has what was asked for
    assert not list(tree.glob("out/**/new.txt"))
    texts = str([ledger.resolve(one) for one in ledger.events(run=done.run_id)])
    assert "OUTSIDE" not in texts
    report = replay(ledger, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_in_handlers(scripted: Scripts, tree: Path) -> None:
    """`stage.tool` opens what was judged as well, from the option ``cwd``."""
    del tree
    ledger, seen = scripted({1: "x"}), list[str]()

    def handler(run: Run, stage: Any) -> None:
        del run
        for name, given in [("read", {"path": "a.txt"}), *ESCAPES]:
            try:
                seen.append(str(stage.tool(name, given)))
            except Exception as error:  # noqa: BLE001 - what it says is looked at
                seen.append(str(getattr(error, "rule", error)))

    node = {"handler": handler, "tools": tools(), **LIMITS}
    done = workflow_execute(ledger, "x", {"nodes": {"h": node}}, [], {"cwd": "ws"})
    assert done.status == "completed", done.error
    assert seen[0] == "inside"
    assert all(one.startswith("workflow/tool-") for one in seen[1:]), seen


def test_in_plain_programs(tree: Path) -> None:
    """What `ToolGate.opened` returns is opened the same while a thread moves the process."""
    gate = ToolGate(tools(), policy={"workspace_roots": ["."]}, base=str(tree / "ws"))
    over = threading.Event()

    def wander() -> None:
        while not over.is_set():
            os.chdir(tree / "elsewhere")
            os.chdir(tree)

    thread = threading.Thread(target=wander)
    thread.start()
    try:
        for _ in range(200):
            answer = gate.check("read", {"path": "a.txt"})
            given: Any = gate.opened("read", answer.arguments).arguments
            assert read(**given) == "inside"
    finally:
        over.set()
        thread.join()
        os.chdir(tree)


def test_without_limits_paths_begin_at_the_base(scripted: Scripts, tree: Path) -> None:
    """Where nothing holds paths they begin at the base, too; there they stay as they are."""
    ledger = scripted({1: calls(("copy", {"path": "a.txt", "to": "b"})), 2: "Done."})
    came: list[Any] = []

    def program(run: Run) -> None:
        done = agent_loop(run, "x", model="test:a", tools=tools(), base=base[0])
        came.append([one["content"] for one in done.messages if one["role"] == "tool"])

    base = ["."]
    assert ledger.execute(program).status == "completed"
    base = ["ws"]
    assert ledger.execute(program).status == "completed"
    ws = tree.resolve() / "ws"
    assert came == [["a.txt b"], [f"{ws}/a.txt {ws}/b"]]


def test_a_root_that_is_a_link_out_of_its_ceiling(
    scripted: Scripts, tree: Path
) -> None:
    """A graph that names a link below the ceiling's root as its own gets nowhere by it."""
    ledger = scripted({1: calls(("read", {"path": "ws/up/secret.txt"})), 2: "Done."})
    node = {
        **NODE,
        "tools": tools(),
        "capability_policy": {"workspace_roots": ["ws/up"]},
    }
    inner = {"nodes": {"act": node}}
    for graph in (inner, {"nodes": {"sub": {"kind": "subagent", "graph": inner}}}):
        options = {"ceiling": {"workspace_roots": ["ws"]}}
        done = workflow_execute(ledger, "x", graph, [], options)
        assert done.status == "completed", done.error
        texts = str([ledger.resolve(one) for one in ledger.events()])
        assert "out of the roots" in texts
        assert "OUTSIDE" not in texts
    checks = {"required_paths": ["ws/up/secret.txt"]}
    verifier = {
        "kind": "verify",
        "verify": checks,
        "capability_policy": node["capability_policy"],
    }
    done = workflow_execute(
        ledger,
        "x",
        {"nodes": {"v": verifier}},
        [],
        {"ceiling": {"workspace_roots": ["ws"]}},
    )
    assert "none of the workspace_roots" in str(done.error)
    del tree
