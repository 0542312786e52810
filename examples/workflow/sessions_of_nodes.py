"""Transcripts: nodes that share a conversation, and what is done to it before a run.

python sessions_of_nodes.py                        a model answers from a script
MODEL=openai:gpt-4o python sessions_of_nodes.py    ask a real one instead

Two nodes with one `session_id` converse in one session. Forking, trimming, compacting and
resetting it are verbs, and no modes of a node; each is an event, and nothing that was said
is lost.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import muniment
from muniment_plugins.workflow import (
    run_record,
    workflow_execute,
    workflow_graph,
    workflow_set_auto_compact,
    workflow_set_output_visibility,
)
from muniment_plugins.workflow.sessions import (
    agent_session_ancestry,
    agent_session_compact,
    agent_session_fork,
    agent_session_length,
    agent_session_reset,
    agent_session_snapshot,
    agent_session_trim,
)

# By the task that is asked about, and by how often the model has answered before.
FIRST, AGAIN = "Look at the parser", "Look again"
ANSWERS = [
    {"when": FIRST, "turn": 1, "text": "Three files, and one message that is wrong."},
    {"when": FIRST, "turn": 2, "text": "Name the token in it."},
    {"when": AGAIN, "turn": 2, "text": "Two files by now."},
    {"when": AGAIN, "turn": 3, "text": "Quote the token, too."},
]


def asks(prompt: str) -> dict[str, Any]:
    """Return a node of the conversation; MODEL says who is asked, else it is the script."""
    policy = {
        "model": os.environ.get("MODEL", "scripted:said.json"),
        "stream": "STREAM" in os.environ,
        "session_id": "parser",
    }
    return {"mode": "llm", "prompt": prompt, "model_policy": policy}


graph = workflow_graph(
    {
        "name": "talk",
        "nodes": {"look": asks("What is there?"), "advise": asks("What is to do?")},
        "edges": [{"from": "look", "to": "advise"}],
    }
)
graph = workflow_set_auto_compact(
    graph,
    "advise",
    {
        "auto_compact": True,
        "compact_threshold": 4000,
        "tool_output_max_chars": 2000,
        "compact_strategy": "observation_mask",
        "hard_limit_tokens": 8000,
        "hard_limit_strategy": "truncate",
    },
)
graph = workflow_set_output_visibility(graph, "advise", "public")


def show(ledger: muniment.Ledger, session: str, of: str) -> None:
    """Print how long a session is, and who said the last word in it."""
    found = agent_session_snapshot(ledger, session)
    said = (
        found["messages"][-1]["content"] if found and found["messages"] else "nothing"
    )
    print(f"{of}: {agent_session_length(ledger, session)} messages, last: {said}")


if __name__ == "__main__":
    Path("said.json").write_text(json.dumps(ANSWERS))
    with muniment.open(create=True) as ledger:
        first = workflow_execute(ledger, FIRST, graph)
        print(first.status)
        for stage in run_record(ledger, first.run_id)["stages"]:
            print(f"  {stage['node_id']}: {stage['visible_text']}")
        show(ledger, "parser", "after the first run")

        # The conversation is shaped before the next run, on a copy and on the original.
        copy = agent_session_fork(ledger, "parser", "kept")
        agent_session_trim(ledger, "parser", 2)
        show(ledger, "parser", "trimmed")
        second = workflow_execute(ledger, AGAIN, graph)
        show(ledger, "parser", "after the second run")
        agent_session_compact(
            ledger, "parser", {"keep_last": 1, "compact_strategy": "truncate"}
        )
        show(ledger, "parser", "compacted")
        agent_session_reset(ledger, "parser")
        show(ledger, "parser", "reset")
        show(ledger, copy, "the copy")
        print(f"its parent is {agent_session_ancestry(ledger, copy)['parent_id']}")  # type: ignore[index]
        for run in (first, second):
            print(f"replayed: {muniment.replay(ledger, run.run_id).verdict}")
