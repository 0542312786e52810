"""What a planner wrote becomes a plan, the plan a graph, and the graph is run.

python plan_and_run.py                         a model answers from a script
MODEL=openai:gpt-4o python plan_and_run.py     ask a real one instead

The planner's words are in no form that anything could run. What is made of them is
data, and says what was added; what can be done at once is one batch. A command has the last
word.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import muniment
from muniment_plugins.workflow import (
    action_graph,
    action_graph_batches,
    action_graph_flow,
    action_graph_render,
    action_graph_run,
    workflow_validate,
)

raw_plan = {
    "steps": [
        {
            "id": "inspect",
            "kind": "research",
            "title": "Inspect parser",
            "tools": ["read", "search"],
        },
        {"id": "patch", "title": "Patch diagnostics", "tools": ["edit"]},
        {"id": "docs", "title": "Update release notes", "tools": ["edit"]},
    ]
}
ANSWERS = ["The message is built in one place.", "Patched, and noted for the release."]


def model() -> dict[str, Any]:
    """Return who is asked: the script, or what MODEL names; STREAM has it come in parts."""
    asked = os.environ.get("MODEL", "scripted:planned.json")
    return {"model": asked, "stream": "STREAM" in os.environ}


config: dict[str, Any] = {
    "research": {"mode": "llm", "model_policy": model()},
    "execute": {"mode": "llm", "model_policy": model()},
    "verify": {
        "command": [sys.executable, "-c", "print('test result: ok')"],
        "expect_status": 0,
    },
}

if __name__ == "__main__":
    Path("planned.json").write_text(json.dumps(ANSWERS))
    plan = action_graph(raw_plan, {"task": "Fix parser diagnostics"})
    print(action_graph_render(plan).splitlines()[0])
    for batch in action_graph_batches(plan):
        titles = ", ".join(one.title for one in batch.actions)
        print(f"{batch.id}: {batch.phase}, {titles}")
    for one in plan.repairs:
        print(f"added: {one['action']} after {', '.join(one['added'])}")  # type: ignore[arg-type]
    flow = action_graph_flow(plan, config)
    print(f"{', '.join(flow.nodes)}: valid {workflow_validate(flow).valid}")
    with muniment.open(create=True) as ledger:
        run = action_graph_run(ledger, "Fix parser diagnostics", plan, config)
        print(run.status)
        print(len(run.batches))
        for said in run.transcript:
            print(f"  {said['node']}: {said['text'].strip()}")
        print(f"replayed: {muniment.replay(ledger, run.runtime.run_id).verdict}")
