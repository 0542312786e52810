"""The functions of a flow: found by import path, in the box, or offered by plugins.

    "parts": {"reader": "echo", "writer": "agents:write",
              "judge": {"agent": "agents:judge", "retriever": "agents:search"}}

Rules:

- ``module:function`` is imported from the folder of the manifest first.
- An agent without a part is what a plugin offers under its id (`flow_parts`).
- A record names each function by its stable name, or by import path and digest of its
  source; the start of the run has the digests of their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment.programs.finder import FoundFunction, FunctionFinder, RecordedFunctions
from muniment.programs.references import Function, named, refer
from muniment_plugins.governance.documents.manifest import FlowManifest, FlowPart
from muniment_plugins.governance.flows.steps.box_agents import BOX

if TYPE_CHECKING:
    from muniment.plugins import Plugins

__all__ = [
    "ROLES",
    "FlowFunction",
    "PartFinder",
    "RecordedParts",
    "StepFunctions",
    "offered_by",
]

FlowFunction = FoundFunction
ROLES = ("agent", "retriever", "reasoner")


@dataclass(frozen=True, slots=True)
class StepFunctions:
    """The functions of one step; an agent may be another flow instead."""

    agent: FlowFunction | None = None
    retriever: FlowFunction | None = None
    reasoner: FlowFunction | None = None

    def all(self) -> Iterator[tuple[str, FlowFunction]]:
        """Yield each role and its function."""
        for role in ROLES:
            function = cast("FlowFunction | None", getattr(self, role))
            if function is not None:
                yield role, function

    def named(self) -> dict[str, JsonValue]:
        """Return how a record names the functions, by role."""
        return {role: cast("JsonValue", refer(one)) for role, one in self.all()}


def offered_by(plugins: Plugins, hook: str) -> dict[str, Function]:
    """Return the functions that plugins offer by *hook*, by name.

    Raises:
        UsageError: two plugins offer one name.

    """
    found: dict[str, Function] = {}
    owners: dict[str, str] = {}
    for plugin, answer in plugins.ask(hook):
        for name, function in cast("Mapping[str, Function]", answer or {}).items():
            if name in found:
                raise UsageError(
                    f"two plugins offer {name!r}: {owners[name]} and {plugin}",
                    rule="flow/plugin",
                    place=hook,
                    remedy="let MUNIMENT_PLUGINS name one of them",
                )
            found[name], owners[name] = function, plugin
    return found


@dataclass(frozen=True, slots=True)
class PartFinder(FunctionFinder):
    """Finds the functions of flows, also those that plugins offer."""

    offered: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """What plugins offer to flows."""

    def step(self, flow: FlowManifest, agent: str) -> StepFunctions:
        """Return the functions of the step of *agent*.

        Raises:
            UsageError: one of them is not there.
            CannotTellError: importing one fails.

        """
        at = At(flow.place, "flow")
        part = flow.parts.get(agent, FlowPart())
        there = at.key("parts").key(agent)
        if part.flow is not None:
            return StepFunctions()
        if part.agent is None:
            position = flow.agents.index(agent)
            function = self._offered(agent, at.key("agents").item(position))
        else:
            function = self._boxed_or_imported(part.agent, there.key("agent"))
        if part.agent == "llm" and part.model is None:
            raise there.key("model").wrong(
                "llm asks a model, and none is named", "part", 'write "provider:model"'
            )
        return StepFunctions(
            function,
            self._optional(part.retriever, there.key("retriever")),
            self._optional(part.reasoner, there.key("reasoner")),
        )

    def _offered(self, name: str, at: At) -> FlowFunction:
        if name not in self.offered:
            others = [*BOX, *self.offered]
            raise at.wrong(
                f"nothing says what {name} is",
                "agent-missing",
                f"write it in parts, as one of {', '.join(others)} or module:function, "
                "or install the plugin that offers it",
            )
        return named(self.offered[name])

    def _boxed_or_imported(self, name: str, at: At) -> FlowFunction:
        return named(BOX[name]) if name in BOX else self.imported(name, at)

    def _optional(self, name: str | None, at: At) -> FlowFunction | None:
        return None if name is None else self.imported(name, at)


@dataclass(frozen=True, slots=True)
class RecordedParts(RecordedFunctions):
    """Finds the functions of the steps that a run recorded."""

    def step(self, rows: Mapping[str, Mapping[str, object]]) -> StepFunctions:
        """Return the functions of a step, which the run named by role."""
        return StepFunctions(
            **{role: self.remembered(rows[role]) for role in ROLES if role in rows}
        )
