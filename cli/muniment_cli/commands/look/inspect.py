"""``muniment inspect``: a run, where its uncertainty came from, and what caused what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muniment_cli.commands.look.runs import show_whole
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option, run_argument
from muniment_cli.terminal.output import Cell, show_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muniment_plugins.governance.views.profile import DeterminismProfile

__all__ = ["command"]


@click.group(
    "inspect",
    epilog=examples(
        "muniment inspect run last", "muniment inspect run 01JD3Z8M6Q --json"
    ),
)
def command() -> None:
    """Show a run as governance sees it.

    `muniment runs show` prints the same for runs of all kinds, and less of this.
    """


@command.command(
    "run",
    epilog=examples(
        "muniment inspect run 01JD3Z8M6Q",
        "muniment inspect run last --tenant-id operations --json",
    ),
)
@run_argument
@click.option("--full", is_flag=True, help="Do not shorten anything.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="At most this many events in the timeline.",
)
@click.option(
    "--tenant",
    "--tenant-id",
    "tenant",
    metavar="NAME",
    help="Refuse a run of another tenant.",
)
@json_option
@pass_session
def inspect_run(
    session: Session,
    run: str,
    full: bool,
    limit: int,
    tenant: str | None,
    as_json: bool,
) -> int:
    """Show one run, its determinism, and the causes of its events.

    With --json: flow, plan, pins, budgets and what was spent of them, steps, artifacts,
    evidence, claims, verdicts, marks, and the runs that it belongs to.
    """
    from muniment.errors import UsageError
    from muniment_plugins.governance.views.inspection import Inspection

    with session.open() as ledger:
        found = Inspection(ledger, ledger.run_id(run))
        owner = found.record["tenant_id"]
        if tenant not in (None, owner):
            raise UsageError(
                f"the run is of the tenant {owner!r:.80}",
                rule="run/tenant",
                place=f"run {found.run}",
                remedy="name its own tenant, or none",
            )
        if as_json:
            show_json(found.to_json())
            return 0
        more = list(_profile_rows(found.profile))
        show_whole(
            ledger, found.run, limit, full=full, more=more, causes=found.causes()
        )
    return 0


def _profile_rows(profile: DeterminismProfile) -> Iterator[tuple[str, Cell]]:
    """Yield level, classes, sources and what they do to the confidence."""
    yield "determinism", f"{profile.level}, of the classes {', '.join(profile.classes)}"
    for one in profile.source_profiles:
        effects = f"{one.effects} effect{'' if one.effects == 1 else 's'}"
        said = f"{effects}, magnitude {one.observed_magnitude}, severity {one.severity}"
        yield f"  {one.source}", said
    yield "confidence decay", f"{profile.confidence_decay:g}, of 0 to 1"
    yield "replay accepts", profile.replay_acceptability
