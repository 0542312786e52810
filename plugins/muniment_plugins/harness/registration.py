"""What was going to be run and judged, and if that is what was.

    experiment.registered {"experiment": "sum", "plan": "sha256:…", "replicates": 3, …}
    verdict.reached       {…, "integrity": "valid"}

    valid               what ran is what was registered, on data that was new to it
    no_registration     nothing was stated before the first execution
    changed_code        other code, functions or verifiers ran than were registered
    extra_replicates    more replicates than registered, or again with another number
    reused_data         another plan for the same claim had seen this data

Rules:

- Every run registers itself before it executes anything. A registration made apart from
  any run, by `Experiment.register`, binds later runs of the experiment's name.
- The status is read from events, and can be read again; it is no part of a result.
- Data is compared by content, within the ledger, without stating a digest of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, ErasedError
from muniment.events import BlobRef, Event
from muniment_plugins.harness.references import Function, plain, refer
from muniment_plugins.harness.stating import IssueSpec, StateClaim
from muniment_plugins.harness.synthesis import Synthesize, given_code
from muniment_plugins.harness.treatments import BASELINE

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.harness.pipelines import Pipeline
    from muniment_plugins.harness.programs import ExperimentProgram

__all__ = [
    "KIND",
    "Integrity",
    "functions_of",
    "identity",
    "integrity_of",
    "recorded_sources",
    "registered",
]

KIND = "experiment.registered"
_ID = 16
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Integrity:
    """A status, and why."""

    status: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line."""
        return "; ".join((self.status.replace("_", " "), *self.reasons))


def registered(program: ExperimentProgram, replicates: int) -> dict[str, object]:
    """Return the data of ``experiment.registered``."""
    steps = [step for pipeline in _pipelines(program) for step in pipeline]
    claims = [one.claim.to_json() for one in steps if isinstance(one, StateClaim)]
    specs = [
        one.spec.to_json()
        for one in steps
        if isinstance(one, IssueSpec) and one.spec is not None
    ]
    code = {
        sha256_tag(given.encode("utf-8", "surrogatepass"))
        for one in steps
        if isinstance(one, Synthesize) and (given := given_code(one)) is not None
    }
    plan = program.digest
    return {
        "experiment": identity(program, plan),
        "plan": plan,
        "replicates": replicates,
        "conditions": [BASELINE, *(one.name for one in program.treatments)],
        "claims": _unique(claims),
        "specs": _unique(specs),
        "hypotheses": [one.describe() for one in program.hypotheses],
        "code": sorted(code),
        "functions": _unique([refer(one) for one in functions_of(program)]),
        "sources": _sources(program),
    }


def identity(program: ExperimentProgram, digest: str | None = None) -> str:
    """Return the experiment's name, else the beginning of its *digest*."""
    if program.name is not None:
        return program.name
    return (digest or program.digest).removeprefix("sha256:")[:_ID]


def _pipelines(program: ExperimentProgram) -> list[Pipeline]:
    """Return the pipeline of each condition, as far as the plan says it."""
    nothing: Row = {}
    changes = [nothing, *(one.fixed for one in program.treatments)]
    return [
        program.pipeline.under({**program.context, **one})
        for one in changes
        if one is not None
    ]


def functions_of(program: ExperimentProgram) -> list[Function]:
    """Return every function that the program calls, as far as the plan says it."""
    found: list[object] = [program.datasource]
    for step in (one for pipeline in _pipelines(program) for one in pipeline):
        found += [getattr(step, name, None) for name in ("llm", "repair", "function")]
        found += cast("Row", getattr(step, "transforms", {})).values()
    found += [one.apply for one in program.treatments]
    found += [one.verifier.function for one in program.hypotheses]
    return [one for one in found if callable(one)]


def _sources(program: ExperimentProgram) -> dict[str, str]:
    """Return digest → text of what is called, as far as its source is there."""
    found: dict[str, str] = {}
    for function in functions_of(program):
        # A lambda of another process has none, and neither has a builtin.
        with suppress(CannotTellError, OSError, TypeError):
            text = inspect.getsource(plain(function))
            found[sha256_tag(text.encode())] = text
    return found


def recorded_sources(ledger: Ledger, run: str) -> dict[str, str]:
    """Return digest → text of what *run* called, as it was recorded."""
    for event in ledger.events(run=run, type=KIND, limit=1):
        with suppress(ErasedError):
            said = ledger.resolve(event)
            return dict(cast("Mapping[str, str]", said.get("sources", {})))
    return {}


def _unique(rows: Sequence[Row]) -> list[object]:
    found: list[object] = []
    for row in rows:
        if row not in found:
            found.append(row)
    return found


def integrity_of(ledger: Ledger, events: Sequence[Event]) -> Integrity:
    """Return if what ran is what was registered, from the *events* of a run."""
    own = next((one for one in events if one.type == KIND), None)
    executed = next((one for one in events if one.type == "execution.requested"), None)
    if own is None or (executed is not None and executed.seq < own.seq):
        return Integrity("no_registration", ("nothing was stated before it ran",))
    said = ledger.resolve(own)
    others = [event for event in ledger.events(type=KIND) if event.seq < own.seq]
    for look in (_changed, _extra, _reused):
        found = tuple(look(ledger, events, said, others))
        if found:
            return Integrity(_STATUS[look], found)
    return Integrity("valid")


Others = list[Event]


def _changed(
    ledger: Ledger, events: Sequence[Event], said: Row, others: Others
) -> Iterator[str]:
    standing = _standing(ledger, said, others)
    for name in ("code", "functions", "hypotheses", "claims", "specs"):
        if standing is not None and standing[name] != said[name]:
            yield f"not what was registered: {name}"
    known = cast("list[str]", said["code"])
    for event in events:
        if event.type == "synthesis.attempted":
            data = ledger.resolve(event)
            code = cast("str", data["code"]).encode("utf-8", "surrogatepass")
            if data.get("origin") == "code" and sha256_tag(code) not in known:
                yield f"the code of event {event.seq} was not registered"
                return


def _extra(
    ledger: Ledger, events: Sequence[Event], said: Row, others: Others
) -> Iterator[str]:
    standing = _standing(ledger, said, others)
    planned = cast("int", (standing or said)["replicates"])
    started = [one for one in events if one.type == "replicate.started"]
    ran = len({one.data["replicate"] for one in started})
    if ran > planned:
        yield f"{ran} replicates ran, {planned} were registered"
    for event in others:
        again = event.raw["plan"] == said["plan"] and event.run is not None
        count = event.raw["replicates"]
        if again and count != said["replicates"]:
            yield f"run {event.run} had looked at it with {count} replicates"
            return


def _standing(ledger: Ledger, said: Row, others: Others) -> Row | None:
    """Return the last registration of this experiment that was made apart from a run."""
    for event in reversed(others):
        if event.run is None and event.raw["experiment"] == said["experiment"]:
            return ledger.resolve(event)
    return None


def _reused(
    ledger: Ledger, events: Sequence[Event], said: Row, others: Others
) -> Iterator[str]:
    claims = cast("list[Row]", said["claims"])
    seen: set[tuple[int, str]] | None = None
    for event in others:
        if event.run is None or event.raw["plan"] == said["plan"]:
            continue
        stated = event.raw["claims"]
        if isinstance(stated, dict):  # too long to stand inline
            stated = cast("JsonValue", ledger.resolve(event)["claims"])
        if not any(one in claims for one in cast("list[Row]", stated)):
            continue
        if seen is None:
            seen = set(_contents(ledger, events))
        sizes = {size for size, _ in seen}
        earlier = ledger.events(run=event.run, type="data.completed")
        if seen & set(_contents(ledger, earlier, sizes)):
            yield f"run {event.run} had seen this data under another plan"
            return


def _contents(
    ledger: Ledger, events: Iterable[Event], sizes: set[int] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield size and digest of the data that *events* hold; for comparison only."""
    for event in events:
        ref = event.data.get("value") if event.type == "data.completed" else None
        if not isinstance(ref, BlobRef) or (
            sizes is not None and ref.size not in sizes
        ):
            continue
        try:
            yield ref.size, sha256_tag(ledger.get_blob(ref))
        except ErasedError:
            continue  # what is gone cannot be compared, and says so elsewhere


_STATUS: dict[Callable[..., Iterator[str]], str] = {
    _changed: "changed_code",
    _extra: "extra_replicates",
    _reused: "reused_data",
}
