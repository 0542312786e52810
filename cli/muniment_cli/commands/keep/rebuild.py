"""``muniment rebuild``: derives everything derived again, from event 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import count, say, show_json
from muniment_cli.terminal.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from muniment.ledger import Ledger
    from muniment.queries.projections import Projection

__all__ = ["command"]


@click.command(epilog=examples("muniment rebuild"))
@json_option
@pass_session
def command(session: Session, as_json: bool) -> int:
    """Delete the cache of projections, and fold all of them again from event 0.

    No answer depends on the cache: use this if it takes too much room, or if you do
    not trust the disk.
    """
    with session.open() as ledger:
        ledger.cache.clear()
        runs = [event.run for event in ledger.events(type="run.started")]
        own, offered = _projections(ledger)
        work = [
            *((one, run) for one in own for run in runs),
            *((one, None) for one in offered),
        ]
        with progress("folding") as advance:
            for done, (projection, run) in enumerate(work, 1):
                ledger.project(projection, run)
                if advance is not None:
                    advance(done, len(work))
        names = [one.name for one in (*own, *offered)]
        size = ledger.head.size
    if as_json:
        show_json({"events": size, "projections": names, "runs": len(runs)})
    else:
        told = f"{count(size, 'event')} of {count(len(runs), 'run')}"
        say(f"folded {told}: {', '.join(names)}")
    return 0


def _projections(
    ledger: Ledger,
) -> tuple[list[type[Projection[object]]], list[type[Projection[object]]]]:
    from muniment.queries.run_summary import RunSummaries

    offered = [
        one
        for _, listed in ledger.plugins.ask("projections")
        for one in cast("Iterable[type[Projection[object]]]", listed)
    ]
    return [cast("type[Projection[object]]", RunSummaries)], offered
