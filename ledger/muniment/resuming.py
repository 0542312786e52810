"""Going on with a run that was cut off, fenced against a second owner.

Rules:

- ``run.resumed`` raises the run's generation in the same transaction that looks for
  another: of two resumers one wins, the other is told so and has written nothing.
- An owner that is alive is not overtaken without ``take_over``; an owner on another
  host may be alive, for all that can be known here.
- Who takes over reads the end of the record in that transaction, where nobody else can
  write, and the old owner writes no more after it: however busy that is, an effect is
  either answered or known to be in doubt.
- The program runs from its beginning; what it recorded before is answered, not written
  again.
- It is answered from a record that verifies, or not at all: a live run would go on from
  what somebody put into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.batch import Draft
from muniment.canonical import JsonValue
from muniment.errors import RefusedError, RunFenced
from muniment.events import BlobRef, Event, Place
from muniment.executing import is_alive, owner, refuse_async
from muniment.imports import refuse_importing
from muniment.programs import Program, describe, find
from muniment.reading import events_of_run
from muniment.recorded import LIFECYCLE, Recorded
from muniment.run_check import RunCheck
from muniment.runs import Recording
from muniment.store import Fence

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Resumption", "program_of", "recorded_run", "require_pinned", "verified_run"]


def recorded_run(ledger: Ledger, run: str) -> Recorded:
    """Return the record of *run*, ready to answer.

    Raises:
        ErasedError: a content that is needed was erased.

    """
    return Recorded(
        events_of_run(ledger.store.database, run),
        ledger.port.types,
        ledger.get_blob,
    )


def verified_run(ledger: Ledger, run: str) -> tuple[Recorded, RunCheck]:
    """Return the record of *run*, ready to answer, and what has verified it.

    Raises:
        ErasedError: a content that is needed was erased.
        WrongError: a row of the run does not verify.

    """
    check = RunCheck(ledger.store.database, ledger.id, run)
    record = Recorded(check.events(), ledger.port.types, ledger.get_blob)
    return record, check


def program_of(
    ledger: Ledger,
    run: str,
    started: Event,
    program: Program | None,
    trust_source: bool = False,
) -> Program:
    """Return the program of a recorded run: given, rebuilt by a plugin, or imported.

    Args:
        ledger: the ledger that holds the run.
        run: the run's id.
        started: its first event.
        program: the program, where it is given.
        trust_source: whether source that the run recorded may run in this process.

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
    return find(known, run, beside=ledger.path.parent.parent)


def params_of(ledger: Ledger, started: Event) -> Mapping[str, object]:
    """Return the params that a run was started with."""
    ref = started.data.get("params")
    if not isinstance(ref, BlobRef):
        return {}
    return cast("Mapping[str, object]", ledger.value(ref))


@dataclass(frozen=True, slots=True)
class Resumption:
    """A run that this process owns now, and what it needs to go on."""

    recording: Recording
    program: Program
    params: Mapping[str, object]

    @classmethod
    def take(
        cls,
        ledger: Ledger,
        run: str,
        program: Program | None,
        take_over: bool,
        decide: Callable[[str, object], str] | None,
        awaits: bool = False,
    ) -> Resumption:
        """Own *run* under a new generation, or raise."""
        refuse_importing()
        if program is None:
            require_pinned(ledger, run)
        record, check = verified_run(ledger, run)
        started = record.events[0]
        _refuse_complete(record, run)
        _refuse_alive(ledger, record, run, take_over)
        chosen = program_of(ledger, run, started, program)
        if not awaits:
            refuse_async(chosen)
        if (ready := getattr(chosen, "before_resume", None)) is not None:
            ready()  # what it lacks is said while the run is as it was
        params, described = params_of(ledger, started), describe(chosen)
        resumed = _own(ledger, record, check, described, take_over)
        recording = Recording(
            ledger.port,
            run,
            cast("str", started.raw["name"]),
            mode="resume",
            seed=cast("str", started.raw["seed"]),
            tenant=started.tenant,
            actor=ledger.port.actor,
            record=record,
        )
        recording.decide = decide
        recording.strict = _is_other(described, started.raw.get("program"))
        recording.fence = Fence(run, resumed.seq)
        ledger.port.tell([resumed])
        return cls(recording, chosen, params)


def _own(
    ledger: Ledger,
    record: Recorded,
    check: RunCheck,
    program: Mapping[str, object],
    take_over: bool,
) -> Event:
    """Write ``run.resumed``; *record* is then the run's up to that event."""
    started, generation = record.events[0], _generation(record)
    run, port = cast("str", started.run), ledger.port
    fields = {
        "generation": generation + 1,
        "program": program,
        "owner": owner(),
        "took_over": take_over,
    }
    prepared = port.prepare("run.resumed", fields, run)

    def late() -> list[Draft]:
        record.extend(check.events())
        _refuse_complete(record, run)
        if _generation(record) > generation:
            raise _owned(run, "somebody else resumed the run meanwhile")
        place = Place(run, "", record.scopes[""].next_ordinal)
        return [Draft(prepared, port.actor, started.tenant, place)]

    (resumed,) = ledger.store.append([], late=late)
    record.extend([resumed])
    return resumed


def _generation(record: Recorded) -> int:
    return sum(event.type == "run.resumed" for event in record.events)


def _is_other(described: Mapping[str, object], recorded: JsonValue) -> bool:
    """Tell whether the program changed; from where one resumes does not change it.

    A script that is imported by its file has another name than ``__main__``.
    """
    known = recorded if isinstance(recorded, dict) else {}
    before, now = (str(one.get("import")).partition(":") for one in (known, described))
    same = before == now or ("__main__" in (before[0], now[0]) and before[2] == now[2])
    return not same or described.get("source") != known.get("source")


def require_pinned(ledger: Ledger, run: str) -> None:
    """Refuse to go on with a run by what a stranger's ledger says.

    Raises:
        RefusedError: no key of the ledger is pinned.

    """
    if ledger.home.pins(ledger.id):
        return
    raise RefusedError(
        "a resume goes live, and none of this ledger's keys is pinned: the program that "
        "it names, and its answers, may be anybody's",
        rule="ledger/unpinned",
        place=f"run {run} of {ledger.path}",
        remedy="pin its root with `muniment keys trust FINGERPRINT`",
    )


def _refuse_complete(record: Recorded, run: str) -> None:
    if any(event.type == "run.completed" for event in record.events):
        raise RefusedError(
            "the run is complete",
            rule="run/complete",
            place=f"run {run}",
            remedy=f"`muniment runs explain {run}` says what can be done with it",
        )


def _refuse_alive(ledger: Ledger, record: Recorded, run: str, take_over: bool) -> None:
    last = [event for event in record.events if event.type in LIFECYCLE][-1]
    if last.type not in ("run.started", "run.resumed") or take_over:
        return
    described = cast("dict[str, JsonValue]", last.raw.get("owner", {}))
    alive = is_alive(described)
    if alive is False:
        return
    if described.get("pid") == owner()["pid"] and run in ledger.port.left:
        return
    where = f"process {described.get('pid')} on {described.get('host')}"
    doubt = "is alive" if alive else "cannot be looked at from here"
    raise _owned(run, f"the run is owned by {where}, which {doubt}")


def _owned(run: str, by: str) -> RunFenced:
    return RunFenced(
        by,
        rule="run/owned",
        place=f"run {run}",
        remedy="let it finish, or resume with --take-over",
    )
