"""Replaying one run on the command line, and on request its child runs.

Rules:

- Each run has a process of its own, with its own record, directory and layers; one
  ledger is read, and the record of each run is verified before its program is called.
- The report on all has the worst verdict, the weakest isolation, and the sums of what
  was verified and compared.
- Only the named run uses the named program, or takes a command line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from muniment_cli.replay.scratch import scratch_directory
from muniment_cli.shell.context import Session
from muniment_cli.terminal.output import hint

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.replays.judge import Judge
    from muniment.replays.replay import ReplayReport
    from muniment_cli.replay.acceptance import Acceptance
    from muniment_cli.replay.child import Order
    from muniment_cli.replay.parent import Heard
    from muniment_plugins.governance.judgement.judge import Judgement
    from muniment_plugins.governance.judgement.terms import Terms

__all__ = ["ReplayOptions", "ReplayedRun", "run_again"]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of a replay: terms, program, and isolation."""

    acceptance: Acceptance
    program: str | None
    command_line: tuple[str, ...]
    trust_source: bool
    trust_program: bool
    readable: tuple[str, ...]
    variables: tuple[str, ...]
    require_isolation: str
    timeout: float | None
    memory: int | None


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """A run that was replayed, with the runs that it called if that was asked for."""

    report: ReplayReport
    judgements: tuple[Judgement, ...]
    """Those of the plugin, if the run is judged by it; its own first."""
    python: str
    """The Python under which it was recorded."""


def run_again(
    session: Session, run: str, options: ReplayOptions, *, deep: bool
) -> ReplayedRun:
    """Replay *run*, and judge it."""
    with scratch_directory() as scratch:
        found, called = _replayed(session, run, options, scratch)
    if deep:
        found = replace(found, report=replace(found.report, children=0))
        below = replace(options, program=None, command_line=())
        for child in called:
            other = run_again(session, child, below, deep=True)
            found = replace(
                found,
                report=_joined(found.report, other.report),
                judgements=(*found.judgements, *other.judgements),
            )
    return found


def _joined(report: ReplayReport, child: ReplayReport) -> ReplayReport:
    from muniment_plugins.capsule.isolation.confinement import LEVELS

    held = [one.isolation for one in (report, child) if one.isolation is not None]
    weakest = min(held, key=lambda one: LEVELS.index(cast("str", one["level"])))
    return replace(report.with_child(child), isolation=weakest)


def _replayed(
    session: Session, run: str, options: ReplayOptions, scratch: str
) -> tuple[ReplayedRun, list[str]]:
    """Return what one run came to, and its child runs."""
    from muniment.replays.excerpt import excerpt
    from muniment.replays.judge import Judge
    from muniment.replays.replay import called_by
    from muniment_cli.replay.parent import ProgramProcess

    typed = bool(options.command_line)
    environment, withheld = _environment(scratch, options.variables, typed=typed)
    starting = ProgramProcess(environment, command=typed)
    with starting as process, session.open() as ledger:
        chosen = ledger.run_id(run)
        terms = options.acceptance.terms(ledger, chosen)
        judge = Judge(ledger, chosen, options.acceptance.mode_of(terms))
        order = _order(ledger, judge, options, scratch)
        order["withheld"] = withheld
        record = excerpt(ledger, judge.record)
        try:
            heard = process.conduct(
                judge,
                order,
                record,
                options.require_isolation,
                options.trust_program,
                options.timeout,
            )
        except KeyboardInterrupt:
            hint(f"replay of run {order['run']}: cut off, so nothing is judged")
            raise
        called = called_by(ledger, order["run"])
        report, judgements = _judged(judge, heard, terms, order)
    told = judge.record.events[0].raw.get("environment")
    python = str(told.get("python", "")) if isinstance(told, dict) else ""
    return ReplayedRun(report, judgements, python), called


def _environment(
    scratch: str, variables: tuple[str, ...], *, typed: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the environment of the program, and the withheld names."""
    from muniment_cli.replay.environment import asked_for, given

    if typed:
        return {**os.environ, **asked_for(os.environ, variables)}, []
    return given({**os.environ, "TMPDIR": scratch}, variables)


def _memory(asked: int | None, *, typed: bool) -> int:
    """Return how many MiB the program may take; a command has no limit of ours."""
    from muniment_cli.replay.memory import half_of_it

    return asked if asked is not None else 0 if typed else half_of_it()


def _order(ledger: Ledger, judge: Judge, options: ReplayOptions, scratch: str) -> Order:
    from muniment.places import DEFAULT_PLACE
    from muniment_cli.replay.recall import folders_of, require_commanded
    from muniment_plugins.capsule.isolation.confinement import plan
    from muniment_plugins.capsule.isolation.readable_paths import interpreter, readable

    program, command_line = options.program, options.command_line
    if command_line:
        require_commanded(ledger, judge.record.events[0], judge.recording.run_id)
    path, home = ledger.path, str(ledger.home.path)
    beside = [f"{path}{end}" for end in ("", "-wal", "-shm", "-journal", ".blobs")]
    own = folders_of(program, judge.record.events[0])
    hidden = [*beside, str(path.with_name("cache.db"))]
    if path.parent.name == DEFAULT_PLACE.parent.name:
        hidden = [str(path.parent)]  # it holds nothing of a program
    places = readable([*interpreter(), *own, *options.readable], hidden, [home])
    return {
        "ledger": str(path),
        "ledger_id": ledger.id,
        "run": judge.recording.run_id,
        "mode": judge.mode,
        "program": program,
        "command": list(command_line),
        "trust_source": options.trust_source,
        "withheld": [],
        "memory": _memory(options.memory, typed=bool(command_line)),
        "plan": {} if command_line else plan(places, scratch),
        "names": {} if command_line else places.names,
        "scratch": scratch,
        "parent": os.getpid(),
        "hidden": hidden,
        "home": home,
    }


def _judged(
    judge: Judge, heard: Heard, terms: Terms | None, order: Order
) -> tuple[ReplayReport, tuple[Judgement, ...]]:
    """Return the report, with the judgement under *terms* if there are any.

    Raises:
        CannotTellError: denials by the layers may explain the verdict.

    """
    from muniment.replays.guards import GUARDS

    report = judge.report(GUARDS if heard.guards is None else heard.guards)
    report = replace(report, isolation=heard.isolation)
    judgements: tuple[Judgement, ...] = ()
    if terms is not None:
        from muniment_plugins.governance.judgement import application

        said = application.judge_report(judge.ledger, report, terms)
        report, judgements = application.with_judgements(report, [said]), (said,)
    _require_undenied(report, heard, order)
    return report, judgements


def _require_undenied(report: ReplayReport, heard: Heard, order: Order) -> None:
    from muniment.errors import CannotTellError
    from muniment_cli.replay.environment import let_have

    guarded = any(one.what == "guard" for one in report.findings)
    if heard.denied and report.verdict == "unacceptable" and not guarded:
        raise CannotTellError(
            f"it ended otherwise, and was kept from {', '.join(heard.denied[:3])}",
            rule="replay/denied",
            place=f"run {report.run_id}",
            remedy=let_have(heard.denied, order["hidden"], order["home"]),
        )
