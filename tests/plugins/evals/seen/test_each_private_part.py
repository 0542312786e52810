"""Whatever event of a run is private: each is folded, compared and not told, by each way."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import pytest

from agent_tools import calls, tools
from muniment import Run
from muniment.documents.places import At
from muniment.errors import EffectFailed
from muniment.events.visibility import VISIBILITY, is_private
from muniment.ledger import Ledger
from muniment.runs.privacy.private_lanes import Privacy
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.evals.documents.shapes import FIXTURE
from muniment_plugins.workflow import StageInput, artifact, run_record, workflow_execute
from workflow_stages import Document, chain, edge

ONE, TWO = "kept-one", "kept-two"
PRIVATE = "private"
_SAID: list[str] = [ONE]
SCRIPT: dict[int, Any] = {}


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def acts(run: Run, stage: Any) -> object:
    """Do one of each: an effect, one that fails, a note, a value that is published."""
    said = _SAID[0]
    run.effect("data", {"ask": said}, lambda _: said)
    with suppress(EffectFailed):
        run.effect("data", {"badly": said}, raises)
    stage.mail.publish_query("progress", {"at": said})
    run.record("note.added", {"text": said, "details": [said]})
    more = {
        "title": said,
        "source": said,
        "metadata": {said: said},
        "data": {said: said},
    }
    return artifact({"kind": "artifact", "text": said, **more})


def raises(given: object) -> object:
    """Raise."""
    del given
    raise ValueError(_SAID[0])


def judges(given: StageInput) -> object:
    """Find something."""
    del given
    return {"ok": True, "reason": _SAID[0]}


def says(given: StageInput) -> str:
    """Say it."""
    del given
    return _SAID[0]


def asks(run: Run, stage: Any) -> str:
    """Ask people."""
    del stage
    return str(run.decide({"about": _SAID[0]}, f"Is it {_SAID[0]}?").outcome)


def graph() -> Document:
    """Return a graph of which a run writes an event of each type that can be private."""
    looped = {"mode": "agent", "tools": tools(), "model_policy": {"model": "test:a"}}
    made = chain(
        act={"handler": acts},
        loop=looped,
        check={"kind": "verify", "verify": {"handler": judges}},
        below={"kind": "subagent", "graph": chain(inner={"handler": says})},
        each={"kind": "map", "map_policy": {"items": ["a"]}, "body": {"handler": says}},
        bad={"handler": raises},
        last={"handler": asks},
    )
    before = [one for one in made["edges"] if one["from"] != "bad"]
    return {**made, "edges": [*before, edge("bad", "last", "error")]}


def run_of(
    book: Ledger, said: str, hidden: Collection[str], patch: pytest.MonkeyPatch
) -> str:
    """Run it, so that it says *said*; events of the types *hidden* are private."""
    _SAID[0] = said
    SCRIPT.update({1: calls(("read", {"path": said}), ("no" + said, {said: 1}))})
    SCRIPT[2] = said
    with patch.context() as patched:
        patched.setattr(Privacy, "covers", lambda _, __, kind: kind in hidden)
        return workflow_execute(book, "T", graph()).run_id


def could_hide(book: Ledger, run: str) -> set[str]:
    """Return the types of the events of *run* that can be private."""
    types = book.port.types
    found = {one.type for one in book.events(run=run)}
    return {name for name in found if VISIBILITY in types.get(name).marks}


TYPES = (
    *("agent.turn.requested", "agent.turn.completed", "artifact.recorded"),
    *("child.requested", "child.completed", "data.requested", "data.completed"),
    *("data.failed", "decision.asked", "llm.requested", "llm.completed"),
    *("node.completed", "note.added", "query.published", "run.paused"),
    *("run.started", "stage.requested", "stage.completed", "stage.failed"),
    *("tool.requested", "tool.completed", "tool.denied"),
)


def test_each_type_is_tried(library: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has each type that such a run writes, and that can be private."""
    run = run_of(library, ONE, (), monkeypatch)
    assert could_hide(library, run) == {*TYPES}


@pytest.mark.parametrize("hidden", [*TYPES, "all of them"])
def test_whatever_is_private_is_compared(
    library: Ledger, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """An equal run is identical, another one is not; the record and the fixture are made."""
    which = TYPES if hidden == "all of them" else (hidden,)
    one, same, other = (
        run_of(library, text, which, monkeypatch) for text in (ONE, ONE, TWO)
    )
    assert any(map(is_private, library.events(run=one, type=",".join(which))))
    assert run_record(library, one)["id"] == one
    fixture = run_record_fixture(library, one)
    FIXTURE.check(json.loads(json.dumps(fixture)), At("the fixture", "evals"))
    alike = run_record_diff(library, one, same)
    assert alike["identical"], alike
    assert run_record_diff(library, one, other)["stage_diffs"]
    found = run_record_eval(library, same, fixture)
    assert not found["failures"], found
    told = run_record_eval(library, other, fixture)
    assert told["verdict"] != "passed", told
    pack = {"label": "c", "run": other, "compare_to": one}
    assert eval_suite_run(library, {"cases": [pack]})["verdict"] != "passed"
    if hidden == "all of them":
        assert ONE not in json.dumps([fixture, alike, found, told])


@pytest.mark.parametrize("side", ["left", "right"])
def test_private_on_one_side_cannot_be_told(
    library: Ledger, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """Of what is private in one of two equal runs nobody can tell: it is no change."""
    for hidden in [*TYPES, "all of them"]:
        which = TYPES if hidden == "all of them" else (hidden,)
        pair = [
            run_of(library, ONE, () if side == one else which, monkeypatch)
            for one in ("left", "right")
        ]
        diff = run_record_diff(library, *pair)
        assert not diff["stage_diffs"], (hidden, diff)
        assert not diff["observability_diffs"], (hidden, diff)
        found = run_record_eval(library, pair[1], run_record_fixture(library, pair[0]))
        assert not found["failures"], (hidden, found)


def _shut(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of *value* that a fixture may call private."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _shut(one, (*path, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _shut(one, (*path, number))
    elif isinstance(value, str) and value.startswith("sha256:"):
        fixed = {"definition", "function", "graph", "head", "options"}
        if not fixed & {*path}:
            yield path


def test_each_member_of_a_fixture_may_be_private(
    library: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read again in the run that it was made of; without that nobody can tell."""
    one, same = (run_of(library, ONE, (), monkeypatch) for _ in range(2))
    fixture = run_record_fixture(library, one)
    places = [*_shut(fixture)]
    assert len(places) > 10
    parts = {"stage_assertions", "task", "published", "runs_below"}
    assert {place[0] for place in places} == parts
    for place in places:
        shut = json.loads(json.dumps(fixture))
        here = shut
        for key in place[:-1]:
            here = here[key]
        here[place[-1]] = PRIVATE
        found = run_record_eval(library, same, shut)
        assert not found["failures"], (place, found)
        assert not any("private" in line for line in found["undecided"]), (place, found)
        del shut["source"]
        found = run_record_eval(library, same, shut)
        assert not found["failures"], (place, found)
        assert any("private" in line for line in found["undecided"]), (place, found)
