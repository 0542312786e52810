"""The report about an experiment: its denominator, its pictures, and its failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.evidence import check_report, open_bundle, write_bundle
from muniment_plugins.evidence.report.write import report_text
from muniment_plugins.harness import (
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)
from muniment_plugins.harness.evidence_files import report_sections
from report_pages import Page, spoiled
from standalone_program import exit_code_of

CLAIM = {
    "id": "shrink",
    "text": "The size shrinks",
    "acceptance": {"metric": "<size>", "min_improvement_pct": 15.0},
}
CODE = "def fit_and_eval(data): return {'<size>': sum(data), 'n': len(data)}"
FAILS = "def fit_and_eval(data): return {'<size>': 1 / 0}"


def study(code: str = CODE) -> Experiment:
    """Return an experiment with a treatment."""
    return (
        Experiment.builder("shrinking")
        .datasource(_load)
        .add_step(specify_claim(claim=CLAIM))
        .add_step(generate_spec(spec=Spec()))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
        .treatment("halved", _halve)
        .hypothesis("smaller", verifier=meets_claim)
        .build()
    )


def _load(ctx: Any) -> list[float]:
    return [10.0 + ctx["replicate"], 1.0]


def _halve(ctx: Any) -> dict[str, object]:
    return {"data": [one / 2 for one in _load(ctx)]}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the harness, and the plugin that writes reports."""
    extra = {"in-process": InProcess()}
    plugins = Plugins(["evidence", "executors", "harness"], extra)
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as opened:
        yield opened


def runs(ledger: Ledger) -> list[str]:
    """Return the ids of all runs."""
    return [str(one.run) for one in ledger.events(type="run.started")]


def clean(ledger: Ledger, html: str) -> Page:
    """Return the page, each citation of which the ledger bears out."""
    page, checked = Page(html), check_report(ledger, html)
    assert checked.findings == ()
    assert checked.compared == len(page.cited) > 50
    return page


def test_the_denominator(ledger: Ledger) -> None:
    """All runs of the claim count, failed ones and later ones too; a lie is found."""
    study().run(replicates=5, ledger=ledger)
    study(FAILS).run(replicates=1, ledger=ledger)
    before = report_text(ledger, runs(ledger)[0])
    study().run(replicates=5, ledger=ledger)
    first, failed, last = runs(ledger)
    html = report_text(ledger, first)
    page = clean(ledger, html)

    assert "One of " in page.own
    counted = [one["value"] for one in page.cited if one.get("data-rule") == "runs"]
    assert counted == ["3", "3"]
    assert all(one in page.quoted for one in (first, failed, last))
    clean(ledger, before)
    assert last not in before
    lie = html.replace(
        '<data value="3" data-rule="runs"', '<data value="1" data-rule="runs"'
    )
    found = check_report(ledger, lie).findings
    assert [one.citation for one in found] == ["runs", "runs"]
    assert all("the ledger says 3, the page 1" in one.message for one in found)
    text = report_text(ledger, first, ".md")
    assert "One of `3`" in text
    assert check_report(ledger, text).verdict == "agrees"
    told = check_report(ledger, text.replace("One of `3`", "One of `1`")).findings
    assert {(one.page, one.ledger, one.kind) for one in told} == {("1", "3", "wrong")}


def test_a_run_is_among_the_tries_that_its_page_shows(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many came before it; that there are others is said."""
    monkeypatch.setattr(report_sections, "_RUNS", 2)
    for _ in range(3):
        study(FAILS).run(replicates=1, ledger=ledger)
    for run in runs(ledger):
        html = report_text(ledger, run)
        assert "(this one)" in html
        assert html.count('data-head="/run"') == 3
        assert "lists the others" in html


@pytest.mark.parametrize(("length", "is_cut"), [(1, False), (200, False), (201, True)])
def test_a_metric_whose_name_is_too_long_is_told(
    ledger: Ledger, length: int, is_cut: bool
) -> None:
    """It has no picture, and the page says that there are more."""
    code = CODE.replace("'n'", repr("n" * length))
    study(code).run(replicates=2, ledger=ledger)
    page = clean(ledger, report_text(ledger, runs(ledger)[0]))

    assert ("There are more metrics" in page.own) == is_cut


def test_the_pictures(ledger: Ledger) -> None:
    """One dot for each replicate, on one scale; each is compared, place included."""
    study().run(replicates=5, ledger=ledger)
    html = report_text(ledger, runs(ledger)[0])
    marks = [one for one in clean(ledger, html).cited if "data-value" in one]
    dots = [one for one in marks if "cx" in one and "data-event" in one]
    measured = [one for one in dots if one["data-path"].startswith("/metrics/")]
    sizes = [one for one in measured if one["data-path"] == "/metrics/<size>"]

    assert len(measured) == 2 * len(sizes) == 20
    assert len({one["cx"] for one in sizes}) == 10
    found = check_report(ledger, spoiled(html, "place")).findings
    told = [one for one in found if "where its number" in one.message]
    assert len(told) == len(marks)
    means = [one for one in Page(html).cited if one.get("data-rule") == "mean"]
    assert {float(one["value"]) for one in means} == {13.0, 6.5, 2.0}


def test_a_change_to_any_citation_is_found(ledger: Ledger) -> None:
    """In the harness's sections, too: by value, event and rule."""
    study().run(replicates=5, ledger=ledger)
    html = report_text(ledger, runs(ledger)[0])
    page = clean(ledger, html)
    for what, mark in [("value", ""), ("event", "data-event"), ("rule", "data-rule")]:
        touched = [one for one in page.cited if not mark or mark in one]
        found = check_report(ledger, spoiled(html, what)).findings
        told = [one for one in found if not one.message.endswith("without a number")]
        assert len(told) == len(touched)


def test_failures_and_verdicts_that_are_missing(ledger: Ledger) -> None:
    """A run that measured nothing says why, and that it reached no verdict."""
    study(FAILS).run(replicates=1, ledger=ledger)
    page = clean(ledger, report_text(ledger, runs(ledger)[0]))

    assert "division by zero" in page.quoted
    assert "reached no verdict" in page.own
    assert "no verdict" in page.own


def test_what_was_measured_and_erased(ledger: Ledger) -> None:
    """Erasing a run's blobs leaves a page that says where something was erased."""
    study().run(replicates=5, ledger=ledger)
    (run,) = runs(ledger)
    before = [report_text(ledger, run, form) for form in (".html", ".md")]
    ledger.erase(run, reason="asked to")
    page = clean(ledger, report_text(ledger, run))
    for old in before:
        checked = check_report(ledger, old)
        assert checked.verdict == "cannot tell"
        assert "it was erased since" in {one.message for one in checked.findings}

    assert "erased" in {one["value"] for one in page.cited if "value" in one}


@pytest.mark.parametrize("raw", [False, True])
def test_a_page_of_a_bundle(ledger: Ledger, tmp_path: Path, raw: bool) -> None:
    """It lists all runs of the claim, as the page of the ledger; a raw one says why not."""
    study().run(replicates=2, ledger=ledger)
    study(FAILS).run(replicates=1, ledger=ledger)
    run, plugins = runs(ledger)[0], ledger.plugins
    written = write_bundle(ledger, run, tmp_path / "bundle", raw=raw)
    with open_bundle(written.path, plugins) as bundle:
        text = report_text(bundle, run)
        checked = check_report(bundle, text)
    page = Page(text)

    assert (checked.verdict, checked.compared > 40) == ("agrees", True)
    assert ("runs of the claim" in page.own) is not raw
    assert ("a series of the claim is not shown" in page.own) is raw
    if not raw:
        listed = {one["value"] for one in page.cited if one.get("data-head") == "/run"}
        assert {f'"{one}"' for one in runs(ledger)} <= listed


def test_a_bundle_says_how_often_it_was_tried(ledger: Ledger, tmp_path: Path) -> None:
    """All runs of the claim and of the experiment; those on the data are counted."""
    study().run(replicates=2, ledger=ledger)
    study(FAILS).run(replicates=1, ledger=ledger)
    written = write_bundle(ledger, runs(ledger)[0], tmp_path / "bundle")
    report = verify_bundle(written.path, keys=[written.root])
    code, said = exit_code_of(written.path, written.root)

    assert (report.exit_code, code) == (0, 0)
    for series in ("experiment.claim/shrink", "claim/shrink", "experiment/shrinking"):
        assert f"1 of 2 runs in the series {series}," in str(report)
        assert f"1 of 2 runs in {series} (" in said
    assert "number 1 of 2 in the series experiment.data/" in str(report)
