"""Whatever the holder of a key writes, the record of a run fits its schema or is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from forged_runs import ForgedFact, altered, facts_of, write_run
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    run_record,
    workflow_execute,
)
from muniment_plugins.workflow.records.held.fitting import misfit
from muniment_plugins.workflow.records.record import recorded_artifacts
from muniment_plugins.workflow.records.run_tree import load_run_tree
from run_records import TAMPERED, fits_schema
from workflow_stages import Document, edge, graph_of, stage

TRIES = 60
GRAPH: Document = graph_of(
    {
        "act": stage(output_contract={"output_kinds": ["plan"]}),
        "check": {"kind": "verify", "verify": {"command": "true", "assert_text": "x"}},
        "f": {"kind": "fork"},
        "a": stage(retry_policy={"max_attempts": 2}),
        "b": stage("data"),
        "j": {"kind": "join"},
        "m": {"kind": "map", "map_policy": {"items": [1, "two"]}, "body": stage()},
        "sub": {"kind": "subagent", "graph": {"nodes": {"inner": stage()}}},
        "bad": stage("raises"),
        "ask": {"kind": "escalation"},
    },
    edge("act", "check"),
    edge("check", "f", "*"),
    edge("f", "a"),
    edge("f", "b"),
    edge("a", "j"),
    edge("b", "j"),
    edge("j", "m"),
    edge("m", "sub"),
    edge("sub", "bad"),
    edge("bad", "ask", "error"),
)
GIVEN = {"id": "g", "created_at": "2026-01-01T00:00:00Z", "text": "given"}


@pytest.fixture
def facts(book: Ledger) -> list[ForgedFact]:
    """Give the facts of a run that waits for people, and whose last check failed."""
    done = workflow_execute(book, "t", GRAPH, [GIVEN])
    assert done.status == "paused", done.error
    TAMPERED.add(book.path)
    return facts_of(book, done.run_id)


def held(book: Ledger, run: str) -> bool:
    """Hold what is viewed of *run* to its promise; tell whether it has a record."""
    with suppress(MunimentError):
        recorded_artifacts(book, run)
    with suppress(MunimentError):
        load_run_tree(book, run)
    try:
        record = run_record(book, run)
    except MunimentError:
        return False
    fits_schema(record)
    json.dumps(record, allow_nan=False)
    ids = [one["id"] for one in record["artifacts"]]
    assert len(ids) == len(set(ids))
    nodes = {*GRAPH["nodes"], "body"}
    if "task" in record and not isinstance(record["task"], dict):
        assert {one["node_id"] for one in record["stages"]} <= nodes
    assert all(one["verification"]["checks"] for one in verified(record))
    return True


def verified(record: Document) -> list[Any]:
    """Return the stages that a record has as verified."""
    found = [one for one in record["stages"] if "verification" in one]
    return [one for one in found if one["verification"]["ok"]]


@pytest.mark.parametrize("seed", range(6))
def test_altered_facts(book: Ledger, facts: list[ForgedFact], seed: int) -> None:
    """A run whose facts were altered has a record that fits, or an error with a place."""
    dice, seen = Random(seed), 0  # noqa: S311 - a seed that is known
    for _ in range(TRIES // 6):
        run = write_run(book, altered(facts, dice))
        seen += held(book, run)
    assert seen, "each of them was refused: nothing was tried"


def test_the_same_facts_have_the_same_record(
    book: Ledger, facts: list[ForgedFact]
) -> None:
    """What is written again as it was has the same stages: nothing true is dropped."""
    first = min(one.id for one in book.runs())
    run = write_run(book, facts)
    whole = [run_record(book, one) for one in (first, run)]
    for name in ("stages", "transitions", "artifacts"):
        rows = [len(one[name]) for one in whole]
        assert rows[0] == rows[1], name
    assert held(book, run)


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a node that no graph has": (
        "ghost.1", {"node": "ghost", "kind": "stage", "visit": 1}, "ghost"
    ),
    "a node of another kind": (
        "act.2", {"node": "act", "kind": "verify", "visit": 2}, "act.2"
    ),
    "a visit before the first": (
        "act.0", {"node": "act", "kind": "stage", "visit": 0}, "act.0"
    ),
    "a negative visit": (
        "act.-1", {"node": "act", "kind": "stage", "visit": -1}, "act.-1"
    ),
    "a visit in another's scope": (
        "act.2", {"node": "a", "kind": "stage", "visit": 1}, "act.2"
    ),
    "a visit where a handler is": (
        "act.1/@stage.2/act.2", {"node": "act", "kind": "stage", "visit": 2}, "act.2"
    ),
    "a visit below a stage": (
        "act.1/x/act.2", {"node": "act", "kind": "stage", "visit": 2}, "act.2"
    ),
    "no kind": ("act.2", {"node": "act", "visit": 2}, "act.2"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_nothing_is_taken_from_it(
    book: Ledger, facts: list[ForgedFact], name: str
) -> None:
    """Facts of visits that no engine can have made change nothing of the record."""
    scope, said, trace = FORGED[name]
    checks = [{"kind": "command", "ok": True}]
    whole = ForgedFact("node.activated", scope, 0, said)
    more = [
        whole,
        ForgedFact(
            "verification.concluded",
            scope,
            1,
            {"node": said["node"], "verdict": "verified", "checks": checks},
        ),
        ForgedFact(
            "artifact.recorded",
            scope,
            2,
            {"id": f"{scope}#0", "kind": "plan", "stage": said["node"]},
        ),
    ]
    runs = [write_run(book, facts + more), write_run(book, facts)]
    forged, plain = (run_record(book, run) for run in runs)
    for part in ("stages", "transitions", "queue"):
        assert forged[part] == plain[part] or _but_events(forged[part]) == _but_events(
            plain[part]
        )
    assert trace not in json.dumps([one["id"] for one in forged["artifacts"]])


def _but_events(rows: Any) -> str:
    """Return *rows* without numbers and times of events, which two runs never share."""
    gone = ("event", "started_at", "finished_at", "timestamp")
    if isinstance(rows, dict):
        return json.dumps(rows)
    kept = [
        {name: one[name] for name in one.keys() - {*gone, "attempts"}} for one in rows
    ]
    return json.dumps(kept, sort_keys=True)


VERDICTS: list[tuple[str, Any, bool | None]] = [
    ("verified", [], None),
    ("verified", [{"kind": "command", "ok": False}], None),
    ("verified", [{"kind": "command"}], None),
    ("verified", [{"ok": True}], None),
    ("verified", [{"kind": "command", "ok": 1}], None),
    ("verified", ["command"], None),
    ("verified", [{"kind": "command", "ok": True}], True),
    ("verification_failed", [{"kind": "command"}], None),
    ("verification_failed", [{"kind": "command", "ok": True}], None),
    ("verification_failed", [{"kind": "command", "ok": False}], False),
    ("verification_failed", [], False),
    ("passed", [{"kind": "command", "ok": True}], None),
]


@pytest.mark.parametrize(("verdict", "checks", "good"), VERDICTS)
def test_a_verdict_is_what_its_checks_say(
    book: Ledger, facts: list[ForgedFact], verdict: str, checks: Any, good: bool | None
) -> None:
    """Verified is what has checks, each of them good; what contradicts them is no verdict."""
    forged = list(facts)
    (number,) = (
        n for n, one in enumerate(facts) if one.type == "verification.concluded"
    )
    said = {"node": "check", "verdict": verdict, "checks": checks}
    forged[number] = ForgedFact(
        "verification.concluded", facts[number].scope, facts[number].ordinal, said
    )
    record = run_record(book, write_run(book, forged))
    (stage_,) = (one for one in record["stages"] if one["node_id"] == "check")
    assert stage_.get("verification", {}).get("ok") is good


def test_the_light_check_is_the_schema(book: Ledger, facts: list[ForgedFact]) -> None:
    """What decides about a record says of any record what its JSON Schema says."""
    record = json.loads(json.dumps(run_record(book, write_run(book, facts))))
    dice, known = Random(1), set[bool]()  # noqa: S311 - a seed that is known
    for _ in range(300):
        forged = json.loads(json.dumps(record))
        part: Any = forged
        while part:
            key: Any = (
                dice.choice([*part])
                if isinstance(part, dict)
                else dice.randrange(len(part))
            )
            if not isinstance(part[key], dict | list) or dice.random() < 0.2:
                part[key] = dice.choice(["x", None, 1, -1, 1.5, [], {}, True])
                break
            part = part[key]
        light = misfit(forged) is None
        with suppress(AssertionError):
            fits_schema(forged)
            assert light, forged
            known.add(True)
            continue
        assert not light
        known.add(False)
    assert known == {True, False}
