"""What runs below did is held: each effect and each call in them is changed, one at a time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agent_tools import ALLOWED, Model, calls, tools
from compared_runs import changed
from muniment import Run, replay
from muniment.errors import EffectFailed, UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.evals import (
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.workflow import StageInput, artifact, run_record, workflow_execute
from workflow_stages import Document, chain

HOWS = ("another request", "another kind", "it fails", "twice", "not at all")
CALLED: Mapping[str, list[Any]] = {
    "other arguments": [("read", {"path": "b"})],
    "another tool": [("edit", {"path": "a", "text": "t"})],
    "twice": [("read", {"path": "a"})] * 2,
    "no such tool": [("nope", {"path": "a"})],
    "it fails": [("burst", {"why": "a"})],
}
SCRIPT: dict[int, Any] = {}
_ASKED: list[str] = []
"""Where each effect of the run was asked for, in their order."""
_CHANGE: list[Any] = [-1, ""]
"""Which effect is changed, by its number, and how."""


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def ask(run: Run, place: str, kind: str = "data") -> None:
    """Ask for one effect in *place*; the one that is to be changed is."""
    number = len(_ASKED)
    _ASKED.append(place)
    how = _CHANGE[1] if number == _CHANGE[0] else ""
    request: dict[str, Any] = {"number": number}
    if how == "another request":
        request["number"] = "another"
    if how == "another kind":
        kind = "command" if kind == "data" else "data"
    if how == "it fails":
        request["fails"] = True  # the request says it, too: it is what is performed
    times = {"twice": 2, "not at all": 0}.get(how, 1)
    for _ in range(times):
        with suppress(EffectFailed):
            run.effect(kind, request, performs)


def performs(request: Any) -> str:
    """Do it, or fail."""
    if "fails" in request:
        raise ValueError("fails")
    return "done"


def under(run: Run) -> str:
    """Ask, in a run that a program called."""
    with run.scope("lane") as lane:
        ask(lane, f"{_PLACE[0]}/run/under")
    return "same"


_PLACE = ["act.1"]


def helper(run: Run, x: int) -> str:
    """Ask, and call another program."""
    _PLACE[0] = "act.1" if x == 1 else "act.1#2"
    ask(run, f"{_PLACE[0]}/helper", "command")
    run.call(under)
    ask(run, f"{_PLACE[0]}/helper")
    return "same"


def outer(run: Run, stage: StageInput) -> str:
    """Ask, call two programs, and say the same in any case."""
    ask(run, "act.1")
    run.call(helper, {"x": 1})
    run.call(helper, {"x": 2})
    ask(run, "act.1", "llm")
    return stage.node


def inner(run: Run, stage: StageInput) -> str:
    """Ask below a subagent."""
    ask(run, "sub.1/in.1")
    with run.scope("lane") as lane:
        ask(lane, "sub.1/in.1", "human")
    return stage.node


def leaf(run: Run, stage: StageInput) -> str:
    """Ask two runs below."""
    ask(run, "sub.1/deep.1/leaf.1")
    return stage.node


def graph() -> Document:
    """Return a graph with runs below runs, of graphs and of programs."""
    loop = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "approval_policy": ALLOWED,
    }
    deep = {"kind": "subagent", "graph": chain(leaf={"handler": leaf})}
    first_one: Document = {"in": {"handler": inner}}
    below = chain(**first_one, loop=loop, deep=deep)
    return chain(sub={"kind": "subagent", "graph": below}, act={"handler": outer})


def run_of(
    book: Ledger,
    change: int = -1,
    how: str = "",
    called: Any = (("read", {"path": "a"}),),
    **options: Any,
) -> str:
    """Run it, with one change; return the run."""
    _ASKED.clear()
    _CHANGE[:] = [change, how]
    SCRIPT.clear()
    SCRIPT.update({1: calls(*called) if called else "Ok.", 2: "Ok."})
    given = artifact({"text": "given"})  # with an id of its own
    done = workflow_execute(book, "T", graph(), [given], options)
    assert done.status == "completed", done.error
    return done.run_id


def test_equal_runs_pass(library: Ledger) -> None:
    """Ids of runs and of what was given make no difference; how much was compared is told."""
    one, other = run_of(library), run_of(library)
    assert changed(library, one, other) == [[], [], []]
    diff = run_record_diff(library, one, other)
    assert diff["compared"]["runs_below"] == 6
    assert diff["compared"]["stages"] == 2 + 3 + 1 + 4
    found = run_record_eval(library, other, run_record_fixture(library, one))
    assert (found["not_compared"], found["undecided"]) == ({"llm": 2}, [])
    assert found["compared"]["effects"] == 7  # stages that asked for any


def test_equal_runs_of_two_ledgers_pass(library: Ledger, tmp_path: Path) -> None:
    """What names a run below is the scope of its call, never its id."""
    fixture = run_record_fixture(library, run_of(library))
    plugins = Plugins(("workflow", "evals"), extra={"model": Model(SCRIPT)})
    path, home = tmp_path / "other.db", tmp_path / "home2"
    with Ledger.create(path, home=home, plugins=plugins) as other:
        found = run_record_eval(other, run_of(other), fixture)
    assert (found["verdict"], found["failures"]) == ("passed", []), found


@pytest.mark.parametrize("how", HOWS)
def test_each_effect_is_held(library: Ledger, how: str) -> None:
    """Each of them, wherever it was asked for, is changed by itself: its place is named."""
    good = run_of(library)
    places = [*_ASKED]
    assert len(places) == 11
    fixture = run_record_fixture(library, good)
    for number, place in enumerate(places):
        bad = run_of(library, number, how)
        found = run_record_eval(library, bad, fixture)
        assert (found["verdict"], found["changed_stages"]) == ("failed", [place]), found
        diff = run_record_diff(library, good, bad)
        assert [one["stage_id"] for one in diff["stage_diffs"]] == [place]
        assert not diff["identical"]


@pytest.mark.parametrize("how", [*CALLED, "none"])
def test_each_call_of_a_tool_below_is_held(library: Ledger, how: str) -> None:
    """An agent below that went another way went another way, by each way of comparing."""
    one, other = run_of(library), run_of(library, called=CALLED.get(how, ()))
    for told in (changed(library, one, other), changed(library, other, one)):
        assert told == [["sub.1/loop.1"]] * 3


def _rows(said: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of a fixture that say what was asked for."""
    if isinstance(said, dict):
        for name, one in said.items():
            if name in ("expected_calls", "expected_effects"):
                yield from ((*path, name, number) for number in range(len(one)))
            else:
                yield from _rows(one, (*path, name))
    elif isinstance(said, list):
        for number, one in enumerate(said):
            yield from _rows(one, (*path, number))


def test_each_member_of_each_row_is_held(library: Ledger) -> None:
    """Whatever a fixture says of what was asked for: with another value it does not hold."""
    one, same = run_of(library), run_of(library)
    fixture = run_record_fixture(library, one)
    places = [*_rows(fixture)]
    assert len(places) == 11 + 1
    for path in places:
        rows = _at(fixture, path[:-1])
        for name in rows[path[-1]]:
            wrong = copy.deepcopy(fixture)
            row = _at(wrong, path)
            row[name] = {
                "status": "failed",
                "tool": "other",
                "kind": "other",
            }.get(name, "sha256:" + "0" * 64)
            found = run_record_eval(library, same, wrong)
            assert found["verdict"] == "failed", (path, name)
            assert len(found["changed_stages"]) == 1
        less = copy.deepcopy(fixture)
        del _at(less, path[:-1])[path[-1]]
        assert run_record_eval(library, same, less)["verdict"] == "failed"


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


# -- options --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("max_steps", {"max_steps": 9}),
        ("ceiling", {"ceiling": {"recursion_limit": 3}}),
        ("approval_policy", {"approval_policy": {"default": "allow"}}),
    ],
)
def test_what_a_run_was_held_to_is_compared(
    library: Ledger, name: str, options: dict[str, Any]
) -> None:
    """Another ceiling, approval policy or number of steps is a difference with its name."""
    one, other = run_of(library), run_of(library, **options)
    found = run_record_eval(library, other, run_record_fixture(library, one))
    assert found["verdict"] == "failed"
    assert f"the option {name} is not the same" in found["failures"]
    diff = run_record_diff(library, one, other)
    (section,) = diff["observability_diffs"]
    assert (section["section"], diff["identical"]) == ("options", False)
    assert section["details"][0].startswith(name)


# -- what is not there ----------------------------------------------------------------------


def test_a_fixture_from_before_says_that_it_compared_none(library: Ledger) -> None:
    """One without runs below never passes silently; without the rest, what it lacks counts."""
    one, other = run_of(library), run_of(library)
    old = json.loads(json.dumps(run_record_fixture(library, one)))
    del old["runs_below"], old["options"]
    for stage in old["stage_assertions"]:
        del stage["expected_effects"]
    found = run_record_eval(library, other, old)
    assert (found["verdict"], found["failures"]) == ("cannot_tell", [])
    assert "what the runs below did" in found["undecided"][0]
    kinds = {"llm": 2, "effects": 2, "options": 1, "runs below": 3}
    assert found["not_compared"] == kinds
    by_hand = {**old, "complete": False}
    found = run_record_eval(library, other, by_hand)
    assert (found["verdict"], found["not_compared"]["runs below"]) == ("passed", 3)


def test_outcomes_alone_hold_those_of_runs_below(library: Ledger) -> None:
    """Of each stage below how it ended, and no effect."""
    one, other = run_of(library), run_of(library, called=CALLED["other arguments"])
    fixture = run_record_fixture(library, one, contents=False)
    assert run_record_eval(library, other, fixture)["verdict"] == "passed"
    stage = fixture["runs_below"][0]["stage_assertions"][0]
    stage["expected_status"] = "failed"
    found = run_record_eval(library, other, fixture)
    assert found["changed_stages"] == ["sub.1/in.1"]


def test_what_was_erased_below_cannot_be_told(library: Ledger) -> None:
    """A request that is gone equals nothing, however far below."""
    one, other = run_of(library), run_of(library)
    fixture = run_record_fixture(library, one)
    human = next(one for one in library.events(type="human.requested", order="desc"))
    library.erase(human.data["request"].digest, reason="asked for")  # type: ignore[attr-defined]
    found = run_record_eval(library, other, fixture)
    assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found
    assert found["undecided"][0].startswith("sub.1/in.1: ")


def test_a_record_in_a_file_lacks_the_runs_below(library: Ledger) -> None:
    """Nobody can tell what they did, neither by a fixture nor by another record."""
    one, other = run_of(library), run_of(library)
    files = [run_record(library, run) for run in (one, other)]
    diff = run_record_diff(library, *files)
    assert (diff["identical"], diff["stage_diffs"]) == (False, [])
    assert "runs below" in diff["undecided"]
    found = run_record_eval(library, files[1], run_record_fixture(library, one))
    assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found


@pytest.mark.parametrize(
    ("below", "where"),
    [
        ([{"call": "sub.1", "texts": 1}], "texts"),
        ([{"call": "sub.1"}, {"call": "sub.1"}], "[1].call"),
        ([{"call": "sub.1", "stage_assertions": [{"node_id": "a"}]}], "[0]"),
        ([{"call": "sub.1", "runs_below": [{}]}], "call"),
    ],
)
def test_mistakes_in_what_is_said_of_runs_below(
    library: Ledger, below: Any, where: str
) -> None:
    """They are refused, with their place."""
    fixture = {"_type": "replay_fixture", "expected_status": "completed"}
    with pytest.raises(UsageError) as raised:
        run_record_eval(library, run_of(library), {**fixture, "runs_below": below})
    assert where in str(raised.value.place)


def test_the_verdict_is_replayed(library: Ledger) -> None:
    """From what was read then, also of the runs below."""
    one, other = run_of(library), run_of(library, 0, "twice")
    found = run_record_eval(library, other, run_record_fixture(library, one))
    report = replay(library, found["eval_run_id"])
    assert report.verdict == "acceptable", report.findings
