"""What a stage asked of tools is held, and so is what a verifier is: each kind of change."""

from __future__ import annotations

import importlib
import json
import linecache
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tools import ALLOWED, calls, tools
from muniment import Run
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.evals.checks.calls import call_changes
from muniment_plugins.workflow import StageInput, run_record, workflow_execute
from workflow_stages import chain

Asked = tuple[str, Mapping[str, Any]]
READ: Asked = ("read", {"path": "a"})
SAME: list[list[Asked]] = [[READ, ("read", {"path": "b"})], [READ]]
CHANGES: Mapping[str, list[list[Asked]]] = {
    "other arguments": [[READ, ("read", {"path": "c"})], [READ]],
    "another tool": [[READ, ("edit", {"path": "b", "text": "t"})], [READ]],
    "a further call": [[READ, ("read", {"path": "b"}), READ], [READ]],
    "a call less": [[READ], [READ]],
    "another order": [[("read", {"path": "b"}), READ], [READ]],
    "another turn": [[READ, ("read", {"path": "b"})], [("read", {"path": "b"})]],
    "no such tool": [[READ, ("nope", {"path": "b"})], [READ]],
    "arguments denied": [[READ, ("read", {})], [READ]],
    "a call that fails": [[READ, ("burst", {"why": "b"})], [READ]],
    "one turn less": [[READ, ("read", {"path": "b"})]],
}
SCRIPT: dict[int, Any] = {}


@pytest.fixture
def script() -> dict[int, Any]:
    """Give what the model of `library` says."""
    return SCRIPT


def run_of(book: Ledger, turns: list[list[Asked]]) -> str:
    """Run a loop that makes these calls, and always answers the same; return the run."""
    SCRIPT.clear()
    for number, named in enumerate(turns, 1):
        SCRIPT[number] = calls(*named)
    SCRIPT[len(turns) + 1] = "Ok."
    act = {
        "mode": "agent",
        "tools": tools(),
        "model_policy": {"model": "test:a"},
        "approval_policy": ALLOWED,
    }
    return workflow_execute(book, "T", chain(act=act)).run_id


def test_equal_calls_pass(library: Ledger) -> None:
    """A run that called the same passes, and it is counted as compared."""
    one, other = run_of(library, SAME), run_of(library, SAME)
    found = run_record_eval(library, other, run_record_fixture(library, one))
    assert (found["verdict"], found["compared"]["calls"]) == ("passed", 1)
    assert run_record_diff(library, one, other)["identical"]


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named(library: Ledger, change: str) -> None:
    """By a fixture, by another run and by a difference, either way round."""
    one, other = run_of(library, SAME), run_of(library, CHANGES[change])
    for left, right in ((one, other), (other, one)):
        found = run_record_eval(library, right, run_record_fixture(library, left))
        assert (found["verdict"], found["changed_stages"]) == ("failed", ["act.1"])
        assert any("act.1: call " in line for line in found["failures"]), found
        case = {"label": "c", "run": right, "compare_to": left}
        (row,) = eval_suite_run(library, {"cases": [case]})["cases"]
        assert (row["verdict"], row["changed_stages"]) == ("failed", ["act.1"])
        diff = run_record_diff(library, left, right)
        assert [one["stage_id"] for one in diff["stage_diffs"]] == ["act.1"]
        assert not diff["identical"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_fixture_from_before_is_held_to_what_it_has(
    library: Ledger, change: str
) -> None:
    """One without calls is read, and holds the rest; so is one of outcomes alone."""
    one, other = run_of(library, SAME), run_of(library, CHANGES[change])
    old = json.loads(json.dumps(run_record_fixture(library, one)))
    for stage in old["stage_assertions"]:
        del stage["expected_calls"]
    for fixture in (old, run_record_fixture(library, one, contents=False)):
        found = run_record_eval(library, other, fixture)
        assert (found["verdict"], found["failures"]) == ("passed", []), found
        assert "calls" not in found["compared"]


def test_what_was_erased_of_calls(library: Ledger) -> None:
    """Nobody can tell with which arguments a tool was called."""
    one, other = run_of(library, SAME), run_of(library, SAME)
    fixture = run_record_fixture(library, one)
    asked = next(iter(library.events(run=other, type="tool.requested")))
    library.erase(asked.data["request"].digest, reason="asked for")  # type: ignore[attr-defined]
    found = run_record_eval(library, other, fixture)
    assert (found["verdict"], found["failures"]) == ("cannot_tell", []), found
    assert not run_record_diff(library, one, other)["identical"]


def test_a_record_in_a_file_has_no_arguments(library: Ledger) -> None:
    """Of that nobody can tell; another tool, or another end, is a change all the same."""
    one = run_of(library, SAME)
    fixture = run_record_fixture(library, one)
    same = run_record_eval(library, run_record(library, run_of(library, SAME)), fixture)
    assert (same["verdict"], same["failures"]) == ("cannot_tell", []), same
    other = run_of(library, CHANGES["another tool"])
    found = run_record_eval(library, run_record(library, other), fixture)
    assert found["verdict"] == "failed"


ROW = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["a", "b"]),
        "status": st.sampled_from(["done", "failed"]),
        "arguments": st.sampled_from(["sha256:1", "sha256:2"]),
    }
)
ROWS = st.lists(ROW, max_size=4)


def test_calls_by_hand(library: Ledger) -> None:
    """A call that a fixture writes without arguments may have any."""
    run = run_of(library, [[READ]])
    stage = {"node_id": "act", "expected_calls": [{"tool": "read", "status": "done"}]}
    fixture = {"_type": "replay_fixture", "stage_assertions": [stage]}
    assert run_record_eval(library, run, fixture)["verdict"] == "passed"
    stage["expected_calls"] = []
    found = run_record_eval(library, run, fixture)
    assert found["failures"] == ["act.1: call 1: nothing, read done"]


@given(ROWS, ROWS)
def test_calls_are_equal_or_differ(one: list[Any], other: list[Any]) -> None:
    """They differ in words if, and only if, they differ."""
    changes, unknown = call_changes(one, other)
    assert (not changes, unknown) == (one == other, False)


EFFECTS: Mapping[str, list[Any]] = {
    "other arguments": [{"name": "look", "arguments": {"q": 2}}],
    "another tool": [{"name": "seek", "arguments": {"q": 1}}],
    "a further call": [{"name": "look", "arguments": {"q": 1}}] * 2,
    "a call less": [],
    "a call that fails": [{"name": "look", "arguments": {"q": 1}, "bad": True}],
    "no object": ["look"],
}
_ASKED: list[Any] = []


def hands(run: Run, stage: StageInput) -> str:
    """Call tools by hand."""
    for request in _ASKED:
        with suppress(EffectFailed):
            run.effect("tool", request, found)
    return stage.node


def found(request: Any) -> object:
    """Find something, or raise."""
    if "bad" in request:
        raise ValueError("bad")
    return "found"


@pytest.mark.parametrize("change", EFFECTS)
def test_tools_that_handlers_call(library: Ledger, change: str) -> None:
    """The calls of a handler are held as those of a loop are."""
    runs: list[str] = []
    asked = {"name": "look", "arguments": {"q": 1}}
    for rows in ([asked], [asked], EFFECTS[change]):
        _ASKED[:] = rows
        graph = chain(act={"handler": hands})
        runs.append(workflow_execute(library, "T", graph).run_id)
    fixture = run_record_fixture(library, runs[0])
    assert run_record_eval(library, runs[1], fixture)["verdict"] == "passed"
    told = run_record_eval(library, runs[2], fixture)
    assert (told["verdict"], told["changed_stages"]) == ("failed", ["act.1"]), told
    assert not run_record_diff(library, runs[0], runs[2])["identical"]


# -- what a verifier is --------------------------------------------------------------------

_SOUND = "def judges(given):\n    return bool(given.artifacts)\n"
GUTTED = {
    "true": "def judges(given):\n    return True\n",
    "softer": "def judges(given):\n    return given.artifacts is not None\n",
    "with a reason": _SOUND.replace("bool(", "{'ok': True}['ok'] or bool("),
}


@pytest.mark.parametrize("kind", GUTTED)
def test_a_changed_verifier_is_named(
    library: Ledger, place: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that finds the same by another function is a change; who leaves out the graph, not."""
    monkeypatch.syspath_prepend(place)
    one, same, other = (
        _verified(library, place, text) for text in (_SOUND, _SOUND, GUTTED[kind])
    )
    fixture = run_record_fixture(library, one)
    assert run_record_eval(library, same, fixture)["verdict"] == "passed"
    found = run_record_eval(library, other, fixture)
    assert (found["verdict"], found["changed_stages"]) == ("failed", ["check.1"])
    assert "the function" in found["failures"][0]
    diff = run_record_diff(library, one, other)
    assert [row["stage_id"] for row in diff["stage_diffs"]] == ["check.1"]
    free = run_record_fixture(library, one, normaliser={"ignore": ["graph"]})
    assert run_record_eval(library, other, free)["verdict"] == "passed"
    for stage in fixture["stage_assertions"]:
        stage["digests"].pop("function", None)
    assert run_record_eval(library, other, fixture)["verdict"] == "passed"


def _verified(book: Ledger, place: Path, text: str) -> str:
    """Run a graph whose verifier is the function in *text*; return the run."""
    (place / "verifiers.py").write_text(text)
    sys.modules.pop("verifiers", None)
    linecache.clearcache()
    importlib.invalidate_caches()
    check = {"kind": "verify", "verify": {"handler": "verifiers:judges"}}
    graph = chain(act={"handler": "workflow_stages:says"}, check=check)
    return workflow_execute(book, "T", graph).run_id
