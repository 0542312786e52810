"""Whatever a rubric of any kind may say acts, or is refused: nothing is passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_manifest,
    eval_suite_run,
    run_record_fixture,
)
from muniment_plugins.evals.documents.shapes import (
    ASSERTIONS,
    RUBRIC,
    RUBRICS,
    THRESHOLDS,
)
from muniment_plugins.workflow import workflow_execute
from workflow_stages import chain

Row = dict[str, Any]
SAYS = '{"pass": true, "score": 0.5, "confidence": 0.5}'
USED = {"usage": {"input_tokens": 2, "output_tokens": 1}, "cost": {"usd": "0.25"}}
ANSWERS = [
    {"when": "Write it", "text": "Refund", **USED},
    {"when": "harshly", "text": '{"pass": false}'},
    {"when": "<work>", "text": SAYS},
]
JUDGE = {"model": "scripted:yes.json"}
ENDED = {"kind": "run-status", "expected": "completed"}
CALLED = {"kind": "field", "path": "usage.call_count", "expected": 1}
ASKED = {"kind": "hitl-question-contains", "contains": "sure"}
GOOD: dict[str, Row] = {
    "deterministic": {"assertions": [ENDED]},
    "replay": {},
    "budget": {"thresholds": {"max_stage_count": 9}},
    "hitl": {"assertions": [ASKED]},
    "side-effect": {"assertions": [CALLED]},
    "llm-judge": {"prompt": "Is it polite?", "judge": JUDGE},
}
"""A rubric of each kind that a good run passes."""
FALSE: dict[str, Row] = {
    "run-status": {"expected": "failed"},
    "stage-status": {"stage": "write", "expected": "failed"},
    "visible-text-contains": {"contains": "Sorry"},
    "hitl-question-contains": {"contains": "never"},
    "field": {"path": "usage.call_count", "expected": 7},
}
"""An assertion of each kind that no run here passes."""
STRICT: Row = {
    "min_score": 1,
    "min_confidence": 1,
    "max_cost_usd": 0,
    "max_latency_ms": 0,
    "max_tokens": 0,
    "max_stage_count": 0,
}
"""A threshold of each name that no run here keeps to."""
JUDGING: Row = {
    "prompt": "Judge harshly.",
    "stage": "nowhere",
    "judge": {"model": "scripted:no.json"},
    "calibration": [{"text": "example", "pass": False}],
}
"""What only a judge reads, so that it does not pass."""


def changed(kind: str) -> Iterator[tuple[str, Row]]:
    """Yield each member with the good rubric of *kind* in which it is not met."""
    good = GOOD[kind]
    for name, more in FALSE.items():
        rows = [*good.get("assertions", []), {"kind": name, **more}]
        yield name, {**good, "assertions": rows}
    for name, limit in STRICT.items():
        limits = {**good.get("thresholds", {}), name: limit}
        yield name, {**good, "thresholds": limits}
    for name, value in JUDGING.items():
        yield name, {**good, name: value}


def packed(kind: str, rubric: Row, **case: Any) -> Row:
    """Return a pack of one case with that *rubric*."""
    if kind == "replay":
        case["fixture_path"] = "good.json"
    return {
        "version": 1,
        "id": "p",
        "rubrics": [{"id": "r", "kind": kind, **rubric}],
        "cases": [{"id": "c", "rubrics": ["r"], **case}],
    }


def good_run(library: Ledger, kind: str) -> str:
    """Return a run that the good rubric of *kind* passes; one of ``hitl`` waits."""
    Path("yes.json").write_text(json.dumps(ANSWERS))
    Path("no.json").write_text(json.dumps([{"when": "", "text": '{"pass": false}'}]))
    node = {
        "kind": "stage",
        "mode": "llm",
        "prompt": "Write it",
        "model_policy": {"model": "scripted:yes.json"},
    }
    graph = chain(write=node)
    if kind == "hitl":
        ask = {"kind": "escalation", "escalation_policy": {"reason": "Are you sure?"}}
        graph = chain(write=node, ask=ask)
    first, second = (workflow_execute(library, "T", graph).run_id for _ in range(2))
    Path("good.json").write_text(json.dumps(run_record_fixture(library, first)))
    return second


def test_each_member_is_tried() -> None:
    """The control: a member that a shape gains has to be tried here, too."""
    described = {"id", "kind", "description"}
    assert {*GOOD} == {*RUBRICS}
    assert {*FALSE} == {*ASSERTIONS}
    assert {*STRICT, "severity"} == {*THRESHOLDS.optional}
    tried = {*JUDGING, "assertions", "thresholds", *described}
    assert tried == {*RUBRIC.required, *RUBRIC.optional}


@pytest.mark.parametrize("kind", RUBRICS)
def test_what_is_accepted_acts(library: Ledger, kind: str) -> None:
    """A member that is not met keeps the case from passing; what no judge reads is refused."""
    run = good_run(library, kind)
    good = eval_suite_run(library, packed(kind, GOOD[kind]), [run])
    assert good["verdict"] == "passed", good["cases"]
    for name, rubric in changed(kind):
        pack = packed(kind, rubric)
        if kind != "llm-judge" and (name in JUDGING or name.startswith("min_")):
            with pytest.raises(UsageError):
                eval_suite_manifest(pack)
            continue
        found = eval_suite_run(library, pack, [run])
        (case,) = found["cases"]
        assert found["verdict"] != "passed", name
        told = [*case["failures"], *case["undecided"]]
        assert len(told) == 1, (name, told)
        if kind == "hitl":  # of a run that waits nobody can tell
            continue
        if name in FALSE or name.startswith("max_"):
            assert (found["verdict"], case["failures"]) == ("failed", told)
        if name in FALSE:
            assert case["compared"][name] >= 1


@pytest.mark.parametrize("kind", RUBRICS)
def test_what_describes_is_kept(library: Ledger, kind: str) -> None:
    """The description is in the record of the eval, and the severity in its verdict."""
    run = good_run(library, kind)
    limits = {**GOOD[kind].get("thresholds", {}), "severity": "warning"}
    rubric = {**GOOD[kind], "description": "why it matters", "thresholds": limits}
    pack = packed(kind, rubric)
    assert "why it matters" in json.dumps(dict(eval_suite_manifest(pack).document))
    found = eval_suite_run(library, pack, [run])
    assert found["cases"][0]["severity"] == "warning"


SETTINGS: Row = {"temperature": 0.5, "max_tokens": 7, "system": "Be fair."}


def test_what_a_judge_is_set_to(library: Ledger) -> None:
    """Each setting of a judge is sent to its model, and null is as if left out."""
    shape: Any = RUBRIC.optional["judge"]
    assert {*SETTINGS, "provider", "model"} == {*shape.optional}
    run = good_run(library, "llm-judge")
    said = {"provider": "scripted", "model": "yes.json", **SETTINGS}
    unsaid = dict.fromkeys(SETTINGS)
    for judge, sent in ((said, SETTINGS), ({**said, **unsaid}, {})):
        pack = packed("llm-judge", {**GOOD["llm-judge"], "judge": judge})
        found = eval_suite_run(library, pack, [run])
        (asked,) = library.events(run=found["eval_run_id"], type="llm.requested")
        request: Any = library.resolve(asked)["request"]
        assert request.pop("prompt")
        assert request == {"model": "scripted:yes.json", **sent}
    nobody = {**GOOD["llm-judge"], "judge": {"model": None, "temperature": 0}}
    with pytest.raises(UsageError, match="no model judges"):
        eval_suite_manifest(packed("llm-judge", nobody))


def test_scores_that_no_judge_states() -> None:
    """A score that the defaults want of a pack without a judge is refused."""
    for name in ("min_score", "min_confidence"):
        pack = packed("deterministic", GOOD["deterministic"])
        pack["defaults"] = {"thresholds": {name: 1}}
        with pytest.raises(UsageError) as refused:
            eval_suite_manifest(pack)
        assert f": defaults.thresholds.{name}: " in str(refused.value)


def test_no_fixture_answers_for_a_rubric(library: Ledger) -> None:
    """A rubric with the name under which texts of fixtures are looked for is refused."""
    del library
    inline = {"stage_assertions": [{"node_id": "a", "visible_text_contains": "x"}]}
    rubric = {"id": "fixture", "assertions": [{"kind": "visible-text-contains"}]}
    rubric["assertions"][0]["contains"] = "y"  # type: ignore[index]
    pack: Row = {
        "version": 1,
        "fixtures": [{"id": "f", "inline": inline}],
        "rubrics": [rubric],
        "cases": [{"id": "c", "fixture": "f", "rubrics": ["fixture"]}],
    }
    with pytest.raises(UsageError) as refused:
        eval_suite_manifest(pack)
    assert ": cases[0].rubrics: " in str(refused.value)
    del pack["cases"][0]["fixture"]
    assert eval_suite_manifest(pack).cases
