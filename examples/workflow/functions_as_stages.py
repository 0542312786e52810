"""A graph whose stages are functions: run, recorded, replayed without calling them.

python functions_as_stages.py        runs a graph, prints its stages, replays it
"""

from __future__ import annotations

import muniment
from muniment_plugins.workflow import (
    Artifact,
    StageInput,
    artifact,
    artifact_derive,
    workflow_execute,
)


def act(stage: StageInput) -> Artifact:
    """Do what the plan says: here, one replacement."""
    code = next(one for one in stage.artifacts if one.kind == "resource")
    print("acting")
    text = code.body.replace("bad input", "expected a number")
    return artifact_derive(code, "patch", {"text": text})


def is_helpful(stage: StageInput) -> dict[str, object]:
    """Judge the patch; the verdict of a function is true or false, with a reason."""
    patches = [one.body for one in stage.artifacts if one.kind == "patch"]
    good = any("expected" in one for one in patches)
    return {
        "ok": good,
        "reason": "it says what was expected" if good else "it does not",
    }


GRAPH = {
    "name": "wording",
    "nodes": {
        "act": {"handler": act},
        "verify": {"kind": "verify", "verify": {"handler": is_helpful}},
    },
    "edges": [{"from": "act", "to": "verify"}],
}

if __name__ == "__main__":
    selection = artifact({"kind": "resource", "text": 'raise ValueError("bad input")'})
    plan = artifact_derive(selection, "plan", {"text": "Say what was expected."})
    with muniment.open(create=True) as ledger:
        run = workflow_execute(
            ledger,
            "Fix the diagnostic regression and verify it.",
            GRAPH,
            [selection, plan],
            {"max_steps": 8},
        )
        print(run.status)
        for event in ledger.events(run=run.run_id, type="node.completed"):
            print(f"{event.data['node']}: {event.data['branch']}")
        for made in run.artifacts[2:]:
            print(f"{made.id} is a {made.kind}")
        print(f"replayed: {muniment.replay(ledger, run.run_id).verdict}")
