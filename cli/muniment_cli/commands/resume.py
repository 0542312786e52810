"""``muniment resume``: goes on with a run that was cut off."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from muniment_cli.context import Session, pass_session
from muniment_cli.options import (
    command_argument,
    examples,
    json_option,
    run_argument,
)
from muniment_cli.output import hint

if TYPE_CHECKING:
    from muniment.executing import Done
    from muniment.ledger import Ledger
    from muniment_cli.targets import Program

__all__ = ["command"]


@click.command(
    "resume",
    epilog=examples(
        "muniment resume 01JD3Z8M6Q",
        "muniment resume 01JD3Z8M6Q --program triage.py:triage --repeat-doubtful",
        "muniment resume 01JD3Z8M6Q -- python agent.py",
    ),
)
@run_argument
@command_argument
@click.option("--take-over", is_flag=True, help="Although its owner may be alive.")
@click.option(
    "--repeat-doubtful",
    is_flag=True,
    help="Perform effects again whose outcome is unknown.",
)
@click.option(
    "--program",
    metavar="FILE|MODULE:NAME",
    help="The run's program, where its recorded name cannot be imported.",
)
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    run: str,
    command_line: tuple[str, ...],
    take_over: bool,
    repeat_doubtful: bool,
    program: str | None,
    as_json: bool,
) -> int:
    """Go on with a run that was cut off.

    Effects that completed are answered from the record, not performed again. A failed
    run performs again the effect that it failed by. A program that `muniment record`
    recorded is given its command line again, behind `--`. It goes live, and wants a
    ledger whose root is pinned.
    """
    from muniment.resuming import require_pinned
    from muniment_cli.recalling import recalled
    from muniment_cli.verdicts import progress_of_run, recorded, show_outcomes
    from muniment_plugins.providers.recorder.program import Killed

    aside = (
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    )
    decide: Callable[[str, object], str] | None = _repeat if repeat_doubtful else None
    with session.open(write=True) as ledger:
        chosen = ledger.run_id(run)
        require_pinned(ledger, chosen)
        with aside:
            called = recalled(ledger, chosen, program, command_line)
            # A program that prints by itself and a spinner do not go together.
            shown = (
                contextlib.nullcontext() if command_line else progress_of_run(ledger)
            )
            try:
                with shown:
                    done = _resumed(ledger, chosen, called, take_over, decide)
            except (Killed, KeyboardInterrupt) as end:
                return _cut_off(ledger, chosen, end, session.ledger_url)
        ended = recorded(ledger, done.run_id, done.result_digest)
        return show_outcomes([ended], as_json=as_json)


def _resumed(
    ledger: Ledger,
    run: str,
    program: Program,
    take_over: bool,
    decide: Callable[[str, object], str] | None,
) -> Done:
    from muniment_cli.targets import is_async

    if is_async(program):
        return asyncio.run(
            ledger.aresume(run, program, take_over=take_over, decide=decide)
        )
    return ledger.resume(run, program, take_over=take_over, decide=decide)


def _cut_off(ledger: Ledger, run: str, end: BaseException, url: str | None) -> int:
    """Say how to go on, and return what a shell says of *end*."""
    from muniment_cli.explaining import ways_on

    hint(f"run {run}: interrupted")
    for line in ways_on(ledger, run, url):
        hint(line)
    return getattr(end, "code", 130)


def _repeat(_kind: str, _request: object) -> str:
    return "repeat"
