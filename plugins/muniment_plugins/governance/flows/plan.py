"""Plans: the steps of a flow in the order in which they are taken, and their hash.

    {"flow": "flow-boring", "manifest": "sha256:…", "plan": "sha256:…",
     "steps": [{"step": 0, "agent": "agent-a", "needs": [], "functions": {"agent": {…}}},
               {"step": 1, "agent": "agent-b", "needs": ["agent-a"], "functions": {…}}]}

Rules:

- The order is topological, names in the order of the alphabet where it is free.
- The hash is of the canonical plan: another manifest, another source of a function, other
  child flows make another plan; where the files are makes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.order import in_order
from muniment_plugins.governance.flows.parts import StepFunctions

__all__ = ["FlowPlan", "PlannedStep", "planned"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step, before it is taken."""

    number: int
    agent: str
    needs: tuple[str, ...]
    functions: StepFunctions
    child: FlowPlan | None = None
    """The plan of the flow that is run in place of an agent."""

    @property
    def scope(self) -> str:
        """The scope of the step in its run."""
        return f"step/{self.number}-{self.agent}"

    @property
    def name(self) -> str:
        """What artifacts name as their parent."""
        return f"step/{self.number}"

    def document(self) -> dict[str, JsonValue]:
        """Return the step as the plan has it."""
        made: dict[str, JsonValue] = {
            "step": self.number,
            "agent": self.agent,
            "needs": [*self.needs],
            "functions": self.functions.named(),
        }
        return made if self.child is None else {**made, "flow": self.child.digest}


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """A flow that was resolved."""

    flow: FlowManifest
    steps: tuple[PlannedStep, ...]

    def document(self) -> dict[str, JsonValue]:
        """Return the plan without its hash."""
        return {
            "flow": self.flow.flow_id,
            "manifest": self.flow.digest,
            "steps": [one.document() for one in self.steps],
        }

    @property
    def digest(self) -> str:
        """The hash of the plan."""
        return sha256_tag(canonical(self.document()))

    def stated(self) -> dict[str, object]:
        """Return the fact that the flow was planned."""
        return {
            **self.document(),
            "plan": self.digest,
            "state": self.flow.flow_state,
            "level": self.flow.determinism_level,
        }


def planned(
    flow: FlowManifest,
    functions: Mapping[str, StepFunctions],
    children: Mapping[str, FlowPlan],
) -> FlowPlan:
    """Return the plan of *flow*, given the functions and child flows of its agents."""
    order = in_order(flow.agents, flow.dependencies, At(flow.place, "flow"))
    return FlowPlan(
        flow,
        tuple(
            PlannedStep(
                number,
                agent,
                flow.dependencies.get(agent, ()),
                functions[agent],
                children.get(agent),
            )
            for number, agent in enumerate(order)
        ),
    )
