"""Deriving a result again from events, without providers, and naming the differences.

    report = replay(ledger, run)
    report.verdict            "acceptable"
    report.first_divergence   None, or a Divergence that names field, expected and got

Rules:

- The run's own events are verified first; the report says how many. If one does not
  verify, an error is raised before the program is called.
- The program runs again; effects are answered from the record, reproducible ones are
  performed again and compared. Sockets, subprocesses and file writes that are seen
  are refused.
- A failed run replays to the same failure; that is acceptable.
- The program runs in this process, watched by an audit hook, which does not see
  everything. `muniment replay` runs it behind isolation layers.
- `muniment.replays.judge` says what the modes reject.
- Anything that cannot be read (erased, unfinished, no program) is *cannot tell*, and
  raised. So is a replay in which nothing could be compared because the record says that
  it lacks something.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue, canonical, parse
from muniment.encoding.codec import decode, encode
from muniment.errors import (
    CannotTellError,
    RefusedError,
    ReplayDiverged,
    WrongError,
    printable,
)
from muniment.formats.lifecycle import COMPLETED, FAILED
from muniment.formats.statement import BlobRef, Event
from muniment.programs.functions import CHANGED, Program
from muniment.recorded.descent import children_of
from muniment.replays.guards import GUARDS, Guard, guarded
from muniment.replays.judge import Judge, Mode, ReplayReport
from muniment.runs.modes.live import Dry
from muniment.runs.recording import Recording
from muniment.runs.resume import params_of, program_of
from muniment.runs.run import Run

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "ReplayReport",
    "called_by",
    "execute_code",
    "perform",
    "record_verdict",
    "replay",
]


def replay(  # noqa: PLR0913, PLR0917 - each but the first two with a default
    ledger: Ledger,
    run_id: str,
    program: Program | None = None,
    mode: Mode = "strict",
    record: bool = False,
    trust_source: bool = False,
    children: bool = False,
) -> ReplayReport:
    """Run the program of *run_id* again, answered from *ledger*, and compare.

    Args:
        ledger: the ledger that holds the run; opening it without keys is enough.
        run_id: the run's id, or a unique prefix.
        program: needed if it cannot be imported by its recorded name.
        mode: ``strict``, ``bounded`` or ``observational``.
        record: append the verdict as a new run that names the original.
        trust_source: run recorded source in this process if a called function cannot
            be imported; else such source runs in the capsule, or not at all.
        children: also replay each child run, and judge all as one; their programs are
            imported.

    Raises:
        CannotTellError: the run has no end, lost blobs, or an unknown program.
        RefusedError: a file is not the one that was recorded.
        WrongError: the run's record does not verify.

    """
    run = ledger.run_id(run_id)
    judge = Judge(ledger, run, mode)
    started = judge.record.events[0]
    chosen = program_of(ledger, run, started, program, trust_source)
    with guarded() as guard:
        ended = perform(judge, chosen, guard)
    judge.conclude(ended, guard.attempts)
    guards = judge.held.guards
    report = judge.report(GUARDS if guards is None else guards)
    if children:
        report = replace(report, children=0)
        for child in called_by(ledger, run):
            below = replay(ledger, child, None, mode, False, trust_source, True)
            report = report.with_child(below)
    return record_verdict(ledger, report) if record else report


def called_by(ledger: Ledger, run: str) -> list[str]:
    """Return the runs that *run* called, in their order.

    Raises:
        WrongError: *run* says of one that it came to something else than it did.

    """
    found = dict.fromkeys(
        str(one.run) for one in children_of(ledger.store.database, run)
    )
    for event in ledger.events(run=run, type="child.completed"):
        by, about = event.raw.get("answered_by"), event.raw.get("about")
        if isinstance(by, dict) and by.get("who") != "performer":
            continue  # by a plugin or another record: no run was called
        child = about.get("run") if isinstance(about, dict) else None
        if not isinstance(child, str) or not _ended_so(ledger, child, event):
            raise WrongError(
                "the call does not say what the child run came to",
                rule="child/result",
                place=f"run {run}, event {event.seq}",
                seq=event.seq,
                remedy="run `muniment verify`; ask who wrote the run",
            )
        found[child] = None
    return [*found]


def _ended_so(ledger: Ledger, child: str, call: Event) -> bool:
    """Tell whether *child* completed as the *call* says it did."""
    ends = ledger.events(run=child, type=COMPLETED, to_seq=call.seq)
    end, about = next(iter(ends), None), cast("dict[str, object]", call.raw["about"])
    if end is None or end.hash != about.get("leaf"):
        return False
    value, result = call.data.get("value"), end.data.get("result")
    if isinstance(value, BlobRef) and isinstance(result, BlobRef):
        if not (ledger.holds(value.digest) and ledger.holds(result.digest)):
            return True  # one was erased: nothing to compare
        return ledger.get_blob(value) == ledger.get_blob(result)
    return value is result


def perform(
    judge: Judge, program: Program, guard: Guard
) -> dict[str, JsonValue] | None:
    """Call *program* over the record that *judge* has; return how it ended, as JSON.

    None for one that was stopped by a difference.

    Raises:
        CannotTellError: what it needs is not here.
        RefusedError: a function that it calls is not the one that was recorded.

    """
    recording, ledger = judge.recording, judge.ledger
    params = params_of(ledger, judge.record.events[0])
    judge.held.permit = guard.lifted
    try:
        value = _run(recording, program, params, guard)
        result = parse(canonical(encode(value, ledger.port.values)))
        recording.require_unfailed()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        halted = recording.halted
        if isinstance(halted, ReplayDiverged):
            return None
        if halted is not None:
            raise halted from None
        if isinstance(error, CannotTellError) and judge.end.type == COMPLETED:
            raise  # something that is missing only now is not a divergence
        if isinstance(error, RefusedError) and error.rule == CHANGED:
            raise  # nor is a function that was not called, because it is another now
        text = recording.redacted(printable(error))
        return {
            "type": FAILED,
            "error_type": type(error).__name__,
            "message": text,
        }
    ended: dict[str, JsonValue] = {"type": COMPLETED}
    return ended if result is None else {**ended, "result": result}


def _run(
    recording: Recording, program: Program, params: Mapping[str, object], guard: Guard
) -> object:
    lane = Run(recording)
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


def record_verdict(
    ledger: Ledger,
    report: ReplayReport,
    details: Mapping[str, object] | None = None,
) -> ReplayReport:
    """Append the verdict as a run of its own, and return the report that names it.

    It has the tenant of the judged run. *details* are what plugins say about it, by
    plugin.
    """
    (judged,) = ledger.events(run=report.run_id, limit=1)
    _, recording = ledger.port.start(
        None,
        None,
        f"replay of {report.run_id}",
        None,
        judged.tenant,
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
            "children": report.children,
            "guards": list(report.guards),
            "level": None if report.isolation is None else report.isolation["level"],
            "findings": [one.to_json() for one in report.findings],
            "details": None if details is None else dict(details),
        },
    )
    recording.write_lifecycle(
        COMPLETED, {**recording.completeness(), "result": report.verdict}
    )
    ledger.checkpoint()
    return replace(report, recorded_as=recording.run_id)


def execute_code(judge: Judge, request: JsonValue) -> object:
    """Execute synthesised code for a program that may start nothing itself.

    Request and answer are encoded values, as they pass between the two processes.
    """
    port, known = judge.ledger.port, judge.recording
    aside = Recording(port, known.run_id, known.name, mode=Dry(), seed=known.seed)
    asked = {"run": Run(aside), "request": decode(request, port.values)}
    return encode(port.hook("execute_code", **asked), port.values)
