"""Going on with a run that was cut off, fenced against a second owner.

Rules:

- ``run.resumed`` raises the run's generation in the same transaction that refuses an
  older one: of two resumers one wins, the other is told so and has written nothing.
- An owner that is alive is not overtaken without ``take_over``; an owner on another
  host may be alive, for all that can be known here.
- Who takes over read the whole record: had the old owner written meanwhile, it would
  read again. So an effect is either answered or known to be in doubt.
- The program runs from its beginning; what it recorded before is answered, not written
  again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.canonical import JsonValue
from muniment.errors import RefusedError, RunFenced
from muniment.events import BlobRef, Event
from muniment.executing import is_alive, owner, refuse_async
from muniment.programs import Program, describe, find
from muniment.reading import events_of_run
from muniment.recorded import LIFECYCLE, Recorded
from muniment.runs import Recording
from muniment.store import Fence

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Resumption", "program_of", "recorded_run"]

ATTEMPTS = 20
"""How often a resumer reads the record of an owner that goes on writing."""


class Moved(RunFenced):
    """The run's record grew between reading it and owning it."""


def _moved(run: str) -> Moved:
    return Moved(
        "the run's owner goes on writing",
        rule="run/owned",
        place=f"run {run}",
        remedy="stop it, then resume",
    )


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
    return find(cast("dict[str, JsonValue] | None", described), run)


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
        for _ in range(ATTEMPTS - 1):
            try:
                return cls._take(ledger, run, program, take_over, decide, awaits)
            except Moved:
                continue
        return cls._take(ledger, run, program, take_over, decide, awaits)

    @classmethod
    def _take(
        cls,
        ledger: Ledger,
        run: str,
        program: Program | None,
        take_over: bool,
        decide: Callable[[str, object], str] | None,
        awaits: bool,
    ) -> Resumption:
        record = recorded_run(ledger, run)
        started = record.events[0]
        _refuse_complete(record, run)
        _refuse_alive(ledger, record, run, take_over)
        chosen = program_of(ledger, run, started, program)
        if not awaits:
            refuse_async(chosen)
        if (ready := getattr(chosen, "before_resume", None)) is not None:
            ready()  # what it lacks is said while the run is as it was
        described = describe(chosen)
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
        generations = [e.seq for e in record.events if e.type == "run.resumed"]
        since = (generations or [started.seq])[-1]
        recording.fence = Fence(run, since, record.events[-1].seq)
        fields = {
            "generation": len(generations) + 1,
            "program": described,
            "owner": owner(),
            "took_over": take_over,
        }
        try:
            resumed = recording.write_lifecycle("run.resumed", fields)
        except RunFenced:
            raise _moved(run) from None
        recording.fence = Fence(run, resumed.seq)
        return cls(recording, chosen, params_of(ledger, started))


def _is_other(described: Mapping[str, object], recorded: JsonValue) -> bool:
    """Tell whether the program changed; from where one resumes does not change it."""
    known = recorded if isinstance(recorded, dict) else {}
    return any(described.get(name) != known.get(name) for name in ("import", "source"))


def _refuse_complete(record: Recorded, run: str) -> None:
    if any(event.type == "run.completed" for event in record.events):
        raise RefusedError(
            "the run is complete",
            rule="run/complete",
            place=f"run {run}",
            remedy=f"`muniment replay {run}` derives its result again",
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
    raise RunFenced(
        f"the run is owned by {where}, which {doubt}",
        rule="run/owned",
        place=f"run {run}",
        remedy="let it finish, or resume with --take-over",
    )
