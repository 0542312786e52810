"""``muniment plan``: says what a flow or a graph would do, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.options import examples, json_option
from muniment_cli.shell.policies import ceiling_option, policy_option, read_policy
from muniment_cli.terminal.output import fields, say, show_json, table

if TYPE_CHECKING:
    from muniment_cli.replay.targets import Wanted
    from muniment_plugins.governance.flows.plan import PlannedStep
    from muniment_plugins.governance.flows.program import FlowProgram

__all__ = ["command"]


@click.command(
    "plan",
    epilog=examples(
        "muniment plan flow.json",
        "muniment plan flow.yaml --policy policy.yaml --json",
        "muniment plan graph.json --task 'Mend the parser.' -p max_steps=8",
        "muniment plan repair.py:graph",
    ),
)
@click.argument("document", metavar="FLOW|GRAPH|FILE:NAME")
@click.option("--task", metavar="TEXT", help="What a graph is to do.")
@click.option(
    "--artifact",
    "artifacts",
    multiple=True,
    metavar="FILE",
    help="A file that a graph works on; may be repeated.",
)
@ceiling_option
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of a graph, such as max_steps=8.",
)
@policy_option
@json_option
def command(  # noqa: PLR0913 - click hands over one for each option
    document: str,
    task: str | None,
    artifacts: tuple[str, ...],
    ceiling: Path | None,
    params: tuple[str, ...],
    policy: Path | None,
    *,
    as_json: bool,
) -> int:
    """Say what a flow or a graph would do, and the hash of that.

    Documents and policy are read and compared, and every function is found: its module
    is imported, as by run. No function is called, nothing is recorded, and no ledger is
    needed. Equal plans have equal hashes.
    """
    from muniment_cli.replay.documents import family_of
    from muniment_cli.replay.graph_files import refuse_graph_options
    from muniment_cli.replay.targets import wanted_of

    wanted = wanted_of(
        params, task=task, artifacts=artifacts, ceiling=ceiling, dry=True
    )
    if family_of(document) == "graph":
        return _of_graph(document, wanted, policy, as_json=as_json)
    refuse_graph_options(wanted, "a flow")
    if params:
        raise click.UsageError("a flow takes no -p: its manifest has its `inputs`")
    return _of_flow(document, policy, as_json=as_json)


def _of_graph(
    document: str, wanted: Wanted, policy: Path | None, *, as_json: bool
) -> int:
    from muniment_cli.replay.graph_files import graph_named, plan_graph
    from muniment_cli.views.graphs.plans import show_graph_plan

    terms = read_policy(policy)
    plan = plan_graph(graph_named(document), wanted)
    if terms is not None:
        plan["policy"] = {
            "name": terms.name,
            "digest": terms.digest,
            "mode": terms.mode,
        }
    if as_json:
        show_json(plan)
    else:
        show_graph_plan(plan)
    return 0


def _of_flow(document: str, policy: Path | None, *, as_json: bool) -> int:
    from muniment.plugins import Plugins
    from muniment_cli.replay.flow_files import policy_or_default
    from muniment_plugins.governance.documents.manifest import load_flow
    from muniment_plugins.governance.flows.start import plan_flow

    manifest = load_flow(document)
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
