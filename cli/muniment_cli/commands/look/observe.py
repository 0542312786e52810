"""``muniment observe``: judges a recorded run by a policy that did not govern it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option, run_argument
from muniment_cli.shell.policies import judging_policy_option, read_policy
from muniment_cli.terminal.output import Cell, fields, hint, show_json, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.ledger import Ledger
    from muniment.runs.execution import Done

__all__ = ["command"]

CANNOT_TELL = 3


@click.command(
    "observe",
    epilog=examples(
        "muniment observe 01JD3Z8M6Q --policy policy.json",
        "muniment observe 01JD3Z8M6Q --policy policy.json --flow flow.json --json",
    ),
)
@run_argument
@judging_policy_option
@click.option(
    "--flow",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Judge by the budgets and intents of this flow, too.",
)
@json_option
@pass_session
def command(
    session: Session, run: str, policy: Path, flow: Path | None, as_json: bool
) -> int:
    """Judge a recorded run by a policy, whoever recorded it.

    Nothing is performed: the run's record is verified and read. The observation is a run
    of its own, which notes each limit that the run went beyond, and each verdict on what
    it reasoned; the runs that it called count with it. Exit code 1 if there is one. It is 3
    if there is none, and something that policy or flow say could not be compared: that is
    named, and so is why the record may not have all.
    """
    from muniment_plugins.governance.documents.manifest import load_flow
    from muniment_plugins.governance.governed import require_plugin
    from muniment_plugins.governance.views.observation import observe

    with session.open(write=True) as ledger:
        require_plugin(ledger)
        terms = read_policy(policy, judges=True)
        if terms is None:
            raise AssertionError("click requires --policy")
        manifest = None if flow is None else load_flow(flow)
        done = observe(ledger, run, terms, manifest)
        done.raise_failure()
        return _show(ledger, done, as_json=as_json)


def _show(ledger: Ledger, done: Done, *, as_json: bool) -> int:
    said = cast("Mapping[str, object]", done.value)
    noted = [
        ledger.resolve(one)
        for one in ledger.events(run=done.run_id, type="violation.noted")
    ]
    within = said["within"]
    code = CANNOT_TELL if within is None else 0 if within else 1
    if as_json:
        show_json({**said, "run": done.run_id, "noted": noted})
        return code
    verdicts = cast("Mapping[str, str]", said["verdicts"])
    verdict: Cell = ("within", "green") if within else ("beyond", "red")
    if within is None:
        verdict = ("cannot tell", "yellow")
    compared = cast("list[str]", said["compared"])
    missing = cast("list[Mapping[str, str]]", said["not_compared"])
    fields(
        [
            ("observed", str(said["of"])),
            ("policy", verdict),
            ("compared", f"{len(compared)} of {said['members']} members"),
            ("events", f"{said['events']:,}"),
            *((f"verdict on {name}", status) for name, status in verdicts.items()),
            ("recorded as", done.run_id),
        ]
    )
    if missing:
        table(
            ["not compared", "because"],
            [[one["what"], one["because"]] for one in missing],
        )
    if noted:
        rows: list[list[Cell]] = [
            [str(one["target"]), str(one["rule"]), str(one["detail"])] for one in noted
        ]
        table(["at", "limit", "what"], rows)
        hint(f"`muniment events --run {said['of']}` lists what happened")
    return code
