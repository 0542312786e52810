"""P-values are exact with ties, test the claimed bound, and know what is not a replicate."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from in_process import InProcess, harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Claim,
    Experiment,
    HarnessRefused,
    Hypothesis,
    Spec,
    meets_claim,
    pipeline_step,
    specify_claim,
)
from muniment_plugins.harness.statistics.first_statistics import (
    paired_p_value as first_p_value,
)
from muniment_plugins.harness.statistics.holm import holm
from muniment_plugins.harness.statistics.intervals import t_quantile
from muniment_plugins.harness.statistics.permutation_test import paired_p_value
from muniment_plugins.harness.statistics.samples import Samples, Trial, pairs_of
from small_experiment import small

ROOT = Path(__file__).parents[3]
TIED = st.lists(
    st.sampled_from([0.1, 0.2, 0.3, 0.7, -0.1, -0.2, -0.3, -0.7, 0.0]),
    min_size=2,
    max_size=9,
)


def dice(seed: object) -> random.Random:
    """Return a source of samples that follow from *seed*."""
    return random.Random(str(seed))  # noqa: S311 - samples, no secret


def exact(differences: list[float]) -> float:
    """Return SciPy's p-value of the paired permutation test, all flips tried.

    It is given whole millionths: around a sum of 0, its own tolerance knows no rounding.
    """
    whole = np.array([round(one * 10**6) for one in differences])
    told = stats.permutation_test(
        (whole, np.zeros_like(whole)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    return float(told.pvalue)


@settings(deadline=None, max_examples=120)
@given(TIED)
def test_tied_metrics_have_the_exact_p_value(differences: list[float]) -> None:
    """Sums that differ by rounding alone are equal, as SciPy has it."""
    assert paired_p_value(differences, 0) == pytest.approx(
        exact(differences), abs=1e-12
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 6)), min_size=2, max_size=9))
def test_metrics_without_ties_have_it_too(differences: list[float]) -> None:
    """Whatever the differences are, the p-value is that of all flips."""
    assert paired_p_value(differences, 0) == pytest.approx(
        exact(differences), abs=1e-12
    )


def test_the_tie_that_was_counted_wrong() -> None:
    """0.1 + 0.2 against 0.3: of 16 ways, none that ties is lost."""
    tied = [0.1, 0.2, 0.3, 0.3, -0.6, 0.7]
    assert paired_p_value(tied, 0) == exact(tied)
    assert first_p_value(tied, 0) < exact(tied), "the first edition's, kept for it"
    assert paired_p_value([0.1, 0.2, -0.3], 0) == exact([0.1, 0.2, -0.3]) == 5 / 8


@settings(deadline=None)
@given(st.floats(0.51, 0.9999), st.integers(1, 400))
def test_students_quantiles_are_scipys(probability: float, freedom: int) -> None:
    """The interval's factor is right for every number of pairs."""
    wanted = float(stats.t.ppf(probability, freedom))
    assert t_quantile(probability, freedom) == pytest.approx(wanted, rel=1e-7)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 4))
def test_holm_is_the_step_down_procedure(p_values: list[float], more: int) -> None:
    """Adjusted p-values are those of SciPy's reference, also with missing members."""
    padded = [*p_values, *[1.0] * more]
    order = np.argsort(padded, kind="stable")
    ranked = np.array(padded)[order] * np.arange(len(padded), 0, -1)
    wanted = np.empty(len(padded))
    wanted[order] = np.minimum(np.maximum.accumulate(ranked), 1)
    found = holm(p_values, len(padded))
    assert found == pytest.approx(list(wanted[: len(p_values)]))


# -- the bound that is claimed -----------------------------------------------------


def judged(
    before: list[float],
    after: list[float],
    acceptance: Mapping[str, object],
    **how: Any,
) -> dict[str, Any]:
    """Return the verdict about *after*, of replicates with data of their own."""
    samples = [
        Samples(
            {n: {"m": one} for n, one in enumerate(values)},
            {n: f"sha256:{n}" for n in range(len(values))},
        )
        for values in (before, after)
    ]
    claim = Claim("c", "A claim", acceptance)
    judge = Hypothesis("h", meets_claim(**how))
    first, second = Trial("baseline", samples[0]), Trial("t", samples[1], claim)
    return judge.verdict(first, second, 3)


def noisy(count: int, better: float, source: random.Random) -> list[list[float]]:
    """Return metrics of *count* pairs, the second better by *better* percent."""
    pairs = [(source.gauss(1, 0.2), source.gauss(1, 0.2)) for _ in range(count)]
    return [[a for a, _ in pairs], [b * (1 - better / 100) for _, b in pairs]]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.parametrize("better", [0.0, 10.0, 14.0])
def test_a_false_claim_is_seldom_shown(count: int, better: float) -> None:
    """Where the truth is below the bound, at most one in twenty meets the claim."""
    source = dice(f"{count}/{better}")
    runs, shown = 300, 0
    for _ in range(runs):
        before, after = noisy(count, better, source)
        fact = judged(before, after, {"min_improvement_pct": 15.0})
        shown += fact["passed"] is True
    assert shown <= runs * 0.05 + 3 * (runs * 0.05 * 0.95) ** 0.5


def test_a_true_claim_is_shown_and_a_false_one_refuted() -> None:
    """With enough pairs, what is far from the bound is decided, either way."""
    source = dice(5)
    before, after = noisy(12, 60, source)
    assert judged(before, after, {"min_improvement_pct": 15.0})["passed"] is True
    assert judged(before, after, {"min_improvement_pct": 95.0})["passed"] is False
    assert judged(after, before, {"min_improvement_pct": -5.0})["passed"] is False
    assert judged(before, after, {"max_change_pct": 15.0})["passed"] is False
    near = [one * 1.001 for one in before]
    assert judged(before, near, {"min_improvement_pct": -5.0})["passed"] is True
    assert judged(before, near, {"max_change_pct": 5.0})["passed"] is True


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_too_few_replicates_cannot_decide(count: int) -> None:
    """No verdict is said where no p-value could be small enough; it says why."""
    before = [1.0 + n / 10 for n in range(count)]
    fact = judged(before, [one / 2 for one in before], {"min_improvement_pct": 15.0})
    assert fact["passed"] is None
    assert ("cannot have a p-value below" in fact["result"]["undecided"]) is (count > 1)


# -- what is a replicate -------------------------------------------------------------

CODE = "def fit_and_eval(data): return {'total': sum(data) * 1.0}"
SEEDED = (
    "import random\n"
    "def fit_and_eval(data):\n"
    "    return {'total': sum(data) + random.Random(seed).random()}"
)


def same(_: object) -> list[float]:
    """Return the same rows, whatever is asked."""
    return [1.0, 2.0, 3.0]


def drawn(ctx: Mapping[str, Any]) -> list[float]:
    """Return rows that differ from replicate to replicate."""
    return [1.0 + ctx["replicate"], 2.0, 3.0]


def halved(ctx: Mapping[str, Any]) -> dict[str, object]:
    """Give half of the drawn rows."""
    return {"data": [one / 2 for one in drawn(ctx)]}


def experiment(source: Any, treated: Any, code: str = CODE, **acceptance: Any) -> Any:
    """Return the builder of an experiment with a claim about the total."""
    claim = Claim("c", "A claim", acceptance or {"min_improvement_pct": 15.0})
    steps = [
        one if one.name != "specify_claim" else specify_claim(claim=claim)
        for one in small(code=code, spec=Spec())
    ]
    return (
        Experiment.builder("e4")
        .datasource(source)
        .pipeline(steps)
        .treatment("t", treated)
        .hypothesis("h", verifier=meets_claim(metric="total"))
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    """Open a ledger whose capsule is in process."""
    with harness_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def test_copies_are_no_replicates(ledger: Ledger) -> None:
    """Eight replicates on one data digest that came out the same have no p-value."""
    built = experiment(same, {"data": [0.5, 1.0, 1.5]}).build()
    result = built.run(replicates=8, ledger=ledger)
    said = result.hypothesis("h").results["t"]
    assert (said["p_value"], said["interval_95"], said["meets_claim"]) == (None,) * 3
    assert (said["pairs"], said["copies"]) == (1, 7)
    why = "8 replicates with the same data came out the same: they are one"
    assert why in result.hypothesis("h").undecided["t"]
    assert result.hypothesis("h").passed is None
    assert replay(ledger, result.run_id, built.program).verdict == "acceptable"


def test_a_seed_that_is_used_makes_replicates() -> None:
    """With one data digest, replicates that came out differently are their own."""
    values = Samples(
        {n: {"m": float(n)} for n in range(5)}, dict.fromkeys(range(5), "x")
    )
    alike = Samples({n: {"m": 1.0} for n in range(5)}, dict.fromkeys(range(5), "y"))
    assert len(pairs_of(values, alike, "m").apart) == 5
    assert len(pairs_of(alike, alike, "m").apart) == 1
    mixed = Samples(
        {n: {"m": 1.0 * (n % 2)} for n in range(6)}, {n: str(n % 2) for n in range(6)}
    )
    assert pairs_of(mixed, mixed, "m").copies == 4


def test_replicates_with_data_of_their_own_count(ledger: Ledger) -> None:
    """Six different data sets are six replicates, in the run and in its replay."""
    built = experiment(drawn, halved).build()
    result = built.run(replicates=6, ledger=ledger)
    said = result.hypothesis("h").results["t"]
    assert (said["pairs"], said["p_value"], said["meets_claim"]) == (6, 1 / 64, True)
    assert replay(ledger, result.run_id, built.program).verdict == "acceptable"


def test_twenty_treatments_that_do_nothing(ledger: Ledger) -> None:
    """Among twenty of noise none meets the claim, though one does so by itself."""
    source = dice(3)
    noise = [[source.gauss(1, 0.3) for _ in range(6)] for _ in range(20)]
    noise[7] = [0.5, 0.6, 0.55, 0.52, 0.58, 0.5]

    built = experiment(lambda ctx: [1.0 + ctx["replicate"] / 100], {"data": [1.0]})
    for number, values in enumerate(noise):
        built = built.treatment(
            f"t{number}", lambda ctx, v=values: {"data": [v[ctx["replicate"]]]}
        )
    result = built.build().run(replicates=6, ledger=ledger)
    assert result.ok, result.errors
    judged = result.hypothesis("h")
    said = judged.results["t7"]
    assert (said["p_value"], said["family"]) == (1 / 64, 21)
    assert said["meets_claim"] is None
    assert "among 21 of the run" in judged.undecided["t7"]
    assert judged.adjusted["t7"] == said["p_adjusted"] == 21 / 64
    assert not [one for one in judged.results.values() if one["meets_claim"]]


# -- what fails takes nothing away ---------------------------------------------------


@pipeline_step
def broken(data: object, ctx: Mapping[str, Any]) -> object:
    """Fail in one replicate of the treatment."""
    if ctx["condition"] == "t" and ctx["replicate"] == 2:
        raise ZeroDivisionError("nothing to divide by")
    return data


@pipeline_step
def sparing(data: object, ctx: Mapping[str, Any]) -> object:
    """Measure a metric in every replicate but one."""
    return data, ({"extra": 1.0} if ctx["replicate"] != 2 else {})


def test_a_failed_replicate_leaves_the_verdict_open(
    ledger: Ledger, tmp_path: Path
) -> None:
    """It is unjudged, with the reason, in Result, events and files; and replays so."""
    built = experiment(drawn, halved).add_step(broken()).build()
    result = built.run(replicates=6, ledger=ledger)
    why = result.unjudged["h", "t"]
    assert "replicate 2 of t was not measured: nothing to divide by" in why
    (event,) = ledger.events(run=result.run_id, type="hypothesis.unjudged")
    assert event.scope == "t"
    assert event.raw["rule"] == "harness/replicates"
    assert len(result.errors) == 1
    (bundle,) = [one for one in result.bundle(tmp_path / "b") if "/t/" in str(one)]
    assert '"why": "replicate 2 of t was not measured' in bundle.read_text()
    assert replay(ledger, result.run_id, built.program).verdict == "acceptable"


def test_a_metric_that_one_replicate_lacks(ledger: Ledger) -> None:
    """No pair is dropped: the hypothesis is unjudged, and it is said which lacks it."""
    claim = Claim("c", "A claim", {"metric": "extra", "min_improvement_pct": 1.0})
    built = (
        Experiment.builder("lacking")
        .datasource(drawn)
        .pipeline(
            [
                specify_claim(claim=claim) if one.name == "specify_claim" else one
                for one in small(code=CODE, spec=Spec())
            ]
        )
        .add_step(sparing())
        .treatment("t", halved)
        .hypothesis("h", verifier=meets_claim)
        .build()
    )
    result = built.run(replicates=6, ledger=ledger)
    assert "replicate 2 of the" in result.unjudged["h", "t"]
    assert "measured no extra" in result.errors[0].message
    with pytest.raises(HarnessRefused, match="replicate 1 of the condition"):
        pairs_of(
            Samples({0: {"m": 1}, 1: {"m": 1}}), Samples({0: {"m": 1}, 1: {}}), "m"
        )


def test_what_a_resume_may_bring_is_left_open(tmp_path: Path) -> None:
    """A failed effect leaves no fact behind that a resume would have to deny."""
    capsule = InProcess()
    capsule.fails = {5}
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        built = experiment(drawn, halved).treatment("u", halved).build()
        failed = built.run(replicates=6, ledger=ledger)
        assert failed.status == "failed"
        assert set(failed.unjudged) == {("h", "t"), ("h", "u")}
        assert not list(ledger.events(run=failed.run_id, type="hypothesis.unjudged"))
        done = ledger.resume(failed.run_id, built.program)
        assert done.ok, done.error
        said = list(ledger.events(run=failed.run_id, type="verdict.reached"))
        assert {one.scope for one in said} == {"t", "u"}
        assert replay(ledger, failed.run_id, built.program).verdict == "acceptable"


# -- what is said of it --------------------------------------------------------------


@pytest.mark.slow
def test_the_coverage_on_the_page_was_measured() -> None:
    """The table of the page is what the command prints."""
    place = ROOT / "tools" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", place)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "how-to" / "verdicts.md").read_text()
    assert "\n".join(tool.table()) in page
    rows = re.findall(
        r"^\| (?:8|12|20) \| (0\.\d+) .*\| (0\.\d+) \|", page, re.MULTILINE
    )
    assert all(float(one) >= 0.93 for row in rows for one in row[:1])
    assert len(rows) == 3
