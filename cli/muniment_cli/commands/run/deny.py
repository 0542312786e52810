"""``muniment deny``: denies what a run asks."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.keys.answer_options import answer_options
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option

__all__ = ["command"]


@click.command(
    "deny",
    epilog=examples(
        "muniment deny 01JD3Z8M6Q --reason 'not on a Friday'",
        "muniment deny 41 --key ann.pem -o answer.json",
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
    """Deny what a run asks, signed with an approver's key.

    As `muniment approve` does. If any approver may answer, one denial decides; else as
    many as make the quorum impossible.
    """
    from muniment_cli.commands.run.resume import resumed_if_asked
    from muniment_cli.keys.answers import answer

    decided = answer(
        session,
        what,
        "denied",
        reason=reason,
        meaning=meaning,
        key=key,
        output=output,
        resume=resume,
        as_json=as_json,
    )
    return resumed_if_asked(session, decided, resume=resume, as_json=as_json)
