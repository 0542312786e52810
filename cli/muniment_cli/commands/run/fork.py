"""``muniment fork``: a new run that follows another one up to an event."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muniment.errors import CannotTellError
from muniment_cli.replay.acceptance import Acceptance, accept_options, mode_option
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.exact_json import exact_json
from muniment_cli.shell.options import (
    command_argument,
    examples,
    json_option,
    run_argument,
)

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done
    from muniment_cli.replay.targets import Program

__all__ = ["command"]

_MOST = 64 << 20


@click.command(
    "fork",
    epilog=examples(
        "muniment fork 01JD3Z8M6Q --at 12",
        "muniment fork 01JD3Z8M6Q --at 12 --set 9=answer.json",
        "muniment fork 01JD3Z8M6Q --at 12 --program triage.py:triage",
    ),
)
@run_argument
@command_argument
@click.option(
    "--at",
    type=click.IntRange(min=0),
    required=True,
    metavar="SEQ",
    help="Answer what ended up to this event of the run; then perform.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="SEQ=FILE",
    help="Give the outcome SEQ the value in FILE: JSON in a .json file, else its text.",
)
@click.option(
    "--program",
    metavar="FILE|MODULE:NAME",
    help="Another program, or the run's, if its recorded name cannot be imported.",
)
@mode_option("With --accept: what counts.  [default: bounded]")
@accept_options
@json_option
@pass_session
def command(  # noqa: PLR0913 - click hands over one for each option
    session: Session,
    /,
    *,
    run: str,
    command_line: tuple[str, ...],
    at: int,
    changes: tuple[str, ...],
    program: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Begin a new run that another one answers up to an event.

    The program runs from its beginning. Effects that ended up to the event are answered
    from the record of RUN, and not performed; what follows is. With `--set`, an outcome
    has another value: what if it had been this? The new run names RUN, the event and the
    changes. If a policy governed RUN, or with `--accept`, it is said afterwards how the
    new run differs from RUN, and under which terms that is acceptable; the exit code is
    that of the new run. A fork performs real effects, and requires a ledger whose root is pinned.
    """
    from muniment.runs.resume import require_pinned
    from muniment_cli.replay.recall import recalled
    from muniment_cli.shell.process_end import ended_by_signals
    from muniment_cli.views.interruption import begun_since, code_of, told_interrupted
    from muniment_cli.views.run_progress import progress_of_run
    from muniment_cli.views.verdicts import recorded, show_outcomes
    from muniment_plugins.providers.recorder.program import Killed
    from muniment_plugins.workflow.records.record import walks_graph

    acceptance = Acceptance.taken(options)
    values = _values(changes)
    aside = (
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    )
    with ended_by_signals(), session.open(write=True) as ledger:
        chosen = ledger.run_id(run)
        require_pinned(ledger, chosen, "fork")
        acceptance.terms(ledger, chosen)  # refused before anything is performed
        before = ledger.head.size
        with aside:
            act = f"fork --at {at}"
            called = recalled(ledger, chosen, program, command_line, act=act)
            graph, hidden = walks_graph(ledger, chosen), bool(command_line)
            shown = progress_of_run(ledger, graph=graph, as_json=as_json, hidden=hidden)
            try:
                with shown:
                    done = _forked(ledger, chosen, at, values, called)
            except (Killed, KeyboardInterrupt) as end:
                begun = begun_since(ledger, before)
                if not told_interrupted(ledger, begun, session.ledger_url):
                    raise
                return code_of(end)
        ended = recorded(ledger, done.run_id, done.result_digest)
        code = show_outcomes([ended], as_json=as_json)
        with aside:
            _show_delta(acceptance, ledger, chosen, done.run_id)
        return code


def _show_delta(acceptance: Acceptance, ledger: Ledger, run: str, fork: str) -> None:
    """Say how *fork* differs from *run*, if that is asked for."""
    from muniment_cli.terminal.output import fields, hint, say
    from muniment_cli.views.judgements import delta_rows

    try:
        said = acceptance.judged(ledger, run, fork)
    except CannotTellError as error:
        hint(f"how it differs from {run} cannot be told: {error.message}")
        return
    if said is not None:
        say()
        fields([("beside", run), *delta_rows(said.to_json())])


def _values(changes: tuple[str, ...]) -> dict[int, object]:
    """Return the numbers of outcomes, and their new values."""
    values = dict(map(_change, changes))
    if len(values) < len(changes):
        raise click.UsageError("--set names an outcome twice")
    return values


def _change(text: str) -> tuple[int, object]:
    """Return the number of an outcome and its new value."""
    from muniment.files.folder import read_given

    seq, _, name = text.partition("=")
    if not (seq.isascii() and seq.isdigit()) or not name:
        raise click.UsageError(f"--set takes SEQ=FILE, not {text!r}")
    try:
        content = read_given(Path(name), _MOST).decode()
        value = exact_json(content) if name.lower().endswith(".json") else content
    except OSError as error:
        raise click.UsageError(f"--set {text}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--set {text}: {error}") from None
    return int(seq), value


def _forked(
    ledger: Ledger, run: str, at: int, changes: dict[int, object], program: Program
) -> Done:
    from muniment_cli.replay.targets import is_async

    if is_async(program):
        return asyncio.run(ledger.afork(run, at=at, changes=changes, program=program))
    return ledger.fork(run, at=at, changes=changes, program=program)
