"""A report is written from a bundle as from a ledger, and says what the bundle lacks."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from bundled import Bundles, evidence_plugins
from every_kind import make
from muniment.errors import ErasedError, UsageError, WrongError
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment_plugins.evidence import check_report, open_bundle, write_bundle
from muniment_plugins.evidence.bundle_reader import BundleReader, NotInBundle
from muniment_plugins.evidence.report.record import RunReader
from muniment_plugins.evidence.report.write import report_text
from report_pages import Page

ABSENT = "not in this bundle"


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("kind", ["folder", "raw", "zip"])
def test_the_page_of_a_bundle(
    bundles: Bundles, tmp_path: Path, kind: str, suffix: str
) -> None:
    """It agrees with its bundle, every value of it; the same bundle gives the same page."""
    if kind == "zip":
        path = write_bundle(bundles.ledger, bundles.run, tmp_path / "b.zip").path
    else:
        path = getattr(bundles, kind)
    with open_bundle(path, evidence_plugins()) as bundle:
        text = report_text(bundle, bundle.run, suffix)
        again = report_text(bundle, bundle.run[:9], suffix)
        checked = check_report(bundle, text)

    assert text == again
    assert (checked.verdict, checked.run) == ("agrees", bundles.run)
    assert checked.compared > 40
    assert "Not in this bundle are contents of other runs" in text


@pytest.mark.parametrize("language", ["standalone", "javascript"])
def test_it_names_the_published_verifiers(bundles: Bundles, language: str) -> None:
    """By the digest of what the documented command prints, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", f"muniment_plugins.evidence.{language}"],
        capture_output=True,
        check=True,
    )
    with open_bundle(bundles.folder) as bundle:
        page = report_text(bundle, bundle.run)
    assert sha256(done.stdout).hexdigest() in page


def test_runs_of_every_kind(tmp_path: Path) -> None:
    """Runs that failed, asked people or are open; keys that came and went meanwhile."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        ledger.checkpoint()
        for run in dict.fromkeys(one.run for one in ledger.events() if one.run):
            path = write_bundle(ledger, run, tmp_path / run).path
            with open_bundle(path, evidence_plugins()) as bundle:
                text = report_text(bundle, run)
                checked = check_report(bundle, text)
                assert (checked.verdict, checked.findings) == ("agrees", ())


def test_it_says_what_the_page_of_the_ledger_says(bundles: Bundles) -> None:
    """Whatever cites the events of the run cites the same, with the same value."""
    ledger = Page(report_text(bundles.ledger, bundles.run))
    with open_bundle(bundles.folder, evidence_plugins()) as bundle:
        page = Page(report_text(bundle, bundle.run))
    about_tree = ("checkpoint", "verify")
    ours, theirs = (
        [one for one in found.cited if one.get("data-rule") not in about_tree]
        for found in (page, ledger)
    )

    assert ours == theirs
    assert len(ours) > 40


@pytest.mark.parametrize("other", ["ledger", "other"])
def test_a_page_of_something_else(bundles: Bundles, other: str) -> None:
    """A page of the ledger, or of another run, does not agree with the bundle."""
    run = bundles.run if other == "ledger" else bundles.other_run
    text = report_text(bundles.ledger, run)
    with open_bundle(bundles.folder, evidence_plugins()) as bundle:
        checked = check_report(bundle, text)

    assert checked.verdict == "cannot tell"


def test_a_page_of_a_bundle_that_was_changed(bundles: Bundles) -> None:
    """A value that the bundle contradicts is named."""
    with open_bundle(bundles.folder, evidence_plugins()) as bundle:
        text = report_text(bundle, bundle.run)
        assert text.count("it holds") > 0
        checked = check_report(bundle, text.replace("it holds", "it fails", 1))

    assert checked.verdict == "wrong"


def test_what_a_bundle_answers(bundles: Bundles) -> None:
    """Events, series and contents as the ledger; what it lacks is no empty answer."""
    with open_bundle(bundles.folder, evidence_plugins()) as bundle:
        ledger = bundles.ledger
        own = list(bundle.events(run=bundle.run))
        assert own == list(ledger.events(run=bundles.run))
        assert own[::-1] == list(bundle.events(run=bundle.run, order="desc"))
        size = bundle.checkpointed
        shared = list(bundle.events(series="claim/c1"))
        assert shared == list(ledger.events(series="claim/c1", to_seq=size))
        assert len({one.run for one in shared}) == 2
        assert bundle.root(size) == ledger.root(size)
        for what in (
            lambda: bundle.root(size - 1),
            lambda: bundle.event(size),
            lambda: bundle.first_checkpoint_over(size),
            lambda: bundle.events(series="claim/c2"),
        ):
            with pytest.raises(NotInBundle):
                what()
        with pytest.raises(UsageError):
            bundle.events(grep="x")
        with pytest.raises(UsageError):
            bundle.run_id(bundles.other_run)


def contents(bundle: BundleReader, run: str) -> list[tuple[int, str, BlobRef]]:
    """Return the contents to which the events of *run* refer."""
    return [
        (one.seq, name, BlobRef.from_json(value))
        for one in bundle.events(run=run)
        for name, value in one.raw.items()
        if isinstance(value, dict) and "$blob" in value
    ]


def test_contents_that_are_not_there(bundles: Bundles) -> None:
    """One was erased, those of another run are not in the bundle: each is said so."""
    with open_bundle(bundles.folder, evidence_plugins()) as bundle:
        record = RunReader(bundle, bundle.run, bundle.checkpointed)
        seen: dict[str, set[str]] = {}
        for run in (bundles.run, bundles.other_run):
            for seq, name, ref in contents(bundle, run):
                try:
                    same = bundle.get_blob(ref) == bundles.ledger.get_blob(ref)
                    said = "same" if same else "other"
                except ErasedError:
                    said = "erased"
                except NotInBundle:
                    said = ABSENT
                seen.setdefault(run, set()).add(said)
                shown = record.quote({"event": seq, "path": f"/{name}"}).value
                assert (shown == said) == (said != "same")

    assert seen == {bundles.run: {"same", "erased"}, bundles.other_run: {ABSENT}}


def test_a_bundle_that_does_not_verify(bundles: Bundles, tmp_path: Path) -> None:
    """Nothing is read from it."""
    folder = tmp_path / "changed"
    folder.mkdir()
    for path in bundles.raw.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    with pytest.raises(WrongError, match="does not verify"), open_bundle(folder):
        pass
