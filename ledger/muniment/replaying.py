"""Deriving a result again from events, without providers, and saying where it parts.

    report = replay(ledger, run)
    report.verdict            "acceptable"
    report.first_divergence   None, or a Divergence that names field, expected and got

Rules:

- The run's own events are verified first; the report says how many. One that does not
  verify is raised before the program is called.
- The program runs again; effects are answered from the record, reproducible ones are
  performed again and compared. Sockets, subprocesses and file writes that are seen
  are refused.
- A failed run replays to the same failure; that is acceptable.
- The program runs in this process, watched by an audit hook: what passes that is not
  seen. `muniment replay` runs it behind the layers of the system.
- `muniment.judge` says what the modes reject.
- What cannot be read (erased, unfinished, no program) is *cannot tell*, and raised. So
  is what nothing could be compared of, where the record says that it lacks something.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.canonical import JsonValue, canonical, parse
from muniment.errors import CannotTellError, ReplayDiverged, printable
from muniment.guarding import GUARDS, Guard, guarded
from muniment.judge import Judge, Mode, ReplayReport
from muniment.lanes import Lane
from muniment.programs import Program
from muniment.resuming import params_of, program_of
from muniment.runs import Recording
from muniment.values import encode

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ReplayReport", "perform", "record_verdict", "replay"]


def replay(
    ledger: Ledger,
    run_id: str,
    program: Program | None = None,
    mode: Mode = "strict",
    record: bool = False,
    trust_source: bool = False,
) -> ReplayReport:
    """Run the program of *run_id* again, answered from *ledger*, and compare.

    Args:
        ledger: the ledger that holds the run; opening it without keys is enough.
        run_id: the run's id, or a unique prefix.
        program: where it cannot be imported by its recorded name.
        mode: ``strict``, ``bounded`` or ``observational``.
        record: append the verdict as a new run that names the original.
        trust_source: run source that the run recorded in this process, where what it
            called cannot be imported; else such source runs in the capsule, or not.

    Raises:
        CannotTellError: the run has no end, lost contents, or an unknown program.
        WrongError: the run's record does not verify.

    """
    run = ledger.run_id(run_id)
    judge = Judge(ledger, run, mode)
    started = judge.record.events[0]
    chosen = program_of(ledger, run, started, program, trust_source)
    with guarded() as guard:
        ended = perform(judge, chosen, guard)
    judge.conclude(ended, guard.attempts)
    guards = judge.recording.guards
    report = judge.report(GUARDS if guards is None else guards)
    return record_verdict(ledger, report) if record else report


def perform(
    judge: Judge, program: Program, guard: Guard
) -> dict[str, JsonValue] | None:
    """Call *program* over the record that *judge* has; return how it ended, as JSON.

    None for one that was stopped by a difference.

    Raises:
        CannotTellError: what it needs is not here.

    """
    recording, ledger = judge.recording, judge.ledger
    params = params_of(ledger, judge.record.events[0])
    recording.permit = guard.lifted
    try:
        value = _run(recording, program, params, guard)
        result = parse(canonical(encode(value, ledger.port.values)))
        recording.require_going()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        halted = recording.halted
        if isinstance(halted, ReplayDiverged):
            return None
        if halted is not None:
            raise halted from None
        if isinstance(error, CannotTellError) and judge.end.type == "run.completed":
            raise  # what it could tell then, and cannot now, is no divergence
        text = recording.redacted(printable(error))
        return {
            "type": "run.failed",
            "error_type": type(error).__name__,
            "message": text,
        }
    ended: dict[str, JsonValue] = {"type": "run.completed"}
    return ended if result is None else {**ended, "result": result}


def _run(
    recording: Recording, program: Program, params: Mapping[str, object], guard: Guard
) -> object:
    lane = Lane(recording)
    with lane:
        value = program(lane, **params)
        if inspect.isawaitable(value):
            return _drive(cast("Awaitable[object]", value), guard)
    return value


def _drive(awaitable: Awaitable[object], guard: Guard) -> object:
    """Await a program on a loop of its own, in a thread if one is running here."""
    import asyncio  # noqa: PLC0415 - only async programs need it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415
    from contextvars import copy_context  # noqa: PLC0415

    async def program() -> object:
        return await awaitable

    def run() -> object:
        with asyncio.Runner() as runner:
            with guard.lifted():
                runner.get_loop()
            return runner.run(program(), context=copy_context())

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, run).result()


def record_verdict(ledger: Ledger, report: ReplayReport) -> ReplayReport:
    """Append the verdict as a run of its own, and return the report that names it."""
    _, recording = ledger.port.start(
        None,
        None,
        f"replay of {report.run_id}",
        None,
        "default",
        "live",
        None,
        replay_of=report.run_id,
    )
    recording.write_lifecycle(
        "replay.judged",
        {
            "replay_of": report.run_id,
            "mode": report.mode,
            "verdict": report.verdict,
            "compared": report.compared,
            "guards": list(report.guards),
            "level": None if report.isolation is None else report.isolation["level"],
            "findings": [one.to_json() for one in report.findings],
        },
    )
    recording.write_lifecycle(
        "run.completed", {**recording.completeness(), "result": report.verdict}
    )
    ledger.checkpoint()
    return replace(report, recorded_as=recording.run_id)
