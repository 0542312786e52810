"""``muniment cancel``: gives a run up."""

from __future__ import annotations

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option, run_argument
from muniment_cli.terminal.output import say, show_json

__all__ = ["command"]


@click.command(
    "cancel",
    epilog=examples("muniment cancel 01JD3Z8M6Q --reason 'the data were wrong'"),
)
@run_argument
@click.option(
    "--reason", default="", metavar="TEXT", help="The reason; it is recorded."
)
@json_option
@pass_session
def command(session: Session, run: str, reason: str, as_json: bool) -> int:
    """Give a run up, whoever runs it.

    Its process may not write any more, and ends with its next event or effect. A
    canceled run cannot be resumed.
    """
    with session.open(write=True) as ledger:
        event = ledger.cancel(run, reason)
    if as_json:
        show_json({"run": event.run, "seq": event.seq, "reason": reason})
    else:
        say(f"run {event.run}: canceled, event {event.seq}")
    return 0
