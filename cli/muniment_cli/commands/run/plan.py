"""``muniment plan``: says what a flow would do, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.options import examples, json_option
from muniment_cli.shell.policies import policy_option, read_policy
from muniment_cli.terminal.output import fields, say, show_json, table

if TYPE_CHECKING:
    from muniment_plugins.governance.flows.plan import PlannedStep
    from muniment_plugins.governance.flows.program import FlowProgram

__all__ = ["command"]


@click.command(
    "plan",
    epilog=examples(
        "muniment plan flow.json",
        "muniment plan flow.yaml --policy policy.yaml --json",
    ),
)
@click.argument("flow", metavar="FLOW")
@policy_option
@json_option
def command(flow: str, policy: Path | None, *, as_json: bool) -> int:
    """Say what a flow would do, and the hash of that.

    Manifest and policy are read and compared, and every function is found. Nothing is
    called or written, and no ledger is needed. Equal plans have equal hashes.
    """
    from muniment.plugins import Plugins
    from muniment_cli.replay.flow_files import policy_or_default
    from muniment_plugins.governance.documents.manifest import load_flow
    from muniment_plugins.governance.flows.start import plan_flow

    manifest = load_flow(flow)
    terms = policy_or_default(read_policy(policy))
    program = plan_flow(manifest, terms, Plugins())
    if as_json:
        show_json(_document(program))
    else:
        _show(program)
    return 0


def _document(program: FlowProgram) -> dict[str, object]:
    plan, policy = program.plan, program.policy
    return {
        **plan.stated(),
        "policy": {"name": policy.name, "digest": policy.digest, "mode": policy.mode},
        "environment": program.pins["environment"],
    }


def _show(program: FlowProgram) -> None:
    plan, policy = program.plan, program.policy
    fields(
        [
            ("flow", plan.flow.flow_id),
            ("tenant", plan.flow.tenant_id),
            ("state", plan.flow.flow_state),
            ("level", plan.flow.determinism_level),
            ("manifest", plan.flow.digest),
            ("policy", f"{policy.name} {policy.digest}"),
            ("plan", plan.digest),
        ]
    )
    say()
    rows = [
        (str(one.number), one.agent, ", ".join(one.needs), _parts(one))
        for one in plan.steps
    ]
    table(("step", "agent", "needs", "is"), rows)


def _parts(step: PlannedStep) -> str:
    from muniment.programs.references import path_of, refer

    if step.child is not None:
        return f"flow {step.child.flow.flow_id}"
    return ", ".join(
        path_of(refer(one)) if role == "agent" else f"{role} {path_of(refer(one))}"
        for role, one in step.functions.all()
    )
