"""Data is kept whole, or by its digest alone where the user says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from in_process import InProcess, harness_ledger
from muniment.errors import CannotTellError, UsageError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    Spec,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from small_experiment import small

CODE = "def fit_and_eval(data): return {'total': sum(data)}"


@pytest.fixture
def capsule() -> InProcess:
    """Give the test a capsule in this process."""
    return InProcess()


@pytest.fixture
def ledger(tmp_path: Path, capsule: InProcess) -> Iterator[Ledger]:
    """Give the test a ledger with the harness and that capsule."""
    with harness_ledger(tmp_path / "ledger.db", capsule) as made:
        yield made


def builder() -> ExperimentBuilder:
    """Return a builder without data."""
    return Experiment.builder().pipeline(small(spec=Spec(), code=CODE))


def test_data_by_its_digest_alone(ledger: Ledger) -> None:
    """The ledger never holds it; a replay asks the source again, and compares."""
    rows = [31337, 31338]
    built = builder().datasource(lambda _: rows, pin="digest").build()
    result = built.run(ledger=ledger)
    assert result.metrics.baseline.metrics == {"total": [62675]}
    for event in ledger.events(run=result.run_id):
        assert "31337,31338" not in str(ledger.resolve(event))
    report = replay(ledger, result.run_id, program=built.program)
    assert (report.verdict, report.result_digest) == (
        "acceptable",
        result.result_digest,
    )
    rows[0] = 0
    with pytest.raises(CannotTellError, match="other data than was pinned"):
        replay(ledger, result.run_id, program=built.program)


def test_a_resume_needs_the_same_data(ledger: Ledger, capsule: InProcess) -> None:
    """What failed is performed again on the pinned data, and on no other."""
    rows = [1, 2]
    capsule.fails = {1}
    built = builder().datasource(lambda _: rows, pin="digest").build()
    failed = built.run(ledger=ledger)
    rows.append(3)
    other = built.run(strategy="resume", ledger=ledger)
    assert other.run_id == failed.run_id
    assert other.errors[-1].rule == "harness/data"
    rows.pop()
    assert built.run(strategy="resume", ledger=ledger).ok


def test_data_without_a_form_names_the_datasource(ledger: Ledger) -> None:
    """An object that cannot be recorded fails the datasource, with the reason."""
    result = builder().datasource(lambda _: object()).build().run(ledger=ledger)
    (failure,) = result.errors
    assert failure.place == "baseline, replicate 0, datasource"
    assert "object" in failure.message


def test_an_unknown_pin_is_refused() -> None:
    """A misspelt pin would keep what should stay out."""
    with pytest.raises(UsageError, match=r"'digset' pins nothing.*content, digest"):
        builder().datasource(lambda _: [1], pin="digset")
