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
    ImportElsewhere,
    MunimentError,
    RefusedError,
    ReplayDiverged,
    WrongError,
    origins,
    printable,
)
from muniment.events.visibility import PRIVATE, VISIBILITY
from muniment.formats.lifecycle import CANCELED, COMPLETED, FAILED
from muniment.formats.statement import BlobRef, Event
from muniment.programs.functions import CHANGED, Program, changed_in, given_in
from muniment.programs.read_modules import READ
from muniment.programs.stable_names import name_of
from muniment.recorded.descent import children_of
from muniment.recorded.lacking import untold
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
            imported. One that was canceled came to nothing, and is not judged.

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
        ended = perform(judge, chosen, guard, as_recorded=program is None)
    judge.conclude(ended, guard.attempts)
    guards = judge.held.guards
    report = judge.report(GUARDS if guards is None else guards)
    if children:
        report = replace(report, children=0)
        for child in called_by(ledger, run):
            if any(ledger.events(run=child, type=CANCELED, limit=1)):
                continue
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
    judge: Judge, program: Program, guard: Guard, *, as_recorded: bool = False
) -> dict[str, JsonValue] | None:
    """Call *program* over the record that *judge* has; return how it ended, as JSON.

    None for one that was stopped by a difference.

    Args:
        judge: it has the record.
        program: the recorded one, or another that somebody named.
        guard: it watches the program.
        as_recorded: whether what the run recorded, and the program imports meanwhile, has
            to be what it was: not if somebody named the program as it is now.

    Raises:
        CannotTellError: what it needs is not here.
        RefusedError: a function that it calls, or what that imports, is not the one that
            was recorded.

    """
    described = judge.record.events[0].raw.get("program")
    said = described if isinstance(described, dict) else {}
    recorded = said if as_recorded else {}
    judge.held.named(is_another=not as_recorded and _is_another(program, said))
    with READ.held(given_in(recorded), lambda: guard.is_here) as refused:
        ended = _performed(judge, program, guard)
    for one in refused:
        raise _changed(one)
    return ended


def _is_another(program: Program, said: Mapping[str, JsonValue]) -> bool:
    """Tell whether a *program* that somebody named is not what a record *said*.

    One with a stable name is that: what it was given is compared like other parameters.
    """
    if "name" in said:
        return name_of(program) != said["name"]
    try:
        return changed_in(program, said) is not None
    except (MunimentError, OSError):
        return True


def _changed(refusal: RefusedError) -> RefusedError:
    return RefusedError(
        refusal.message,
        rule=CHANGED,
        place=refusal.place,
        remedy="put the file back, or name the program as it is now, with --program",
    )


def _performed(
    judge: Judge, program: Program, guard: Guard
) -> dict[str, JsonValue] | None:
    recording, ledger = judge.recording, judge.ledger
    params = params_of(ledger, judge.record.events[0])
    judge.held.permit = guard.lifted
    try:
        value = _run(recording, program, params, guard)
        result = parse(canonical(encode(value, ledger.port.values)))
        _conclude(recording)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        halted = recording.halted
        if isinstance(halted, ReplayDiverged):
            return None
        if halted is not None:
            raise halted from None
        if isinstance(error, MunimentError) and _is_only_here(error, judge):
            raise untold(error) from error
        if isinstance(error, RefusedError) and error.rule == CHANGED:
            raise  # nor is a function that was not called, because it is another now
        text = recording.redacted(printable(error))
        private = recording.privacy.tells_end(error)
        return {
            "type": FAILED,
            "error_type": type(error).__name__,
            "message": text,
            "imports": _imports(error),
            **({VISIBILITY: PRIVATE} if private else {}),
        }
    ended: dict[str, JsonValue] = {"type": COMPLETED}
    if recording.privacy.covers_end:
        ended[VISIBILITY] = PRIVATE
    return ended if result is None else {**ended, "result": result}


def _imports(error: BaseException) -> list[JsonValue]:
    """Return the imports that failed, and by which *error* came about."""
    failed = [one for one in origins(error) if isinstance(one, ImportError)]
    return [
        {
            "error_type": type(one).__name__,
            "message": printable(one),
            "elsewhere": isinstance(one, ImportElsewhere),
        }
        for one in failed
    ]


def _is_only_here(error: MunimentError, judge: Judge) -> bool:
    """Tell whether *error* is about this machine, and did not end the recorded run.

    Something that is missing only now is not a divergence.
    """
    raw = judge.end.raw
    same = judge.end.type == FAILED and raw.get("error_type") == type(error).__name__
    return error.is_of_machine and not same


def _run(
    recording: Recording, program: Program, params: Mapping[str, object], guard: Guard
) -> object:
    lane = Run(recording)
    with lane:
        value = program(lane, **params)
        if inspect.isawaitable(value):
            return _drive(recording, cast("Awaitable[object]", value), guard)
    return value


def _conclude(recording: Recording) -> None:
    """Take the run as ended: whatever the program still does elsewhere, it does too late."""
    if not recording.ended:
        recording.require_concluded()
        recording.ended = True


def _drive(recording: Recording, awaitable: Awaitable[object], guard: Guard) -> object:
    """Await a program on a loop of its own, in a thread if one is running here."""
    import asyncio  # noqa: PLC0415 - only async programs need it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415
    from contextvars import copy_context  # noqa: PLC0415

    async def program() -> object:
        try:
            value = await awaitable
            _conclude(recording)
        finally:
            recording.ended = True  # before tasks that nobody waited for are cancelled
        return value

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
