"""``muniment forget``: gives up the memory of the ledger at a location."""

from __future__ import annotations

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import say, show_json

__all__ = ["command"]


@click.command(epilog=examples("muniment forget old/.muniment/ledger.db"))
@click.argument("path")
@json_option
@pass_session
def command(session: Session, path: str, as_json: bool) -> int:
    """Drop the location PATH from the trust home.

    Pins, head memory and anchors of the ledger itself are kept: wherever it turns up
    again, it is checked against them.
    """
    from muniment.errors import UsageError

    home = session.home
    ledger = home.forget(path)
    if ledger is None:
        raise UsageError(
            "the trust home knows no ledger at this location",
            rule="trust/location",
            place=home.location(path),
            remedy="`muniment status` names the location of a ledger",
        )
    if as_json:
        show_json({"forgotten": home.location(path), "ledger": ledger})
    else:
        say(f"forgot {home.location(path)} ({ledger})")
    return 0
