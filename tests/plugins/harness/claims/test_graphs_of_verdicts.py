"""Verdicts that are unlike those of an experiment, and what is drawn of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from comparing import agreeing_page, compared, comparing_ledger
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.harness.evidence_files import comparison_graphs

KEY = "min_improvement_pct"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the harness, and the plugin that writes reports."""
    with comparing_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def stating(*bounds: float) -> Callable[[Run], None]:
    """Return a program that states claims, and one verdict about a bound."""

    def program(run: Run) -> None:
        for number, bound in enumerate(bounds):
            with run.scope(f"halved/replicate/{number}") as lane:
                claim = {"id": "c", "text": "t", "acceptance": {KEY: bound}}
                lane.record("claim.stated", claim)
        told = {"hypothesis": "h", "verifier": "muniment:meets-claim/2", "passed": True}
        with run.scope("halved") as lane:
            result = {"criteria": {KEY: True}, "alpha": 0.05}
            lane.record("verdict.reached", {**told, "result": result, "p_value": 0.01})

    return program


@pytest.mark.parametrize(
    ("bounds", "is_told"), [((9.0, 9.0), True), ((9.0, 1.0), False)]
)
def test_a_bound_that_changed_is_none(
    ledger: Ledger, bounds: tuple[float, ...], is_told: bool
) -> None:
    """If a condition states two, the verdict does not say which one it judged."""
    ledger.execute(stating(*bounds))
    ledger.checkpoint()
    assert ("just the claimed bound" in agreeing_page(ledger)) is is_told


def test_a_verdict_that_no_series_counts(ledger: Ledger) -> None:
    """It does not stand without its denominator: that there is none is said."""
    ledger.execute(stating())
    ledger.checkpoint()
    html = agreeing_page(ledger)
    assert "nothing says of how many tries it is one" in html
    assert "runs of the claim" not in html


def test_verdicts_without_numbers_take_no_place(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reaches many of them first hides no picture."""
    monkeypatch.setattr(comparison_graphs, "_VERDICTS", 1)

    def program(run: Run) -> None:
        for name in "abc":
            told = {"hypothesis": name, "verifier": "v", "passed": True, "result": {}}
            run.record("verdict.reached", told)
        stating(9.0)(run)

    ledger.execute(program)
    ledger.checkpoint()
    html = agreeing_page(ledger)
    assert "<circle" in compared(html)
    assert "should have pictures of" not in html
