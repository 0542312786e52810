"""Putting a flow together: from its documents, or from the run that recorded it.

Rules:

- Every function is found before anything is run, written or paid for.
- From a record, functions are remembered, and looked up when they are called: a replay
  that needs none of them runs where none of them is.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import BlobRef
from muniment.programs.functions import given_in
from muniment.programs.references import Function, named, plain, refer
from muniment.programs.stable_names import name_of
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.documents.policy_verification import (
    BASELINE,
    COMPUTED,
)
from muniment_plugins.governance.documents.words import ENGINES
from muniment_plugins.governance.flows.edition import EDITION
from muniment_plugins.governance.flows.parts import (
    FlowFunction,
    PartFinder,
    RecordedParts,
    StepFunctions,
    offered_by,
)
from muniment_plugins.governance.flows.pins.comparison import (
    described,
    folder_from_here,
)
from muniment_plugins.governance.flows.pins.environment import environment_of
from muniment_plugins.governance.flows.pins.loose_modules import modules_beside
from muniment_plugins.governance.flows.plan import planned
from muniment_plugins.governance.flows.program import AsyncFlowProgram, FlowProgram
from muniment_plugins.governance.flows.steps.box_agents import BOX
from muniment_plugins.governance.flows.tree import FlowTree
from muniment_plugins.governance.verification.rulebook import Rulebook

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins

__all__ = ["assembled", "rebuild"]

Row = Mapping[str, JsonValue]
Fallbacks = Mapping[str, FlowFunction]


@dataclass(frozen=True, slots=True)
class _Assembly:
    """What all functions of a flow and of its children are found with."""

    policy: GovernancePolicy
    offered: Mapping[str, Function]
    engines: Mapping[str, Function]

    def program(self, tree: FlowTree, above: Fallbacks | None = None) -> FlowProgram:
        flow = tree.flow
        finder = PartFinder(flow.folder, offered=self.offered)
        functions = {one: finder.step(flow, one) for one in flow.agents}
        _require_retrievers(flow, functions)
        fallbacks = {**(above or {}), **self._fallbacks(flow, finder)}
        children = {
            agent: self.program(part, fallbacks) for agent, part in tree.parts.items()
        }
        plans = {agent: one.plan for agent, one in children.items()}
        plan = planned(flow, functions, plans)
        book = self._book(flow, finder)
        made = FlowProgram(plan, self.policy, book, {}, children, fallbacks)
        if any(map(_is_async, _own(made))) or any(
            one.is_async for one in children.values()
        ):
            made = AsyncFlowProgram(plan, self.policy, book, {}, children, fallbacks)
        return replace(made, pins=_pins(made))

    def _book(self, flow: FlowManifest, finder: PartFinder) -> Rulebook:
        policy, checks = self.policy.verification, dict[str, Function]()
        rules = At(self.policy.place, "policy").key("rules")
        for number, one in enumerate(policy.rules.values()):
            if one.check is not None:
                at = rules.item(number).key("check")
                checks[one.rule_id] = finder.imported(one.check, at)
        known = [*BASELINE, *COMPUTED, *policy.rules]
        gates = At(flow.place, "flow").key("verification_gates")
        for number, name in enumerate(flow.verification_gates):
            if name in known:
                continue
            if ":" not in name:
                raise gates.item(number).wrong(
                    f"no rule is called {name!r:.80}", "gate", near(name, known)
                )
            checks[name] = finder.imported(name, gates.item(number))
        return Rulebook(policy, flow.verification_gates, checks, self._engines())

    def _engines(self) -> dict[str, Function]:
        at = At(self.policy.place, "policy").key("engines")
        found: dict[str, Function] = {}
        for number, name in enumerate(self.policy.verification.engines):
            if name in ENGINES:
                continue
            if name not in self.engines:
                known = [*ENGINES, *self.engines]
                raise at.item(number).wrong(
                    f"no plugin offers the engine {name!r:.80}",
                    "engine",
                    near(name, known),
                )
            found[name] = named(self.engines[name])
        return found

    def _fallbacks(
        self, flow: FlowManifest, finder: PartFinder
    ) -> dict[str, FlowFunction]:
        found: dict[str, FlowFunction] = {}
        for budget, at in (
            (self.policy.execution_budget, At(self.policy.place, "policy")),
            (flow.execution_budget, At(flow.place, "flow")),
        ):
            name = budget.fallback
            if not isinstance(name, str) or name in ("skip", "cached"):
                continue
            there = at.key("execution_budget").key("fallback")
            found[name] = (
                named(BOX[name]) if name in BOX else finder.imported(name, there)
            )
        return found


def assembled(
    tree: FlowTree, policy: GovernancePolicy, plugins: Plugins
) -> FlowProgram:
    """Return the flow of *tree* as a program that is held to *policy*.

    Args:
        tree: the manifest, and those of the flows that are parts of it.
        policy: what it is held to.
        plugins: who may offer parts and engines.

    Raises:
        UsageError: a function, a rule or an engine is not there.
        CannotTellError: importing one fails.

    """
    offered = offered_by(plugins, "flow_parts")
    engines = offered_by(plugins, "verification_engines")
    return _Assembly(policy, offered, engines).program(tree)


def _require_retrievers(
    flow: FlowManifest, functions: Mapping[str, StepFunctions]
) -> None:
    """Refuse a retrieval contract of an agent that retrieves nothing."""
    contracts = At(flow.place, "flow").key("retrieval_contracts")
    for number, one in enumerate(flow.retrieval_contracts):
        for position, agent in enumerate(one.agents):
            if functions[agent].retriever is None:
                raise (
                    contracts.item(number)
                    .key("agents")
                    .item(position)
                    .wrong(
                        f"{agent} has no retriever",
                        "part",
                        f"write one in parts.{agent}, or leave the agent out",
                    )
                )


def _own(made: FlowProgram) -> list[FlowFunction]:
    """Return the functions that the flow itself calls in its steps."""
    steps = [one for step in made.plan.steps for _, one in step.functions.all()]
    return [*steps, *made.fallbacks.values()]


def _is_async(function: FlowFunction) -> bool:
    found = plain(function)
    call = getattr(found, "__call__", None)  # noqa: B004 - the method is inspected
    return inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(call)


def _named(functions: Iterable[tuple[str, Function]]) -> dict[str, JsonValue]:
    return {name: cast("JsonValue", refer(one)) for name, one in functions}


def _pins(made: FlowProgram) -> dict[str, JsonValue]:
    """Return all pins except the data, which is read when the flow is started."""
    flow = made.plan.flow
    functions = made.functions()
    beside = modules_beside(functions, flow.folder)
    return {
        "edition": EDITION,
        "environment": environment_of(
            flow.determinism_level, described(functions), beside
        ),
        "dataset": None,
        "folder": folder_from_here(flow.folder),
        "parts": {
            step.agent: step.functions.named()
            for step in made.plan.steps
            if step.child is None
        },
        "rules": _named(made.book.checks.items()),
        "engines": _named(made.book.engines.items()),
        "fallbacks": _named(made.fallbacks.items()),
        "children": {
            agent: {
                "flow": dict(child.plan.flow.document),
                "pins": dict(child.pins),
                "async": child.is_async,
            }
            for agent, child in made.children.items()
        },
    }


def rebuild(ledger: Ledger, run: str, trust_source: bool = False) -> FlowProgram | None:
    """Return the program of *run* from its start, or None if it is no flow."""
    del trust_source  # functions of flows are never made from recorded source
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    known = ledger.plugins.names.of(program)
    ours = (name_of(FlowProgram), name_of(AsyncFlowProgram))
    if known is None or known.name not in ours or not isinstance(params, BlobRef):
        return None
    said = cast("Mapping[str, Row]", ledger.value(params))
    policy = GovernancePolicy.from_record(dict(said["policy"]), f"policy of run {run}")
    found = RecordedParts(tuple(given_in(program)), ledger.plugins.names, run, "flow")
    waits = known.name == name_of(AsyncFlowProgram)
    return _recorded(said["flow"], said["pins"], policy, found, waits=waits)


def _recorded(
    document: Row,
    pins: Row,
    policy: GovernancePolicy,
    found: RecordedParts,
    *,
    waits: bool,
) -> FlowProgram:
    place = str(Path(str(pins["folder"])) / f"the manifest of run {found.run}")
    flow = FlowManifest.from_record(dict(document), place)
    rows = cast("Mapping[str, Mapping[str, Row]]", pins["parts"])
    functions = {
        one: found.step(rows[one]) if one in rows else StepFunctions()
        for one in flow.agents
    }
    children = {
        agent: _recorded(
            cast("Row", row["flow"]),
            cast("Row", row["pins"]),
            policy,
            found,
            waits=bool(row["async"]),
        )
        for agent, row in cast("Mapping[str, Row]", pins["children"]).items()
    }
    plans = {agent: one.plan for agent, one in children.items()}
    made: type[FlowProgram] = AsyncFlowProgram if waits else FlowProgram
    return made(
        plan=planned(flow, functions, plans),
        policy=policy,
        book=Rulebook(
            policy.verification,
            flow.verification_gates,
            _remembered(pins, "rules", found),
            _remembered(pins, "engines", found),
        ),
        pins=pins,
        children=children,
        fallbacks=cast(
            "Mapping[str, FlowFunction]", _remembered(pins, "fallbacks", found)
        ),
    )


def _remembered(pins: Row, name: str, found: RecordedParts) -> dict[str, Function]:
    rows = cast("Mapping[str, Row]", pins[name])
    return {one: found.remembered(row) for one, row in rows.items()}
