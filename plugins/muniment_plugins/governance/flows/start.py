"""Starting a flow: planned, held against its policy, pinned, then run.

    done = start_flow(ledger, load_flow("flow.json"), load_policy("policy.json"))

Rules:

- Whatever is wrong with manifest, policy, functions or data is refused before anything is
  written.
- Of a level that is strict or bounded, equal manifests have equal seeds.
- A dry run writes nothing, and calls no function of the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from muniment.encoding.canonical import JsonValue
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import (
    refuse_disagreement,
    refuse_mode,
    refuse_state,
)
from muniment_plugins.governance.flows.assembly import assembled
from muniment_plugins.governance.flows.pins.datasets import (
    pinned,
    refuse_declared,
    refuse_history,
)
from muniment_plugins.governance.flows.program import FlowProgram
from muniment_plugins.governance.governed import governed

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.plugins import Plugins
    from muniment.runs.execution import Done

__all__ = ["plan_flow", "ready_flow", "start_flow"]


class _How(TypedDict):
    """The arguments of the ledger's ``execute``."""

    params: dict[str, object]
    name: str
    labels: Mapping[str, str] | None
    tenant: str
    seed: str | None


def plan_flow(
    flow: FlowManifest, policy: GovernancePolicy, plugins: Plugins
) -> FlowProgram:
    """Return *flow* as a program that *policy* allows; nothing is written.

    Raises:
        UsageError: something that it names is not there.
        RefusedError: it declares more than the policy allows.

    """
    refuse_disagreement(flow, policy)
    made = assembled(flow, policy, plugins)
    for child in made.children.values():
        refuse_disagreement(child.plan.flow, policy)
    return made


def ready_flow(
    ledger: Ledger,
    flow: FlowManifest,
    policy: GovernancePolicy,
    *,
    dry: bool = False,
) -> FlowProgram:
    """Return *flow* as a program with all its pins, which may be run on *ledger*.

    Raises:
        UsageError: something that it names is not there.
        RefusedError: it is no flow to run, or its data changed.
        CannotTellError: its data cannot be read.

    """
    refuse_mode(policy, dry=dry)
    if not dry:
        refuse_state(flow)
    return _with_data(ledger, plan_flow(flow, policy, ledger.plugins))


def _with_data(ledger: Ledger, made: FlowProgram) -> FlowProgram:
    """Return the program with the digests of its data, and of its children's."""
    flow = made.plan.flow
    children = {name: _with_data(ledger, one) for name, one in made.children.items()}
    pins: dict[str, JsonValue] = dict(made.pins)
    pins["children"] = {
        name: _child_pins(made, name, one) for name, one in children.items()
    }
    if flow.dataset is not None:
        now = pinned(flow.dataset, flow.folder)
        refuse_declared(flow.dataset, now, flow.place)
        refuse_history(ledger, flow.dataset, now, flow.place)
        pins["dataset"] = now.document()
    return replace(made, pins=pins, children=children)


def _child_pins(made: FlowProgram, name: str, child: FlowProgram) -> JsonValue:
    known = made.pins["children"]
    row: Mapping[str, JsonValue] = {}
    if isinstance(known, dict) and isinstance(known[name], dict):
        row = known[name]  # type: ignore[assignment]  # checked above
    return {**row, "pins": dict(child.pins)}


def start_flow(
    ledger: Ledger,
    flow: FlowManifest,
    policy: GovernancePolicy = GovernancePolicy.DEFAULT,
    *,
    dry: bool = False,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Done:
    """Run *flow* on *ledger* under *policy*.

    Raises:
        UsageError: something that it names is not there, or it must be awaited.
        RefusedError: it is no flow to run, the policy forbids it, or its data changed.
        CannotTellError: its data cannot be read.

    """
    import asyncio  # noqa: PLC0415 - for asynchronous flows only

    program = ready_flow(ledger, flow, policy, dry=dry)
    strict = flow.determinism_level in ("strict", "bounded")
    how: _How = {
        "params": program.params(),
        "name": name or flow.flow_id,
        "labels": labels,
        "tenant": flow.tenant_id,
        "seed": flow.digest if strict else None,
    }
    if dry:  # which performs nothing that could be governed
        return ledger.execute(program.preview, mode="dry", **how)
    with governed(ledger, policy, flow):
        if program.is_async:
            return asyncio.run(ledger.aexecute(program, **how))
        return ledger.execute(program, **how)
