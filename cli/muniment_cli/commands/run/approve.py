"""``muniment approve``: approves what a run asks."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.keys.answer_options import answer_options
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option

__all__ = ["command"]


@click.command(
    "approve",
    epilog=examples(
        "muniment approve 01JD3Z8M6Q --reason 'the numbers are right'",
        "muniment approve 41 --key ann.pem -o answer.json",
        "muniment approve 01JD3Z8M6Q --resume",
    ),
)
@answer_options
@json_option
@pass_session
def command(  # noqa: PLR0913 - click hands over one for each option
    session: Session,
    what: str,
    *,
    reason: str,
    meaning: str,
    key: str | None,
    output: Path | None,
    resume: bool,
    as_json: bool,
) -> int:
    """Approve what a run asks, signed with an approver's key.

    The answer goes into the ledger, or with -o into a file, for which a copy of the
    ledger is enough: `muniment inbox add` appends it elsewhere. With --resume the run
    continues at once, if it is decided. Reason and meaning are
    signed and recorded, and can never be erased.
    """
    from muniment_cli.commands.run.resume import resumed_if_asked
    from muniment_cli.keys.answers import answer

    decided = answer(
        session,
        what,
        "approved",
        reason=reason,
        meaning=meaning,
        key=key,
        output=output,
        resume=resume,
        as_json=as_json,
    )
    return resumed_if_asked(session, decided, resume=resume, as_json=as_json)
