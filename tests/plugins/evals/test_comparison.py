"""Two sets of runs, paired by case: counts, an exact test, an honest interval."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from letters import letter, run_letter
from muniment import replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.evals import eval_suite_run, run_record_fixture
from muniment_plugins.evals.checks.verdicts import FAIL_ON, verdict_of_sets
from muniment_plugins.evals.regression.comparison import compared_sets
from muniment_plugins.evals.regression.paired_statistics import (
    change_of,
    least_pairs,
    rate_interval,
    sign_test,
)

SENT = {
    "version": 1,
    "id": "sent",
    "rubrics": [
        {"id": "r", "assertions": [{"kind": "run-status", "expected": "completed"}]}
    ],
    "cases": [{"id": "c", "rubrics": ["r"]}],
}


def runs(book: Ledger, side: str, texts: str) -> None:
    """Run a letter for each of *texts*: ``.`` is a good one, ``x`` a bad one."""
    for number, one in enumerate(texts):
        graph = letter("Refund" if one == "." else "Sorry")
        labels = {"prompt": side, "case": f"case-{number}"}
        run_letter(book, graph, labels=labels)


def test_the_sign_test_is_exact() -> None:
    """It is McNemar's: two-sided binomial, as SciPy computes it."""
    for better, worse in product(range(12), repeat=2):
        found = sign_test(better, worse)
        if better + worse == 0:
            assert found is None
        else:
            known = binomtest(better, better + worse, 0.5).pvalue
            assert found == pytest.approx(known, abs=1e-12)
    assert sign_test(least_pairs(), 0) <= 0.05 < sign_test(least_pairs() - 1, 0)  # type: ignore[operator]


@pytest.mark.parametrize(("pairs", "up", "down"), [(10, 0.2, 0.1), (40, 0.1, 0.1)])
def test_the_interval_covers(pairs: int, up: float, down: float) -> None:
    """Drawn often, it covers the true difference no less often than it says, nearly."""
    source, covered, times = random.Random(3), 0, 2000  # noqa: S311 - a sample
    for _ in range(times):
        drawn = [source.random() for _ in range(pairs)]
        better = sum(one < up for one in drawn)
        worse = sum(up <= one < up + down for one in drawn)
        low, high = rate_interval(better, worse, pairs)  # type: ignore[misc]
        covered += low <= up - down <= high
    assert covered / times > 0.93


def test_numbers_change() -> None:
    """Means, a p-value from flipped signs, and Fieller's interval in percent."""
    found = change_of([(100.0, 80.0 + number) for number in range(8)])
    assert (found["older_mean"], found["newer_mean"]) == (100.0, 83.5)
    assert found["p_value"] == pytest.approx(2 / 256)
    low, high = found["change_pct"]
    assert low < -16.5 < high < 0
    assert "p_value" not in change_of([(1.0, 1.0), (2.0, 2.0)])
    assert change_of([]) == {"pairs": 0}


def test_what_got_better_and_worse(book: Ledger) -> None:
    """Pairs by label; what only one side has is listed; chance is not called progress."""
    runs(book, "old", "xxx.....")
    runs(book, "new", "..xx....x")
    found = eval_suite_run(book, SENT, ["prompt=new"], ["prompt=old"])
    told = found["comparison"]
    counts = [told[name] for name in ("pairs", "better", "worse", "unchanged")]
    assert counts == [8, 2, 1, 5]
    assert told["unpaired"] == [{"pair": "case=case-8", "side": "newer"}]
    assert (told["older_rate"], told["newer_rate"]) == (5 / 8, 6 / 8)
    low, high = told["interval"]
    assert low < 1 / 8 < high
    assert (told["p_value"], told["verdict"]) == (1.0, "undecided")
    assert told["because"].startswith("3 inputs came out otherwise: fewer than 6")
    worse = next(one for one in told["cases"] if one["change"] == "worse")
    assert worse["pair"] == "case=case-3"
    assert worse["because"] == ["the status of the run is failed, not completed"]
    assert (found["exit_code"], verdict_of_sets(told, "shown")) == (1, "passed")
    (fact,) = book.events(run=found["eval_run_id"], type="eval.compared")
    assert (fact.data["better"], fact.data["worse"]) == (2, 1)
    assert replay(book, found["eval_run_id"]).verdict == "acceptable"


def test_a_shown_change(book: Ledger) -> None:
    """Seven cases that all got worse show it; none that got worse exits by 0."""
    runs(book, "old", ".......")
    runs(book, "new", "xxxxxxx")
    found = eval_suite_run(book, SENT, ["prompt=new"], ["prompt=old"])
    told = found["comparison"]
    assert (told["verdict"], told["p_value"]) == ("worse", 2 / 128)
    assert {verdict_of_sets(told, one) for one in FAIL_ON} == {"failed"}
    back = eval_suite_run(book, SENT, ["prompt=old"], ["prompt=new"])
    assert (back["comparison"]["verdict"], back["exit_code"]) == ("better", 0)


def test_cases_of_one_run_count_once(book: Ledger) -> None:
    """Ten rubrics of two runs are one pair: they would show what one input cannot."""
    many: Any = {
        **SENT,
        "cases": [{"id": f"c{n}", "rubrics": ["r"]} for n in range(10)],
    }
    runs(book, "old", "x")
    runs(book, "new", ".")
    told = eval_suite_run(book, many, ["prompt=new"], ["prompt=old"])["comparison"]
    assert (told["pairs"], told["better"], told["p_value"]) == (1, 1, 1.0)
    assert len(told["cases"]) == len(told["by_case"]) == 10
    assert {one["p_adjusted"] for one in told["by_case"]} == {1.0}
    assert told["numbers"]["stages"]["pairs"] == 1


def test_inputs_pair_where_no_label_does(book: Ledger) -> None:
    """Runs with the same task and artifacts are one case; repeats of it stay one case."""
    old = [run_letter(book, letter("Sorry"), task=task) for task in ("A", "B")]
    new = [run_letter(book, task=task) for task in ("A", "B", "B")]
    told = eval_suite_run(book, SENT, new, old)["comparison"]
    assert (told["pairs"], told["better"], told["unpaired"]) == (2, 2, [])
    assert told["interval"] is None
    assert [len(one["newer_runs"]) for one in told["cases"]] == [1, 2]


def test_sets_are_two(book: Ledger, place: Path) -> None:
    """A run is on one side, and cases that name theirs have no sides."""
    del place
    run, other = run_letter(book), run_letter(book)
    with pytest.raises(UsageError, match="is on both sides"):
        eval_suite_run(book, SENT, [run, other], [run])
    named: Any = {**SENT, "cases": [{"id": "c", "rubrics": ["r"], "run": run}]}
    with pytest.raises(UsageError, match="every case names its run"):
        eval_suite_run(book, named, [other])
    with pytest.raises(UsageError, match="names no run, and none is given"):
        eval_suite_run(book, SENT)


def test_a_fixture_of_one_side_proves_nothing(book: Ledger) -> None:
    """The run that the fixture was made of cannot but pass: that pair says nothing."""
    old, new = run_letter(book), run_letter(book)
    found = eval_suite_run(book, run_record_fixture(book, old), [new], [old])
    told = found["comparison"]
    assert (told["undecided"], told["pairs"], found["exit_code"]) == (1, 1, 3)
    assert "made of this very run" in told["cases"][0]["because"][0]


def test_nothing_to_pair() -> None:
    """Two empty sets show nothing, and say so."""
    found = compared_sets([], [], "case")
    assert (found["verdict"], found["interval"], found["p_value"]) == (
        "undecided",
        None,
        None,
    )
    assert "nothing was compared" in found["because"]
