"""``muniment replay``: derives a run's results again, from its events alone.

Rules: this process verifies the run's events, reads, and judges. The program runs in a
child process that has neither the ledger nor its keys, behind the layers that the
machine has; the report says which. The verdict is recorded as a new run if there is a
key and write access.
"""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any, cast

import click

from muniment.events.visibility import INSTEAD
from muniment_cli.replay.acceptance import Acceptance, accept_options, mode_option
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import (
    SecondsRange,
    command_argument,
    examples,
    json_option,
    run_argument,
)
from muniment_cli.terminal.output import Cell, fields, fitted, hint, show_json
from muniment_cli.views.event_view import VERDICT_COLOURS, short
from muniment_cli.views.judgements import hint_at_mode, judgement_rows

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.replays.replay import ReplayReport
    from muniment_plugins.governance.judgement.judge import Judgement

__all__ = ["command"]

_ALSO = 4
"""How many findings are shown beside the first."""


@click.command(
    "replay",
    epilog=examples(
        "muniment replay 01JD3Z8M6Q",
        "muniment replay 01JD3Z8M6Q --program triage.py:triage --no-record --json",
        "muniment replay 01JD3Z8M6Q -- python agent.py",
    ),
)
@run_argument
@command_argument
@mode_option(
    "What counts: everything, what may not differ, or nothing.  [default: strict]"
)
@accept_options
@click.option(
    "--program",
    metavar="FILE|MODULE:NAME",
    help="The run's program, if its recorded name cannot be imported.",
)
@click.option(
    "--trust-source",
    is_flag=True,
    help="Also run recorded source outside the capsule, if it cannot be imported.",
)
@click.option(
    "--trust-program",
    is_flag=True,
    help="Run the recorded program even if isolation layers are missing.",
)
@click.option(
    "--readable",
    multiple=True,
    metavar="PATH",
    help="Also let the program read this file or folder.",
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Also give the program this environment variable.",
)
@click.option(
    "--require-isolation",
    type=click.Choice(["none", "process", "os-partial", "os-strong"]),
    default="none",
    show_default=True,
    help="Refuse if the isolation would be weaker than this.",
)
@click.option(
    "--timeout",
    type=SecondsRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give up on a program that runs longer, with exit code 3.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=0),
    metavar="MIB",
    help="Let the program take so much memory, on Linux; 0 for no limit.  [default: half "
    "of what there is; no limit for a command]",
)
@click.option(
    "--deep",
    is_flag=True,
    help="Also replay the runs that it called, and those that they called.",
)
@click.option("--no-record", is_flag=True, help="Do not record the verdict.")
@json_option
@pass_session
def command(
    session: Session,
    /,
    run: str,
    deep: bool,
    no_record: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Derive a run's results again from its events, and compare.

    The run's own events are verified first. The program runs again in a process without
    network, ledger and keys, which may read its folder and installed packages and write
    in its own directory; effects are answered from the record. Of the environment it
    gets only what says where and how Python runs, and what `--env` names. If the machine
    lacks an isolation layer, the report says so, and a program that you did not name
    with `--program` requires `--trust-program`. For a program that `muniment record`
    recorded, give its command line again after `--`; it is kept from the network and
    the trust home, and from nothing else.

    A call of another run is answered from the record. With `--deep` each of these runs is
    replayed as well, in a process of its own, and there is one verdict for all. Their
    programs are found as recorded, whatever `--program` names.

    With `--accept`, and for a run that a policy governed, the plugin `governance` judges
    what the program did by the record, under terms: `--accept` says what may differ,
    `--mode` what is done about it. The terms are recorded with the verdict.

    Functions of an experiment that can no longer be imported run in the capsule, from
    their recorded source, or with `--trust-source` in the replaying process. Exit code
    0 if the verdict accepts the run, 1 if it diverged or its events do not verify, 3 if
    that cannot be told, 4 if the isolation would be weaker than required.
    """
    from muniment_cli.replay.run_again import ReplayOptions, run_again
    from muniment_cli.shell.process_end import ended_by_signals

    asked = ReplayOptions(acceptance=Acceptance.taken(options), **options)
    with ended_by_signals():
        done = run_again(session, run, asked, deep=deep)
    report, judgements = done.report, done.judgements
    unrecorded = "--no-record" if no_record else ""
    if not no_record:
        report, unrecorded = _recorded(session, report, judgements)
    if as_json:
        told: list[JsonValue] = [one.to_json() for one in judgements]
        show_json({**report.to_json(), "judgements": told})
    else:
        _show(report, judgements, unrecorded, command=bool(asked.command_line))
        if report.findings and not asked.command_line:
            _hint_at_python(done.python)
    return report.exit_code


def _hint_at_python(recorded: str) -> None:
    """Name the Python under which the run was recorded, if it is another."""
    here = platform.python_version()
    if recorded and recorded.split(".")[:2] != here.split(".")[:2]:
        hint(
            f"recorded under Python {recorded}; this is {here}, which computes otherwise"
        )


def _recorded(
    session: Session, report: ReplayReport, judgements: tuple[Judgement, ...]
) -> tuple[ReplayReport, str]:
    """Record the verdict if that is permitted; else say why not."""
    from muniment.errors import RefusedError, StoreError
    from muniment.replays.replay import record_verdict

    if not os.access(session.place(), os.W_OK):
        return report, "the ledger is read-only"
    try:
        with session.open(write=True) as ledger:
            if not ledger.writable:
                return report, "there is no key for this ledger"
            return record_verdict(ledger, report, _details(report, judgements)), ""
    except (RefusedError, StoreError) as error:
        return report, error.message


def _details(
    report: ReplayReport, judgements: tuple[Judgement, ...]
) -> dict[str, JsonValue] | None:
    if not judgements:
        return None
    from muniment_plugins.governance.judgement.application import details_of

    return details_of(report, judgements)


def _show(
    report: ReplayReport,
    judgements: tuple[Judgement, ...],
    unrecorded: str,
    *,
    command: bool,
) -> None:
    colour = VERDICT_COLOURS.get(report.verdict, "yellow")
    pairs: list[tuple[str, Cell]] = [
        ("run", report.run_id),
        ("verdict", (report.verdict.replace("_", " "), colour)),
        ("mode", report.mode),
        ("verified", str(report.verified)),
        ("compared", _compared(report.compared)),
        *_called(report),
        ("watched for", ", ".join(report.guards)),
        *_held(report, command=command),
    ]
    for one in judgements:
        pairs += [("judged", one.expected)] if len(judgements) > 1 else []
        pairs += judgement_rows(one.to_json())
    pairs += [] if judgements else _found(report)
    if report.result_digest is not None:
        said = INSTEAD if report.has_private else report.result_digest
        pairs.append(("result digest", said))
    pairs.append(
        ("recorded as", report.recorded_as)
        if report.recorded_as
        else ("recorded", f"no: {unrecorded}")
    )
    fields(pairs)
    first = report.first_divergence
    if first is not None and first.seq is not None:
        hint(f"`muniment events show {first.seq}` prints what was recorded")
    if any(one.what == "guard" for one in report.findings):
        hint("what reaches outside belongs into run.effect: it is answered here")
    for one in judgements:
        hint_at_mode(one)


def _found(report: ReplayReport) -> list[tuple[str, Cell]]:
    """Return the findings of the kernel's judge."""
    pairs: list[tuple[str, Cell]] = []
    gaps = [one for one in report.findings if one.what == "unrecorded"]
    pairs += [("not recorded", f"{one.field}: event {one.seq}") for one in gaps]
    changed = [one for one in report.findings if one.what == "program"]
    pairs += [("another program", fitted(one.difference)) for one in changed[:_ALSO]]
    first = report.first_divergence
    if first is not None:
        where = [f'scope "{first.scope}"'] if first.scope else []
        where += [] if first.seq is None else [f"event {first.seq}"]
        pairs += [
            ("diverged", f"{first.what} {', '.join(where)}".strip()),
            ("  field", first.field or "(the whole)"),
            ("  expected", _value(first.window[0])),
            ("  got", _value(first.window[1])),
        ]
    others = [one for one in report.findings if one not in (first, *gaps, *changed)]
    pairs += [("also", fitted(str(one))) for one in others[:_ALSO]]
    if max(len(others), len(changed)) > _ALSO:
        pairs.append(("findings", f"{len(report.findings)}; --json lists them"))
    return pairs


def _held(report: ReplayReport, *, command: bool) -> list[tuple[str, Cell]]:
    """Return the isolation level of the program, and the missing layers."""
    known = report.isolation or {}
    layers = cast("list[str]", known["layers"])
    lacking = cast("dict[str, str]", known["missing"])
    named = ", ".join(layers) or "no layer"
    pairs: list[tuple[str, Cell]] = [("isolation", f"{known['level']}: {named}")]
    pairs += [("missing", f"{name} ({why})") for name, why in lacking.items()]
    if command:
        what = "files and processes: what the command writes, it writes again"
        pairs.append(("not kept from", what))
    return pairs


def _called(report: ReplayReport) -> list[tuple[str, Cell]]:
    """Return how many child runs were replayed, if that was asked for."""
    number = report.children
    return [] if number is None else [("child runs", f"{number:,} replayed")]


def _compared(number: int) -> str:
    return "1 fact or effect" if number == 1 else f"{number:,} facts and effects"


def _value(value: JsonValue) -> str:
    return "(nothing)" if value is None else short(value, 300)
