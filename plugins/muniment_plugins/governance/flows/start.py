"""Starting a flow: planned, held against its policy, pinned, then run.

    done = start_flow(ledger, load_flow("flow.json"), load_policy("policy.json"))

Rules:

- Whatever is wrong with manifest, policy, functions or data is refused before anything is
  written; that of the flows that are parts of it, too, before anything is imported.
- Of a level that is strict or bounded, equal manifests have equal seeds.
- A dry run writes nothing, and calls no function of the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import EffectKind
from muniment_plugins.governance.documents.asked import (
    refuse_unasked_gates,
    refuse_unasked_policy,
)
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.agreement import (
    refuse_disagreement,
    refuse_mode,
    refuse_state,
)
from muniment_plugins.governance.flows.assembly import assembled
from muniment_plugins.governance.flows.existence import kinds_of, require_named
from muniment_plugins.governance.flows.pins.datasets import (
    pinned,
    refuse_declared,
    refuse_history,
)
from muniment_plugins.governance.flows.program import FlowProgram
from muniment_plugins.governance.flows.tree import FlowTree, tree_of
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
    tree = tree_of(flow)
    _refuse_any(tree, policy)
    _require_named(tree, policy, kinds_of(plugins))
    return assembled(tree, policy, plugins)


def _refuse_any(
    tree: FlowTree, policy: GovernancePolicy, *, runs: bool = False
) -> None:
    """Refuse a flow, or a part of it, that the policy or its own state forbids.

    And what either of them declares, and nobody would ask.
    """
    refuse_unasked_policy(policy.document, policy.verification, policy.place)
    for one in tree.walk():
        refuse_unasked_gates(one, policy.verification)
        if runs:
            refuse_state(one)
        refuse_disagreement(one, policy)


def _require_named(
    tree: FlowTree, policy: GovernancePolicy, kinds: Mapping[str, EffectKind]
) -> None:
    for one in tree.walk():
        require_named(policy, one, kinds)


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
    tree = tree_of(flow)
    _refuse_any(tree, policy, runs=not dry)
    _require_named(tree, policy, ledger.effect_kinds)
    return _with_data(ledger, assembled(tree, policy, ledger.plugins))


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
