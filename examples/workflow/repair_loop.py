"""The chapter's repair loop, run: a model acts, another verifies, a third repairs.

python repair_loop.py                         writes a parser and its check here, and mends it
MODEL=openai:gpt-4o python repair_loop.py     asks a real model instead, or `anthropic:…`

Without MODEL each node's model answers from a script. It calls the tools of its own node
only: the one that verifies may run commands, and edit nothing. Its verdict is the branch:
`failed` leads to the repair, and the repair leads back. What each did, turn by turn, is in
the record.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import muniment
from muniment_plugins.workflow import (
    artifact,
    artifact_derive,
    run_record,
    tool_define,
    tool_registry,
    tool_select,
    workflow_execute,
    workflow_validate,
)
from muniment_plugins.workflow.tools.registry import ToolRegistry

PARSER = 'def diagnose(token):\n    return "bad token"\n'
CHECK = """\
from parser_of_notes import diagnose
assert diagnose("]") == "unexpected ']'", diagnose("]")
print("test result: ok")
"""
COMMAND = "check"


def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def edit(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return f"wrote {len(text)} characters"


def run(command: str) -> dict[str, Any]:
    """Run a command: there is only one."""
    if command != COMMAND:
        unknown = f"there is no command {command!r}"
        raise ValueError(unknown)
    done = subprocess.run(
        [sys.executable, "-B", "check.py"], capture_output=True, text=True, check=False
    )
    last = (done.stdout or done.stderr).strip().splitlines()[-1]
    return {"exit_status": done.returncode, "last_line": last}


def review_tools() -> ToolRegistry:
    """Return three tools, each with a policy of its own."""
    tools = tool_registry()
    tools = tool_define(
        tools,
        "read",
        "Read a file",
        {
            "parameters": {"path": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": read,
            "policy": {
                "capabilities": {"workspace": ["read_text"]},
                "side_effect_level": "read_only",
                "path_params": ["path"],
                "mutation_classification": "read_only",
            },
        },
    )
    tools = tool_define(
        tools,
        "edit",
        "Edit a file",
        {
            "parameters": {"path": {"type": "string"}, "text": {"type": "string"}},
            "returns": {"type": "string"},
            "handler": edit,
            "policy": {
                "capabilities": {"workspace": ["write_text"]},
                "side_effect_level": "workspace_write",
                "path_params": ["path"],
                "mutation_classification": "apply_workspace",
            },
        },
    )
    return tool_define(
        tools,
        "run",
        "Run a command",
        {
            "parameters": {"command": {"type": "string"}},
            "returns": {"type": "object"},
            "handler": run,
            "policy": {
                "capabilities": {"process": ["exec"]},
                "side_effect_level": "process_exec",
                "mutation_classification": "ambient_side_effect",
            },
        },
    )


def calls(name: str, **arguments: str) -> dict[str, Any]:
    """Return an answer that calls one tool."""
    return {"tool_calls": [{"id": name, "name": name, "arguments": arguments}]}


def writes(message: str) -> dict[str, Any]:
    """Return an answer that writes the parser with this message."""
    text = f"def diagnose(token):\n    return {message}\n"
    return calls("edit", path="parser_of_notes.py", text=text)


SCRIPTS = {
    "act.json": [
        calls("read", path="parser_of_notes.py"),
        writes('f"unexpected {token}"'),
        "The message names the token.",
    ],
    "verify.json": [
        calls("run", command=COMMAND),
        "FAIL: the token is not quoted.",
        calls("run", command=COMMAND),
        "PASS: test result: ok",
    ],
    "repair.json": [
        writes("f\"unexpected '{token}'\""),
        calls("run", command=COMMAND),
        "The token is quoted now.",
    ],
}
"""What each model answers, in order."""


def agent(name: str, tools: ToolRegistry, **more: Any) -> dict[str, Any]:
    """Return a node whose model has these tools."""
    asked = os.environ.get("MODEL", f"scripted:{name}.json")
    policy = {"model": asked, "stream": "STREAM" in os.environ}
    return {"mode": "agent", "tools": tools, "model_policy": policy, **more}


tools = review_tools()
graph = {
    "name": "repair_loop",
    "entry": "act",
    "nodes": {
        "act": agent("act", tools, kind="stage"),
        "verify": agent("verify", tool_select(tools, ["run"]), kind="verify"),
        "repair": agent("repair", tool_select(tools, ["edit", "run"]), kind="stage"),
    },
    "edges": [
        {"from": "act", "to": "verify"},
        {"from": "verify", "to": "repair", "branch": "failed"},
        {"from": "repair", "to": "verify", "branch": "retry"},
    ],
}


if __name__ == "__main__":
    Path("parser_of_notes.py").write_text(PARSER)
    Path("check.py").write_text(CHECK)
    for name, answers in SCRIPTS.items():
        Path(name).write_text(json.dumps(answers))
    selection = artifact(
        {
            "kind": "resource",
            "title": "Selected code",
            "text": PARSER,
            "relevance": 0.95,
        }
    )
    plan = artifact_derive(
        selection, "plan", {"text": "Name the token in the diagnostic, in quotes."}
    )
    print(f"valid {workflow_validate(graph).valid}")
    options = {
        "max_steps": 8,
        "ceiling": {"side_effect_level": "process_exec"},
        "approval_policy": {"auto_approve": ["edit", "run"]},
    }
    with muniment.open(create=True) as ledger:
        done = workflow_execute(
            ledger,
            "Fix the diagnostic regression and verify the tests.",
            graph,
            [selection, plan],
            options,
        )
        print(done.status)
        for stage in run_record(ledger, done.run_id)["stages"]:
            used = [
                one["tool"] for turn in stage["agent"]["turns"] for one in turn["calls"]
            ]
            print(f"  {stage['id']}: {stage['outcome']}, by {', '.join(used)}")
        print(f"replayed: {muniment.replay(ledger, done.run_id).verdict}")
