"""``muniment replay``: a run's results derived again, from its events alone.

Rules: this process verifies the run's events, reads, and judges. The program runs in a
child process that has neither the ledger nor its keys, behind the layers that the machine
gives; the report says which. The verdict is recorded as a new run where there is a key
and write access.
"""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.context import Session, pass_session
from muniment_cli.options import (
    command_argument,
    examples,
    json_option,
    run_argument,
)
from muniment_cli.output import Cell, fields, fitted, hint, show_json
from muniment_cli.showing import VERDICT_COLOURS, short

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.judge import Judge, Mode
    from muniment.ledger import Ledger
    from muniment.replaying import ReplayReport
    from muniment_cli.replay_child import Order
    from muniment_cli.replay_parent import Heard

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
@click.option(
    "--mode",
    type=click.Choice(["strict", "bounded", "observational"]),
    default="strict",
    show_default=True,
    help="What counts: everything, outcomes and results, or nothing.",
)
@click.option(
    "--program",
    metavar="FILE|MODULE:NAME",
    help="The run's program, where its recorded name cannot be imported.",
)
@click.option(
    "--trust-source",
    is_flag=True,
    help="Run recorded source of what cannot be imported outside the capsule, too.",
)
@click.option(
    "--trust-program",
    is_flag=True,
    help="Run the recorded program also where layers are missing that should hold it.",
)
@click.option(
    "--readable",
    multiple=True,
    metavar="PATH",
    help="Let the program read this file or folder, too.",
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Give the program this variable of the environment, too.",
)
@click.option(
    "--require-isolation",
    type=click.Choice(["none", "process", "os-partial", "os-strong"]),
    default="none",
    show_default=True,
    help="Refuse where the program would be held less strongly.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give up on a program that runs longer; that is exit code 3.",
)
@click.option("--no-record", is_flag=True, help="Do not record the verdict.")
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    run: str,
    command_line: tuple[str, ...],
    mode: str,
    program: str | None,
    trust_source: bool,
    trust_program: bool,
    readable: tuple[str, ...],
    variables: tuple[str, ...],
    require_isolation: str,
    timeout: float | None,
    no_record: bool,
    as_json: bool,
) -> int:
    """Derive a run's results again from its events, and compare.

    The run's own events are verified first. The program runs again in a process without
    network, ledger and keys, which may read its folder and installed packages and write
    in a directory of its own; effects are answered from the record. Of the environment
    it gets what says where and how Python runs, and what `--env` names. Where the machine
    lacks a layer of this, the report says so, and a program that nobody named with
    `--program` wants `--trust-program`. A program that `muniment record` recorded
    is given its command line again, behind `--`; it is kept from the network and from
    the trust home, and from nothing else.

    Functions of an experiment that cannot be imported any more run in the capsule, from
    their recorded source; with `--trust-source` in the process that replays. Exit code
    0 when the verdict accepts the run, 1 when it diverged or its events do not verify,
    3 when that cannot be told, 4 when it would be held less strongly than required.
    """
    from muniment.excerpt import excerpt
    from muniment.judge import Judge
    from muniment_cli.ending import ended_by_signals
    from muniment_cli.replay_parent import Child
    from muniment_cli.scratch import scratch_directory

    with ended_by_signals(), scratch_directory() as scratch:
        typed = bool(command_line)
        environment, withheld = _environment(scratch, variables, typed=typed)
        with Child(environment, command=typed) as child, session.open() as ledger:
            judge = Judge(ledger, ledger.run_id(run), cast("Mode", mode))
            order = _order(ledger, judge, program, command_line, readable, scratch)
            order["trust_source"] = trust_source
            order["withheld"] = withheld
            record = excerpt(ledger, judge.record)
            try:
                heard = child.conduct(
                    judge, order, record, require_isolation, trust_program, timeout
                )
            except KeyboardInterrupt:
                hint(f"replay of run {order['run']}: cut off, so nothing is judged")
                raise
    report = _report(judge, heard)
    unrecorded = "--no-record" if no_record else ""
    if not no_record:
        report, unrecorded = _recorded(session, report)
    if as_json:
        show_json(report.to_json())
    else:
        _show(report, unrecorded, command=bool(command_line))
        if report.findings and not command_line:
            _hint_at_python(judge)
    return report.exit_code


def _environment(
    scratch: str, variables: tuple[str, ...], *, typed: bool
) -> tuple[dict[str, str], list[str]]:
    """Return what the program gets of the environment, and the names of what not."""
    from muniment_cli.replay_environment import asked_for, given

    if typed:
        return {**os.environ, **asked_for(os.environ, variables)}, []
    return given({**os.environ, "TMPDIR": scratch}, variables)


def _hint_at_python(judge: Judge) -> None:
    """Say under which Python the run was recorded, if that is another."""
    told = judge.record.events[0].raw.get("environment")
    recorded = str(told.get("python", "")) if isinstance(told, dict) else ""
    here = platform.python_version()
    if recorded and recorded.split(".")[:2] != here.split(".")[:2]:
        hint(
            f"recorded under Python {recorded}; this is {here}, which computes otherwise"
        )


def _order(
    ledger: Ledger,
    judge: Judge,
    program: str | None,
    command_line: tuple[str, ...],
    more: tuple[str, ...],
    scratch: str,
) -> Order:
    from muniment.opening import DEFAULT_PLACE
    from muniment_cli.recalling import folders_of, require_commanded
    from muniment_plugins.capsule.confinement import plan
    from muniment_plugins.capsule.readable import interpreter, readable

    if command_line:
        require_commanded(judge.record.events[0], judge.recording.run_id)
    path, home = ledger.path, str(ledger.home.path)
    beside = [f"{path}{end}" for end in ("", "-wal", "-shm", "-journal", ".blobs")]
    own = folders_of(program, judge.record.events[0])
    hidden = [*beside, str(path.with_name("cache.db"))]
    if path.parent.name == DEFAULT_PLACE.parent.name:
        hidden = [str(path.parent)]  # nothing of a program's stands there
    places = readable([*interpreter(), *own, *more], hidden, [home])
    return {
        "ledger": str(path),
        "ledger_id": ledger.id,
        "run": judge.recording.run_id,
        "mode": judge.mode,
        "program": program,
        "command": list(command_line),
        "trust_source": False,
        "withheld": [],
        "plan": {} if command_line else plan(places, scratch),
        "names": {} if command_line else places.names,
        "scratch": scratch,
        "parent": os.getpid(),
        "home": home,
    }


def _report(judge: Judge, heard: Heard) -> ReplayReport:
    """Return the verdict, unless what the layers denied may be the reason for it.

    Raises:
        CannotTellError: it may.

    """
    from dataclasses import replace

    from muniment.errors import CannotTellError
    from muniment.guarding import GUARDS
    from muniment_cli.replay_environment import let_have

    report = judge.report(GUARDS if heard.guards is None else heard.guards)
    guarded = any(one.what == "guard" for one in report.findings)
    if heard.denied and not report.ok and not guarded:
        raise CannotTellError(
            f"it ended otherwise, and was kept from {', '.join(heard.denied[:3])}",
            rule="replay/denied",
            place=f"run {report.run_id}",
            remedy=f"{let_have(heard.denied)}, or replay it in Python (muniment.replay), "
            "without the layers",
        )
    return replace(report, isolation=heard.isolation)


def _recorded(session: Session, report: ReplayReport) -> tuple[ReplayReport, str]:
    """Record the verdict where that is permitted; say why where it is not."""
    from muniment.errors import RefusedError, StoreError
    from muniment.replaying import record_verdict

    if not os.access(session.place(), os.W_OK):
        return report, "the ledger is read-only"
    try:
        with session.open(write=True) as ledger:
            if not ledger.writable:
                return report, "there is no key for this ledger"
            return record_verdict(ledger, report), ""
    except (RefusedError, StoreError) as error:
        return report, error.message


def _show(report: ReplayReport, unrecorded: str, *, command: bool) -> None:
    colour = VERDICT_COLOURS.get(report.verdict, "yellow")
    pairs: list[tuple[str, Cell]] = [
        ("run", report.run_id),
        ("verdict", (report.verdict.replace("_", " "), colour)),
        ("mode", report.mode),
        ("verified", str(report.verified)),
        ("compared", _compared(report.compared)),
        ("watched for", ", ".join(report.guards)),
        *_held(report, command=command),
    ]
    gaps = [one for one in report.findings if one.what == "unrecorded"]
    pairs += [("not recorded", f"{one.field}: event {one.seq}") for one in gaps]
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
        others = [one for one in report.findings if one not in (first, *gaps)]
        pairs += [("also", fitted(str(one))) for one in others[:_ALSO]]
    if len(report.findings) - len(gaps) > 1 + _ALSO:
        pairs.append(("findings", f"{len(report.findings)}; --json lists them"))
    if report.result_digest is not None:
        pairs.append(("result digest", report.result_digest))
    pairs.append(
        ("recorded as", report.recorded_as)
        if report.recorded_as
        else ("recorded", f"no: {unrecorded}")
    )
    fields(pairs)
    if first is not None and first.seq is not None:
        hint(f"`muniment events show {first.seq}` prints what was recorded")
    if first is not None and first.what == "guard":
        hint("what reaches outside belongs into run.effect: it is answered here")


def _held(report: ReplayReport, *, command: bool) -> list[tuple[str, Cell]]:
    """Return how strongly the program was held, and what did not hold it."""
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


def _compared(number: int) -> str:
    return "1 fact or effect" if number == 1 else f"{number:,} facts and effects"


def _value(value: JsonValue) -> str:
    return "(nothing)" if value is None else short(value, 300)
