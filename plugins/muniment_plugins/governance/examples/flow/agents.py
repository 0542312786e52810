"""Which service was down for longest, and what the incidents say about it.

    incidents.jsonl → measure → {"checkout": 86, "search": 21, "login": 7} → report

Each function is given copies; what it returns is recorded, and checked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from muniment import Run
from muniment_plugins.governance import FlowTask

__all__ = ["conclude", "measure", "report", "search"]

INCIDENTS = Path(__file__).with_name("incidents.jsonl")


def measure(run: Run, task: FlowTask) -> dict[str, int]:
    """Return service → minutes of downtime, from the pinned data: an agent."""
    assert task.dataset is not None
    minutes: dict[str, int] = {}
    for one in _rows(task.dataset):
        minutes[one["service"]] = minutes.get(one["service"], 0) + one["minutes"]
    return minutes


def search(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the incidents of the service that was down for longest: a retriever."""
    worst = _worst(request["query"]["measure"])
    return [
        {
            "evidence_id": one["id"],
            "content": one,
            "source_uri": f"file://{INCIDENTS.name}#{one['id']}",
            "score": 1.0,
        }
        for one in _rows(INCIDENTS)
        if one["service"] == worst
    ]


def report(run: Run, task: FlowTask) -> dict[str, Any]:
    """Return the service, its downtime and the causes: an agent."""
    minutes: Any = task.inputs
    found: list[Any] = [one.content for one in task.evidence]
    worst = _worst(minutes["measure"])
    return {
        "service": worst,
        "minutes": minutes["measure"][worst],
        "causes": [one["cause"] for one in found],
    }


def conclude(run: Run, task: FlowTask) -> dict[str, Any]:
    """Return one claim about what `report` made, with what it rests on: a reasoner."""
    (made,) = task.artifacts
    told: Any = made.content
    rests = ", ".join(f"{one.evidence_id} {one.digest}" for one in task.evidence)
    claim = {
        "claim_id": "longest",
        "statement": f"{told['service']} was down for {told['minutes']} minutes "
        f"({made.digest}), by {rests}",
        "confidence": 1.0,
        "supported_by": [one.evidence_id for one in task.evidence],
    }
    return {"claims": [claim]}


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _worst(minutes: dict[str, int]) -> str:
    return max(minutes, key=lambda service: minutes[service])
