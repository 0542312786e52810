"""Assertions that hold nothing are refused; values compare strictly; patterns end."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letters import run_letter
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_manifest,
    eval_suite_run,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.evals.views import patterns
from muniment_plugins.evals.views.fields import field_answer
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import chain, stage


def asserting(**row: Any) -> dict[str, Any]:
    """Return a pack with one assertion about a field."""
    return {
        "version": 1,
        "rubrics": [{"id": "r", "assertions": [{"kind": "field", **row}]}],
        "cases": [{"id": "c", "rubrics": ["r"]}],
    }


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"path": ".", "op": "absent"}, "no run of a record has ''"),
        ({"path": "eror", "op": "absent"}, "did you mean error?"),
        ({"path": "stages.draft.eror", "op": "absent"}, "did you mean error?"),
        ({"path": "stages.a.1.vist", "op": "exists"}, "no stage of a record"),
        ({"path": "status.x", "op": "absent"}, "nothing is below it"),
        ({"path": "artifacts.first", "op": "absent"}, "is no number of an item"),
        ({"path": "usage.call_count", "op": "exists"}, "every record has it"),
        ({"path": "stages.a.visit", "expected": True}, "it is true or false"),
        ({"path": "stages.a.visit", "op": "not-equals", "expected": "1"}, "a number"),
        ({"path": "stages.a.status", "expected": "complete"}, "did you mean completed"),
        ({"path": "status", "op": "not-equals", "expected": "done"}, "no run status"),
        ({"path": "task", "op": "contains", "expected": ""}, "everything contains it"),
        ({"path": "task", "op": "not-contains", "expected": 5}, "it is a number"),
        ({"path": "usage.call_count", "op": "contains", "expected": 1}, "contains not"),
        ({"path": "task", "op": "matches", "expected": "("}, "no regular expression"),
        ({"path": "task", "op": "matches", "expected": ""}, "it is no text"),
        ({"path": "task", "op": "matches", "expected": "x*"}, "in every text"),
        ({"path": "task", "op": "matches", "expected": 5}, "it is no text"),
        ({"path": "task", "op": "less", "expected": 5}, "never a number"),
        ({"path": "usage.call_count", "op": "less", "expected": "x"}, "is no number"),
        ({"path": "usage.call_count", "op": "less", "expected": True}, "is no number"),
    ],
)
def test_what_holds_nothing_is_refused(row: dict[str, Any], words: str) -> None:
    """When the suite is read, with its place, and exit code 2."""
    with pytest.raises(UsageError) as refused:
        eval_suite_manifest(asserting(**row))
    assert words in str(refused.value), str(refused.value)
    assert "rubrics[0].assertions[0]" in refused.value.place
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("rubric", "words"),
    [
        (
            {"assertions": [{"kind": "run-status", "expected": "complete"}]},
            "completed?",
        ),
        (
            {"assertions": [{"kind": "hitl-question-contains", "contains": "?!"}]},
            "no letter",
        ),
        (
            {
                "kind": "side-effect",
                "assertions": [{"kind": "run-status", "expected": "completed"}],
            },
            "lacks an assertion of the kind field",
        ),
    ],
)
def test_rubrics_that_hold_nothing(rubric: dict[str, Any], words: str) -> None:
    """A status that none is, a question without words, effects that nobody looks at."""
    pack: Any = {"version": 1, "rubrics": [{"id": "r", **rubric}]}
    pack["cases"] = [{"id": "c", "rubrics": ["r"]}]
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        eval_suite_manifest(pack)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "1", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("k"), inner),
    max_leaves=4,
)


@given(actual=PLAIN, expected=PLAIN.filter(lambda one: one is not None))
def test_values_compare_as_json(actual: Any, expected: Any) -> None:
    """True is not 1 and 1 is not "1", at any depth; what cannot be compared differs not."""
    record = {"artifacts": [{"data": actual}], "stages": []}
    probe = {"path": "artifacts.0.data", "expected": expected}
    same = field_answer(record, {**probe, "op": "equals"})["found"]
    differs = field_answer(record, {**probe, "op": "not-equals"})["found"]
    assert same == (repr(actual) == repr(expected))
    assert differs in (not same, None)
    kinds = {type(actual), type(expected)}
    assert (differs is None) == (len(kinds) > 1 and actual is not None)


def test_a_stage_that_was_not_reached(book: Ledger) -> None:
    """It is absent if its graph has it; of a node that no graph has nothing is absent."""
    graph = chain(act=stage(), stop={"handler": stops}, send=stage())
    run = workflow_execute(book, "T", graph).run_id
    for path, verdict in (
        ("stages.send", "passed"),
        ("stages.send.1", "passed"),
        ("stages.act", "failed"),
        ("stages.act.2", "passed"),
        ("stages.sned", "cannot_tell"),
        ("stages.send.error", "cannot_tell"),
        ("stages.act.error", "passed"),
        ("artifacts.99", "passed"),
        ("artifacts.99.data", "cannot_tell"),
    ):
        found = eval_suite_run(book, asserting(path=path, op="absent"), [run])
        assert found["verdict"] == verdict, (path, found["cases"])


def stops(given: StageInput) -> str:
    """Fail."""
    raise ValueError(given.node)


def speaks(given: StageInput) -> str:
    """Say what takes some patterns years."""
    del given
    return "a" * 60 + "!"


def test_a_pattern_ends(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that would take years decides nothing, in an assertion and in a normaliser."""
    monkeypatch.setattr(patterns, "SECONDS", 0.3)
    graph = chain(act={"handler": speaks})
    run, other = (workflow_execute(book, "T", graph).run_id for _ in range(2))
    slow = {"path": "stages.act.visible_text", "op": "matches", "expected": "(a+)+$"}
    began = time.monotonic()
    found = eval_suite_run(book, asserting(**slow), [run])
    assert found["verdict"] == "cannot_tell"
    assert "took longer than" in found["cases"][0]["undecided"][0]
    normaliser: Any = {"replace": [{"pattern": "(a+)+$", "with": "x"}]}
    fixture = run_record_fixture(book, run, normaliser=normaliser)
    held = run_record_eval(book, other, fixture)
    assert held["verdict"] == "cannot_tell"
    assert any("took longer than" in one for one in held["undecided"])
    assert time.monotonic() - began < 20
    quick = eval_suite_run(book, asserting(**{**slow, "expected": "^a+!$"}), [run])
    assert quick["verdict"] == "passed"


def test_ids_are_compared_as_they_are_named(book: Ledger) -> None:
    """A source may be named as any run: by a prefix, in lower case, by its last event."""
    run, other = run_letter(book), run_letter(book)
    made = run_record_fixture(book, run)
    bare = {name: one for name, one in made.items() if name != "source"}
    for said in (run, run.lower(), run[:24], run[:24].lower()):
        found = run_record_eval(book, run, {**bare, "source_run_id": said})
        assert (found["verdict"], found["self_derived"]) == ("cannot_tell", True)
        assert run_record_eval(book, other, {**bare, "source_run_id": said})["pass"]
    lying = {**made, "source_run_id": other}
    assert run_record_eval(book, run, lying)["self_derived"]


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"node_id": "nobody", "id": "draft.1"}, "node_id"),
        ({"node_id": "draft", "visit": 2, "id": "draft.1"}, "visit"),
        ({"node_id": "draft", "visit": 2, "id": "f.1/a/draft.1"}, "visit"),
    ],
)
def test_an_id_agrees_with_its_node(row: dict[str, Any], place: str) -> None:
    """A stage of a fixture names one stage, or is refused."""
    fixture = {
        "_type": "replay_fixture",
        "stage_assertions": [{**row, "expected_status": "completed"}],
    }
    with pytest.raises(UsageError) as refused:
        eval_suite_manifest(fixture)
    assert refused.value.place.endswith(f"stage_assertions[0].{place}")


def test_every_fixture_of_a_run_is_read(book: Ledger) -> None:
    """Branches, joins and items of maps have ids that agree with their nodes."""
    nodes = {
        "fork": {"kind": "fork"},
        "a": stage(),
        "b": stage(),
        "both": {"kind": "join"},
        "end": stage(),
    }
    ways = [("fork", "a"), ("fork", "b"), ("a", "both"), ("b", "both"), ("both", "end")]
    graph = {
        "name": "forked",
        "entry": "fork",
        "nodes": nodes,
        "edges": [{"from": one, "to": other} for one, other in ways],
    }
    run, other = (workflow_execute(book, "T", graph).run_id for _ in range(2))
    made = run_record_fixture(book, run)
    assert len(made["stage_assertions"]) == 5
    found = run_record_eval(book, other, made)
    assert found["verdict"] == "passed", found
