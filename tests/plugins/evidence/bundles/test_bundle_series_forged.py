"""A bundle that hides a run of its claim is refused, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from best_of_twenty import RUNS, best, judged, rules, tried
from bundled import evidence_plugins
from muniment.errors import MunimentError
from muniment.formats.dsse import Envelope, pae
from muniment.formats.evidence import EVENTS, SERIES, StatedSeries
from muniment.formats.statement import Event
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment.storage import sealing
from muniment.verification.verify import verify
from muniment_plugins.evidence import bundle as bundle_module
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.series import SeriesOfRun
from spoiled_bundles import Files, read, sealed, write

Change = Callable[[list[Event]], list[Event]]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger in which the study was tried twenty times."""
    place = tmp_path / "ledger.db"
    with Ledger.create(
        place, home=tmp_path / "home", plugins=evidence_plugins()
    ) as made:
        tried(made)
        yield made


# --- the writer lies ------------------------------------------------------------------


def lied(
    ledger: Ledger,
    tmp_path: Path,
    change: Change,
    count: int | None = None,
) -> tuple[Path, str]:
    """Write a bundle with the ledger's own keys, with other events of other runs.

    *count* is the number that the closing event states; it is signed past the ledger.
    """
    honest = SeriesOfRun.of

    def of(*given: object) -> SeriesOfRun:
        found = honest(*given)  # type: ignore[arg-type]
        stated = [
            one
            if count is None or not one.shown
            else StatedSeries(one.key, count, True)
            for one in found.stated
        ]
        return SeriesOfRun(tuple(stated), tuple(change(list(found.events))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SeriesOfRun, "of", of)
        with pytest.raises(MunimentError):
            write_bundle(ledger, best(ledger), tmp_path / "refused")
        assert not (tmp_path / "refused").exists()
        patch.setattr(bundle_module, "check_written", lambda *_: None)
        patch.setattr(sealing, "_refuse_miscounted", lambda *_: None)
        written = write_bundle(ledger, best(ledger), tmp_path / "lie")
    return written.path, written.root


def without(run: str) -> Change:
    """Return what leaves a run out."""
    return lambda events: [one for one in events if one.run != run]


def test_none_of_the_twenty_can_be_left_out(ledger: Ledger, tmp_path: Path) -> None:
    """Each of the others, wherever it stands: the gap is named, or the last number."""
    for run in [one for one in tried(ledger, 0) if one != best(ledger)]:
        folder = tmp_path / run
        folder.mkdir()
        report = judged(*lied(ledger, folder, without(run)))

        assert report.exit_code == 1, run
        assert rules(report) <= {"series/count", "series/prev", "series/stated"}
        places = {one.place.partition(":")[0] for one in report.findings}
        assert places & {SERIES, EVENTS, "evidence.sigstore.json"}, str(report)


@pytest.mark.parametrize("count", [19, 21, 1])
def test_another_number_than_is_shown(
    ledger: Ledger, tmp_path: Path, count: int
) -> None:
    """The closing event and what is here say the same, or it is refused."""
    report = judged(*lied(ledger, tmp_path, list, count))

    assert rules(report) == {"series/stated"}
    assert {one.place for one in report.findings} == {"evidence.sigstore.json"}


def test_the_last_left_out_and_not_counted(tmp_path: Path) -> None:
    """The bundle alone is the writer's signed word; beside the ledger it is a lie."""
    place = tmp_path / "ledger.db"
    with Ledger.create(
        place, home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        runs = tried(ledger)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sealing, "_refuse_miscounted", lambda *_: None)
            honest = SeriesOfRun.of

            def of(*given: object) -> SeriesOfRun:
                found = honest(*given)  # type: ignore[arg-type]
                stated = [replace(one, count=19) for one in found.stated]
                return SeriesOfRun(
                    tuple(stated), tuple(without(runs[-1])(list(found.events)))
                )

            patch.setattr(SeriesOfRun, "of", of)
            written = write_bundle(ledger, best(ledger), tmp_path / "lie")
    report = judged(written.path, written.root)
    whole = verify(place, home=tmp_path / "home")

    assert report.exit_code == 0
    assert any("1 of 19 runs" in one for one in report.notes)
    assert (whole.exit_code, rules(whole)) == (1, {"series/stated"})
    assert whole.findings[0].seq == written.closed_by


def test_the_start_of_a_run_is_told(ledger: Ledger, tmp_path: Path) -> None:
    """Whoever stated the claim later began, and both are here."""
    with ledger.run("by hand") as run:
        run.record("claim.stated", {"id": "c1", "text": "said by hand"})

    def change(events: list[Event]) -> list[Event]:
        return [one for one in events if (one.run, one.type) != (run.id, "run.started")]

    report = judged(*lied(ledger, tmp_path, change))

    assert rules(report) == {"bundle/series"}
    assert run.id in str(report)


def test_a_run_of_no_claim_is_not_told(ledger: Ledger, tmp_path: Path) -> None:
    """What shares no series with the run is none of its business."""
    with ledger.run("stranger") as run:
        run.record("note.added", {"text": "x"})
    (start,) = ledger.events(run=run.id, type="run.started")
    report = judged(*lied(ledger, tmp_path, lambda events: [*events, start]))

    assert rules(report) == {"bundle/stranger"}


# --- somebody else changes it ---------------------------------------------------------


def changed(files: Files, change: Callable[[list[bytes]], Sequence[bytes]]) -> Files:
    """Return *files* with other lines about other runs, proofs and MANIFEST to match."""
    lines = files[SERIES].splitlines(keepends=True)
    proofs = files["proofs.jsonl"].splitlines(keepends=True)
    kept = proofs[: len(proofs) - len(lines)]
    both = change([a + b for a, b in zip(lines, proofs[len(kept) :], strict=True)])
    parted = [one.splitlines(keepends=True) for one in both]
    new = {
        **files,
        SERIES: b"".join(one[0] for one in parted),
        "proofs.jsonl": b"".join([*kept, *(one[1] for one in parted)]),
    }
    return sealed(new)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[1:],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [lines[0], *lines],
        lambda lines: [*lines[:9], *lines[13:]],
    ],
    ids=["last dropped", "first dropped", "swapped", "doubled", "some dropped"],
)
def test_without_keys(
    ledger: Ledger,
    tmp_path: Path,
    change: Callable[[list[bytes]], Sequence[bytes]],
) -> None:
    """With proofs and MANIFEST made anew: the closing event says what there was."""
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    files = changed(read(written.path), change)
    report = judged(write(tmp_path / "changed", files), written.root)

    assert report.exit_code == 1
    assert "bundle/manifest" in rules(report)


def test_the_runs_of_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """Twenty other runs of the same claim, by the same people, are no proof here."""
    with Ledger.create(
        tmp_path / "other.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as other:
        tried(other)
        theirs = read(write_bundle(other, best(other), tmp_path / "theirs").path)
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    files = sealed({**read(written.path), SERIES: theirs[SERIES]})
    report = judged(write(tmp_path / "changed", files), written.root)

    assert report.exit_code == 1
    assert any(SERIES in one.place for one in report.findings), str(report)


def test_another_signature(ledger: Ledger, tmp_path: Path) -> None:
    """A run that somebody else signs is not one of the ledger's."""
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    files = read(written.path)
    first, *rest = files[SERIES].splitlines(keepends=True)
    payload = Envelope.from_json(first[:-1]).payload
    key = PrivateKey.generate()
    forged = Envelope(payload, key.public.keyid, key.sign(pae(payload))).to_json()
    other = {**files, SERIES: b"".join([forged + b"\n", *rest])}
    report = judged(write(tmp_path / "changed", sealed(other)), written.root)

    assert "key/unknown" in rules(report)
    assert f"{SERIES}:1" in {one.place for one in report.findings}


def test_an_older_closing_event(ledger: Ledger, tmp_path: Path) -> None:
    """What was closed when there were twenty closes no bundle of twenty-one."""
    run = best(ledger)
    old = read(write_bundle(ledger, run, tmp_path / "old").path)
    tried(ledger, 1, first=RUNS)
    new = write_bundle(ledger, run, tmp_path / "new")
    names = ("evidence.sigstore.json", "closing.checkpoint", "consistency")
    files = {**read(new.path), **{name: old[name] for name in names}}
    report = judged(write(tmp_path / "changed", files), new.root)

    assert report.exit_code == 1
    assert "bundle/manifest" in rules(report)


def test_a_file_that_is_no_record_ends_soon(ledger: Ledger, tmp_path: Path) -> None:
    """A million lines of nothing are not read to their end, nor kept."""
    written = write_bundle(ledger, best(ledger), tmp_path / "bundle")
    files = sealed({**read(written.path), SERIES: b"\n" * 1_000_000})
    report = judged(write(tmp_path / "changed", files), written.root)

    assert "event/shape" in rules(report)
    assert len(report.findings) < 100
    rows = next(one for one in report.counts if one.what == "rows")
    assert rows.total < 2_000
