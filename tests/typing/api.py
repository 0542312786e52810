"""What a type checker must say of the public names; checked, never run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, assert_type
from uuid import UUID

import muniment
from muniment import (
    Done,
    EffectFailed,
    EffectKind,
    Event,
    EventData,
    EventType,
    GateAnswer,
    Ledger,
    MunimentError,
    Projection,
    ReplayReport,
    Run,
    RunSummaries,
    current_run,
    effect,
    replay,
    verify,
)
from muniment.encoding.canonical import JsonValue
from muniment.events.types import BLOB
from muniment.formats.checkpoint import TlogProof
from muniment.formats.statement import BlobRef, Subject
from muniment.queries.run_summary import RunSummary
from muniment.recorded.divergence import Divergence
from muniment.runs.recording import Handle
from muniment.trust.head_memory import Head
from muniment.verification.verify import Finding, Report


def opening() -> None:
    """Open a ledger by the front door, or by its class."""
    assert_type(muniment.open(), Ledger)
    assert_type(muniment.open("ledger.db", create=True, plugins=["capsule"]), Ledger)
    assert_type(Ledger.create(Path("ledger.db"), signer="file:key.pem"), Ledger)
    with Ledger.open("ledger.db", readonly=True) as ledger:
        assert_type(ledger, Ledger)
        assert_type(ledger.id, str)
        assert_type(ledger.path, Path)
        assert_type(ledger.writable, bool)


def writing(ledger: Ledger) -> None:
    """Append, and get events."""
    event = ledger.append("note.added", {"text": "a", "details": {"x": (1, 2)}})
    assert_type(event, Event)
    assert_type(event.seq, int)
    assert_type(event.type, str)
    assert_type(event.data, dict[str, object])
    assert_type(event.raw, dict[str, JsonValue])
    assert_type(event.subject, tuple[Subject, ...])
    assert_type(event.run, str | None)
    assert_type(event.scope, str | None)
    assert_type(event.ordinal, int | None)
    assert_type(event.time, str)
    assert_type(event.when, datetime)
    assert_type(event.hash, str)
    assert_type(ledger.append_many([("note.added", {"text": "b"})]), list[Event])
    assert_type(ledger.checkpoint(), bytes | None)
    assert_type(ledger.erase("sha256:…", reason="asked"), Event)


def reading(ledger: Ledger) -> None:
    """Read events, contents, heads, proofs and views."""
    assert_type(ledger.events(type="llm.*", since="2h", order="desc"), Iterator[Event])
    assert_type(ledger.runs(status="failed", labels={"a": "b"}), Iterator[RunSummary])
    assert_type(ledger.head, Head)
    assert_type(ledger.head.size, int)
    assert_type(ledger.get_blob("sha256:…"), bytes)
    assert_type(ledger.value(BlobRef("sha256:…", 1)), object)
    assert_type(ledger.prove(0), TlogProof)
    assert_type(ledger.project(RunSummaries, run="01JD"), RunSummary)


def running(ledger: Ledger) -> None:
    """Run a program, whose end is a value."""

    def program(run: Run, ticket: str) -> str:
        assert_type(run.id, str)
        assert_type(run.mode, str)
        assert_type(run.record("note.added", {"text": ticket}), Handle)
        assert_type(run.effect("tool", {"q": 1}, perform=lambda asked: asked), object)
        with run.scope("map/3") as lane:
            assert_type(lane, Run)
        assert_type(run.now(), datetime)
        assert_type(run.random(), float)
        assert_type(run.uuid(), UUID)
        return ticket

    done = ledger.execute(program, params={"ticket": "T"}, name="triage")
    assert_type(done, Done)
    assert_type(done.run_id, str)
    assert_type(done.status, str)
    assert_type(done.result, object)
    assert_type(done.error, Exception | None)
    assert_type(done.result_digest, str)
    assert_type(ledger.resume(done.run_id, take_over=True), Done)
    with ledger.run("by hand") as run:
        assert_type(run, Run)
        assert_type(current_run(), Run)


async def running_async(ledger: Ledger) -> None:
    """Do the same with coroutines."""

    async def program(run: Run) -> object:
        return await run.aeffect("tool", None, perform=lambda _: None)

    assert_type(await ledger.aexecute(program), Done)
    assert_type(await ledger.aresume("01JD"), Done)
    async with ledger.run("by hand") as run:
        assert_type(run, Run)


@effect("tool")
def search(query: str, limit: int = 3) -> list[str]:
    """Keep the signature of the function."""
    return [query] * limit


def decorated() -> None:
    """Call an effect, and get what its function gives."""
    assert_type(search("a", limit=2), list[str])


def judging(ledger: Ledger) -> None:
    """Judge, and get reports that are values."""
    report = verify("ledger.db", keys=["SHA256:…"], fast=True)
    assert_type(report, Report)
    assert_type(report.ok, bool)
    assert_type(report.exit_code, int)
    assert_type(report.findings, tuple[Finding, ...])
    assert_type(report.findings[0].seq, int | None)
    replayed = replay(ledger, "01JD", mode="bounded", record=True)
    assert_type(replayed, ReplayReport)
    assert_type(replayed.first_divergence, Divergence | None)
    assert_type(replayed.guards, tuple[str, ...])


def declaring(ledger: Ledger) -> None:
    """Declare event types, kinds, answers and projections."""

    class Reviewed(EventData):
        by: str
        remark: Annotated[str, BLOB]

    ledger.register(EventType("review.finished", Reviewed))
    ledger.register(EffectKind("sensor", source="data", on_doubt="repeat"))
    assert_type(GateAnswer(3, {"who": "me"}).value, object)

    class Count(Projection[int]):
        name = "count"

        def initial(self) -> JsonValue:
            return 0

        def apply(self, state: JsonValue, event: Event) -> JsonValue:
            return event.seq if state is None else event.seq + 1

        def view(self, state: JsonValue) -> int:
            return state if isinstance(state, int) else 0

    assert_type(ledger.project(Count), int)


def failing(error: EffectFailed) -> None:
    """Read rule, place and remedy of an error."""
    base: MunimentError = error
    assert_type(base.rule, str)
    assert_type(base.place, str)
    assert_type(base.remedy, str)
    assert_type(error.kind, str)
    assert_type(error.data, JsonValue)
    unused: Any = base
    del unused
