"""Artifacts that handlers return are the same wherever an executor calls these.

Rules: one or several, with ids of their own or without, derived or not, in each executor. An
id that the handler does not give follows from the run's seed; the clock is no part of it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from muniment import current_run, replay
from muniment.encoding.draws import as_uuid, drawn
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    Artifact,
    StageInput,
    artifact,
    artifact_derive,
    workflow_execute,
)
from workflow_stages import chain

EXECUTORS = ["threads", "serial", "processes"]
GIVEN = {"id": "g", "kind": "k", "text": "g", "created_at": "2026-01-01T00:00:00Z"}


def one(given: StageInput) -> Artifact:
    """Return an artifact."""
    return artifact({"kind": "a", "text": given.node})


def several(given: StageInput) -> list[object]:
    """Return two, and a text."""
    del given
    first = artifact({"kind": "a", "data": {"n": [1, None, "ä"]}, "metadata": {"x": 1}})
    return [first, "a text", artifact({"kind": "b", "text": "two", "title": "T"})]


def named(given: StageInput) -> list[Artifact]:
    """Return one with an id and a time, and one with an id."""
    timed = {"id": "x", "kind": "a", "text": "1", "created_at": "2026-01-01T00:00:00Z"}
    return [
        artifact(timed),
        artifact({"id": f"{given.node}-y", "kind": "a", "text": "2"}),
    ]


def derived(given: StageInput) -> Artifact:
    """Derive one from what is given."""
    return artifact_derive(given.artifacts[0], "b", {"text": "d"})


def draws(given: StageInput) -> str:
    """Return what is drawn."""
    run = current_run()
    return f"{given.node} {run.uuid()} {run.random()} {run.uuid()}"


HANDLERS = {"one": one, "several": several, "named": named, "derived": derived}
OWN = {"one": 1, "several": 2, "named": 0, "derived": 1}
"""How many ids are drawn."""


def ran(book: Ledger, handler: Any, executor: str) -> Any:
    """Run a graph of one stage."""
    options = {"executor": executor}
    given = [artifact(GIVEN)]
    done = workflow_execute(book, "t", chain(act={"handler": handler}), given, options)
    assert done.status == "completed", done.error
    report = replay(book, done.run_id)
    assert (report.verdict, report.result_digest) == (
        "acceptable",
        done.result_digest,
    )
    return done


def scope_of(book: Ledger, run: str) -> tuple[str, str]:
    """Return the seed of a run, and the scope inside its effect."""
    started = next(book.events(run=run, limit=1))
    (asked,) = book.events(run=run, type="stage.requested")
    return str(started.raw["seed"]), f"{asked.scope}/@stage.{asked.ordinal}"


@pytest.mark.parametrize("name", HANDLERS)
def test_artifacts_are_the_same_in_each_executor(book: Ledger, name: str) -> None:
    """All that they say is; the ids that are recorded are those that the run draws."""
    said: list[object] = []
    for executor in EXECUTORS:
        done = ran(book, HANDLERS[name], executor)
        seed, scope = scope_of(book, done.run_id)
        ids = [
            f"artifact_{as_uuid(drawn(seed, 'uuid', scope, number)).hex}"
            for number in range(OWN[name])
        ]
        (outcome,) = book.events(run=done.run_id, type="stage.completed")
        value: Any = book.resolve(outcome)["value"]
        rows = value if isinstance(value, list) else [value]
        found = [str(one["id"]) for one in rows if isinstance(one, dict)]
        assert [one for one in found if one.startswith("artifact_")] == ids
        made = [one.to_json() for one in done.artifacts if one.id != "g"]
        said.append([{**row, "created_at": ""} for row in made])
    assert said[0]
    assert said == [said[0]] * len(EXECUTORS)


def test_a_digest_is_the_same_in_each_executor(book: Ledger) -> None:
    """Where nothing is drawn."""
    assert len({ran(book, named, one).result_digest for one in EXECUTORS}) == 1


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_is_drawn_follows_from_the_seed(book: Ledger, executor: str) -> None:
    """Ids and numbers, in their order, as in the run itself."""
    done = ran(book, draws, executor)
    seed, scope = scope_of(book, done.run_id)
    _, first, number, second = str(done.artifacts[-1].text).split()
    expected = [as_uuid(drawn(seed, "uuid", scope, count)) for count in (0, 1)]
    assert [UUID(first), UUID(second)] == expected
    assert 0 <= float(number) < 1
