"""Runs without an end: what could still change has neither passed nor failed."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from letters import run_letter
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run, run_record_fixture
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import chain, stage

ASK = {"kind": "escalation", "escalation_policy": {"reason": "Which branch?"}}
ROWS: tuple[dict[str, Any], ...] = (
    {"kind": "run-status", "expected": "completed"},
    {"kind": "stage-status", "stage": "send", "expected": "completed"},
    {"kind": "stage-status", "stage": "act", "expected": "failed"},
    {"kind": "visible-text-contains", "contains": "nobody wrote this"},
    {"kind": "visible-text-contains", "stage": "send", "contains": "x"},
    {"kind": "field", "path": "stages.send.visit", "op": "exists"},
    {"kind": "field", "path": "stages.act.visit", "op": "equals", "expected": 2},
    {"kind": "field", "path": "stages.act", "op": "absent"},
    {"kind": "field", "path": "usage.call_count", "op": "more", "expected": 5},
)


def stops(given: StageInput) -> str:
    """Be interrupted."""
    del given
    raise KeyboardInterrupt


def paused(book: Ledger, **labels: str) -> str:
    """Return a run that waits for people."""
    graph = chain(act=stage(), ask=ASK, send=stage())
    return workflow_execute(book, "T", graph, labels=labels).run_id


def interrupted(book: Ledger) -> str:
    """Return a run that was cut off."""
    graph = chain(act=stage(), stop={"handler": stops}, send=stage())
    with pytest.raises(KeyboardInterrupt):
        workflow_execute(book, "T", graph)
    return book.run_id("last")


def asserting(*rows: dict[str, Any], **case: Any) -> dict[str, Any]:
    """Return a pack with one case."""
    return {
        "version": 1,
        "rubrics": [{"id": "r", "assertions": [*rows]}],
        "cases": [{"id": "c", "rubrics": ["r"], **case}],
    }


def test_nothing_has_failed_yet(book: Ledger) -> None:
    """Whatever does not hold of a run that waits, or was cut off, may hold later."""
    for run, row in product((paused(book), interrupted(book)), ROWS):
        found = eval_suite_run(book, asserting(row), [run])
        assert found["verdict"] == "cannot_tell", (row, found["cases"])
        assert found["exit_code"] == 3


def test_a_fixture_and_another_run(book: Ledger) -> None:
    """Neither a fixture nor a run that ended fails one that has not; nor the other way."""
    run, done = paused(book), run_letter(book)
    for held in (
        {"cases": [{"id": "c", "fixture": "f"}], "fixtures": [{"id": "f"}]},
        {"cases": [{"id": "c", "compare_to": done}]},
    ):
        suite: dict[str, Any] = {"version": 1, **held}
        if "fixtures" in suite:
            inline = run_record_fixture(book, done)
            suite["fixtures"][0]["inline"] = inline
        found = eval_suite_run(book, suite, [run])
        assert found["verdict"] == "cannot_tell", found["cases"]
    back: dict[str, Any] = {"version": 1, "cases": [{"id": "c", "compare_to": run}]}
    assert eval_suite_run(book, back, [done])["verdict"] == "cannot_tell"


def test_what_stays_so_fails(book: Ledger) -> None:
    """A limit that was exceeded stays exceeded, and a question that was asked stays asked."""
    run = paused(book)
    limited: Any = {"version": 1, "cases": [{"id": "c", "thresholds": {}}]}
    limited["cases"][0]["thresholds"] = {"max_stage_count": 1}
    assert eval_suite_run(book, limited, [run])["verdict"] == "failed"
    limited["cases"][0]["thresholds"] = {"max_stage_count": 9}
    assert eval_suite_run(book, limited, [run])["verdict"] == "cannot_tell"


def test_a_case_may_be_about_that(book: Ledger) -> None:
    """That a run waits, and what people were asked, can be told while it waits."""
    run = paused(book)
    waits = {"kind": "run-status", "expected": "paused"}
    asked = {"kind": "hitl-question-contains", "contains": "which branch"}
    assert eval_suite_run(book, asserting(waits), [run])["verdict"] == "passed"
    assert eval_suite_run(book, asserting(asked), [run])["verdict"] == "passed"
    both = eval_suite_run(book, asserting(waits, ROWS[3]), [run])
    assert both["verdict"] == "cannot_tell"
    # that a field is called like the status makes the case about nothing
    field = {"kind": "field", "path": "task", "op": "not-equals", "expected": "paused"}
    assert eval_suite_run(book, asserting(field), [run])["verdict"] == "cannot_tell"


def test_what_was_not_asked_may_be_asked(book: Ledger) -> None:
    """A run that waits for something else, and asked nobody, may still ask."""
    fixture: dict[str, Any] = {"_type": "replay_fixture"}
    fixture["eval_kind"] = "clarifying_question"
    fixture["clarifying_question"] = {"min_questions": 0, "max_questions": 0}
    found = eval_suite_run(book, fixture, [interrupted(book)])
    assert found["verdict"] == "cannot_tell"
    assert eval_suite_run(book, fixture, [run_letter(book)])["verdict"] == "passed"


def test_two_sets_that_wait(book: Ledger) -> None:
    """Two sides that wait are not unchanged: nobody can tell, and the exit code is 3."""
    old, new = paused(book, case="a"), paused(book, case="a")
    found = eval_suite_run(book, asserting(ROWS[0]), [new], [old])
    told = found["comparison"]
    assert (told["undecided"], told["unchanged"]) == (1, 0)
    assert (found["verdict"], found["exit_code"]) == ("cannot_tell", 3)
