"""Nothing in an evidence bundle can be changed unseen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bundled import Bundles
from muniment import verify_bundle
from muniment.formats.evidence import (
    CLOSING,
    CLOSING_CHECKPOINT,
    CONSISTENCY,
    MANIFEST,
    SELF_PROVING,
)
from spoiled_bundles import Files, copy, read, sealed, spoiled, spoilings

if TYPE_CHECKING:
    from muniment.verification.report import Report


def judged(folder: Path, bundles: Bundles) -> Report:
    """Verify as a receiver with the root's fingerprint does."""
    return verify_bundle(folder, keys=[bundles.root], home=bundles.home)


def named(report: Report, name: str) -> bool:
    """Tell whether a finding names the file."""
    return any(name in f"{one.place} {one.message}" for one in report.findings)


@pytest.mark.parametrize("kind", ["folder", "raw"])
def test_the_bundle_as_it_was_written(bundles: Bundles, kind: str) -> None:
    """It is intact, by a given root, complete; everything was compared."""
    report = judged(getattr(bundles, kind), bundles)

    assert (report.exit_code, report.ok, report.findings) == (0, True, ())
    assert (report.integrity, report.authenticity) == ("intact", "pinned")
    assert (report.completeness, report.erased) == ("checked", 1)
    assert all(not one.lacking and one.compared == one.total for one in report.counts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "raw", "redacted"])
def test_each_file_alone(bundles: Bundles, tmp_path: Path, kind: str) -> None:
    """Deleted, added, renamed, or changed in any line or byte: refused by its name."""
    folder = copy(getattr(bundles, kind), tmp_path / "bundle")
    files = read(folder)
    count = 0
    for one in spoilings(files):
        with spoiled(folder, files, one.files):
            report = judged(folder, bundles)
        assert report.exit_code == 1, (one.name, one.what)
        which = [name for name in (one.name, one.other) if name]
        assert any(named(report, name) for name in which), (one.name, one.what)
        count += 1

    assert count > 20 * len(files)
    assert judged(folder, bundles).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "raw", "redacted"])
def test_each_file_with_a_manifest_that_agrees(
    bundles: Bundles, tmp_path: Path, kind: str
) -> None:
    """Without keys, nobody can make a bundle of something else."""
    folder = copy(getattr(bundles, kind), tmp_path / "bundle")
    files = read(folder)
    for one in spoilings(files):
        if one.name in SELF_PROVING or sealed(one.files) == files:
            continue
        with spoiled(folder, files, sealed(one.files)):
            report = judged(folder, bundles)
        assert report.exit_code == 1, (one.name, one.what)
        assert named(report, one.name) or named(report, MANIFEST), (one.name, one.what)


def test_parts_of_two_honest_bundles(bundles: Bundles, tmp_path: Path) -> None:
    """What closes one run closes no other, whichever parts are taken."""
    folder = copy(bundles.folder, tmp_path / "bundle")
    files, others = read(folder), read(bundles.other)
    for taken in (
        {CLOSING},
        {CLOSING, CLOSING_CHECKPOINT},
        {CLOSING, CLOSING_CHECKPOINT, CONSISTENCY},
        {CLOSING, CLOSING_CHECKPOINT, CONSISTENCY, MANIFEST},
        {"run.json", MANIFEST},
        {"events.intoto.jsonl", "proofs.jsonl", "checkpoint"},
    ):
        stitched: Files = {**files, **{name: others[name] for name in taken}}
        with spoiled(folder, files, stitched):
            assert judged(folder, bundles).exit_code == 1, taken


def test_a_bundle_by_other_keys(bundles: Bundles) -> None:
    """A whole bundle by somebody else is foreign to whoever has the root's key."""
    stranger = "SHA256:" + "A" * 43
    report = verify_bundle(bundles.folder, keys=[stranger], home=bundles.home)

    assert (report.exit_code, report.authenticity) == (1, "wrong")
    assert [one.rule for one in report.findings] == ["key/pin"]


def test_keys_that_come_with_a_bundle_prove_nothing(bundles: Bundles) -> None:
    """Without a key from elsewhere, and with one that is no root, it is self-asserted."""
    for keys in (None, [bundles.folder / "ledger.pub"]):
        report = verify_bundle(bundles.folder, keys=keys, home=bundles.home)

        assert (report.exit_code, report.authenticity) == (3, "self-asserted")
        assert not report.ok


def test_another_history_is_remembered(bundles: Bundles, tmp_path: Path) -> None:
    """A note of the same size by the same log with another root is a fork."""
    note = (bundles.folder / "checkpoint").read_bytes()
    anchor = tmp_path / "anchor"
    anchor.write_bytes(note)
    same = verify_bundle(
        bundles.folder, keys=[bundles.root], anchor=anchor, home=bundles.home
    )
    assert same.exit_code == 0
    anchor.write_bytes(bundles.ledger.first_checkpoint_over(0))
    shorter = verify_bundle(
        bundles.folder, keys=[bundles.root], anchor=anchor, home=bundles.home
    )
    assert shorter.exit_code == (0 if anchor.read_bytes() == note else 3)
