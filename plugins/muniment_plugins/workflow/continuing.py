"""Runs of graphs that are performed, found again by their keys, and gone on with as new.

    run 1   workflow.continued_as_new {"generation": 2}   run.completed
    run 2   run.started   labels: workflow_continues, workflow_generation

Rules:

- A run that goes on as new ends well, and says so in its result. Whoever performed it
  begins the next one, and so does whoever finds it later: each once, by the key of the run
  before.
- The next run walks the same graph with the same functions, in the same folder. It is given
  what the one before had, and the letters that this did not take.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, cast

from muniment.errors import ErasedError, UsageError
from muniment.formats.statement import BlobRef
from muniment.queries.run_summary import RunSummaries
from muniment.runs.execution import Done
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.engine.keyed_starts import KEY, known_start
from muniment_plugins.workflow.engine.program import WorkflowProgram
from muniment_plugins.workflow.mailbox.pending import (
    CONTINUES,
    GENERATION,
    continuing_key,
)
from muniment_plugins.workflow.records.record import recorded_artifacts
from muniment_plugins.workflow.runtime.workplaces import workplace_of

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "RunTerms",
    "WorkflowDone",
    "as_it_is",
    "awaited_run",
    "following",
    "goes_on",
    "gone_on",
    "performed",
    "refuse_running_loop",
    "started_with",
    "terms_of",
]


class RunTerms(TypedDict):
    """The arguments of the ledger's ``execute``."""

    params: dict[str, object]
    name: str
    labels: Mapping[str, str] | None
    tenant: str
    seed: str | None


@dataclass(frozen=True)
class WorkflowDone:
    """How a run of a graph ended."""

    done: Done
    ledger: Ledger
    """Where it is recorded."""

    @property
    def status(self) -> str:
        """``completed``, ``failed``, ``paused``, …."""
        return self.done.status

    @property
    def error(self) -> Exception | None:
        """Why it failed, if it did."""
        return self.done.error

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.done.run_id

    @property
    def result_digest(self) -> str:
        """The digest that a replay comes to, too."""
        return self.done.result_digest

    @cached_property
    def artifacts(self) -> list[Artifact]:
        """What the run was given and what it made, with times and lineage.

        It is read from the record, while the ledger is open. Of a complete run it is
        what the last path had; of one that failed or waits it is what there is so far.
        """
        return recorded_artifacts(self.ledger, self.run_id)


def performed(ledger: Ledger, program: WorkflowProgram, how: RunTerms) -> WorkflowDone:
    """Run *program*, and return how that ended.

    Raises:
        UsageError: it must be awaited, and an event loop runs here.

    """
    if program.is_async:
        refuse_running_loop(program)
        return WorkflowDone(awaited_run(ledger.aexecute(program, **how)), ledger)
    return WorkflowDone(ledger.execute(program, **how), ledger)


def awaited_run(running: Coroutine[Any, Any, Done]) -> Done:
    """Return what *running* came to, in an event loop of its own."""
    import asyncio  # noqa: PLC0415 - for asynchronous graphs only

    return asyncio.run(running)


def refuse_running_loop(program: WorkflowProgram) -> None:
    """Refuse to start an event loop within another, before anything is written.

    Raises:
        UsageError: an event loop runs here.

    """
    import asyncio  # noqa: PLC0415 - for asynchronous graphs only

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "a handler must be awaited, and an event loop runs here already",
        rule="workflow/async",
        place=program.graph.name,
        remedy="`await workflow_aexecute(…)`, or `await ledger.aresume(…)`",
    )


def gone_on(done: WorkflowDone, program: WorkflowProgram) -> WorkflowDone:
    """Return how the workflow of *program* ended that ran as *done*.

    As long as a run says that the workflow goes on as new, the next one is begun: each
    once, by a key.
    """
    while True:
        done, program, how = following(done, program)
        if how is None:
            return done
        done = performed(done.ledger, program, how)


def following(
    done: WorkflowDone, program: WorkflowProgram
) -> tuple[WorkflowDone, WorkflowProgram, RunTerms | None]:
    """Return the last run that there is, and how the next one is begun, if it is due."""
    ledger = done.ledger
    while (said := goes_on(done)) is not None:
        generation, key = cast("int", said["generation"]), continuing_key(done.run_id)
        program = replace(
            program,
            task=cast("str", said["task"]),
            artifacts=done.artifacts,
            generation=generation,
            prefix=f"g{generation}/",
            options=replace(program.options, key=key),
        )
        begun = started_with(ledger, key)
        if begun is None:
            started = next(ledger.events(run=done.run_id, limit=1))
            labels = {CONTINUES: done.run_id, GENERATION: str(generation)}
            name = str(started.data.get("name"))
            place = workplace_of(ledger, done.run_id, program.options.cwd)
            program = replace(program, place=place)
            return done, program, terms_of(program, name, labels, started.tenant, None)
        done = begun
    return done, program, None


def goes_on(done: WorkflowDone) -> Mapping[str, object] | None:
    """Return how the workflow goes on as new, if *done* says so."""
    value = done.done.value
    if done.status != "completed" or not isinstance(value, dict):
        return None
    said = cast("dict[str, object]", value).get("continues")
    return cast("Mapping[str, object] | None", said)


def started_with(ledger: Ledger, key: str | None) -> WorkflowDone | None:
    """Return the run that has *key*, as it is now; None if none was started."""
    first = None if key is None else known_start(ledger, key)
    return None if first is None else as_it_is(ledger, str(first.run))


def as_it_is(ledger: Ledger, run: str) -> WorkflowDone:
    """Return how *run* is now."""
    facts = ledger.project(RunSummaries, run=run)
    ended = next(ledger.events(run=run, type="run.completed"), None)
    value = None
    if ended is not None and isinstance(ended.data.get("result"), BlobRef):
        with suppress(ErasedError):
            value = ledger.value(cast("BlobRef", ended.data["result"]))
    return WorkflowDone(Done(run, facts.status, "", value), ledger)


def _labels(
    program: WorkflowProgram, labels: Mapping[str, str] | None
) -> Mapping[str, str] | None:
    key = program.options.key
    return labels if key is None else {**(labels or {}), KEY: key}


def terms_of(
    program: WorkflowProgram,
    name: str | None,
    labels: Mapping[str, str] | None,
    tenant: str,
    seed: str | None,
) -> RunTerms:
    """Return how *program* is run."""
    return {
        "params": program.params(),
        "name": name or program.graph.name,
        "labels": _labels(program, labels),
        "tenant": tenant,
        "seed": seed,
    }
