"""Agent loops in one conversation: what was said in a run is known in the next one.

python converse.py                        a model answers from a script
MODEL=openai:gpt-4o python converse.py    ask a real one instead; STREAM=1 has it come in parts

Each run is a loop: the model reads a file by its tool, and answers. Both join the session
`desk`, so the second one knows what the first one found. Tools that do more than read are
denied, and the model is told so.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import muniment
from muniment import Run
from muniment_plugins.workflow import (
    ToolRegistry,
    agent_loop,
    agent_records,
    tool_define,
    tool_registry,
)
from muniment_plugins.workflow.sessions import RunSession, agent_session_snapshot

# By how often the model has answered before: the conversation goes on in the second run.
ANSWERS: list[dict[str, Any]] = [
    {
        "turn": 1,
        "text": "I look at the list.",
        "tool_calls": [{"id": "a", "name": "read", "arguments": {"path": "todo.txt"}}],
    },
    {"turn": 2, "text": "The roof and the door."},
    {
        "turn": 3,
        "tool_calls": [
            {
                "id": "b",
                "name": "write",
                "arguments": {"path": "todo.txt", "text": "door\n"},
            },
            {"id": "c", "name": "read", "arguments": {"path": "todo.txt"}},
        ],
    },
    {"turn": 4, "text": "I may not write it down, but the roof was first on the list."},
]


def read(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text()


def write(path: str, text: str) -> int:
    """Write a file."""
    return Path(path).write_text(text)


def tools() -> ToolRegistry:
    """Return a tool that reads, and one that writes."""
    path = {"path": {"type": "string"}}
    made = tool_registry()
    for name, handler, parameters, level in (
        ("read", read, path, "read_only"),
        ("write", write, {**path, "text": {"type": "string"}}, "workspace_write"),
    ):
        policy = {"side_effect_level": level, "path_params": ["path"]}
        options = {"parameters": parameters, "handler": handler, "policy": policy}
        made = tool_define(made, name, f"{name} a file", options)
    return made


def converse(run: Run, question: str) -> str:
    """Ask in the session `desk`, and return the answer."""
    with RunSession.join(run, "desk") as desk:
        done = agent_loop(
            run,
            question,
            model=os.environ.get("MODEL", "scripted:desk.json"),
            tools=tools(),
            session=desk,
            capability_policy={"workspace_roots": ["."]},
            options={"max_iterations": 4, "stream": "STREAM" in os.environ},
        )
    return f"{done.reason}: {done.text}"


if __name__ == "__main__":
    Path("desk.json").write_text(json.dumps(ANSWERS))
    Path("todo.txt").write_text("roof\ndoor\n")
    with muniment.open(create=True) as ledger:
        for question in ("What is left?", "Strike out the first one."):
            done = ledger.execute(converse, params={"question": question})
            print(f"{done.status}: {done.value}")
            (loop,) = agent_records(ledger, done.run_id)
            for turn in loop["turns"]:
                called = [f"{one['tool']} {one['status']}" for one in turn["calls"]]
                print(f"  turn {turn['turn']}: {', '.join(called) or 'answered'}")
            replayed = muniment.replay(ledger, done.run_id, program=converse).verdict
            print(f"  replayed: {replayed}")
        said = agent_session_snapshot(ledger, "desk")
        print([one["role"] for one in said["messages"]] if said else "nothing was said")
