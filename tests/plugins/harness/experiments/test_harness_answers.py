"""What an experiment answers where one could expect less; by number."""

from __future__ import annotations

import importlib
import json
import linecache
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import muniment_plugins.harness as front
from muniment.encoding.canonical import sha256_tag
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    ArtifactPlugin,
    Case,
    EvidenceBundlePlugin,
    Experiment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder

Begun = Callable[..., Case]
Make = Callable[..., Experiment]

SUM = "def fit_and_eval(data): return {'total': sum(data)}"
DRAWS = "import random\ndef fit_and_eval(data): return {'drawn': random.random()}"


def builder(
    code: str = SUM, name: str | None = None, **acceptance: object
) -> ExperimentBuilder:
    """Return a builder with data and steps, and nothing else."""
    spec = {
        "allowed_imports": ["random"],
        "properties": [{"name": "perm", "transform": "permute_rows"}],
    }
    claim = {"id": "c", "text": "A sum is a sum", "acceptance": acceptance}
    return (
        Experiment.builder(name)
        .datasource(lambda _: [1, 2, 3])
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=spec))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
    )


def test_3_0_every_name_is_at_the_front() -> None:
    """All that the guide imports, and all that it needs beside, comes from one place."""
    assert {
        *("ArtifactPlugin", "Claim", "EvidenceBundlePlugin", "Experiment", "Pipeline"),
        *("PromptProvenancePlugin", "Spec", "bounded_synthesis", "execute_capsule"),
        *("generate_spec", "meets_claim", "metamorphic", "run_metamorphic_tests"),
        *("specify_claim", "verifier", "BoundedExecutionError"),
    } <= set(front.__all__)
    assert all(hasattr(front, name) for name in front.__all__)


def test_3_1_to_3_4_an_experiment_needs_no_ceremony(ledger: Ledger) -> None:
    """One hypothesis, one plugin, no treatment, and a lambda as the datasource."""
    judged = builder().add_step(run_metamorphic_tests())
    result = judged.hypothesis("h", verifier=metamorphic).build().run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.hypotheses[0].results == {
        "baseline": {"metamorphic_ok": True, "perm_pass": True}
    }


@pytest.mark.parametrize("judge", [metamorphic, metamorphic()])
def test_3_6_a_verifier_may_be_called(ledger: Ledger, judge: object) -> None:
    """Called and not called it is the same, and so is the result."""
    judged = builder().add_step(run_metamorphic_tests())
    result = judged.hypothesis("h", verifier=judge).build().run(ledger=ledger)  # type: ignore[arg-type]
    assert result.metrics.hypotheses[0].passed is True


@pytest.mark.parametrize("called", [False, True])
def test_3_6_meets_claim_may_be_called(ledger: Ledger, called: bool) -> None:
    """Without settings the claim says everything that the verdict needs."""
    judge = meets_claim() if called else meets_claim
    judged = builder(max_value=6, equals=6).hypothesis("h", verifier=judge)
    result = judged.build().run(ledger=ledger)
    assert result.metrics.hypotheses[0].results["baseline"] == {
        "meets_claim": True,
        "criteria": {"equals": True, "max_value": True},
    }


def test_3_7_what_is_saved_is_what_came_out(ledger: Ledger, tmp_path: Path) -> None:
    """The outputs of every replicate stand in the bundle."""
    saved = builder().plugin(ArtifactPlugin(tmp_path)).plugin(EvidenceBundlePlugin())
    saved.build().run(replicates=2, ledger=ledger)
    (path,) = tmp_path.rglob("bundle.json")
    outputs = [{"replicate": n, "outputs": {"total": 6}} for n in range(2)]
    assert json.loads(path.read_text())["runs"] == outputs


def test_3_11_a_library_with_parts_of_its_own_runs(begun: Begun) -> None:
    """Allowing one module of a library is enough for what it stands on."""
    code = (
        "from sklearn.metrics import mean_squared_error\n"
        "def fit_and_eval(data): return {'mse': mean_squared_error(data, [2, 2])}"
    )
    limits = {"time_s": 30, "mem_mb": 2048}
    case = begun([1, 3], allowed_imports=["sklearn.metrics"], resources=limits)
    assert execute_capsule()(bounded_synthesis(code=code)(case)).metrics == {"mse": 1.0}


def test_3_15_starting_is_not_computing(begun: Begun) -> None:
    """The seconds are the program's own: a tenth of one is enough for a sum."""
    case = begun([1, 3], resources={"time_s": 0.1})
    assert execute_capsule()(bounded_synthesis(code=SUM)(case)).metrics == {"total": 4}


def test_3_16_every_execution_says_what_held_it(ledger: Ledger) -> None:
    """Isolation is no word: each run of code is recorded with the walls that stood."""
    result = builder().build().run(ledger=ledger)
    measured = list(ledger.events(run=result.run_id, type="execution.measured"))
    assert measured
    for event in measured:
        told = ledger.resolve(event)
        assert told["level"]
        assert told["layers"]
        assert told["environment"]


def test_numbers_that_are_none_are_metrics_where_the_spec_says_so(
    ledger: Ledger,
) -> None:
    """NaN and infinities are measured, recorded and replayed exactly, if allowed."""
    code = "def fit_and_eval(data):\n    return {'a': float('nan'), 'b': -1e999}"
    refused = builder(code).build().run(ledger=ledger)
    assert [one.rule for one in refused.errors] == ["capsule/non-finite"]
    allowed = (
        Experiment.builder()
        .datasource(lambda _: [])
        .add_step(specify_claim(claim={"id": "c", "text": "None are numbers"}))
        .add_step(generate_spec(spec={"allow_non_finite": True}))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
    )
    result = allowed.build().run(ledger=ledger)
    assert repr(result.metrics.baseline.metrics) == "{'a': [nan], 'b': [-inf]}"
    assert replay(ledger, result.run_id).verdict == "acceptable"
    issued = list(ledger.events(run=result.run_id, type="spec.issued"))
    assert issued[-1].data["allow_non_finite"] is True


def test_3_17_acceptance_decides(ledger: Ledger) -> None:
    """The same metrics meet one claim and refute another, over real treatments."""

    def judged(pct: float) -> object:
        code = "def fit_and_eval(data): return {'rmse': data[0] * 1.0}"
        experiment = (
            builder(code, metric="rmse", min_improvement_pct=pct)
            .datasource(lambda ctx: [1.0 + ctx["replicate"]])
            .treatment("half", lambda ctx: {"data": [0.5 + ctx["replicate"] / 2]})
            .hypothesis("better", verifier=meets_claim)
            .build()
        )
        result = experiment.run(replicates=5, ledger=ledger)
        assert result.errors == ()
        (event,) = ledger.events(run=result.run_id, type="verdict.reached")
        fact = ledger.resolve(event)
        assert fact["p_value"] == (1 / 32 if pct < 50 else 1)
        assert fact["inputs"] == [
            f"{condition}/replicate/{number}"
            for condition in ("baseline", "half")
            for number in range(5)
        ]
        said = fact["result"]
        assert isinstance(said, Mapping)
        assert said["pct_improvement"] == 50.0
        program = experiment.program
        assert replay(ledger, result.run_id, program).verdict == "acceptable"
        return fact["passed"]

    assert judged(49) is True
    assert judged(51) is False


def test_3_20_models_may_be_closures(ledger: Ledger) -> None:
    """A lambda over local names is asked, in the run and never again in its replay."""
    code = SUM
    experiment = (
        Experiment.builder()
        .datasource(lambda _: [1])
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec={}))
        .add_step(bounded_synthesis(llm=lambda *_: code))
        .add_step(execute_capsule())
        .build()
    )
    result = experiment.run(ledger=ledger)
    assert result.metrics.baseline.metrics == {"total": [1]}
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_7_2_files_are_copies(ledger: Ledger, tmp_path: Path) -> None:
    """A file that was edited changes no result: the ledger says what was measured."""
    kept = builder(name="sums").plugin(ArtifactPlugin(tmp_path / "out"))
    experiment = kept.plugin(EvidenceBundlePlugin()).build()
    first = experiment.run(ledger=ledger)
    for path in (tmp_path / "out").rglob("*.json"):
        path.write_text(path.read_text().replace("6", "999"))
    again = experiment.run(ledger=ledger, strategy="resume")
    assert again.run_id == first.run_id
    assert again.metrics.baseline.metrics == {"total": [6]}
    assert again.verify().ok


def test_7_5_chance_comes_from_the_seed(ledger: Ledger) -> None:
    """Replicates draw differently, and every run and replay of them draws the same."""
    experiment = builder(DRAWS).build()
    runs = [experiment.run(replicates=3, ledger=ledger) for _ in range(2)]
    drawn = [one.metrics.baseline.metrics["drawn"] for one in runs]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 3
    assert runs[0].result_digest == runs[1].result_digest
    assert replay(ledger, runs[0].run_id).verdict == "acceptable"


SCRIPT = """
from muniment_plugins.harness import *
print(Experiment.builder()
    .datasource(lambda ctx: [1])
    .add_step(specify_claim(claim={"text": "t", "id": "c"}))
    .add_step(generate_spec(spec={"resources": {"mem_mb": 256, "time_s": 5}}))
    .add_step(bounded_synthesis(llm=lambda *_: "", entrypoint="go", attempts=2))
    .add_step(run_metamorphic_tests(tolerance=1e-3, permutations=4))
    .build().id)
"""


def test_7_6_an_experiment_is_the_same_everywhere(tmp_path: Path) -> None:
    """Neither hash seeds nor addresses nor the process are part of its id."""
    (tmp_path / "plan.py").write_text(SCRIPT)
    ids = {
        subprocess.run(
            [sys.executable, "plan.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(ids) == 1


def test_7_9_everything_has_its_time_and_place(ledger: Ledger) -> None:
    """Events have a sequence, a time and a signature, in a chain that is checked."""
    result = builder().build().run(ledger=ledger)
    events = list(ledger.events(run=result.run_id))
    assert [one.seq for one in events] == sorted({one.seq for one in events})
    assert all(one.time for one in events)
    assert result.verify().ok


OWN = """
def small(baseline, condition):
    return {"passed": max(condition["total"]) < 10}

def turned(data):
    return data[::-1]
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return what writes a user's module, and imports it anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(text: str) -> Any:
        (tmp_path / "own_functions.py").write_text(text)
        sys.modules.pop("own_functions", None)
        linecache.clearcache()
        importlib.invalidate_caches()
        return importlib.import_module("own_functions")

    return write


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("max(condition", "sum(condition", "source"),
        ("data[::-1]", "list(reversed(data))", "details.function.source"),
        ("data[::-1]", "data[1:] + data[:1]", "request.inputs[0][0]"),
    ],
)
def test_changed_functions_are_said(
    ledger: Ledger, own: Callable[[str], Any], old: str, new: str, field: str
) -> None:
    """A replay imports them, names the field that changed, and has the old source."""
    module = own(OWN)
    properties = [{"name": "p", "transform": "turned"}]
    experiment = (
        Experiment.builder()
        .datasource(lambda _: [1, 2, 3])
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec={"properties": properties}))
        .add_step(bounded_synthesis(code=SUM))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms={"turned": module.turned}))
        .hypothesis("small", verifier=module.small)
        .build()
    )
    result = experiment.run(ledger=ledger)
    assert result.metrics.hypotheses[0].passed is True
    assert replay(ledger, result.run_id).verdict == "acceptable"
    own(OWN.replace(old, new))
    (registered,) = ledger.events(run=result.run_id, type="experiment.registered")
    sources = ledger.resolve(registered)["sources"]
    assert isinstance(sources, dict)
    assert any(old in text for text in sources.values())
    assert all(sha256_tag(text.encode()) == one for one, text in sources.items())
    report = replay(ledger, result.run_id)
    assert report.verdict == "unacceptable"
    assert report.first_divergence is not None
    assert report.first_divergence.field == field
