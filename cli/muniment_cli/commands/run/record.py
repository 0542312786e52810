"""``muniment record``: any program, unchanged, with its HTTP calls recorded.

Rules: stdin, stdout and stderr are the program's, and so is the exit code; muniment
prints one line on stderr, at the end.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, pairs
from muniment_cli.shell.policies import policy_option, read_policy, under
from muniment_cli.terminal.output import complain, hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.ledger import Ledger
    from muniment.runs.execution import Done
    from muniment_plugins.providers.recorder.program import RecordedProgram

__all__ = ["command"]


@click.command(
    "record",
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "muniment record -- python agent.py --ticket T-1",
        "muniment record --name triage --label team=search -- ./agent.py",
        "muniment record --policy policy.json -- python agent.py",
    ),
)
@click.option("--name", metavar="NAME", help="The name of the run.")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the run."
)
@click.option(
    "--tenant", default="default", show_default=True, help="The tenant of the run."
)
@click.option(
    "--volatile",
    multiple=True,
    metavar="NAME",
    help="A header, `query.NAME` or `body.MEMBER` that differs between equal requests; "
    "it is not recorded.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="A header, parameter, member or option that is not a secret, whatever its name.",
)
@click.option(
    "--redact",
    multiple=True,
    metavar="NAME",
    help="One that is a secret; a replay and a resume know these names from the run.",
)
@policy_option
@click.option("-q", "--quiet", is_flag=True, help="Do not print the run's id.")
@click.argument(
    "command_line",
    metavar="[--] COMMAND…",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
)
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    name: str | None,
    labels: tuple[str, ...],
    tenant: str,
    volatile: tuple[str, ...],
    keep: tuple[str, ...],
    redact: tuple[str, ...],
    policy: Path | None,
    quiet: bool,
    command_line: tuple[str, ...],
) -> int:
    """Run a program unchanged, and record its calls to models.

    Calls through httpx, requests, urllib and aiohttp, and so those of most SDKs, are
    effects of one run, in every Python that the program starts. Keys and other secrets
    are removed before anything is written. The exit code is the program's; it is 1 if
    a budget of the policy halted the run, whatever the program made of that.
    """
    from muniment_cli.shell.process_end import ended_by_signals
    from muniment_cli.views.interruption import begun_since, code_of, told_interrupted
    from muniment_plugins.providers.recorder.description import described
    from muniment_plugins.providers.recorder.program import (
        Killed,
        RecordedProgram,
        require_executable,
    )

    require_executable(command_line)
    terms = read_policy(policy)
    program = RecordedProgram(command_line, _warn)
    params = described(command_line, volatile, keep, redact)
    opened = session.open(write=True)
    with ended_by_signals(), opened as ledger, under(ledger, terms):
        _require_plugin(ledger)
        before = ledger.head.size
        try:
            done = asyncio.run(
                ledger.aexecute(
                    program,
                    params=params,
                    name=name or _title(command_line),
                    labels=pairs(labels, "label"),
                    tenant=tenant,
                )
            )
        except (Killed, KeyboardInterrupt) as end:
            if not quiet:
                told_interrupted(
                    ledger, begun_since(ledger, before), session.ledger_url
                )
            return code_of(end)
        if not quiet:
            _say(ledger, done)
    return _code(done, program)


def _require_plugin(ledger: Ledger) -> None:
    from muniment.errors import CannotTellError

    if "providers" not in ledger.plugins.versions:
        raise CannotTellError(
            "the plugin that records programs may not load",
            rule="record/plugin",
            place="plugin providers",
            remedy="allow it in MUNIMENT_PLUGINS",
        )


def _title(command_line: Sequence[str]) -> str:
    from muniment_plugins.providers.recorder.description import script_of

    return Path(script_of(command_line) or command_line[0]).name


def _warn(message: str) -> None:
    complain("warning", message)


def _say(ledger: Ledger, done: Done) -> None:
    from muniment.queries.run_summary import RunSummaries
    from muniment_cli.views.explaining.reasons import marked_words, run_marks

    record = ledger.project(RunSummaries, run=done.run_id)
    calls = [f"{number} {kind}" for kind, number in sorted(record.effects.items())]
    if record.failed_effects:
        calls.append(f"{record.failed_effects} failed")
    told = ", ".join(calls) or "no calls"
    marks = marked_words(run_marks(ledger, done.run_id))
    hint(f"run {done.run_id}: {done.status}, {told}{marks}")


def _code(done: Done, program: RecordedProgram) -> int:
    """Return the program's exit code; raise the error with which muniment ended it."""
    from muniment_plugins.providers.recorder.program import ProgramFailed

    if done.error is not None and not isinstance(done.error, ProgramFailed):
        raise done.error
    return program.exit_code
