"""``muniment workflow signal|update|query|pause|continue|mail``: runs that are written to.

Rules: the run may be open in any process. A letter that can still be taken is exit code 0,
one that comes too late is 4; both are recorded. ``query`` and ``mail`` write nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import SecondsRange, examples, json_option, run_argument
from muniment_cli.terminal.output import say, show_json, table

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment_cli.terminal.output import Cell
    from muniment_plugins.workflow import SentMail

__all__ = ["MAIL_COMMANDS"]

_LATE = 4
_MOST = 4 << 20
"""The most bytes of a file: what is sent is 1 MiB of JSON without its spaces."""
_FILE = click.Path(path_type=Path, dir_okay=False)
_payload = click.option(
    "--payload",
    metavar="VALUE",
    help="What it says; parsed as JSON if possible, otherwise text.",
)
_payload_file = click.option(
    "--payload-file", type=_FILE, metavar="FILE", help="A file of JSON that says it."
)


def _said(payload: str | None, file: Path | None) -> object:
    """Return what a letter is to say.

    Raises:
        click.UsageError: it is given twice, or cannot be read.

    """
    from muniment.files.folder import read_given
    from muniment_cli.replay.targets import param
    from muniment_cli.shell.exact_json import exact_json

    if file is None:
        return None if payload is None else param(payload)
    if payload is not None:
        raise click.UsageError("give --payload or --payload-file, not both")
    try:
        return cast("JsonValue", exact_json(read_given(file, _MOST).decode()))
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{file} is no JSON: {error}") from None


def _told(sent: SentMail, *, as_json: bool) -> int:
    """Say what becomes of a letter, and return the exit code."""
    late = sent.state == "undelivered"
    if as_json:
        show_json({**sent.mail.row(), "state": sent.state, "to": sent.to})
    elif late:
        say(
            f"run {sent.mail.run} has ended: {sent.mail.name}, event {sent.mail.seq}, "
            "is recorded, and will not be delivered",
            "yellow",
        )
    else:
        passed = "" if sent.state == "waiting" else f"passed on to run {sent.to}, "
        say(
            f"run {sent.mail.run}: {passed}{sent.mail.name} waits, event {sent.mail.seq}"
        )
    return _LATE if late else 0


@click.command(
    "signal",
    epilog=examples(
        "muniment workflow signal 01JD3Z8M6Q go",
        'muniment workflow signal 01JD3Z8M6Q note --payload \'{"by": "lena"}\'',
    ),
)
@run_argument
@click.argument("name", metavar="NAME")
@_payload
@_payload_file
@json_option
@pass_session
def signal(
    session: Session,
    run: str,
    name: str,
    payload: str | None,
    payload_file: Path | None,
    as_json: bool,
) -> int:
    """Send a running workflow a signal.

    It is taken at the next node, if the graph declares it, or by a handler that waits for
    it. Exit code 4 if the run has ended for good. A run that failed can be resumed, so what
    is sent to it waits.
    """
    from muniment_plugins.workflow import workflow_signal

    said = _said(payload, payload_file)
    with session.open(write=True) as ledger:
        return _told(workflow_signal(ledger, run, name, said), as_json=as_json)


@click.command(
    "update",
    epilog=examples("muniment workflow update 01JD3Z8M6Q budget --payload 40"),
)
@run_argument
@click.argument("name", metavar="NAME")
@_payload
@_payload_file
@click.option(
    "--wait",
    type=SecondsRange(min=0, max=31_536_000),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the answer.",
)
@json_option
@pass_session
def update(  # noqa: PLR0913, PLR0917 - as above
    session: Session,
    run: str,
    name: str,
    payload: str | None,
    payload_file: Path | None,
    wait: float,
    as_json: bool,
) -> int:
    """Send a running workflow an update, and print its answer.

    Exit code 4 if it is refused, or the run ends for good without an answer; 3 if there is
    none yet: the update waits on, also for a run that failed and may be resumed.
    """
    from muniment_plugins.workflow import workflow_update

    said = _said(payload, payload_file)
    with session.open(write=True) as ledger:
        value = workflow_update(ledger, run, name, said, timeout_s=wait)
    _show_value(value, as_json=as_json)
    return 0


def _show_value(value: object, *, as_json: bool) -> None:
    if as_json or not isinstance(value, str):
        show_json(value)
    else:
        say(value)


@click.command(
    "query",
    epilog=examples(
        "muniment workflow query 01JD3Z8M6Q",
        "muniment workflow query 01JD3Z8M6Q progress --json",
    ),
)
@run_argument
@click.argument("name", metavar="[NAME]", default="status")
@json_option
@pass_session
def query(session: Session, run: str, name: str, as_json: bool) -> int:
    """Print what a workflow last published under a name; its status without one.

    Nothing is written, and no process of the run is asked.
    """
    from muniment_plugins.workflow import workflow_query

    with session.open(write=False) as ledger:
        value = workflow_query(ledger, run, name)
    _show_value(value, as_json=as_json)
    return 0


@click.command(
    "pause",
    epilog=examples(
        "muniment workflow pause 01JD3Z8M6Q --reason 'the data are late'",
        "muniment workflow pause 01JD3Z8M6Q --take-back",
    ),
)
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@click.option(
    "--take-back", is_flag=True, help="Take back pauses that no step has come to."
)
@json_option
@pass_session
def pause(
    session: Session, run: str, reason: str, take_back: bool, as_json: bool
) -> int:
    """Let a running workflow, and what it called, pause at its next node.

    `muniment resume` continues it.
    """
    from muniment_plugins.workflow import workflow_pause
    from muniment_plugins.workflow.mailbox.sending import send_control

    with session.open(write=True) as ledger:
        sent = (
            send_control(ledger, run, "resume")
            if take_back
            else workflow_pause(ledger, run, reason)
        )
        return _told(sent, as_json=as_json)


@click.command(
    "continue",
    epilog=examples("muniment workflow continue 01JD3Z8M6Q --task 'the next batch'"),
)
@run_argument
@click.option("--task", metavar="TEXT", help="What the new run is to do.")
@json_option
@pass_session
def continue_as_new(session: Session, run: str, task: str | None, as_json: bool) -> int:
    """Let a workflow go on as new: its run ends at the next node, another begins.

    A run that went on as new, and whose process ended before the next run began, is gone
    on with here.
    """
    from muniment_cli.views.verdicts import recorded, show_outcomes
    from muniment_plugins.workflow import workflow_continue, workflow_continue_as_new

    with session.open(write=True) as ledger:
        chosen = ledger.run_id(run)
        said = ledger.events(run=chosen, type="workflow.continued_as_new", limit=1)
        if next(said, None) is None:
            sent = workflow_continue_as_new(ledger, chosen, task)
            return _told(sent, as_json=as_json)
        if task is not None:
            raise click.UsageError("the run went on as new already: it has its task")
        done = workflow_continue(ledger, chosen)
        ended = recorded(ledger, done.run_id, done.result_digest)
        return show_outcomes([ended], as_json=as_json)


@click.command("mail", epilog=examples("muniment workflow mail 01JD3Z8M6Q"))
@run_argument
@json_option
@pass_session
def mail(session: Session, run: str, as_json: bool) -> int:
    """List the letters to a workflow, and what became of each."""
    from muniment_plugins.workflow import workflow_mail

    with session.open(write=False) as ledger:
        rows = workflow_mail(ledger, run)
    if as_json:
        show_json(rows)
        return 0
    cells: list[list[Cell]] = [
        [
            str(one["seq"]),
            one["kind"],
            one["name"],
            one["state"],
            str(one.get("scope", one.get("to", ""))),
            one["sender"],
        ]
        for one in rows
    ]
    table(("event", "kind", "name", "state", "where", "from"), cells)
    return 0


MAIL_COMMANDS = (signal, update, query, pause, continue_as_new, mail)
"""What `muniment workflow` has for runs that are open."""
