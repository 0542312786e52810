"""What an agent gets for its step, and a retriever and a reasoner with it.

def summarise(run, task):
text = run.effect("llm", {"model": "…", "text": task.inputs["reader"]}, perform)
return {"summary": text}

def reason(run, task):
[made] = task.artifacts
return {"claims": [{"claim_id": "c1", "statement": f"… {made.digest}",
"confidence": 0.9, "supported_by": ["e1"]}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muniment_plugins.governance.flows.steps.artifacts import FlowArtifact, FlowEvidence

__all__ = ["FlowTask"]


@dataclass(frozen=True, slots=True)
class FlowTask:
    """One step of a flow, as its functions see it."""

    flow_id: str
    step: int
    agent: str
    inputs: object
    """Agent → what it made, of those that this one depends on; the flow's ``inputs`` if it
    depends on none. A copy: what is done to it changes nothing elsewhere."""
    evidence: tuple[FlowEvidence, ...] = ()
    """What the step's retriever found."""
    artifacts: tuple[FlowArtifact, ...] = ()
    """What the step's agent made; empty before it has."""
    prompt: str | None = None
    model: str | None = None
    seed: int = 0
    """Equal in a replay, and in every run of the flow whose level is strict or bounded."""
    dataset: Path | None = None
    """Where the pinned data is."""

    def evidence_by_id(self) -> Mapping[str, FlowEvidence]:
        """Return the evidence by its id."""
        return {one.evidence_id: one for one in self.evidence}
