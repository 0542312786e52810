"""Whose word a fact is: nothing that a program states is shown as governance's."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow
from governed_programs import forged_lane, opened, policy
from muniment import EventType, Run
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.programs.stable_names import stable_name
from muniment_plugins.governance import load_flow, start_flow
from muniment_plugins.governance.authority import OWN_TYPES, Authority
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.failures.reading import failure_of
from muniment_plugins.governance.governed import governed
from muniment_plugins.governance.views.inspection import inspected
from muniment_plugins.governance.views.report_section import report_sections
from muniment_plugins.governance.vocabulary import TYPES

UNTRUE = "sha256:" + "bad0" * 16
"""What nobody but the program says."""


def _sample(hint: Any) -> object:
    """Return a value of a field's type that says the untrue thing."""
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = typing.get_args(hint)[0]
    kind = typing.get_origin(hint) or hint
    if kind is list:
        inner = (typing.get_args(hint) or (str,))[0]
        return [_sample(inner)]
    if kind is dict:
        inner = [*typing.get_args(hint), str, str][1]
        return {"said": _sample(inner)}
    return {str: UNTRUE, int: 7, float: 0.5, bool: True}.get(kind, UNTRUE)


def statement(one: EventType) -> dict[str, object]:
    """Return data of this type, made from its declaration."""
    hints = typing.get_type_hints(one.model, include_extras=True)
    data = {name: _sample(hint) for name, hint in hints.items()}
    if one.name == "verification.arbitrated":
        data |= {"status": "pass", "decided_by": "people"}
    if one.name == "budget.exhausted":
        data |= {"action": "halt"}
    if one.name == "policy.adopted":
        data |= {"amendment": None, "approved": None, "manifest": None, "flow": None}
    return data


def _stating(kind: EventType, lane: Callable[[Run], Run]) -> Callable[[Run], object]:
    def program(run: Run) -> object:
        lane(run).record(kind.name, statement(kind))
        return run.effect("tool", 1, str)

    return program


LANES: dict[str, Callable[[Run], Run]] = {
    "its own": lambda run: run,
    "one named like a step": lambda run: run.scope("step").scope("0-one"),
    "one below": lambda run: run.scope("plugins").scope("governance"),
}


def cited(value: object) -> Iterator[int]:
    """Yield the events that a section of a report cites."""
    if isinstance(value, dict):
        if "event" in value:
            yield value["event"]
        for one in value.values():
            yield from cited(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from cited(one)


def refuse_as_governance(ledger: Ledger, run: str, kind: str, stated: int) -> None:
    """Fail if any view shows the event *stated* as governance's word."""
    said: Any = inspected(ledger, run)
    apart = said.pop("stated_by_program")
    del said["events"]
    assert UNTRUE not in json.dumps(said)
    assert [(one["type"], one["event"]) for one in apart] == [(kind, stated)]
    sections = report_sections(ledger, run, ledger.head.size)
    assert stated not in [*cited(sections)]
    events = list(ledger.events(run=run))
    found = failure_of(ledger, events)
    assert found is None or found.event != stated
    table = budget_table(ledger, run)
    assert table is None or UNTRUE not in json.dumps(table.to_json())


def test_the_types_are_all_of_the_vocabulary() -> None:
    """A fact that governance adds is looked at by whoever shows it."""
    assert {one.name for one in TYPES} == OWN_TYPES


@pytest.mark.parametrize("held", [False, True], ids=["ungoverned", "governed"])
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("kind", TYPES, ids=lambda one: one.name)
def test_a_program_does_not_speak_for_governance(
    tmp_path: Path, kind: EventType, lane: str, held: bool
) -> None:
    """Whatever it states in scopes of its own is shown as the program's, or not at all."""
    with opened(tmp_path) as ledger:
        program = _stating(kind, LANES[lane])
        if held:
            with governed(ledger, policy(execution_budget={"effect_limit": 5})):
                done = ledger.execute(program)
        else:
            done = ledger.execute(program)
        done.raise_failure()
        (stated,) = [
            one
            for one in ledger.events(run=done.run_id, type=kind.name)
            if one.scope != "plugin/governance"
        ]
        refuse_as_governance(ledger, done.run_id, kind.name, stated.seq)
        if not held:
            assert report_sections(ledger, done.run_id, ledger.head.size) is None


@pytest.mark.parametrize("kind", TYPES, ids=lambda one: one.name)
def test_the_plugins_lane_of_an_ungoverned_run_says_nothing(
    tmp_path: Path, kind: EventType
) -> None:
    """Nothing governs it: its start names no policy."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(
            _stating(kind, lambda run: forged_lane(run, "governance"))
        )
        if kind.name == "policy.adopted":
            events = [*ledger.events(run=done.run_id)]
            authority = Authority()
            speakers = {one.type: authority.speaker(one) for one in events}
            assert speakers[kind.name] == "program"
            return
        done.raise_failure()
        (stated,) = ledger.events(run=done.run_id, type=kind.name)
        refuse_as_governance(ledger, done.run_id, kind.name, stated.seq)


AGENTS = """
from muniment import current_run

KIND, DATA, AT, VIA = {kind!r}, {data!r}, {at!r}, {via!r}

def state(at, run=None):
    if at != AT:
        return
    lane = current_run() if VIA == "current_run" or run is None else run
    lane.record(KIND, DATA)

def read(run, task):
    state("agent", run)
    return 1

def write(run, task):
    return task.inputs

def search(request):
    return []

def reason(run, task):
    state("reasoner", run)
    return {{"claims": []}}

def rule(subject):
    state("check")
"""
PLACES = [
    ("agent", "run"),
    ("agent", "current_run"),
    ("reasoner", "run"),
    ("check", "current_run"),
]


@pytest.mark.parametrize(("at", "via"), PLACES)
@pytest.mark.parametrize("kind", TYPES, ids=lambda one: one.name)
def test_a_function_of_a_flow_does_not_speak_for_the_flow(
    book: Ledger, place: Path, kind: EventType, at: str, via: str
) -> None:
    """It is refused, the flow fails, and the record does not have it."""
    text = AGENTS.format(kind=kind.name, data=statement(kind), at=at, via=via)
    (place / "agents.py").write_text(text)
    write_flow(place, sum_document())
    (place / "agents.py").write_text(text)
    rules = policy(
        rules=[{"rule_id": "own", "check": "agents:rule", "target": "artifact"}]
    )
    done = start_flow(book, load_flow(place / "flow.json"), rules)
    assert done.status == "failed"
    assert "a function of a flow stated" in str(done.error)
    events = list(book.events(run=done.run_id))
    assert UNTRUE not in json.dumps([dict(one.raw) for one in events], default=str)
    found = failure_of(book, events)
    assert found is not None
    assert found.code.code == "flow_step_broken"


@pytest.mark.parametrize("outcome", [None, "denied", "approved"])
def test_people_decided_where_the_record_has_their_answer(outcome: str | None) -> None:
    """A verdict that names people, without a decision of them, is nobody's but a program's."""
    digest = "sha256:" + "0" * 64
    started = {"program": {"name": "muniment:flow/1"}, "labels": {"policy": digest}}
    rows: list[tuple[str, dict[str, Any]]] = [("run.started", started)]
    if outcome is not None:
        rows.append(("decision.reached", {"outcome": outcome}))
    told = {"status": "pass", "decided_by": "people", "target": "flow"}
    rows.append(("verification.arbitrated", told))
    authority = Authority()
    speakers = [authority.speaker(_event(kind, raw)) for kind, raw in rows]
    wanted = "governance" if outcome == "approved" else "program"
    assert speakers[-1] == wanted


def _event(kind: str, raw: dict[str, Any]) -> Any:
    return types.SimpleNamespace(type=kind, raw=raw, scope=None)


@pytest.mark.parametrize(
    "name", ["muniment:flow/1", "muniment:observation/1", "muniment:own/1"]
)
def test_nobody_else_takes_a_name_of_muniments(name: str) -> None:
    """A record would take the code for muniment's."""
    with pytest.raises(UsageError, match="begins with muniment:"):

        @stable_name(name)
        def program(run: Run) -> None:
            del run
