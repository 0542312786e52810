"""Deriving a result again from events, without providers, and saying where it parts.

    report = replay(ledger, run)
    report.verdict            "acceptable"
    report.first_divergence   None, or a Divergence that names field, expected and got

Rules:

- The program runs again; effects are answered from the record, reproducible ones are
  performed again and compared. Sockets, subprocesses and file writes are refused.
- A failed run replays to the same failure; that is acceptable.
- *strict* rejects any difference in what was stated, asked or returned; facts of one
  scope in another order are a finding of their own, which warns. *bounded* rejects only
  different outcomes and results; *observational* reports and rejects nothing.
- What cannot be read (erased, unfinished, no program) is *cannot tell*, and raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from muniment.canonical import JsonValue, canonical, parse
from muniment.comparing import comparable_event, first_difference
from muniment.divergence import Divergence
from muniment.errors import CannotTellError, ReplayDiverged, UsageError, printable
from muniment.events import Event
from muniment.guarding import GUARDS, Guard, guarded
from muniment.lanes import Lane
from muniment.programs import Program
from muniment.recorded import LIFECYCLE, Recorded
from muniment.resuming import params_of, program_of, recorded_run
from muniment.runs import Recording
from muniment.values import encode

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ReplayReport", "record_verdict", "replay"]

Mode = Literal["strict", "bounded", "observational"]
Verdict = Literal["acceptable", "acceptable_with_warnings", "unacceptable"]

_BLOCKING = {
    "strict": frozenset(
        {
            *("effect", "extra", "fact", "guard", "missing", "outcome", "params"),
            *("result", "type"),
        }
    ),
    "bounded": frozenset({"outcome", "result", "guard"}),
    "observational": frozenset[str](),
}


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found."""

    run_id: str
    mode: str
    verdict: Verdict
    compared: int
    """How many facts and effects were held against the record."""
    guards: tuple[str, ...]
    """What the program was kept from: sockets, subprocesses, file writes."""
    findings: tuple[Divergence, ...]
    result_digest: str | None
    recorded_as: str | None = None
    """The run that holds the verdict, where it was recorded."""

    def __str__(self) -> str:
        """Say the verdict to people, and each difference on a line."""
        lines = [
            f"run {self.run_id}: {self.verdict.replace('_', ' ')} ({self.mode})",
            f"compared: {self.compared}, kept from {', '.join(self.guards)}",
            *map(str, self.findings),
        ]
        return "\n".join(lines)

    @property
    def ok(self) -> bool:
        """Whether the verdict accepts the run."""
        return self.verdict != "unacceptable"

    @property
    def first_divergence(self) -> Divergence | None:
        """The first finding that is more than another order."""
        return next((one for one in self.findings if one.what != "order"), None)

    @property
    def exit_code(self) -> int:
        """0 when accepted, else 1."""
        return 0 if self.ok else 1

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as plain JSON."""
        first = self.first_divergence
        return {
            "run": self.run_id,
            "mode": self.mode,
            "verdict": self.verdict,
            "compared": self.compared,
            "guards": list(self.guards),
            "first_divergence": None if first is None else first.to_json(),
            "findings": [one.to_json() for one in self.findings],
            "result_digest": self.result_digest,
            "recorded_as": self.recorded_as,
        }


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

    """
    if mode not in _BLOCKING:
        raise UsageError(
            f"{mode!r} is not a mode of replay",
            rule="replay/mode",
            remedy="use strict, bounded or observational",
        )
    run = ledger.run_id(run_id)
    replaying = _Replaying(ledger, run, program, trust_source)
    replaying.recording.tolerant = mode != "strict"
    digest = replaying.perform()
    findings = tuple(replaying.findings)
    blocking = any(one.what in _BLOCKING[mode] for one in findings) or (
        mode == "bounded" and digest is None
    )
    verdict: Verdict = (
        "unacceptable"
        if blocking
        else "acceptable_with_warnings"
        if findings
        else "acceptable"
    )
    recording = replaying.recording
    guards = GUARDS if recording.guards is None else recording.guards
    report = ReplayReport(
        run, mode, verdict, recording.compared, guards, findings, digest
    )
    return record_verdict(ledger, report) if record else report


class _Replaying:
    """One program on its way through its record."""

    def __init__(
        self, ledger: Ledger, run: str, program: Program | None, trust_source: bool
    ) -> None:
        self.ledger = ledger
        self.record: Recorded = recorded_run(ledger, run)
        started = self.record.events[0]
        self.end = _end_of(self.record, run)
        self.program = program_of(ledger, run, started, program, trust_source)
        self.params = params_of(ledger, started)
        self.findings: list[Divergence] = []
        self.recording = Recording(
            ledger.port,
            run,
            cast("str", started.raw["name"]),
            mode="replay",
            seed=cast("str", started.raw["seed"]),
            tenant=started.tenant,
            record=self.record,
        )

    def perform(self) -> str | None:
        """Call the program and gather the findings; return its result digest."""
        with guarded() as guard:
            self.recording.permit = guard.lifted
            outcome, digest = self._outcome(guard)
        self.findings += self.recording.divergences
        self.findings += [
            Divergence("guard", "", None, name, None, what)
            for name, what in guard.attempts
        ]
        if digest is not None and not guard.attempts:
            self._compare_end(outcome)
        left = self.record.unused()
        if left is not None and not self.findings:
            event = left.event
            self.findings.append(Divergence.missing(left.scope, event.seq, event.type))
        self.findings += [
            Divergence("order", one.scope, one.event.seq, "position", None, None)
            for one in self.record.reordered
        ]
        return digest

    def _outcome(self, guard: Guard) -> tuple[dict[str, JsonValue], str | None]:
        """Return the end of the program as its end event would say it, compared."""
        try:
            value = _run(self.recording, self.program, self.params, guard)
            result = parse(canonical(encode(value, self.ledger.port.values)))
            self.recording.require_going()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            halted = self.recording.halted
            if isinstance(halted, ReplayDiverged):
                return {}, None
            if halted is not None:
                raise halted from None
            if isinstance(error, CannotTellError) and self.end.type == "run.completed":
                raise  # what it could tell then, and cannot now, is no divergence
            name, text = type(error).__name__, printable(error)
            digest = self.recording.digest.result({"error": [name, text]})
            return {"type": "run.failed", "error_type": name, "message": text}, digest
        ended: dict[str, JsonValue] = {"type": "run.completed"}
        if result is not None:
            ended["result"] = result
        return ended, self.recording.digest.result(result)

    def _compare_end(self, got: dict[str, JsonValue]) -> None:
        event_type = self.ledger.port.types.find(self.end.type)
        data = comparable_event(self.end, event_type, self.ledger.get_blob)
        names = ("result", "error_type", "message")
        expected: JsonValue = {name: data[name] for name in names if name in data}
        difference = first_difference(self.end.type, got.pop("type"), "type")
        if difference is None:
            difference = first_difference(expected, got)
        elif "error_type" in got:  # or nobody learns what the program raised
            raised = f"run.failed, {got['error_type']}: {got['message']}"
            difference = (*difference[:2], raised)
        if difference is not None:
            self.findings.append(Divergence("result", "", self.end.seq, *difference))


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


def _end_of(record: Recorded, run: str) -> Event:
    last = [event for event in record.events if event.type in LIFECYCLE][-1]
    if last.type in ("run.completed", "run.failed"):
        return last
    raise CannotTellError(
        "the run has no end; what it would have come to is not recorded",
        rule="replay/open",
        place=f"run {run}",
        remedy=f"`muniment resume {run}` goes on with it",
    )


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
            "findings": [one.to_json() for one in report.findings],
        },
    )
    recording.write_lifecycle(
        "run.completed", {**recording.completeness(), "result": report.verdict}
    )
    ledger.checkpoint()
    return replace(report, recorded_as=recording.run_id)
