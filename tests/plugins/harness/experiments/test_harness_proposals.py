"""A spec that a model proposes, and that cannot run, fails its replicate and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bounded_capsule import Bounded
from in_process import harness_ledger
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    Result,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.editions import of_edition

BAD: list[dict[str, Any]] = [
    {"require": "none"},
    *({"allowed_imports": [one]} for one in ("os", "subprocess", "a b;c", "..")),
    *({"resources": {"time_s": one}} for one in (0, 1e6, "1")),
    *({"resources": {"mem_mb": one}} for one in (0.5, 2**40)),
    *(
        {"properties": [{"name": "p", "metric": "m", **one}]}
        for one in (
            {"transform": "permute_row"},
            {"transform": "scale", "arguments": {"factr": 2}},
            {"transform": "shift", "arguments": {"by": 0.0}},
            {"transform": "permute_rows", "relation": "monotone"},
        )
    ),
]
ASKED: list[str] = []


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger with a capsule that has bounds."""
    with harness_ledger(tmp_path / "ledger.db", Bounded()) as made:
        yield made


def rows(ctx: Any) -> list[float]:
    """Return the data of a replicate."""
    return [1.0 + ctx["replicate"], 7.0]


def code(_claim: object, _spec: object, ctx: Any) -> str:
    """Write the code, and note for which replicate."""
    ASKED.append(f"code {ctx['replicate']}")
    return "def fit_and_eval(data): return {'m': sum(data)}"


def experiment(bad: dict[str, Any], at: int) -> Experiment:
    """Return an experiment whose model proposes a *bad* spec for one replicate."""

    def spec(_claim: object, _data: object, ctx: Any) -> dict[str, Any]:
        ASKED.append(f"spec {ctx['replicate']}")
        return bad if ctx["replicate"] == at else {}

    stated: Any = {
        "id": "c",
        "text": "t",
        "acceptance": {"metric": "m", "max_value": 9},
    }
    return (
        Experiment.builder("proposed")
        .datasource(rows)
        .add_step(specify_claim(claim=stated))
        .add_step(generate_spec(llm=spec))
        .add_step(bounded_synthesis(llm=code))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests())
        .hypothesis("h", verifier=meets_claim)
        .build()
    )


def facts(ledger: Ledger, run: str, kind: str) -> list[str | None]:
    """Return the scopes of the facts of *kind* in *run*."""
    return [one.scope for one in ledger.events(run=run, type=kind)]


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_it_is_refused_as_it_is_proposed(
    bad: dict[str, Any], at: int, ledger: Ledger
) -> None:
    """Nobody is asked for code under it; the others are measured; it is a fact."""
    ASKED.clear()
    made = experiment(bad, at)
    result: Result = made.run(replicates=3, ledger=ledger)
    place = f"baseline/replicate/{at}"
    assert facts(ledger, result.run_id, "spec.refused") == [place]
    assert facts(ledger, result.run_id, "replicate.failed") == [place]
    assert len(facts(ledger, result.run_id, "metrics.measured")) == 2
    assert f"code {at}" not in ASKED
    assert len(ASKED) == 5
    assert result.status == "failed"
    assert replay(ledger, result.run_id, made.program).verdict == "acceptable"


def test_a_run_from_before_replays_as_it_ran(ledger: Ledger) -> None:
    """Once the capsule learned of it first, and the run ended: such records stay so."""
    made = experiment({"allowed_imports": ["os"]}, 0)
    before = replace(made, program=of_edition(made.program, 2))
    assert before.program.describe()["edition"] == 2
    result = before.run(replicates=2, ledger=ledger)
    assert result.status == "refused"
    assert replay(ledger, result.run_id, made.program).verdict == "acceptable"
