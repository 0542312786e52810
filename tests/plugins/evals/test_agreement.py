"""Verdict, counts, JUnit, the record and the exit code of an eval say the same."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from letters import letter, run_letter
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run, junit_xml
from muniment_plugins.evals.checks.verdicts import (
    exit_of,
    suite_result,
    verdict_of_sets,
)
from muniment_plugins.evals.regression.comparison import compared_sets

VERDICTS = ("passed", "failed", "cannot_tell")
SEVERITIES = ("blocking", "warning", "informational")
CASES = st.lists(st.tuples(st.sampled_from(SEVERITIES)), min_size=1, max_size=3)
OUTCOMES = st.lists(st.sampled_from(VERDICTS), min_size=3, max_size=3)
RUNS = st.lists(st.tuples(st.booleans(), st.integers(0, 2), OUTCOMES), max_size=8)


def view(run: str, paired: int) -> dict[str, Any]:
    """Return what a comparison reads of a view."""
    return {
        "run": run,
        "task": "t",
        "given": [],
        "stages": [],
        "duration_us": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "origin": {"labels": {"case": f"{paired}"}},
    }


def made(
    cases: list[tuple[str]], runs: list[tuple[bool, int, list[str]]], fail_on: str
) -> dict[str, Any]:
    """Return the result of a suite of *cases*, of runs that came out so."""
    results: list[dict[str, Any]] = []
    views: list[dict[str, Any]] = []
    for number, (against, paired, outcomes) in enumerate(runs):
        for place, (severity,) in enumerate(cases):
            row = {"case": f"c{place}", "run_id": f"r{number}", "severity": severity}
            more = {"against": True} if against else {}
            told = {"failures": ["no"], "undecided": ["?"], "compared": {"x": 1}}
            results.append({**row, "verdict": outcomes[place], **told, **more})
            views.append(view(f"r{number}", paired))
    mine = [one for one in results if "against" not in one]
    found: dict[str, Any] = {"suite": "s", **suite_result(mine), "cases": results}
    if len(mine) < len(results):
        told = compared_sets(results, views, "case")
        found |= {"comparison": told, "fail_on": fail_on}
        found["verdict"] = verdict_of_sets(told, fail_on)
    return found


@settings(max_examples=300)
@given(cases=CASES, runs=RUNS, fail_on=st.sampled_from(["worse", "shown"]))
def test_they_agree(
    cases: list[tuple[str]], runs: list[tuple[bool, int, list[str]]], fail_on: str
) -> None:
    """Of any suite, of one set of runs or of two: a failure in JUnit is an exit code of 1."""
    found = made(cases, runs, fail_on)
    root = ET.fromstring(junit_xml(found).encode())  # noqa: S314 - our own
    failures, errors = (int(root.get(one) or 0) for one in ("failures", "errors"))
    wanted = "failed" if failures else "cannot_tell" if errors else "passed"
    assert found["verdict"] == wanted
    assert exit_of(found) == {"passed": 0, "failed": 1, "cannot_tell": 3}[wanted]
    elements = [*root.iter("testcase")]
    assert len(elements) == int(root.get("tests") or 0)
    assert failures == len([*root.iter("failure")])
    assert errors == len([*root.iter("error")])


PACK: dict[str, Any] = {
    "version": 1,
    "rubrics": [
        {"id": "r", "assertions": [{"kind": "run-status", "expected": "completed"}]}
    ],
    "cases": [{"id": "c", "rubrics": ["r"]}],
}


@pytest.mark.parametrize(
    ("old", "new", "fail_on", "verdict"),
    [
        ("x", "x", None, "passed"),
        ("x", ".", None, "passed"),
        (".", "x", "worse", "failed"),
        (".", "x", "shown", "passed"),
        (".", "", "worse", "cannot_tell"),
    ],
)
def test_the_record_says_what_the_exit_code_says(
    book: Ledger, old: str, new: str, fail_on: str | None, verdict: str
) -> None:
    """Of two sets the changes decide, in the signed event as in the result."""
    sides: dict[str, list[str]] = {"old": [], "new": []}
    for side, texts in (("old", old), ("new", new)):
        for one in texts:
            graph = letter("Refund" if one == "." else "Sorry")
            sides[side].append(run_letter(book, graph, labels={"case": "a"}))
    extra = run_letter(book, labels={"case": "b"})
    runs = sides["new"] or [extra]
    found = eval_suite_run(book, PACK, runs, sides["old"], fail_on=fail_on)
    (end,) = book.events(run=found["eval_run_id"], type="eval.concluded")
    code = {"passed": 0, "failed": 1, "cannot_tell": 3}[verdict]
    assert (found["verdict"], end.data["verdict"]) == (verdict, verdict)
    assert (found["exit_code"], found["pass"]) == (code, verdict == "passed")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"pair_by": "case"}, "there is one set of runs"),
        ({"fail_on": "shown"}, "there is one set of runs"),
        ({"pair_by": "cse", "against": True}, "did you mean case?"),
        ({"fail_on": "shwn", "against": True}, "did you mean shown?"),
    ],
)
def test_what_nothing_reads_is_refused(
    book: Ledger, more: dict[str, Any], words: str
) -> None:
    """How runs are paired says nothing of one set, nor does a label that no run has."""
    one, other = (run_letter(book, labels={"case": "a"}) for _ in range(2))
    against = [other] if more.pop("against", False) else []
    before = book.head.size
    with pytest.raises(UsageError) as refused:
        eval_suite_run(book, PACK, [one], against, **more)
    assert words in str(refused.value)
    assert book.head.size == before


def test_a_suite_of_warnings_says_so(book: Ledger) -> None:
    """That none of its cases blocks is in the result, in the record and in JUnit."""
    case = {"id": "c", "rubrics": ["r"], "severity": "warning"}
    pack: Any = {**PACK, "cases": [case]}
    found = eval_suite_run(book, pack, [run_letter(book, letter("Sorry"))])
    assert (found["verdict"], found["blocking"], found["warnings"]) == ("passed", 0, 1)
    (end,) = book.events(run=found["eval_run_id"], type="eval.concluded")
    assert end.data["blocking"] == 0
    assert '<property name="blocking" value="0"/>' in junit_xml(found)


def test_exact_durations(book: Ledger) -> None:
    """A limit is exceeded by a microsecond, and no run is faster than it was."""
    run = run_letter(book)
    events = [*book.events(run=run)]
    times = [datetime.fromisoformat(one.time) for one in (events[0], events[-1])]
    took = (times[1] - times[0]).total_seconds() * 1000
    for limit, verdict in ((took, "passed"), (took - 0.001, "failed")):
        case = {"id": "c", "thresholds": {"max_latency_ms": round(limit, 3)}}
        found = eval_suite_run(book, {"version": 1, "cases": [case]}, [run])
        assert found["verdict"] == verdict, (took, limit, found["cases"])
