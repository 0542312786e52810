"""``muniment amend``: asks the people of a policy for other budgets."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option, run_argument
from muniment_cli.shell.policies import read_policy

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.governance.documents.manifest import FlowManifest
    from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = ["command"]


@click.command(
    "amend",
    epilog=examples(
        "muniment amend 01JD3Z8M6Q policy.json --reason 'the corpus has doubled'",
        "muniment amend 01JD3Z8M6Q --flow flow.json",
    ),
)
@run_argument
@click.argument(
    "policy", required=False, type=click.Path(path_type=Path, dir_okay=False)
)
@click.option(
    "--flow",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also amend the budgets of the flow that the run is.",
)
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@json_option
@pass_session
def command(
    session: Session,
    run: str,
    policy: Path | None,
    flow: Path | None,
    reason: str,
    as_json: bool,
) -> int:
    """Ask the approvers of a run's policy to change its budgets.

    POLICY is the run's policy with other budgets, intents or weights; nothing else may
    differ. The question is a run of its own, which waits for the people whom the policy
    names: `muniment approve` answers it, and `muniment resume` of that run then states
    the amendment. After that the amended run can be resumed.
    """
    from muniment_cli.shell.process_end import ended_by_signals
    from muniment_cli.views.verdicts import recorded, show_outcomes

    aside = (
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    )
    with ended_by_signals(), session.open(write=True) as ledger:
        if policy is None and flow is None:
            raise click.UsageError("give a policy, or --flow FILE")
        terms = read_policy(policy)
        with aside:
            asked = _ask(ledger, ledger.run_id(run), terms, flow, reason)
        return show_outcomes([recorded(ledger, asked)], as_json=as_json)


def _ask(
    ledger: Ledger,
    run: str,
    policy: GovernancePolicy | None,
    flow: Path | None,
    reason: str,
) -> str:
    """Start the run that asks; return its id."""
    from muniment_plugins.governance.budgets.adopted import governing_of
    from muniment_plugins.governance.budgets.amendments import amend, amendment_of
    from muniment_plugins.governance.governed import require_plugin

    require_plugin(ledger)
    started, known = governing_of(ledger, run)
    manifest = None if flow is None else _manifest(flow)
    params = amendment_of(started, known, policy, manifest, reason)
    done = ledger.execute(
        amend, params=params, name=f"amendment of {run}", tenant=started.tenant
    )
    if done.error is not None:
        raise done.error
    return done.run_id


def _manifest(path: Path) -> FlowManifest:
    from muniment_plugins.governance.documents.manifest import load_flow

    return load_flow(path)
