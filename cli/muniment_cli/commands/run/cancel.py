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
    from muniment_cli.views.explaining.reasons import (
        marked_words,
        marks_json,
        run_marks,
    )

    with session.open(write=True) as ledger:
        event = ledger.cancel(run, reason)
        marks = run_marks(ledger, str(event.run))
    if as_json:
        told = {"run": event.run, "seq": event.seq, "reason": reason}
        show_json({**told, "marks": marks_json(marks)})
    else:
        say(f"run {event.run}: canceled, event {event.seq}{marked_words(marks)}")
    return 0
