"""Runs that nobody can certify: none passes an eval, whoever is marked, however it is held."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from marking_graphs import MARK, PLACES, REASON, run_of
from muniment import replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    eval_suite_run,
    junit_xml,
    run_record_fixture,
)
from muniment_plugins.workflow import load_run_tree, run_record
from run_records import fits_schema

HOLDS = {"kind": "run-status", "expected": "completed"}
FAILS = {"kind": "run-status", "expected": "failed"}


def pack(*rows: dict[str, Any], **case: Any) -> dict[str, Any]:
    """Return a pack with one case."""
    rubrics = [{"id": "r", "assertions": [*rows]}] if rows else []
    named = {"rubrics": ["r"]} if rows else {}
    cases = [{"id": "c", **named, **case}]
    return {"version": 1, "rubrics": rubrics, "cases": cases}


def held_to_fixture(book: Ledger, plain: str, marked: str) -> dict[str, Any]:
    """Hold the marked run to the fixture of the plain one."""
    found = run_record_fixture(book, plain)
    return {**pack(fixture="f", run=marked), "fixtures": [{"id": "f", "inline": found}]}


def in_a_file(book: Ledger, plain: str, marked: str) -> dict[str, Any]:
    """Hold the record of the marked run, which is in a file."""
    del plain
    Path("record.json").write_text(json.dumps(run_record(book, marked)))
    return pack(HOLDS, run_path="record.json")


def compared_in_a_file(book: Ledger, plain: str, marked: str) -> dict[str, Any]:
    """Compare the plain run with the record of the marked one."""
    Path("record.json").write_text(json.dumps(run_record(book, marked)))
    return pack(HOLDS, run=plain, compare_to="record.json")


HELD: Mapping[str, Callable[[Ledger, str, str], dict[str, Any]]] = {
    "rubric": lambda _, __, marked: pack(HOLDS, run=marked),
    "threshold": lambda _, __, marked: pack(
        run=marked, thresholds={"max_stage_count": 9}
    ),
    "fixture": held_to_fixture,
    "compared": lambda _, plain, marked: pack(HOLDS, run=marked, compare_to=plain),
    "compared to it": lambda _, plain, marked: pack(
        HOLDS, run=plain, compare_to=marked
    ),
    "file": in_a_file,
    "compared to a file": compared_in_a_file,
    "warning": lambda _, __, marked: pack(HOLDS, run=marked, severity="warning"),
}
"""How a run is held to something that holds of it."""


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("where", PLACES)
def test_nobody_can_tell(book: Ledger, where: str, held: str) -> None:
    """Mark and reason are in the result, in JUnit, and in what is signed; a replay agrees.

    The same of runs without the mark passes: it is the mark that decides. What is deep below
    a record in a file is not in it.
    """
    plain, other = run_of(book, where), run_of(book, where)
    good = eval_suite_run(book, HELD[held](book, plain, other))
    if "file" not in held or where == "itself":
        assert good["cases"][0]["verdict"] == "passed", good["cases"]
    if "file" in held and where == "deep below":
        return
    marked = run_of(book, where, MARK)
    found = eval_suite_run(book, HELD[held](book, plain, marked))
    (case,) = found["cases"]
    assert (case["verdict"], case["pass"]) == ("cannot_tell", False)
    assert (found["passed"], found["cannot_tell"]) == (0, 1)
    assert found["exit_code"] == (0 if held == "warning" else 3)
    assert f"marked {MARK}: {REASON}" in case["undecided"][0]
    assert [(one["mark"], one["reason"]) for one in case["marks"]] == [(MARK, REASON)]
    xml = ET.fromstring(junit_xml(found))  # noqa: S314 - our own
    assert f"marked {MARK}: {REASON}" in "".join(xml.itertext())
    assert f"{MARK}: {REASON}" in [one.get("value") for one in xml.iter("property")]
    (fact,) = book.events(run=found["eval_run_id"], type="eval.case_finished")
    assert fact.raw["verdict"] == "cannot_tell"
    assert book.resolve(fact)["undecided"] == case["undecided"]
    judged = replay(book, found["eval_run_id"])
    assert judged.verdict == "acceptable", judged.findings


@pytest.mark.parametrize("where", PLACES)
def test_what_fails_fails(book: Ledger, where: str) -> None:
    """And names the mark as well."""
    found = eval_suite_run(book, pack(FAILS), [run_of(book, where, MARK)])
    (case,) = found["cases"]
    assert (case["verdict"], found["exit_code"]) == ("failed", 1)
    assert case["failures"] == ["the status of the run is completed, not failed"]
    assert f"marked {MARK}: {REASON}" in case["undecided"][0]
    assert f"marked {MARK}: {REASON}" in junit_xml(found)


@pytest.mark.parametrize("contents", [True, False])
@pytest.mark.parametrize("where", PLACES)
def test_no_fixture(book: Ledger, where: str, contents: bool) -> None:
    """Nothing is held to what nobody can certify; the refusal has the mark and its reason."""
    marked = run_of(book, where, MARK)
    with pytest.raises(RefusedError, match=f"marked {MARK}: {REASON}") as error:
        run_record_fixture(book, marked, contents=contents)
    assert error.value.rule == "evals/marked"
    assert run_record_fixture(book, run_of(book, where), contents=contents)


@pytest.mark.parametrize("where", PLACES)
def test_another_mark_is_no_verdict(book: Ledger, where: str) -> None:
    """It is carried by the result and by JUnit, and decides nothing."""
    marked = run_of(book, where, "reviewed")
    found = eval_suite_run(book, pack(HOLDS), [marked])
    (case,) = found["cases"]
    assert (case["verdict"], found["exit_code"]) == ("passed", 0)
    assert [one["mark"] for one in case["marks"]] == ["reviewed"]
    assert f"reviewed: {REASON}" in junit_xml(found)
    fixture = run_record_fixture(book, marked)
    assert eval_suite_run(book, fixture, [run_of(book, where)])["verdict"] == "passed"


@pytest.mark.parametrize("fail_on", ["worse", "shown"])
@pytest.mark.parametrize("older", ["plain", "marked", "bad", "bad and marked"])
@pytest.mark.parametrize("newer", ["plain", "marked", "bad", "bad and marked"])
def test_pairs(book: Ledger, older: str, newer: str, fail_on: str) -> None:
    """A pair with a marked run got worse, or nobody can tell; it never got better.

    A run that is bad lacks what the suite wants to see.
    """
    suite = pack({"kind": "visible-text-contains", "contains": "made"})
    runs = [
        run_of(
            book,
            "a program below" if "bad" not in one else "bad",
            *([MARK] if "marked" in one else []),
        )
        for one in (older, newer)
    ]
    found = eval_suite_run(book, suite, [runs[1]], [runs[0]], fail_on=fail_on)
    (pair,) = found["comparison"]["cases"]
    plain = {"plain": True, "bad": False}
    if "marked" in older + newer:
        failed = older == "plain" and newer == "bad and marked"
        assert pair["change"] == ("worse" if failed else "undecided")
        assert f"marked {MARK}: {REASON}" in "".join(pair["because"])
        assert f"marked {MARK}: {REASON}" in junit_xml(found)
        assert found["verdict"] != "passed" or (failed and fail_on == "shown")
        (fact,) = book.events(run=found["eval_run_id"], type="eval.compared")
        assert f"marked {MARK}: {REASON}" in str(book.resolve(fact)["result"])
    else:
        change = plain[newer] - plain[older]
        assert pair["change"] == {-1: "worse", 0: "unchanged", 1: "better"}[change]
        assert "marks" not in pair
    assert replay(book, found["eval_run_id"]).verdict == "acceptable"


@pytest.mark.parametrize("where", PLACES)
def test_the_record_says_it(book: Ledger, where: str) -> None:
    """A record, and the tree of runs, have each mark once, with its first reason."""
    marked = run_of(book, where, MARK, "reviewed", MARK)
    fits_schema(run_record(book, marked))
    waiting, told = [load_run_tree(book, marked)], []
    while waiting:
        tree = waiting.pop()
        waiting += tree["children"]
        told += [tree["run"]["marks"]] if "marks" in tree["run"] else []
    (rows,) = told
    said = [(one["mark"], one["reason"]) for one in rows]
    assert said == [(MARK, REASON), ("reviewed", REASON)]
    record = run_record(book, run_of(book, where))
    assert "marks" not in record
    assert not any("marks" in one for one in record["child_runs"])
