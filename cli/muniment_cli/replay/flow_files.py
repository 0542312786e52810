"""Flows as files: ``flow.json``, ``flow.yaml``, ``flow.toml``, planned, run, found again.

Rules:

- A flow is known by the ending of its name; it is run as a whole, with its own tenant,
  and takes no params.
- Without a policy it is run under the built-in one, and that is said.
- A recorded flow is found again by its record. A file that is named in its place is held
  to the policy of the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from muniment_cli.terminal.output import hint

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger
    from muniment_cli.replay.targets import Wanted
    from muniment_cli.views.verdicts import RunOutcome
    from muniment_plugins.governance.documents.policy import GovernancePolicy
    from muniment_plugins.governance.flows.program import FlowProgram

__all__ = ["named_flow", "policy_or_default", "run_flow"]


def policy_or_default(policy: GovernancePolicy | None) -> GovernancePolicy:
    """Return *policy*; if none was given, the built-in one, and say so."""
    if policy is not None:
        return policy
    from muniment_plugins.governance.documents.policy import GovernancePolicy

    hint(f"no --policy: the flow is held to {GovernancePolicy.DEFAULT.name}")
    return GovernancePolicy.DEFAULT


def run_flow(
    ledger: Ledger,
    target: str,
    policy: GovernancePolicy | None,
    wanted: Wanted,
) -> RunOutcome:
    """Run the flow in the file *target*, with the options of a run that are *wanted*.

    Raises:
        UsageError: file, policy or options are wrong.
        RefusedError: it may not run, or its data changed.

    """
    from muniment_cli.views.verdicts import dry_outcome, recorded
    from muniment_plugins.governance.documents.manifest import load_flow
    from muniment_plugins.governance.flows.start import start_flow

    flow = load_flow(target)
    if wanted["params"]:
        raise click.UsageError("a flow takes no -p: its manifest has its `inputs`")
    if wanted["tenant"] not in ("default", flow.tenant_id):
        raise click.UsageError(f"the flow is of the tenant {flow.tenant_id}")
    dry = wanted["mode"] == "dry"
    done = start_flow(
        ledger,
        flow,
        policy_or_default(policy),
        dry=dry,
        name=wanted["name"],
        labels=wanted["labels"],
    )
    if dry:
        return dry_outcome(ledger, done, wanted["name"] or flow.flow_id)
    return recorded(ledger, done.run_id, done.result_digest)


def named_flow(ledger: Ledger, run: str, target: str) -> FlowProgram:
    """Return the flow in the file *target*, held to the policy of the recorded *run*.

    Raises:
        UsageError: the file is wrong, or the run is no flow's.

    """
    from muniment.errors import UsageError
    from muniment.runs.resume import params_of
    from muniment_plugins.governance.documents.manifest import load_flow
    from muniment_plugins.governance.documents.policy import GovernancePolicy
    from muniment_plugins.governance.flows.start import ready_flow

    (started,) = ledger.events(run=run, limit=1)
    document = params_of(ledger, started).get("policy")
    if not isinstance(document, dict):
        raise UsageError(
            "the run is not one of a flow",
            rule="flow/run",
            place=f"run {run}",
            remedy="name the run's own program",
        )
    policy = GovernancePolicy.from_record(
        cast("dict[str, JsonValue]", document), f"policy of run {run}"
    )
    return ready_flow(ledger, load_flow(target), policy)
