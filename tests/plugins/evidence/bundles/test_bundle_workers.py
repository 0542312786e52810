"""Signatures of a large bundle are checked by processes, one for each core."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from bundled import Bundles, bundle_on_p256
from muniment import verify_bundle
from muniment.errors import WorkerDied
from muniment.verification import signatures
from muniment.verification.bundle import verify
from spoiled_bundles import copy


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "_MANY", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def test_workers_say_the_same(
    bundles: Bundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and verdict are those of one process."""
    started: list[object] = []
    workers = signatures.Workers

    def watched(number: int) -> signatures.Workers:
        started.append(number)
        return workers(number)

    monkeypatch.setattr(signatures, "Workers", watched)
    by_workers = verify_bundle(bundles.folder, keys=[bundles.root], home=bundles.home)
    monkeypatch.setattr(verify, "signature_check", lambda _: signatures.InProcess())
    by_itself = verify_bundle(bundles.folder, keys=[bundles.root], home=bundles.home)

    assert started == [2]
    assert by_workers.exit_code == 0
    assert by_workers.counts == by_itself.counts


@pytest.mark.parametrize("algorithm", ["ed25519", "p256"])
def test_each_wrong_signature_is_found(
    bundles: Bundles, tmp_path: Path, algorithm: str
) -> None:
    """Whichever worker got it; the signature of another event stands in its place."""
    honest, root = bundles.folder, bundles.root
    if algorithm == "p256":
        honest, root = tmp_path / "bundle", bundle_on_p256(tmp_path)
    assert verify_bundle(honest, keys=[root], home=bundles.home).exit_code == 0
    events = (honest / "events.intoto.jsonl").read_bytes().splitlines()
    for number, line in enumerate(events):
        envelope, other = json.loads(line), json.loads(events[number - 1])
        envelope["signatures"][0]["sig"] = other["signatures"][0]["sig"]
        folder = copy(honest, tmp_path / str(number))
        spoiled = json.dumps(envelope, separators=(",", ":"), sort_keys=True).encode()
        lines = [*events[:number], spoiled, *events[number + 1 :]]
        (folder / "events.intoto.jsonl").write_bytes(b"\n".join([*lines, b""]))
        report = verify_bundle(folder, keys=[root], home=bundles.home)
        seq = json.loads(payload_of(line))["predicate"]["muniment"]["seq"]
        assert ("event/signature", seq) in {(f.rule, f.seq) for f in report.findings}


def payload_of(line: bytes) -> bytes:
    """Return the payload in an envelope."""
    return base64.b64decode(json.loads(line)["payload"])


def test_a_worker_that_dies_hides_nothing(
    bundles: Bundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process checks everything again, and the report says so."""

    def died(_: object) -> None:
        raise WorkerDied("a process died", rule="verify/worker", remedy="")

    monkeypatch.setattr(signatures.Workers, "finish", died)
    report = verify_bundle(bundles.folder, keys=[bundles.root], home=bundles.home)

    assert report.exit_code == 0
    assert all(one.compared == one.total for one in report.counts)
    assert any("checked by one process" in note for note in report.notes)
