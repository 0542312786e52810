"""Tools that note their calls, and who tries to call them: stages, and kinds of nodes.

Rule: a call says by its argument ``who`` from which node it comes; so performers know it
without any record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment import Run, hookimpl
from muniment.errors import RefusedError
from muniment_plugins.workflow.documents.words import Branches
from muniment_plugins.workflow.nodes.kind import NodeKind
from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
from muniment_plugins.workflow.runtime.seams import NodeVisit
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.stages.tool_calls import StageCall, call_of

__all__ = [
    "PERFORMED",
    "TRIED",
    "Acme",
    "Surveying",
    "edit",
    "fetch",
    "read",
    "run_it",
    "tries",
    "tries_later",
]

PERFORMED: list[tuple[str, Mapping[str, object]]] = []
"""What was performed in this process: tool and arguments."""
TRIED: list[tuple[str, Mapping[str, object]]] = []
"""What was tried, whatever came of it."""


def read(**given: object) -> str:
    """Note a call of ``read``."""
    PERFORMED.append(("read", given))
    return "read"


def edit(**given: object) -> str:
    """Note a call of ``edit``."""
    PERFORMED.append(("edit", given))
    return "edited"


def run_it(**given: object) -> str:
    """Note a call of ``run``."""
    PERFORMED.append(("run", given))
    return "ran"


def fetch(**given: object) -> str:
    """Note a call of ``fetch``."""
    PERFORMED.append(("fetch", given))
    return "fetched"


def _calls(stage: StageInput) -> list[tuple[str, dict[str, Any]]]:
    rows: Any = stage.metadata["calls"]
    who = stage.metadata["who"]
    return [(str(name), {**dict(given), "who": who}) for name, given in rows]


def tries(run: Run, stage: StageCall) -> str:
    """Try all calls that the node's metadata names."""
    del run
    for name, given in _calls(stage):
        TRIED.append((name, given))
        try:
            stage.tool(name, given)
        except RefusedError:
            continue
    return "tried"


async def tries_later(run: Run, stage: StageCall) -> str:
    """Try them, awaiting each."""
    del run
    for name, given in _calls(stage):
        TRIED.append((name, given))
        try:
            await stage.atool(name, given)
        except RefusedError:
            continue
    return "tried"


@dataclass(frozen=True)
class Surveying:
    """A stranger's kind: it tries the same calls."""

    name: str = "acme.survey"
    branches: Branches = field(default=Branches(("surveyed",), ("failed",)))
    keys: frozenset[str] = frozenset(
        {"tools", "capability_policy", "approval_policy", "timeout_s"}
    )

    def findings(self, node: object, graph: object) -> Iterable[Any]:
        """Return nothing."""
        del node, graph
        return ()

    async def take(self, here: NodeVisit) -> NodeOutcome:
        """Try all calls, with an effect and an artifact of its own."""
        call = call_of(
            here, StageInput("", here.node.name, metadata=here.node.metadata)
        )
        for name, given in _calls(call):
            TRIED.append((name, given))
            try:
                await call.atool(name, given)
            except RefusedError:
                continue
        seen = here.select()
        answer = await here.effect("data", {"seen": len(seen)}, _asked)
        return NodeOutcome("surveyed", "surveyed", [here.artifact(str(answer))])


def _asked(request: object) -> object:
    PERFORMED.append(("survey", dict(request)))  # type: ignore[call-overload]
    return "asked"


class Acme:
    """A stranger's plugin."""

    @staticmethod
    @hookimpl(optionalhook=True)
    def node_kinds() -> Iterable[NodeKind]:
        """Add the kind."""
        return (Surveying(),)
