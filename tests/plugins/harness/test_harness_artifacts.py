"""The files beside an experiment: the guide's places, the ledger's facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.harness import (
    ArtifactPlugin,
    EvidenceBundlePlugin,
    Experiment,
    PromptProvenancePlugin,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    specify_claim,
)

CODE = "def fit_and_eval(data): return {'total': sum(data)}"


def build(root: Path, llm: Callable[..., object], *, name: str = "sums") -> Experiment:
    """Return an experiment that asks *llm* and writes its files to *root*."""
    return (
        Experiment.builder(name)
        .datasource(lambda _: [1, 2])
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec={"resources": {"time_s": 5, "mem_mb": 256}}))
        .add_step(bounded_synthesis(llm=llm))
        .add_step(execute_capsule())
        .plugin(ArtifactPlugin(root_dir=root))
        .plugin(PromptProvenancePlugin())
        .plugin(EvidenceBundlePlugin())
        .build()
    )


def read(path: Path) -> dict[str, object]:
    """Return the JSON object in *path*."""
    value: dict[str, object] = json.loads(path.read_text())
    return value


def test_the_bundle_has_the_guides_keys(ledger: Ledger, tmp_path: Path) -> None:
    """Claims, specs, code, outputs, metrics, verdicts, calls, and where the proof is."""
    told = {"llm_call": {"model": "m"}}
    result = build(tmp_path / "out", lambda *_: (CODE, told)).run(ledger=ledger)
    place = tmp_path / "out" / "sums" / "v0" / "baseline"
    bundle = read(place / "evidence" / "bundle.json")
    assert bundle["condition"] == "baseline"
    assert bundle["claims"] == [{"id": "c", "text": "t", "acceptance": {}}]
    assert bundle["code"] == [{"replicate": 0, "source": CODE, "accepted": True}]
    assert bundle["runs"] == [{"replicate": 0, "outputs": {"total": 3}}]
    assert bundle["metrics"] == {"total": [3]}
    assert {"specs", "verdicts"} <= bundle.keys()
    size = ledger.head.size
    proof = {"ledger": ledger.id, "run": result.run_id, "checkpoint": size}
    assert list(bundle)[-1] == "proof"
    assert bundle["proof"] == proof
    calls = read(place / "prompts" / "llm_calls.json")
    assert calls["llm_calls"] == bundle["llm_calls"]
    (call,) = calls["llm_calls"]  # type: ignore[misc]
    assert call["answer"]["calls"] == [{"model": "m"}]  # type: ignore[has-type]


def test_failures_are_evidence_too(ledger: Ledger, tmp_path: Path) -> None:
    """Refused code stands in the bundle with its rule, and so does the call for it."""
    build(tmp_path, lambda *_: "import os\n" + CODE).run(ledger=ledger)
    bundle = read(tmp_path / "sums" / "v0" / "baseline" / "evidence" / "bundle.json")
    (code,) = bundle["code"]  # type: ignore[misc]
    assert (code["accepted"], code["rule"]) == (False, "capsule/import")  # type: ignore[has-type]
    assert len(bundle["llm_calls"]) == len(bundle["failures"]) == 1  # type: ignore[arg-type]


def test_nothing_is_overwritten(ledger: Ledger, tmp_path: Path) -> None:
    """A second run gets a version of its own; the first one's files stay."""
    first = build(tmp_path, lambda *_: CODE).run(ledger=ledger)
    build(tmp_path, lambda *_: CODE).run(ledger=ledger)
    kept = read(tmp_path / "sums" / "v0" / "metadata.json")
    assert kept["proof"]["run"] == first.run_id  # type: ignore[index]
    assert (tmp_path / "sums" / "v1" / "metadata.json").exists()


def test_names_stay_in_their_directory(ledger: Ledger, tmp_path: Path) -> None:
    """A name that would lead out of the directory is refused."""
    with pytest.raises(UsageError, match="no name for a file"):
        EvidenceBundlePlugin(filename="../bundle.json")
    with pytest.raises(UsageError, match="no name for a file"):
        build(tmp_path, lambda *_: CODE, name="../evil").run(ledger=ledger)
