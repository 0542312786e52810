"""Handlers of the graphs in tests, and short ways to write these graphs."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from muniment import Run
from muniment_plugins.workflow import Artifact, StageFailed, StageInput, artifact

__all__ = [
    "Document",
    "chain",
    "counted",
    "edge",
    "fails",
    "graph_of",
    "raises",
    "says",
    "stage",
]

Document = dict[str, Any]


def says(given: StageInput) -> str:
    """Say how many artifacts there were, and which item."""
    item = "" if given.item is None else f" {given.item}"
    return f"{given.node}: {len(given.artifacts)}{item}"


async def says_later(given: StageInput) -> str:
    """Say the same, after others had a turn."""
    await asyncio.sleep(0)
    return says(given)


def fails(given: StageInput) -> str:
    """Come to a bad end."""
    raise StageFailed(f"{given.node} failed")


def raises(given: StageInput) -> str:
    """Raise."""
    raise ValueError(f"{given.node} raised")


def odd_raises(given: StageInput) -> str:
    """Raise for odd items."""
    if int(str(given.item)) % 2:
        raise ValueError(f"{given.item} is odd")
    return says(given)


def counted(given: StageInput) -> str:
    """Say how often it was called, by a file that its node names; fail at first."""
    file = Path(str(given.metadata["file"]))
    calls = len(file.read_text()) + 1 if file.exists() else 1
    file.write_text("x" * calls)
    if calls <= int(str(given.metadata.get("fails", 0))):
        raise ValueError(f"call {calls}")
    return f"call {calls}"


def sleeps(given: StageInput) -> str:
    """Take as long as its node says."""
    time.sleep(float(str(given.metadata["seconds"])))
    return "late"


def two(given: StageInput) -> list[str | Artifact]:
    """Make two artifacts, one of a kind of its own."""
    del given
    note = artifact({"id": "n", "created_at": "2026-01-01T00:00:00Z", "text": "b"})
    return ["a", note]


def data(given: StageInput) -> dict[str, object]:
    """Make data."""
    return {"count": len(given.artifacts)}


def lane(run: Run, given: StageInput) -> str:
    """Make an effect of its own."""
    return str(run.effect("tool", {"name": given.node}, lambda _: f"{given.node}!"))


def is_small(given: StageInput) -> bool:
    """Tell whether there is little."""
    return len(given.artifacts) < 2


def is_sound(given: StageInput) -> dict[str, object]:
    """Judge what was made."""
    return {"ok": len(given.artifacts) > 0, "reason": "there is some"}


def stage(handler: str = "says", **more: object) -> Document:
    """Return a stage with a handler of this module."""
    return {"kind": "stage", "handler": f"workflow_stages:{handler}", **more}


def edge(source: str, target: str, branch: str | None = None) -> Document:
    """Return an edge."""
    found: Document = {"from": source, "to": target}
    return found if branch is None else {**found, "branch": branch}


def graph_of(nodes: Document, *edges: Document, **more: object) -> Document:
    """Return a graph that begins with the first of *nodes*."""
    return {"nodes": nodes, "edges": [*edges], "entry": next(iter(nodes)), **more}


def chain(**nodes: Document) -> Document:
    """Return a graph of *nodes*, one after the other."""
    edges = [edge(one, following) for one, following in pairwise(nodes)]
    return graph_of(nodes, *edges)
