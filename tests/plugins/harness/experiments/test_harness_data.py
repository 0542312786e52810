"""Data of every kind through a whole experiment: in, transformed, out, and again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped] # no stubs are installed
import pytest

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    ArtifactPlugin,
    EvidenceBundlePlugin,
    Experiment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]})


def asked(
    data: object,
    body: str,
    head: str = "",
    transforms: dict[str, Any] | None = None,
    **prop: object,
) -> ExperimentBuilder:
    """Return an experiment over *data* with one property."""
    imports = [head.split()[1]] if head else []
    spec = {
        "allowed_imports": imports,
        "properties": [{"name": "p", "transform": "permute_rows", **prop}],
        "resources": {"time_s": 30, "mem_mb": 2048},
    }
    code = f"{head}\ndef fit_and_eval(data):\n    return {body}\n"
    return (
        Experiment.builder("data")
        .datasource(lambda _: data)
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec=spec))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms=transforms, permutations=3))
        .hypothesis("metamorphic", verifier=metamorphic)
    )


@pytest.mark.parametrize(
    ("data", "body", "head", "transform"),
    [
        ([3, 1, 2], "{'m': max(data)}", "", "permute_rows"),
        ((3, 1, 2), "{'m': max(data)}", "", "permute_rows"),
        (([1, 2], [3, 4]), "{'m': sum(data[1])}", "", "permute_rows_aligned"),
        ({"x": [1, 2], "y": [3, 4]}, "{'m': sum(data['y'])}", "", "permute_rows"),
        ([[1, 2], [3, 4]], "{'m': sum(map(sum, data))}", "", "column_permute"),
        (np.array([3.0, 1.0]), "{'m': data.max()}", "import numpy", "permute_rows"),
        (np.eye(2), "{'m': data.sum()}", "import numpy", "column_permute"),
        (FRAME, "{'m': data['x'].sum()}", "import pandas", "permute_rows"),
        (FRAME, "{'m': data['x'].sum()}", "import pandas", "scale"),
    ],
)
def test_every_kind_of_data_passes_whole(
    ledger: Ledger, tmp_path: Path, data: object, body: str, head: str, transform: str
) -> None:
    """Lists, tuples, mappings, arrays and frames are tested, kept and replayed."""
    built = asked(data, body, head, transform=transform)
    built = built.plugin(ArtifactPlugin(tmp_path)).plugin(EvidenceBundlePlugin())
    result = built.build().run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.hypotheses[0].passed is True
    report = replay(ledger, result.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())
    (path,) = tmp_path.rglob("bundle.json")
    assert json.loads(path.read_text())["metrics"]["p_pass"] == [True]


def test_a_frame_that_is_read_by_its_labels_is_found_out(ledger: Ledger) -> None:
    """Labels that only count the rows do not hide that the rows moved."""
    first = "{'m': float(data['x'][0])}"
    result = asked(FRAME, first, "import pandas").build().run(ledger=ledger)
    assert result.metrics.hypotheses[0].passed is False


@pytest.mark.parametrize(
    ("build", "place"),
    [
        (lambda: asked(object(), "{'m': 1}"), "baseline, replicate 0, datasource"),
        (lambda: asked([{1, open}], "{'m': 1}"), "baseline, replicate 0, datasource"),
        (
            lambda: asked(
                [1, 2],
                "{'m': 1}",
                transforms={"own": lambda _: [object()]},
                transform="own",
            ),
            "baseline, replicate 0, run_metamorphic_tests",
        ),
        (
            lambda: asked([1, 2], "{'m': 1}").treatment(
                "bad", lambda _: {"data": object()}
            ),
            "bad, replicate 0, datasource",
        ),
        (
            lambda: asked([1, 2], "{'m': 1}").hypothesis(
                "own", verifier=lambda _a, _b: {"passed": True, "of": object()}
            ),
            "baseline, hypothesis own",
        ),
    ],
)
def test_what_has_no_exact_form_names_its_step(
    ledger: Ledger, build: Callable[[], ExperimentBuilder], place: str
) -> None:
    """Nothing is pickled: what JSON, .npy and Arrow lack ends there, by name."""
    experiment = build().build()
    result = experiment.run(ledger=ledger)
    assert place in [one.place for one in result.errors]
    (failure,) = [one for one in result.errors if one.place == place]
    assert "no exact form" in failure.message
    report = replay(ledger, result.run_id, program=experiment.program)
    assert report.verdict == "acceptable"


def test_treatments_change_what_is_tested(ledger: Ledger) -> None:
    """Tolerances and transforms are a condition's own; each is judged by itself."""
    built = asked([1, 2, 3], "{'m': 1 + data[0] * 1e-3}").treatment(
        "wide", {"tolerance": 0.1}
    )
    result = built.build().run(ledger=ledger)
    assert result.errors == ()
    assert result.metrics.hypotheses[0].results == {
        "baseline": {"metamorphic_ok": False, "p_pass": False},
        "wide": {"metamorphic_ok": True, "p_pass": True},
    }
    told = [
        ledger.resolve(event)["tolerance"]
        for event in ledger.events(run=result.run_id, type="property.tested")
    ]
    assert told == [1e-6, 0.1]
    assert replay(ledger, result.run_id).verdict == "acceptable"


def turned(data: list[int]) -> list[int]:
    """Return the rows from the last to the first."""
    return data[::-1]


def moved(data: list[int]) -> list[int]:
    """Return the rows with the first one at the end."""
    return [*data[1:], data[0]]


def test_treatments_change_the_transforms(ledger: Ledger) -> None:
    """Functions may stand in what a treatment changes, and a replay finds them."""
    built = asked(
        [1, 2, 3], "{'m': data[1]}", transforms={"own": turned}, transform="own"
    ).treatment("moved", {"transforms": {"own": moved}})
    result = built.build().run(ledger=ledger)
    assert result.metrics.hypotheses[0].results == {
        "baseline": {"metamorphic_ok": True, "p_pass": True},
        "moved": {"metamorphic_ok": False, "p_pass": False},
    }
    report = replay(ledger, result.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_variants_are_named_and_not_written_again(ledger: Ledger) -> None:
    """Data is in the ledger once; what a built-in made of it follows from its seed."""
    data = list(range(1000))
    result = asked(data, "{'m': sum(data)}").build().run(ledger=ledger)
    requests = list(ledger.events(run=result.run_id, type="execution.requested"))
    sizes = [event.data["request"].size for event in requests]  # type: ignore[attr-defined]
    assert max(sizes) < 1000
    named = ledger.resolve(requests[1])["request"]
    assert isinstance(named, dict)
    seeds = [one["seed"] for one in named["inputs"]]
    assert seeds[0] is None
    assert len(set(seeds)) == 3
