"""The view of a run of a program, in the form of that of a run of a graph.

Rule: it has one stage, named as the run is. The name of the program stands for a graph, what
it was given for a task, and its result for the one thing that it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muniment.encoding.canonical import canonical, sha256_tag
from muniment_plugins.evals.views.normaliser import Names
from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.view import Beside, Digests, asked_of

__all__ = ["Performed", "program_view"]


@dataclass(frozen=True, slots=True)
class Performed:
    """What a run of a program was given, and what came of it."""

    run: str
    name: str
    program: str
    status: str
    params: Any
    result: Any
    error: Any
    error_type: Any


def program_view(did: Performed, names: Names, beside: Beside) -> Row:
    """Return the view of the run that *did* that."""
    slow: list[str] = []
    digests = Digests(names, slow, beside.key)
    made: Row = {"artifacts": [], "consumed": []}
    if did.error_type is not None:
        made["error"] = digests.of([did.error_type, did.error])
    elif did.status == "completed":
        made["artifacts"] = [digests.of(did.result)]
    stage: Row = {
        "id": did.name,
        "node_id": did.name,
        "visit": 1,
        "kind": "program",
        "status": did.status,
        "attempts": 1,
        "artifact_kinds": [],
        "denials": [],
        "digests": made,
        **asked_of(digests, did.name, beside),
    }
    view: Row = {
        "normaliser": names.normaliser.document(),
        "run": did.run,
        "workflow_id": did.program,
        "status": did.status,
        "graph": sha256_tag(canonical(did.program)),
        "options": {},
        "task": digests.of(did.params),
        "given": [],
        "stages": [stage],
        "transitions": [],
        "checkpoints": 0,
        "children": [],
        "questions": [],
        "published": {},
        "below": beside.below,
        "uncompared": beside.uncompared,
    }
    return {**view, "slow": [*dict.fromkeys(slow)]} if slow else view
