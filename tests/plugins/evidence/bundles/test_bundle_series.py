"""The denominator: a bundle shows all runs of its claim, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from best_of_twenty import RUNS, best, judged, tried
from bundled import evidence_plugins
from muniment.errors import AppendRefused, RefusedError, RunFenced
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import SERIES, blob_name
from muniment.formats.statement import Event
from muniment.ledger import Ledger
from muniment.verification.verify import verify
from muniment_plugins.evidence import closing as closing_module
from muniment_plugins.evidence import write_bundle
from spoiled_bundles import read
from standalone_program import exit_code_of


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger in which the study was tried twenty times."""
    place = tmp_path / "ledger.db"
    with Ledger.create(
        place, home=tmp_path / "home", plugins=evidence_plugins()
    ) as made:
        tried(made)
        yield made


def test_one_of_twenty(ledger: Ledger, tmp_path: Path) -> None:
    """The best of twenty is one of twenty, in both verifiers, with what became of each."""
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    report = judged(written.path, written.root)
    _, said = exit_code_of(written.path, written.root)

    assert report.ok, str(report)
    became = "16 completed, 4 failed"
    for key in ("claim/c1", "experiment.claim/c1"):
        told = f"1 of 20 runs in the series {key}, and all are here: {became}"
        assert told in report.notes
        assert f"1 of 20 runs in {key} ({became})" in said
    assert "number 8 of 20 in experiment.data/d, not shown" in said
    assert any("number 8 of 20 in the series exp" in one for one in report.notes)
    assert "places in series 40 of 40" in str(report)


def test_what_is_told_of_other_runs(ledger: Ledger, tmp_path: Path) -> None:
    """Start, claim, verdict and end of each, and no content of theirs."""
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    files = read(written.path)
    lines = files[SERIES].splitlines()
    kinds = [
        json.loads(Envelope.from_json(line).payload)["predicate"]["muniment"]["type"]
        for line in lines
    ]
    own = {one for one in files if one.startswith("blobs/")}
    blobs = {
        blob_name(str(one["$blob"]))
        for event in ledger.events(run=best(ledger))
        for one in event.raw.values()
        if isinstance(one, dict) and "$blob" in one
    }

    assert kinds.count("run.started") == kinds.count("claim.stated") == RUNS - 1
    assert kinds.count("run.completed") == kinds.count("verdict.reached") == 15
    assert kinds.count("run.failed") == 4
    assert own == blobs


def test_a_run_more_makes_another_bundle(ledger: Ledger, tmp_path: Path) -> None:
    """The same series gives the same bytes; a run that starts, or ends, gives others."""
    run, notes = best(ledger), [("note.added", {"text": "x"})] * 50
    first = write_bundle(ledger, run, tmp_path / "first")
    ledger.append_many(notes)
    again = write_bundle(ledger, run, tmp_path / "again")
    assert read(first.path) == read(again.path)
    with ledger.run("other") as other:
        other.record("claim.stated", {"id": "c1", "text": "said by hand"})
        other.effect("tool", {"name": "a"}, lambda request: request)
        open_ = write_bundle(ledger, run, tmp_path / "open")
    ended = write_bundle(ledger, run, tmp_path / "ended")
    found = [str(judged(one.path, one.root)) for one in (first, open_, ended)]

    assert len({one.closed_by for one in (first, open_, ended)}) == 3
    assert "1 of 20 runs in the series claim/c1" in found[0]
    assert "1 of 21 runs in the series claim/c1" in found[1]
    assert "16 completed, 4 failed" in found[0]
    assert "1 open, 16 completed, 4 failed" in found[1]
    assert "17 completed, 4 failed" in found[2]
    assert verify(ledger.path, home=ledger.home).ok


def test_a_run_that_starts_while_the_bundle_is_closed(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger refuses a count that is too low; the bundle counts again."""
    append, late = closing_module._append, [True]

    def slow(*given: object) -> Event:
        if late.pop() if late else False:
            tried(ledger, 1, first=RUNS)
        return append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(closing_module, "_append", slow)
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")

    assert "1 of 21 runs" in str(judged(written.path, written.root))
    assert len(list(ledger.events(type="bundle.closed"))) == 1


def test_a_run_that_ends_while_the_bundle_is_closed(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was open when it was read is told as it is when the bundle is closed."""
    append, late = closing_module._append, [True]
    with suppress(RunFenced), ledger.run("other") as other:
        other.record("claim.stated", {"id": "c1", "text": "said by hand"})
        other.effect("tool", {"name": "a"}, lambda request: request)

        def slow(*given: object) -> Event:
            if late.pop() if late else False:
                ledger.cancel(other.id, reason="nobody needs it")
            return append(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(closing_module, "_append", slow)
        written = write_bundle(ledger, best(ledger), tmp_path / "bundle")

    assert "4 failed, 1 canceled" in str(judged(written.path, written.root))


def test_a_count_that_is_wrong_is_never_signed(ledger: Ledger) -> None:
    """Whoever asks the ledger for it, in whatever form."""
    said = {"run": best(ledger), "manifest": "sha256:" + "0" * 64}
    for count in (19, 21):
        told = [{"count": count, "key": "claim/c1", "shown": True}]
        with pytest.raises(AppendRefused, match="which has 20"):
            ledger.append("bundle.closed", {**said, "series": told})
    for odd in ([], [{"key": "claim/c1"}], [{"count": 0, "key": "x", "shown": True}]):
        with pytest.raises(RefusedError, match="does not state series"):
            ledger.append("bundle.closed", {**said, "series": odd})


def test_a_run_of_no_series(ledger: Ledger, tmp_path: Path) -> None:
    """There is nothing to count, and nothing is said."""
    with ledger.run("alone") as run:
        run.record("note.added", {"text": "x"})
    written = write_bundle(ledger, run.id, tmp_path / "bundle")
    report = judged(written.path, written.root)

    assert (report.ok, report.notes) == (True, ())
    assert not (written.path / SERIES).exists()
