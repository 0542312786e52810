"""Several rubrics in one case: each holds, whatever their order and the others are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment_plugins.evals import eval_suite_manifest
from muniment_plugins.evals.checks.judging import judged
from muniment_plugins.evals.checks.verdicts import case_result, suite_result
from muniment_plugins.evals.documents.shapes import SEVERITIES
from muniment_plugins.evals.engine.program import rows_of

Row = dict[str, Any]
VIEW: Row = {
    "run": "r",
    "workflow_id": "w",
    "status": "completed",
    "usage": {"input_tokens": 1, "output_tokens": 1, "total_cost": "2"},
    "duration_us": 2000,
    "stages": [{"id": "a.1", "node_id": "a"}, {"id": "b.1", "node_id": "b"}],
    "questions": [],
    "probes": {},
    "source": {"run": "r"},
}
"""What is read of a run of two stages, two tokens, two milliseconds, and two dollars."""
LIMITS = ("max_cost_usd", "max_latency_ms", "max_tokens", "max_stage_count")
SCORES = ("min_score", "min_confidence")
SEVERITY = st.fixed_dictionaries({}, optional={"severity": st.sampled_from(SEVERITIES)})
NUMBERS = st.sampled_from([0, 1, 2, 3, None])
CAPS = st.dictionaries(st.sampled_from(LIMITS), NUMBERS, max_size=3)
PARTS = st.sampled_from([0, 0.5, 1, None])
WANTED = st.dictionaries(st.sampled_from(SCORES), PARTS, max_size=2)
ANSWER = st.fixed_dictionaries(
    {"pass": st.booleans()},
    optional={one: st.sampled_from([0, 0.5, 1]) for one in ("score", "confidence")},
)


@st.composite
def drawn(draw: st.DrawFn) -> tuple[list[Row], dict[str, Row]]:
    """Draw rubrics, and what the judges among them answer."""
    rubrics: list[Row] = []
    answers: dict[str, Row] = {}
    for number in range(draw(st.integers(1, 4))):
        limits: Row = {**draw(CAPS), **draw(SEVERITY)}
        row: Row = {"id": f"r{number}", "thresholds": limits}
        kind = draw(st.sampled_from(["deterministic", "budget", "llm-judge"]))
        if kind == "budget":
            limits |= {draw(st.sampled_from(LIMITS)): draw(st.integers(0, 3))}
        elif kind == "llm-judge":
            row |= {"prompt": "?", "judge": {"model": "m"}}
            limits |= draw(WANTED)
            answers[row["id"]] = draw(ANSWER)
        if kind == "deterministic" or draw(st.booleans()):
            status = draw(st.sampled_from(["completed", "completed", "failed"]))
            row["assertions"] = [{"kind": "run-status", "expected": status}]
        rubrics.append({**row, "kind": kind})
    return rubrics, answers


def case_of(rubrics: list[Row], defaults: Row | None = None, **own: Any) -> Row:
    """Return the case with *rubrics*, in its normal form."""
    case = {"id": "c", "rubrics": [one["id"] for one in rubrics], **own}
    pack = {"version": 1, "rubrics": rubrics, "cases": [case]}
    if defaults:
        pack["defaults"] = defaults
    return eval_suite_manifest(pack).cases[0]


def told(case: Row, answers: dict[str, Row]) -> tuple[str, str, str]:
    """Return the verdicts about *case* and about the suite, and how much it matters."""
    rows = rows_of(case, VIEW)
    for judge in case.get("judges", []):
        rows.append(judged(judge, answers[judge["id"]]))
    result = case_result(case, VIEW, rows)
    return result["verdict"], suite_result([result])["verdict"], result["severity"]


@settings(max_examples=300)
@given(drawn(), st.data())
def test_their_order_is_nothing(
    found: tuple[list[Row], Any], data: st.DataObject
) -> None:
    """Whatever the defaults and the case say: verdict and severity stay the same."""
    rubrics, answers = found
    common = {"thresholds": data.draw(CAPS | SEVERITY), **data.draw(SEVERITY)}
    own = {"thresholds": data.draw(CAPS), **data.draw(SEVERITY)}
    other = data.draw(st.permutations(rubrics))
    one, two = (told(case_of(it, common, **own), answers) for it in (rubrics, other))
    assert one == two


@settings(max_examples=300)
@given(drawn(), SEVERITY)
def test_none_takes_from_another(found: tuple[list[Row], Any], common: Row) -> None:
    """The verdict of a case is the worst of those that each of its rubrics alone has."""
    rubrics, answers = found
    alone = [told(case_of([one], common), answers) for one in rubrics]
    verdict, suite, severity = told(case_of(rubrics, common), answers)
    verdicts = {one[0] for one in alone}
    worst = [one for one in ("failed", "cannot_tell", "passed") if one in verdicts]
    assert verdict == worst[0]
    assert severity == min((one[2] for one in alone), key=SEVERITIES.index)
    if "failed" in {one[1] for one in alone}:
        assert suite == "failed"


@settings(max_examples=200)
@given(drawn(), CAPS, WANTED, SEVERITY)
def test_the_case_has_the_last_word(
    found: tuple[list[Row], Any], caps: Row, wanted: Row, severity: Row
) -> None:
    """What it says itself overrides its rubrics and the defaults, looser or stricter."""
    rubrics, answers = found
    said = caps | (wanted if answers else {})
    usual = {"thresholds": dict.fromkeys(LIMITS, 0), "severity": "blocking"}
    case = case_of(rubrics, usual, thresholds=said, **severity)
    for name, value in said.items():
        rows = case["judges"] if name in SCORES else [case["thresholds"]]
        assert value is None or {one[name] for one in rows} == {value}
    assert severity.get("severity") in (None, case["severity"])


@pytest.mark.parametrize(
    ("rubrics", "wanted"),
    [
        ([{}], 5),
        ([{"max_tokens": 9}], 9),
        ([{"max_tokens": 1}], 1),
        ([{"max_tokens": None}], 5),
        ([{"max_tokens": 9}, {}], 9),
        ([{"max_tokens": 9}, {"max_tokens": 7}, {"max_tokens": 8}], 7),
    ],
)
def test_defaults_are_overridden(rubrics: list[Row], wanted: int) -> None:
    """A limit of the defaults holds where no rubric of the case says another."""
    holds = [{"kind": "run-status", "expected": "completed"}]
    rows = [
        {"id": f"r{number}", "assertions": holds, "thresholds": one}
        for number, one in enumerate(rubrics)
    ]
    case = case_of(rows, {"thresholds": {"max_tokens": 5}})
    assert case["thresholds"]["max_tokens"] == wanted


def test_a_score_is_that_of_the_rubric() -> None:
    """Each judge is held to its own rubric, else to the defaults, never to another's."""
    rubrics: list[Row] = [
        {"id": name, "kind": "llm-judge", "prompt": "?", "judge": {"model": "m"}}
        for name in ("strict", "lax", "silent")
    ]
    rubrics[0]["thresholds"] = {"min_score": 0.9, "min_confidence": 0.8}
    rubrics[1]["thresholds"] = {"min_score": 0.2}
    case = case_of(rubrics, {"thresholds": {"min_score": 0.5}})
    known = {
        one["id"]: {name: one[name] for name in SCORES if name in one}
        for one in case["judges"]
    }
    assert known == {
        "strict": {"min_score": 0.9, "min_confidence": 0.8},
        "lax": {"min_score": 0.2},
        "silent": {"min_score": 0.5},
    }
