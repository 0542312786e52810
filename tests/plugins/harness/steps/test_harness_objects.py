"""Objects that are called take part in experiments as functions do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import executor_functions
from muniment.ledger import Ledger
from muniment.programs.references import Named
from muniment.replays.replay import replay
from muniment_plugins.harness import Experiment
from small_experiment import small

pytestmark = pytest.mark.in_process

BY_CLASS = {"import": "executor_functions:Counted"}
"""How objects were recorded when they had no source."""


def experiment() -> Experiment:
    """Return one whose datasource is an object of a module."""
    return (
        Experiment.builder("o")
        .datasource(executor_functions.counted)
        .pipeline(small())
        .build()
    )


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_an_object_is_found_elsewhere(ledger: Ledger, executor: str) -> None:
    """Another process imports it, and so does a replay; its source is recorded."""
    result = experiment().run(executor=executor, ledger=ledger)
    assert result.errors == ()
    (said,) = ledger.events(run=result.run_id, type="experiment.registered")
    told: Any = ledger.resolve(said)
    (function,) = told["functions"]
    assert function["import"] == "executor_functions:counted"
    text = told["sources"][function["source"]]
    assert text.startswith("class Counted:")
    assert text.endswith("counted = Counted(3)\n")
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_an_earlier_record_goes_on(ledger: Ledger) -> None:
    """A run that named the object by its class alone is found, resumed and replayed."""
    today = experiment()
    source = Named(executor_functions.counted, BY_CLASS, settled=True)
    earlier = replace(today, program=replace(today.program, datasource=source))
    executor_functions.counted.fails = True
    failed = earlier.run(ledger=ledger)
    assert len(failed.errors) == 1
    again = today.run(strategy="resume", ledger=ledger)
    assert (again.run_id, again.errors) == (failed.run_id, ())
    assert replay(ledger, again.run_id, today.program).verdict == "acceptable"
