"""``muniment replay``: a run's results derived again, from its events alone.

Rules: the program runs in a child process without keys, and without network where the
machine permits; this process only reads the verdict, prints it, and records it as a new
run where there is a key and write access.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    from muniment.errors import MunimentError
    from muniment.replaying import ReplayReport, Verdict
    from muniment_cli.replay_child import Order

__all__ = ["command"]

Document = dict[str, "JsonValue"]

_CHILD = "from muniment_cli.replay_child import main; main()"
_SECRET = ("MUNIMENT_KEY",)
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
    no_record: bool,
    as_json: bool,
) -> int:
    """Derive a run's results again from its events, and compare.

    The program runs again with network, subprocesses and file writes shut; effects are
    answered from the record. A program that `muniment record` recorded is given its
    command line again, behind `--`; it is kept from the network.

    Functions of an experiment that cannot be imported any more run in the capsule, from
    their recorded source; with `--trust-source` in the process that replays. Exit code 0 when the verdict accepts the run, 1 when it
    diverged, 3 when that cannot be told.
    """
    with session.open() as ledger:
        place, chosen = ledger.path, ledger.run_id(run)
    order: Order = {
        "ledger": str(place),
        "run": chosen,
        "mode": mode,
        "program": program,
        "command": list(command_line),
        "trust_source": trust_source,
    }
    answer = _asked(order)
    report = _report(cast("Document", answer["report"]))
    unrecorded = "--no-record" if no_record else ""
    if not no_record:
        report, unrecorded = _recorded(session, report)
    network = "shut" if answer["network"] is False else "guarded only"
    if as_json:
        show_json({**report.to_json(), "network": network})
    else:
        _show(report, network, unrecorded)
    return report.exit_code


def _asked(order: Order) -> Document:
    """Let a child replay, and return its answer.

    Raises:
        MunimentError: what the child refused or could not tell.

    """
    from muniment.errors import CannotTellError

    environment = {k: v for k, v in os.environ.items() if k not in _SECRET}
    child = subprocess.run(  # noqa: S603 - this interpreter, with our own text
        [sys.executable, "-P", "-c", _CHILD, json.dumps(order)],
        stdout=subprocess.PIPE,
        env=environment,
        check=False,
    )
    try:
        answer = cast("Document", json.loads(child.stdout))
    except ValueError:
        raise CannotTellError(
            f"the process that replayed it ended with code {child.returncode}",
            rule="replay/child",
            place=f"run {order['run']}",
            remedy="look at what it printed; the program may have ended the process",
        ) from None
    refusal = answer.get("refusal")
    if isinstance(refusal, dict):
        raise _refusal(refusal)
    return answer


def _refusal(refusal: Document) -> MunimentError:
    from muniment.errors import CannotTellError, RefusedError, UsageError, WrongError

    kinds: dict[int, type[MunimentError]] = {
        1: WrongError,
        2: UsageError,
        3: CannotTellError,
        4: RefusedError,
    }
    return kinds[cast("int", refusal["exit_code"])](
        cast("str", refusal["message"]),
        rule=cast("str", refusal["rule"]),
        place=cast("str", refusal["place"]),
        remedy=cast("str", refusal["remedy"]),
    )


def _report(document: Document) -> ReplayReport:
    from muniment.divergence import Divergence
    from muniment.replaying import ReplayReport

    findings = cast("list[Document]", document["findings"])
    return ReplayReport(
        run_id=cast("str", document["run"]),
        mode=cast("str", document["mode"]),
        verdict=cast("Verdict", document["verdict"]),
        compared=cast("int", document["compared"]),
        guards=tuple(cast("list[str]", document["guards"])),
        findings=tuple(Divergence.from_json(one) for one in findings),
        result_digest=cast("str | None", document["result_digest"]),
    )


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


def _show(report: ReplayReport, network: str, unrecorded: str) -> None:
    colour = VERDICT_COLOURS.get(report.verdict, "yellow")
    pairs: list[tuple[str, Cell]] = [
        ("run", report.run_id),
        ("verdict", (report.verdict.replace("_", " "), colour)),
        ("mode", report.mode),
        ("compared", _compared(report.compared)),
        ("guarded", ", ".join(report.guards)),
        ("network", network),
    ]
    first = report.first_divergence
    if first is not None:
        where = [f'scope "{first.scope}"'] if first.scope else []
        where += [] if first.seq is None else [f"event {first.seq}"]
        pairs += [
            ("diverged", f"{first.what} {', '.join(where)}".strip()),
            ("  field", first.field or "(the whole)"),
            ("  expected", _value(first.expected)),
            ("  got", _value(first.got)),
        ]
        others = [one for one in report.findings if one is not first]
        pairs += [("also", fitted(str(one))) for one in others[:_ALSO]]
    if len(report.findings) > 1 + _ALSO:
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


def _compared(number: int) -> str:
    return "1 fact or effect" if number == 1 else f"{number:,} facts and effects"


def _value(value: JsonValue) -> str:
    return "(nothing)" if value is None else short(value, 300)
