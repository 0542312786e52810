"""What a bundle holds, and that the same run gives the same bundle."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bundled import Bundles, evidence_plugins, program
from every_kind import make
from muniment import verify_bundle
from muniment.errors import CannotTellError, KeyRefused, UsageError, WrongError
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_plugins.evidence import write_bundle
from spoiled_bundles import read


def test_the_same_run_gives_the_same_bytes(bundles: Bundles, tmp_path: Path) -> None:
    """However much the ledger grows, and with one closing event for all of them."""
    ledger = bundles.ledger
    ledger.append_many([("note.added", {"text": str(i)}) for i in range(300)])
    ledger.checkpoint()
    again = write_bundle(ledger, bundles.run[:12], tmp_path / "again")
    raw = write_bundle(ledger, bundles.run, tmp_path / "raw", raw=True)

    assert read(again.path) == read(bundles.folder)
    assert read(raw.path) == read(bundles.raw)
    closed = ledger.events(type="bundle.closed")
    runs = [one.raw["run"] for one in closed]
    assert runs == [bundles.run, bundles.other_run, bundles.run]  # the last is redacted
    digest = hashlib.sha256((again.path / "MANIFEST").read_bytes()).hexdigest()
    assert again.manifest == f"sha256:{digest}"


def test_the_files(bundles: Bundles) -> None:
    """A bundle has the files of the specification; a raw one has nothing unsigned."""
    closed, raw = (
        {name for name in read(one) if not name.startswith("blobs/")}
        for one in (bundles.folder, bundles.raw)
    )
    evidence = {"MANIFEST", "events.intoto.jsonl", "proofs.jsonl", "checkpoint"}
    trust = {"ledger.pub", "ledger.vkey", "trusted_root.json", "policy"}
    closers = {"evidence.sigstore.json", "closing.checkpoint", "consistency"}

    assert raw == evidence | trust
    others = {"series.intoto.jsonl"}
    assert closed == evidence | trust | closers | {"report.html", "run.json"} | others
    record = json.loads((bundles.folder / "run.json").read_text())
    assert (record["id"], record["status"]) == (bundles.run, "completed")


def test_every_run_of_every_kind(tmp_path: Path) -> None:
    """Runs that failed, resumed, asked people, were canceled or are open: all verify."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        ledger.checkpoint()
        runs = dict.fromkeys(one.run for one in ledger.events() if one.run)
        complete = 0
        for number, run in enumerate(runs):
            raw = write_bundle(ledger, run, tmp_path / f"{number}raw", raw=True)
            written = write_bundle(ledger, run, tmp_path / str(number))
            assert verify_bundle(raw.path, keys=[raw.root]).exit_code == 0
            report = verify_bundle(written.path, keys=[written.root])
            assert (report.exit_code, report.findings) == (0, ())
            complete += report.completeness == "checked"
            told = {one.what: one for one in report.counts}
            answers = [
                one
                for one in ledger.events(run=run)
                if one.type in ("decision.asked", "decision.reached")
            ]
            assert bool(told["decisions"].total) == bool(answers)

    assert len(runs) > 5
    assert 0 < complete < len(runs)


def test_a_run_that_goes_on(ledger: Ledger, tmp_path: Path) -> None:
    """An open run is bundled as it is, and said to be open; later there is more of it."""
    with ledger.run("long") as run:
        run.record("note.added", {"text": "so far"})
        run.effect("tool", {"name": "a"}, lambda request: request)
        first = write_bundle(ledger, run.id, tmp_path / "first")
    second = write_bundle(ledger, run.id, tmp_path / "second")
    early = verify_bundle(first.path)
    late = verify_bundle(second.path)

    assert (early.exit_code, early.completeness) == (0, "unchecked")
    assert early.open_runs == (run.id,)
    strict = verify_bundle(first.path, require_complete=True)
    assert strict.exit_code == 3
    assert (late.completeness, late.open_runs) == ("checked", ())
    assert first.closed_by != second.closed_by


def test_an_erasure_makes_another_bundle(ledger: Ledger, tmp_path: Path) -> None:
    """The old one still verifies; the new one has the erasure in place of the blob."""
    run = ledger.execute(program).run_id
    old = write_bundle(ledger, run, tmp_path / "old")
    ledger.erase(run, reason="asked to")
    new = write_bundle(ledger, run, tmp_path / "new")
    before, after = verify_bundle(old.path), verify_bundle(new.path)

    assert (before.exit_code, before.erased) == (0, 0)
    assert (after.exit_code, after.erased > 0) == (0, True)
    assert not (new.path / "blobs").exists()


def test_nothing_is_overwritten_and_nothing_is_left(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A bundle gets its name when it is whole and verified, or leaves no trace."""
    run = ledger.execute(program).run_id
    target = tmp_path / "bundle"
    target.mkdir()
    with pytest.raises(UsageError, match="there is something already"):
        write_bundle(ledger, run, target)
    with pytest.raises(UsageError, match="cannot be written"):
        write_bundle(ledger, run, tmp_path / "no" / "such" / "folder")
    with pytest.raises(UsageError, match="no run begins with"):
        write_bundle(ledger, "nonsense", tmp_path / "other")
    with closing(sqlite3.connect(ledger.path)) as forger, forger:
        forger.execute("DROP TRIGGER event_no_update")
        forger.execute(
            "UPDATE event SET signature = zeroblob(64) WHERE type = 'claim.stated'"
        )
    with pytest.raises(WrongError, match="the record of the run does not verify"):
        write_bundle(ledger, run, tmp_path / "forged", raw=True)

    left = {one.name for one in tmp_path.iterdir()}
    assert left - {"home"} == {"bundle", "work"}


def test_without_keys_only_raw(tmp_path: Path) -> None:
    """A reader without keys can write what needs none, and is told so."""
    place = tmp_path / "ledger.db"
    with Ledger.create(place, plugins=evidence_plugins()) as ledger:
        run = ledger.execute(program).run_id
    with Ledger.open(place, readonly=True, plugins=evidence_plugins()) as reader:
        with pytest.raises(KeyRefused, match="no key here can sign") as refused:
            write_bundle(reader, run, tmp_path / "closed")
        written = write_bundle(reader, run, tmp_path / "raw", raw=True)

    assert "--raw" in refused.value.remedy
    assert (written.closed_by, verify_bundle(written.path).exit_code) == (None, 0)


def test_a_blob_that_is_gone(ledger: Ledger, tmp_path: Path) -> None:
    """A bundle without a blob that nobody erased would be refused; so it is not made."""

    def large(run: Run) -> None:
        run.effect("tool", {"name": "x" * 1_100_000}, lambda _: None)

    run = ledger.execute(large).run_id
    for path in Path(f"{ledger.path}.blobs").iterdir():
        path.unlink()
    with pytest.raises(CannotTellError, match="no event says that it was erased"):
        write_bundle(ledger, run, tmp_path / "bundle")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the evidence plugin alone."""
    place = tmp_path / "work" / "ledger.db"
    with Ledger.create(place, plugins=evidence_plugins()) as made:
        yield made
