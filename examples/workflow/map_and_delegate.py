"""Work that is spread: a map over items, a race, and a run below the run.

python map_and_delegate.py        reviews three files, then has one mended by a child run

A map goes on when all of its items are there, the first, or so many of them; what failed is
kept beside what succeeded. A subagent is a run of its own, whose record names its parent.
"""

from __future__ import annotations

from typing import Any

import muniment
from muniment_plugins.workflow import (
    StageFailed,
    StageInput,
    load_run_tree,
    run_record,
    workflow_execute,
)

FILES = ["parser.py", "lexer.py", "broken.py"]


def review(stage: StageInput) -> str:
    """Review the file that is the item of this branch."""
    if stage.item == "broken.py":
        raise StageFailed("it does not parse")
    return f"{stage.item} is fine"


def mend(stage: StageInput) -> str:
    """Mend what could not be reviewed."""
    del stage
    return "broken.py parses again"


def mapped(join_policy: dict[str, Any]) -> dict[str, Any]:
    """Return a graph that reviews the files, and makes one text of what was said."""
    return {
        "name": "reviews",
        "nodes": {
            "review": {
                "kind": "map",
                "map_policy": {"items": FILES, "max_concurrent": 1},
                "join_policy": join_policy,
                "body": {"handler": review},
            },
            "sum_up": {
                "kind": "reduce",
                "input_contract": {"input_kinds": ["artifact"]},
                "reduce_policy": {"strategy": "concat", "separator": "; "},
            },
        },
        "edges": [{"from": "review", "to": "sum_up"}],
    }


CHILD = {"name": "mending", "nodes": {"mend": {"handler": mend}}}
DELEGATED = {"nodes": {"delegate": {"kind": "subagent", "graph": CHILD}}}

if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        for policy in (
            {"strategy": "all"},
            {"strategy": "first"},
            {"strategy": "quorum", "min_completed": 2},
        ):
            run = workflow_execute(ledger, "Review", mapped(policy))
            print(f"{policy['strategy']}: {run.status}, {run.artifacts[-1].text}")
            for stage in run_record(ledger, run.run_id)["stages"]:
                if stage["status"] == "failed":
                    print(f"  kept: {stage['node_id']}, {stage['error']}")
        done = workflow_execute(ledger, "Mend it", DELEGATED)
        tree = load_run_tree(ledger, done.run_id)
        (below,) = tree["children"]
        (worker,) = tree["run"]["child_runs"]
        print(f"delegated: {done.status}, {done.artifacts[-1].text}")
        print(f"  {worker['worker_name']} worked for {worker['parent_stage_id']}")
        print(
            f"  its parent is the run: {below['run']['parent_run_id'] == done.run_id}"
        )
        session = run_record(ledger, done.run_id)["metadata"]["mutation_session"]
        print(f"  {session['execution_kind']}, up to {session['mutation_scope']}")
