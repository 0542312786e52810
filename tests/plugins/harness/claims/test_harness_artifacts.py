"""The files beside an experiment: the guide's places, the ledger's facts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import muniment
from muniment.errors import UsageError
from muniment.formats.statement import BlobRef
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
from muniment_plugins.harness.evidence_files.files import Record
from muniment_plugins.harness.evidence_files.run_fold import Gathered, gather

CODE = "def fit_and_eval(data): return {'total': sum(data)}"


KEYS = [
    *("condition", "claims", "specs", "code", "runs"),
    *("metrics", "verdicts", "llm_calls"),
]


def adds_up(_: object, condition: Mapping[str, object]) -> dict[str, object]:
    """Judge a sum."""
    return {"passed": condition["total"] == [3]}


def build(root: Path, llm: Callable[..., object], *, name: str = "sums") -> Experiment:
    """Return an experiment that asks *llm* and writes its files to *root*."""
    return (
        Experiment.builder(name)
        .datasource(lambda _: [1, 2])
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec={"resources": {"time_s": 5, "mem_mb": 256}}))
        .add_step(bounded_synthesis(llm=llm))
        .add_step(execute_capsule())
        .hypothesis("sums", verifier=adds_up)
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
    (code,) = bundle["code"]  # type: ignore[misc]
    assert (code["replicate"], code["source"], code["accepted"]) == (0, CODE, True)  # type: ignore[has-type]
    assert bundle["runs"] == [{"replicate": 0, "outputs": {"total": 3}}]
    assert bundle["metrics"] == {"total": [3]}
    assert list(bundle)[:8] == KEYS
    (verdict,) = bundle["verdicts"]  # type: ignore[misc]
    assert verdict["result"] == {"passed": True}  # type: ignore[has-type]
    assert verdict["source"].startswith("sha256:")  # type: ignore[has-type]
    assert verdict["inputs"] == ["baseline/replicate/0"]  # type: ignore[has-type]
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


def test_a_later_run_changes_no_byte(ledger: Ledger, tmp_path: Path) -> None:
    """Ten runs leave ten whole versions; none is pruned, none touched."""
    build(tmp_path, lambda *_: CODE).run(ledger=ledger)
    files = [one for one in (tmp_path / "sums").rglob("*") if one.is_file()]
    before = {one: one.read_bytes() for one in files}
    for _ in range(3):
        build(tmp_path, lambda *_: CODE).run(ledger=ledger)
    assert {one: one.read_bytes() for one in files} == before
    versions = {one.name for one in (tmp_path / "sums").iterdir()}
    assert versions == {"v0", "v1", "v2", "v3"}
    bundles = list((tmp_path / "sums").rglob("bundle.json"))
    assert len(bundles) == len(versions)


def test_a_file_that_is_there_is_not_written_over(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A bundle goes to a directory of its own, or is refused."""
    result = build(tmp_path / "out", lambda *_: CODE).run(ledger=ledger)
    (path,) = result.bundle(tmp_path / "mine")
    assert read(path)["condition"] == "baseline"
    with pytest.raises(UsageError, match=r"bundle.json is there already"):
        result.bundle(tmp_path / "mine")


def test_without_a_ledger_one_is_made_beside_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``root_dir`` alone is enough: the ledger stands beside it, wherever one works."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = build(tmp_path / "out", lambda *_: CODE).run()
    with muniment.open(tmp_path / ".muniment" / "ledger.db", readonly=True) as made:
        assert made.id == result.ledger_id
        assert list(made.events(run=result.run_id))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_erased_content_is_named_by_its_digest(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Files of a run can be written after an erasure, and say what is missing."""
    result = build(tmp_path / "out", lambda *_: CODE).run(ledger=ledger)
    (outputs,) = ledger.events(run=result.run_id, type="metrics.measured")
    reference = outputs.data["outputs"]
    assert isinstance(reference, BlobRef)
    ledger.erase(reference.digest, reason="it was asked for")
    record = Record("sums", 1, gather(ledger, ledger.events(run=result.run_id)), {})
    EvidenceBundlePlugin().write(tmp_path / "again", record)
    bundle = read(tmp_path / "again" / "baseline" / "evidence" / "bundle.json")
    assert bundle["runs"] == [{"replicate": 0, "outputs": {"erased": reference.digest}}]
    assert bundle["metrics"] == {"total": [3]}


def test_what_json_lacks_is_written_as_the_ledger_does(tmp_path: Path) -> None:
    """NaN, bytes, keys that are not text and surrogates never make a file unreadable."""
    found = Gathered("baseline", metrics={"m": [math.nan, (1, 2.5), b"x", "\ud800"]})
    found.runs = [{"replicate": 0, "outputs": {(2, 3): 1}}]
    EvidenceBundlePlugin().write(tmp_path, Record("e", 1, {"baseline": found}, {}))
    text = (tmp_path / "baseline" / "evidence" / "bundle.json").read_text()
    bundle = json.loads(text, parse_constant=pytest.fail)
    assert bundle["metrics"]["m"][:3] == [
        {"$float": "nan"},
        [1, 2.5],
        {"$bytes": "eA=="},
    ]
    assert bundle["runs"][0]["outputs"] == {"$map": [[{"$tuple": [2, 3]}, 1]]}


def test_names_stay_in_their_directory(ledger: Ledger, tmp_path: Path) -> None:
    """A name that would lead out of the directory is refused."""
    with pytest.raises(UsageError, match="not a name for a file"):
        EvidenceBundlePlugin(filename="../bundle.json")
    with pytest.raises(UsageError, match="not a name for a file"):
        build(tmp_path, lambda *_: CODE, name="../evil").run(ledger=ledger)
    assert not list(ledger.events(type="run.started"))
