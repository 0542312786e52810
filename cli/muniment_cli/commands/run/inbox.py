"""``muniment inbox``: the questions of runs, and answers that were signed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import CannotTellError, MunimentError
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import hint, show_json, table
from muniment_cli.views.event_view import SHORT_RUN

if TYPE_CHECKING:
    from muniment import PendingDecision
    from muniment_cli.terminal.fitting import Give

__all__ = ["command"]

_MOST = 1 << 16


@click.group(cls=DefaultGroup, epilog=examples("muniment inbox"))
def command() -> None:
    """List what runs ask people, and add answers that were signed elsewhere."""


@command.command("list", epilog=examples("muniment inbox", "muniment inbox --json"))
@json_option
@pass_session
def list_inbox(session: Session, as_json: bool) -> int:
    """List what runs ask and people have not decided yet, oldest first."""
    from muniment_cli.views.event_view import subject_of

    with session.open() as ledger:
        waiting = ledger.pending()
        approvers = ledger.keys.current("approver")
        subjects = [subject_of(ledger, one) for one in waiting]
    if as_json:
        show_json([_document(one) for one in waiting])
        return 0
    if not waiting:
        hint("no run waits for a decision")
        return 0
    rows = [
        [str(one.seq), one.run, _of(one), one.prompt, subject]
        for one, subject in zip(waiting, subjects, strict=True)
    ]
    headings = ["event", "run", "approved", "prompt", "subject"]
    gives: dict[str, Give] = {"run": SHORT_RUN, "approved": "never", "subject": "first"}
    table(headings, rows, right=["event"], gives=gives)
    if not approvers:
        hint(
            "no key has the role approver: `muniment keys request --role approver` makes "
            "one, which a root enrols"
        )
    return 0


@command.command(epilog=examples("muniment inbox add answer.json"))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@json_option
@pass_session
def add(session: Session, file: Path, as_json: bool) -> int:
    """Append the signed answer in FILE, from `muniment approve -o` or `deny -o`."""
    from muniment.files.folder import read_given
    from muniment_cli.keys.answers import told

    try:
        signed = read_given(file, _MOST)
    except OSError as error:
        raise CannotTellError(
            f"the answer cannot be read ({error.strerror})",
            rule="inbox/file",
            place=str(file),
            remedy="give the file that `muniment approve -o FILE` wrote",
        ) from None
    with session.open(write=True) as ledger:
        try:
            event = ledger.answer(signed)
        except MunimentError as error:
            error.place = f"{file} {error.place}".rstrip()
            raise
        told(ledger, event, as_json=as_json)
    return 0


def _of(one: PendingDecision) -> str:
    approved = sum(answer.outcome == "approved" for answer in one.answers)
    return f"{approved} of {one.quorum}"


def _document(one: PendingDecision) -> dict[str, object]:
    return {
        "seq": one.seq,
        "run": one.run,
        "asked": one.asked,
        "time": one.time,
        "tenant": one.tenant,
        "prompt": one.prompt,
        "subject": one.subject,
        "quorum": one.quorum,
        "of": list(one.of),
        "answers": [answer.to_json() for answer in one.answers],
    }
