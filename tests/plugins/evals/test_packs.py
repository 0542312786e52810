"""Packs from files: rubrics, thresholds, judges; mistakes are named by key path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from letters import letter, looped, run_letter
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_manifest,
    eval_suite_run,
    load_suite,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.workflow import StageInput, run_record, workflow_execute
from workflow_stages import chain, stage

PACK = """
version = 1
id = "letters"
description = "Letters are checked before they are sent."

[package]
name = "letters"
version = "2.1"

[defaults]
severity = "blocking"
fixture_root = "fixtures"

[defaults.thresholds]
max_stage_count = 9

[[fixtures]]
id = "good"
kind = "replay"
path = "good.json"

[[rubrics]]
id = "sent"
kind = "deterministic"

[[rubrics.assertions]]
kind = "run-status"
expected = "completed"

[[rubrics.assertions]]
kind = "stage-status"
stage = "check"
expected = "completed"

[[rubrics.assertions]]
kind = "visible-text-contains"
stage = "draft"
contains = "Refund"

[[rubrics.assertions]]
kind = "field"
path = "stages.check.verification.ok"
expected = true

[[cases]]
id = "as-ever"
fixture = "good"

[[cases]]
id = "sent"
rubrics = ["sent"]
"""


def asserting(*rows: dict[str, Any], **case: Any) -> dict[str, Any]:
    """Return a pack with one case that asserts *rows*."""
    return {
        "version": 1,
        "id": "p",
        "rubrics": [{"id": "r", "assertions": [*rows]}],
        "cases": [{"id": "c", "rubrics": ["r"], **case}],
    }


def limited(**limits: Any) -> dict[str, Any]:
    """Return a pack with one case that has *limits*."""
    return {"version": 1, "id": "p", "cases": [{"id": "c", "thresholds": limits}]}


def test_p12_a_pack_from_a_file(book: Ledger, place: Path) -> None:
    """A pack in TOML passes for a run that is not the one its fixture was made of."""
    fixture = run_record_fixture(book, run_letter(book))
    (place / "fixtures").mkdir()
    (place / "fixtures" / "good.json").write_text(json.dumps(fixture))
    (place / "harn.eval.toml").write_text(PACK)
    suite = load_suite("harn.eval.toml")
    good = eval_suite_run(book, suite, [run_letter(book)])
    assert (good["verdict"], good["total"], good["passed"]) == ("passed", 2, 2)
    assert good["exit_code"] == 0
    bad = eval_suite_run(book, suite, [run_letter(book, letter("Sorry"))])
    assert (bad["verdict"], bad["failed"]) == ("failed", 2)
    assert bad["cases"][1]["failures"] == [
        "the status of the run is failed, not completed",
        "check.1: the status is failed, not completed",
        "draft.1: no text has 'Refund'",
        "stages.check.verification.ok: not equals True, it is False",
    ]


@pytest.mark.parametrize("severity", ["warning", "informational"])
def test_u35_a_warning_does_not_block(book: Ledger, severity: str) -> None:
    """It is counted and said, and the pack passes."""
    row = {"kind": "run-status", "expected": "completed"}
    suite = asserting(row, severity=severity)
    found = eval_suite_run(book, suite, [run_letter(book, letter("Sorry"))])
    assert (found["verdict"], found["warnings"], found["failed"]) == ("passed", 1, 1)
    assert (found["exit_code"], found["cases"][0]["verdict"]) == (0, "failed")


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"kind": "field", "path": "usage.call_count", "expected": 0}, "passed"),
        ({"kind": "field", "path": "stages.0.node_id", "expected": "draft"}, "passed"),
        ({"kind": "field", "path": "stages.draft.1.visit", "expected": 1}, "passed"),
        ({"kind": "field", "path": "stages.draft.visit", "expected": 2}, "passed"),
        (
            {"kind": "field", "path": "task", "op": "matches", "expected": "^T$"},
            "passed",
        ),
        ({"kind": "field", "path": "error", "op": "absent"}, "passed"),
        ({"kind": "field", "path": "reason", "op": "exists"}, "failed"),
        ({"kind": "field", "path": "stages.9.visit", "op": "exists"}, "failed"),
        (
            {"kind": "field", "path": "usage.call_count", "op": "more", "expected": 0},
            "failed",
        ),
        ({"kind": "visible-text-contains", "contains": "Sorry"}, "passed"),
        (
            {"kind": "visible-text-contains", "stage": "draft", "contains": "Sorry"},
            "failed",
        ),
        (
            {"kind": "visible-text-contains", "stage": "draft.1", "contains": "Sorry"},
            "passed",
        ),
        ({"kind": "stage-status", "stage": "drft", "expected": "completed"}, "failed"),
        ({"kind": "hitl-question-contains", "contains": "sure"}, "failed"),
    ],
)
def test_i13_assertions_are_evaluated(
    book: Ledger, row: dict[str, Any], verdict: str
) -> None:
    """Path and op, stages by node and by visit: each decides."""
    found = eval_suite_run(book, asserting(row), [run_letter(book, looped())])
    assert found["verdict"] == verdict, found["cases"]


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ({"max_stage_count": 3}, "passed"),
        ({"max_stage_count": 2}, "failed"),
        ({"max_tokens": 0}, "passed"),
        ({"max_latency_ms": 60_000}, "passed"),
        ({"max_latency_ms": 0}, "failed"),
        ({"max_cost_usd": 0}, "passed"),
    ],
)
def test_i13_thresholds_are_evaluated(
    book: Ledger, limits: dict[str, Any], verdict: str
) -> None:
    """Each holds, or fails the case."""
    found = eval_suite_run(book, limited(**limits), [run_letter(book)])
    assert found["verdict"] == verdict


@pytest.mark.parametrize(
    ("said", "place_said", "rule"),
    [
        ({"version": 2, "cases": [{"id": "c"}]}, "version", "evals/version"),
        ({"version": 1, "cases": [{"id": "c", "runn": "x"}]}, "cases[0].runn", "run"),
        (
            {"version": 1, "cases": [{"id": "c", "rubrics": ["s"]}]},
            "cases[0].rubrics[0]",
            "evals/unknown-rubric",
        ),
        (
            {"version": 1, "cases": [{"id": "c", "fixture": "good"}]},
            "cases[0].fixture",
            "evals/unknown-fixture",
        ),
        (
            {"version": 1, "cases": [{"id": "c", "friction_events": []}]},
            "cases[0].friction_events",
            "evals/lacking",
        ),
        (
            {"version": 1, "cases": [{"id": "c", "fixture_path": "no.json"}]},
            "cases[0].fixture_path",
            "evals/file",
        ),
        (limited(max_stage=3), "cases[0].thresholds.max_stage", "max_stage_count"),
        (limited(min_score=0.5), "cases[0].thresholds", "llm-judge"),
        (
            asserting({"kind": "run-status", "expectd": "x"}),
            "rubrics[0].assertions[0].expectd",
            "did you mean expected?",
        ),
        (
            asserting({"kind": "run-status", "expected": "x", "op": "equals"}),
            "rubrics[0].assertions[0].op",
            "does not read it",
        ),
        (
            asserting({"kind": "field", "path": "x", "op": "exists", "expected": 1}),
            "rubrics[0].assertions[0].expected",
            "compares with nothing",
        ),
        (
            {**limited(max_tokens=1), "rubrics": [{"id": "r", "assertions": []}]},
            "rubrics[0]",
            "evals/asserts-nothing",
        ),
        (
            {"cases": [{"label": "a", "run_path": "gone.json"}]},
            "cases[0].run_path",
            "there is no file gone.json",
        ),
        (
            {"cases": [{"run": "a"}], "base_dir": "nowhere"},
            "base_dir",
            "there is no folder",
        ),
        (
            {**limited(max_tokens=1), "normaliser": {"ignore": ["txt"]}},
            "normaliser.ignore[0]",
            "did you mean text?",
        ),
        (
            {
                **limited(max_tokens=1),
                "normaliser": {"replace": [{"pattern": "(", "with": ""}]},
            },
            "normaliser.replace[0].pattern",
            "no regular expression",
        ),
    ],
)
def test_mistakes_are_named(
    place: Path, said: dict[str, Any], place_said: str, rule: str
) -> None:
    """One line: the key path, what is wrong, what was probably meant."""
    del place
    with pytest.raises(UsageError) as error:
        eval_suite_manifest(said)
    assert f": {place_said}: " in str(error.value), str(error.value)
    assert rule in str(error.value)


def test_fixtures_by_hand(book: Ledger, place: Path) -> None:
    """A node without a visit means its visits in order, or the last one; the rest is free."""
    run = run_letter(book, looped())
    fixture = {
        "_type": "replay_fixture",
        "expected_status": "completed",
        "stage_assertions": [
            {"node_id": "check", "expected_branch": "failed"},
            {"node_id": "check", "expected_branch": "passed"},
            {"node_id": "draft", "visible_text_contains": f"Refund in {place}"},
        ],
    }
    good = run_record_eval(book, run, fixture)
    assert (good["verdict"], "self_derived" in good) == ("passed", False)
    fixture["stage_assertions"].append({"node_id": "chek", "expected_branch": "x"})  # type: ignore[attr-defined]
    bad = run_record_eval(book, run, fixture)
    assert bad["failures"] == ["chek: the run has no such stage"]


def test_clarifying_questions(book: Ledger) -> None:
    """Number and words of what people were asked are held, by letters and digits only."""
    ask = {"kind": "escalation", "escalation_policy": {"reason": "Which *branch*?"}}
    run = workflow_execute(book, "T", chain(act=stage(), ask=ask)).run_id
    said = {"expected_question": "which branch", "required_terms": ["BRANCH"]}
    fixture = {
        "_type": "replay_fixture",
        "eval_kind": "clarifying_question",
        "clarifying_question": said,
    }
    good = run_record_eval(book, run, fixture)
    assert good["verdict"] == "passed", good
    for more, words in (
        ({"forbidden_terms": ["which"]}, "1 of 1 questions are not as wanted"),
        ({"expected_question": "which file"}, "1 of 1 questions are not as wanted"),
    ):
        fixture["clarifying_question"] = {**said, **more}
        assert run_record_eval(book, run, fixture)["failures"] == [words]
    fixture["clarifying_question"] = {**said, "min_questions": 2, "max_questions": 3}
    waits = run_record_eval(book, run, fixture)
    assert waits["undecided"] == ["it asked 1, not at least 2; the run has no end yet"]
    none = run_record_eval(book, run_letter(book), fixture)
    assert none["failures"] == ["it asked 0, not at least 2"]


def test_records_in_files(book: Ledger, place: Path) -> None:
    """A record in a file can be judged; nobody signed it, and the result says so."""
    record = run_record(book, run_letter(book))
    (place / "run.json").write_text(json.dumps(record))
    (place / "f.json").write_text(
        json.dumps(run_record_fixture(book, run_letter(book)))
    )
    case = {"label": "a", "run_path": "run.json", "fixture_path": "f.json"}
    found = eval_suite_run(book, {"cases": [case]})
    assert (found["verdict"], found["cases"][0]["unsigned"]) == ("passed", True)
    (place / "run.json").write_text(json.dumps({**record, "stages": [{}]}))
    with pytest.raises(UsageError, match="it is no record of a run"):
        eval_suite_manifest({"cases": [case]})


def stops(given: StageInput) -> str:
    """Be interrupted."""
    del given
    raise KeyboardInterrupt


def test_a_run_without_an_end_passes_nothing(book: Ledger) -> None:
    """It may still change, whatever holds of it so far."""
    graph = chain(act=stage(), stop={"handler": stops})
    with pytest.raises(KeyboardInterrupt):
        workflow_execute(book, "T", graph)
    row = {"kind": "visible-text-contains", "contains": "act"}
    found = eval_suite_run(book, asserting(row), ["last"])
    assert (found["verdict"], found["exit_code"]) == ("cannot_tell", 3)
    assert found["cases"][0]["undecided"] == [
        "the run has no end yet: it may still change"
    ]
