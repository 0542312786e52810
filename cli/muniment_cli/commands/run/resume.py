"""``muniment resume``: continues a run that was cut off."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import (
    command_argument,
    examples,
    json_option,
    run_argument,
)
from muniment_cli.shell.policies import policy_option, read_policy, under

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.runs.execution import Done
    from muniment.runs.modes.doubt import Decide
    from muniment_cli.replay.targets import Program
    from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = ["ResumeTerms", "command", "resumed", "resumed_if_asked"]

WAITS = 5
"""The exit code of a run that waits."""


class ResumeTerms(TypedDict):
    """How whoever resumes a run wants it."""

    command_line: tuple[str, ...]
    program: str | None
    take_over: bool
    repeat: tuple[str, ...]


class How(TypedDict):
    """The arguments of the ledger's `resume`."""

    take_over: bool
    decide: Decide | None
    repeat: tuple[str, ...]


@click.command(
    "resume",
    epilog=examples(
        "muniment resume 01JD3Z8M6Q",
        "muniment resume 01JD3Z8M6Q --program triage.py:triage",
        "muniment resume 01JD3Z8M6Q --repeat-doubtful tool",
        "muniment resume 01JD3Z8M6Q -- python agent.py",
    ),
)
@run_argument
@command_argument
@click.option(
    "--take-over",
    is_flag=True,
    help="Take the run over even if its owner may be alive.",
)
@click.option(
    "--repeat-doubtful",
    metavar="KIND",
    multiple=True,
    help="Perform effects of this kind with an unknown outcome again; may be repeated.",
)
@click.option(
    "--program",
    metavar="FILE|MODULE:NAME",
    help="The run's program, if its recorded name cannot be imported.",
)
@policy_option
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    run: str,
    command_line: tuple[str, ...],
    take_over: bool,
    repeat_doubtful: tuple[str, ...],
    program: str | None,
    policy: Path | None,
    as_json: bool,
) -> int:
    """Continue a run that was cut off.

    Completed effects are answered from the record, not performed again. A failed run
    performs again the effect that it failed by. For a program that `muniment record`
    recorded, give its command line again after `--`. A resume performs real effects,
    and requires a ledger whose root is pinned.

    A governed run knows its policy; another one is refused, and so is any policy for a
    run that began without one.

    An effect with an unknown outcome may have happened. Its kind decides: it is performed
    again, or the resume is refused, or you are asked on the terminal.
    """
    asked: ResumeTerms = {
        "command_line": command_line,
        "program": program,
        "take_over": take_over,
        "repeat": repeat_doubtful,
    }
    return resumed(session, run, asked, read_policy(policy), as_json=as_json)


def resumed(
    session: Session,
    run: str,
    asked: ResumeTerms,
    policy: GovernancePolicy | None = None,
    *,
    as_json: bool,
) -> int:
    """Continue *run* as *asked*, show how it ended, and return the exit code."""
    from muniment.runs.resume import require_pinned
    from muniment_cli.replay.recall import recalled
    from muniment_cli.shell.process_end import ended_by_signals
    from muniment_cli.terminal.doubt_prompt import question
    from muniment_cli.views.interruption import code_of, told_interrupted
    from muniment_cli.views.run_progress import progress_of_run
    from muniment_cli.views.verdicts import recorded, show_outcomes
    from muniment_plugins.providers.recorder.program import Killed

    aside = contextlib.redirect_stdout(sys.stderr) if as_json else _nothing_shown()
    command_line = asked["command_line"]
    with (
        ended_by_signals(),
        session.open(write=True) as ledger,
        under(ledger, policy),
    ):
        chosen = ledger.run_id(run)
        require_pinned(ledger, chosen)
        with aside:
            called = recalled(
                ledger, chosen, asked["program"], command_line, act="resume"
            )
            # A spinner would mix with the output of a recorded command.
            shown = progress_of_run(
                ledger, chosen, as_json=as_json, hidden=bool(command_line)
            )
            try:
                with shown as aside_of_it:
                    how: How = {
                        "take_over": asked["take_over"],
                        "decide": question(aside_of_it),
                        "repeat": asked["repeat"],
                    }
                    done = _gone_on(
                        ledger, called, _resumed(ledger, chosen, called, how)
                    )
            except (Killed, KeyboardInterrupt) as end:
                if not told_interrupted(ledger, [chosen], session.ledger_url):
                    raise
                return code_of(end)
        ended = recorded(ledger, done.run_id, done.result_digest)
        return show_outcomes([ended], as_json=as_json)


def resumed_if_asked(
    session: Session, run: str | None, *, resume: bool, as_json: bool
) -> int:
    """Continue *run*, which an answer decided, if that is wanted; return the exit code.

    Where the answer decided nothing, the run still waits.
    """
    if not resume:
        return 0
    if run is None:
        return WAITS
    asked: ResumeTerms = {
        "command_line": (),
        "program": None,
        "take_over": False,
        "repeat": (),
    }
    return resumed(session, run, asked, as_json=as_json)


def _nothing_shown() -> contextlib.AbstractContextManager[object]:
    """Pause nothing: the program has the terminal to itself."""
    return contextlib.nullcontext()


def _gone_on(ledger: Ledger, program: Program, done: Done) -> Done:
    """Begin the run in which a workflow goes on as new, if *done* says that it does."""
    value = done.value
    if not isinstance(value, dict) or "continues" not in cast(
        "dict[str, object]", value
    ):
        return done
    from muniment_plugins.workflow.continuing import WorkflowDone, gone_on
    from muniment_plugins.workflow.engine.program import WorkflowProgram

    if not isinstance(program, WorkflowProgram):
        return done
    return gone_on(WorkflowDone(done, ledger), program).done


def _resumed(
    ledger: Ledger,
    run: str,
    program: Program,
    how: How,
) -> Done:
    from muniment_cli.replay.targets import is_async

    if is_async(program):
        return asyncio.run(ledger.aresume(run, program, **how))
    return ledger.resume(run, program, **how)
