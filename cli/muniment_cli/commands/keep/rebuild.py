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
    from muniment.queries.run_summary import RunSummaries

    with session.open() as ledger:
        ledger.cache.clear()
        offered = _projections(ledger)
        size, runs = ledger.head.size, 0
        with progress("folding") as advance:
            for run in ledger.runs():  # listing a run folds its summary
                runs += 1
                if advance is not None:
                    advance(run.first, size)
            for one in offered:
                ledger.project(one)
        names = [RunSummaries.name, *(one.name for one in offered)]
    if as_json:
        show_json({"events": size, "projections": names, "runs": runs})
    else:
        told = f"{count(size, 'event')} of {count(runs, 'run')}"
        say(f"folded {told}: {', '.join(names)}")
    return 0


def _projections(ledger: Ledger) -> list[type[Projection[object]]]:
    """Return the projections that plugins offer."""
    return [
        one
        for _, listed in ledger.plugins.ask("projections")
        for one in cast("Iterable[type[Projection[object]]]", listed)
    ]
