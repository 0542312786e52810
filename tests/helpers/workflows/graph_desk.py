"""A desk with a graph on it: handlers, a document, and notes to work on.

write_graph(folder)       graph.json, stages.py, notes.txt
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["DOCUMENT", "STAGES", "write_graph"]

STAGES = """
import os
import time
from pathlib import Path


def _waits():
    time.sleep(float(os.environ.get("SLOWLY", "0")))


def act(given):
    with Path("acted").open("a") as file:
        file.write(f"{given.node}\\n")
    _waits()
    return f"{given.node}: {given.task} of {len(given.artifacts)}"


def item(given):
    with Path("acted").open("a") as file:
        file.write(f"item {given.item}\\n")
    _waits()
    return f"item {given.item}"


def flaky(given):
    place = Path("flaky")
    if not place.exists():
        place.touch()
        raise ValueError("not yet")
    return "well"


def broken(given):
    raise ValueError("it is broken")
"""

DOCUMENT: dict[str, Any] = {
    "name": "rounds",
    "nodes": {
        "begin": {"handler": "stages:act"},
        "fork": {"kind": "fork"},
        "lint": {"handler": "stages:act"},
        "test": {"handler": "stages:flaky", "retry_policy": {"max_attempts": 2}},
        "join": {"kind": "join"},
        "each": {
            "kind": "map",
            "handler": "stages:item",
            "map_policy": {"items": ["a", "b", "c"], "max_concurrent": 1},
        },
        "check": {"kind": "verify", "verify": {"command": "echo fine"}},
    },
    "edges": [
        {"from": "begin", "to": "fork"},
        {"from": "fork", "to": "lint"},
        {"from": "fork", "to": "test"},
        {"from": "lint", "to": "join"},
        {"from": "test", "to": "join"},
        {"from": "join", "to": "each"},
        {"from": "each", "to": "check"},
    ],
}


def write_graph(
    folder: Path, document: dict[str, Any] | None = None, name: str = "graph.json"
) -> Path:
    """Write a graph with its handlers into *folder*; return its path."""
    (folder / "stages.py").write_text(STAGES)
    (folder / "notes.txt").write_text("what is known\n")
    file = folder / name
    file.write_text(json.dumps(DOCUMENT if document is None else document))
    return file
