"""Resuming a run that was cut off, fenced against a second owner.

Rules:

- ``run.resumed`` raises the run's generation in the same transaction that looks for
  another: of two resumers one wins; the other is told so and has written nothing.
- A run whose owner is alive is not taken over without ``take_over``; an owner on another
  host may be alive, since that cannot be known here. The same holds for the runs that it
  called, and for those that it is a part of: a tree of runs has one owner.
- The new owner reads the end of the record in that transaction, where nobody else can
  write, and the old owner writes nothing after it: however busy the old owner is, an
  effect is either answered or known to be in doubt.
- ``run.resumed`` names the failures that ended the run: what was stated after them, in
  their scopes and around, is stated anew (`muniment.recorded.run`).
- A run that waits for people is left as it is until one of its questions is decided.
- The program runs from its beginning; what it recorded before is answered, not written
  again.
- Only a record that verifies may answer: otherwise a live run would continue from what
  somebody put into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, RefusedError, WrongError
from muniment.formats.lifecycle import CANCELED, COMPLETED, RESUMED
from muniment.formats.statement import BlobRef, Event, Place
from muniment.programs.functions import Program, find, given_in
from muniment.programs.import_guard import refuse_importing
from muniment.programs.references import describe_program, require_ready
from muniment.recorded.compare import Reading
from muniment.recorded.descent import ancestors_of
from muniment.recorded.origin import ForkedFrom, Origin
from muniment.recorded.run import Recorded
from muniment.runs.execution import refuse_async
from muniment.runs.modes.doubt import Doubts
from muniment.runs.modes.fork import ResumedFork
from muniment.runs.modes.resumed import Resume
from muniment.runs.owner import owner
from muniment.runs.recording import Recording
from muniment.runs.refusals import (
    owned,
    refuse_alive,
    refuse_alive_around,
    refuse_waiting,
)
from muniment.runs.seams import RunFacts, RunState
from muniment.storage.append import Fence
from muniment.storage.lookup import events_of_run
from muniment.storage.sealing import Draft

if TYPE_CHECKING:
    from muniment.ledger_reads import LedgerReads
    from muniment.recorded.run_check import RunCheck

__all__ = [
    "Resumption",
    "functions_of",
    "params_of",
    "program_of",
    "reading_of",
    "recorded_run",
    "refuse_final",
    "require_labellers",
    "require_pinned",
    "require_types",
    "verified_events",
    "verified_run",
]


def recorded_run(ledger: LedgerReads, run: str) -> Recorded:
    """Return the record of *run*, ready to answer.

    Raises:
        ErasedError: content that is needed was erased.

    """
    return Recorded(events_of_run(ledger.store.database, run), reading_of(ledger))


def reading_of(ledger: LedgerReads) -> Reading:
    """Return what the events of *ledger* are read with."""
    port = ledger.port
    return Reading(port.types, ledger.get_blob, port.event_format)


def verified_run(ledger: LedgerReads, run: str) -> tuple[Recorded, RunCheck]:
    """Return the record of *run*, ready to answer, and the check that verified it.

    Raises:
        ErasedError: content that is needed was erased.
        WrongError: a row of the run does not verify.

    """
    from muniment.recorded.run_check import RunCheck  # noqa: PLC0415 - for no live run

    check = RunCheck(ledger.store.database, ledger.id, run)
    record = Recorded(check.events(), reading_of(ledger))
    return record, check


def verified_events(ledger: LedgerReads, run: str) -> list[Event]:
    """Return the events of *run*, after verifying their rows.

    Raises:
        WrongError: a row does not verify.

    """
    from muniment.recorded.run_check import RunCheck  # noqa: PLC0415 - for no live run

    return RunCheck(ledger.store.database, ledger.id, run).events()


def _origin_of(ledger: LedgerReads, started: Event) -> Origin | None:
    """Return what answers the fork that *started*; None for a run that is no fork.

    Raises:
        ErasedError: content that is needed was erased.
        WrongError: the origin does not verify, or is not what the fork says.

    """
    told = ForkedFrom.of(started)
    if told is None:
        return None
    events = verified_events(ledger, told.run)
    leaves = {event.seq: event.hash for event in events}
    for seq, leaf in ((told.at, told.leaf), *told.changes):
        if leaves.get(seq) != leaf:
            raise WrongError(
                f"event {seq} of run {told.run} is not the one that the fork names",
                rule="fork/origin",
                seq=started.seq,
                place=f"run {started.run}, event {started.seq}",
                remedy="`muniment verify` judges the whole ledger",
            )
    ref = started.data.get("changed")
    changed = ledger.value(ref) if isinstance(ref, BlobRef) else None
    values = cast("list[object]", changed or [])
    return Origin(events, told, values, reading_of(ledger))


def program_of(
    ledger: LedgerReads,
    run: str,
    started: Event,
    program: Program | None,
    trust_source: bool = False,
    act: str = "replay",
) -> Program:
    """Return the program of a recorded run: given, rebuilt by a plugin, or imported.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id.
        started: its first event.
        program: the program, if it is given.
        trust_source: whether source that the run recorded may run in this process.
        act: the command that asks for it, for messages: ``replay``, ``fork --at 12``.

    """
    if program is not None:
        return program
    for _, rebuilt in ledger.plugins.ask(
        "rebuild_program", ledger=ledger, run=run, trust_source=trust_source
    ):
        if rebuilt is not None:
            return cast("Program", rebuilt)
    described = started.raw.get("program")
    known = described if isinstance(described, dict) else None
    beside, names = ledger.path.parent.parent, ledger.plugins.names
    return find(known, run, beside, names, act)


def params_of(ledger: LedgerReads, started: Event) -> Mapping[str, object]:
    """Return the params that a run was started with."""
    ref = started.data.get("params")
    if not isinstance(ref, BlobRef):
        return {}
    return cast("Mapping[str, object]", ledger.value(ref))


def functions_of(started: Event) -> list[Mapping[str, JsonValue]]:
    """Return the functions that a run was given, as its start describes them."""
    described = started.raw.get("program")
    return given_in(described) if isinstance(described, dict) else []


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that this process owns now, and what it needs to continue."""

    recording: Recording
    program: Program
    params: Mapping[str, object]

    @classmethod
    def take(  # noqa: PLR0913, PLR0917 - what a caller may decide of a resume
        cls,
        ledger: LedgerReads,
        run: str,
        program: Program | None,
        take_over: bool,
        doubts: Doubts,
        awaits: bool = False,
        parent: RunState | None = None,
    ) -> Resumption:
        """Own *run* under a new generation, or raise; its *parent* may resume it.

        Raises:
            RunPaused: it waits for people, who have not decided; nothing was written.

        """
        refuse_importing()
        for kind in doubts.repeat:
            ledger.port.kind(kind)  # refuse a mistyped one before anything is done
        if program is None:
            require_pinned(ledger, run)
        record, check = verified_run(ledger, run)
        started = record.events[0]
        refuse_final(record.events, run)
        refuse_alive(ledger, record, run, take_over)
        require_types(ledger, record, run)
        require_labellers(ledger, started)
        if parent is None:
            refuse_waiting(ledger, record, run)
        origin = _origin_of(ledger, started)
        chosen = program_of(ledger, run, started, program, act="resume")
        if not awaits:
            refuse_async(chosen)
        params = params_of(ledger, started)
        require_ready(chosen, params, functions_of(started))
        described = describe_program(chosen)
        above = ancestors_of(ledger.store.database, started)
        facts = _facts(started, params, above).below(parent)
        ledger.port.before_run(facts, record.events)
        fence = None if parent is None else parent.fence
        resumed = _own(ledger, record, check, described, take_over, above, fence)
        recording = Recording(
            ledger.port,
            run,
            facts.name,
            mode=_mode(record, origin, doubts),
            seed=cast("str", started.raw["seed"]),
            tenant=started.tenant,
            actor=ledger.port.actor,
        )
        recording.facts = facts
        recording.parent, recording.ancestors = parent, above
        recording.own(resumed.seq)
        ledger.port.tell([resumed], facts)
        return cls(recording, chosen, params)


def _mode(record: Recorded, origin: Origin | None, doubts: Doubts) -> Resume:
    if origin is None:
        return Resume(record, doubts=doubts)
    return ResumedFork(record, origin, doubts=doubts)


def require_types(ledger: LedgerReads, record: Recorded, run: str) -> None:
    """Refuse to resume if a plugin is missing that the record needs.

    Raises:
        CannotTellError: nothing here declares a type of its events.

    """
    if (event := next(record.undeclared(), None)) is not None:
        gone = ", ".join(record.missing(ledger.plugins.versions))
        raise CannotTellError(
            f"the record has {event.type} events, which no active plugin declares",
            rule="resume/plugin",
            place=f"run {run}, event {event.seq}",
            remedy="install or activate the plugin that does; of those that the run "
            f"began with, these are missing: {gone or 'none'}",
        )


def require_labellers(ledger: LedgerReads, started: Event) -> None:
    """Refuse to go on with a run without the plugins that labelled it: they govern it.

    Raises:
        CannotTellError: one is not active.

    """
    labelled = started.raw.get("labelled")
    for label, plugin in labelled.items() if isinstance(labelled, dict) else ():
        if plugin not in ledger.plugins.versions:
            raise CannotTellError(
                f"the plugin {plugin} gave the run its label {label}, and is not active",
                rule="run/labelled",
                place=f"run {started.run}, event {started.seq}",
                remedy="install or activate it",
            )


def _own(  # noqa: PLR0913, PLR0917 - what a resumption has settled by then
    ledger: LedgerReads,
    record: Recorded,
    check: RunCheck,
    program: Mapping[str, object],
    take_over: bool,
    above: Iterable[str],
    fence: Fence | None,
) -> Event:
    """Write ``run.resumed``; *record* is then the run's up to that event.

    No run *above* it may be canceled; *fence* is the parent's, if that resumes the run.
    """
    started, generation = record.events[0], _generation(record)
    run, port = cast("str", started.run), ledger.port
    fields = {
        "generation": generation + 1,
        "program": program,
        "owner": owner(),
        "took_over": take_over,
    }
    prepared = port.prepare(RESUMED, fields, run)

    def late() -> list[Draft]:
        record.extend(check.events())
        refuse_final(record.events, run)
        for one in above:
            refuse_final(events_of_run(ledger.store.database, one, 0, CANCELED), one)
        refuse_alive_around(ledger, run, above, take_over)
        if _generation(record) > generation:
            raise owned(run, "somebody else resumed the run meanwhile")
        if fatal := record.fatal():
            prepared.inline["supersedes"] = cast("JsonValue", fatal)
        place = Place(run, "", record.scopes[""].next_ordinal)
        return [Draft(prepared, port.actor, started.tenant, place)]

    (resumed,) = ledger.store.append([], late=late, fence=fence)
    record.extend([resumed])
    return resumed


def _generation(record: Recorded) -> int:
    return sum(event.type == RESUMED for event in record.events)


def _facts(
    started: Event, params: Mapping[str, object], above: tuple[str, ...]
) -> RunFacts:
    origin = ForkedFrom.of(started)
    return RunFacts(
        cast("str", started.run),
        cast("str", started.raw["name"]),
        started.tenant,
        cast("Mapping[str, str]", started.raw.get("labels", {})),
        params,
        resumed=True,
        parent=above[0] if above else None,
        root=above[-1] if above else None,
        origin=None if origin is None else origin.run,
    )


def require_pinned(ledger: LedgerReads, run: str, what: str = "resume") -> None:
    """Refuse to resume a run from a stranger's ledger, or to fork it.

    Raises:
        RefusedError: no key of the ledger is pinned.

    """
    if ledger.home.pins(ledger.id):
        return
    raise RefusedError(
        f"a {what} goes live, and none of this ledger's keys is pinned: the program "
        "that it names, and its answers, may be anybody's",
        rule="ledger/unpinned",
        place=f"run {run} of {ledger.path}",
        remedy="pin its root with `muniment keys trust FINGERPRINT`",
    )


def refuse_final(events: Iterable[Event], run: str) -> None:
    """Refuse to resume a run that is complete or canceled.

    Raises:
        RefusedError: it is.

    """
    ends = {event.type for event in events}
    for end, rule in ((COMPLETED, "run/complete"), (CANCELED, "run/canceled")):
        if end in ends:
            raise RefusedError(
                f"the run is {rule.removeprefix('run/')}",
                rule=rule,
                place=f"run {run}",
                remedy=f"`muniment runs explain {run}` says what can be done with it",
            )
