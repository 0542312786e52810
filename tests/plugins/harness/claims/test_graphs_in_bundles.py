"""Pictures in bundles: each verifier compares every mark, in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from comparing import compared, newest_run, shrinking
from muniment.ledger import Ledger
from muniment.verification.page.marks import DRAWN, FIGURES
from muniment_plugins.evidence import (
    bundle,
    check_report,
    closing,
    open_bundle,
    write_bundle,
)
from muniment_plugins.evidence.report.record import RunReader
from muniment_plugins.evidence.report.write import page_of, report_text
from three_verifiers import NEEDS_NODE, verifiers

AT = r'(?:cx|x1|x2)="([^"]*)"'


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger with one experiment."""
    with shrinking(tmp_path_factory.mktemp("graphs") / "ledger.db") as opened:
        yield opened


def changes(section: str) -> dict[str, str]:
    """Return lies about a picture, one for each sort of mark and what is done to it."""
    found: dict[str, str] = {}
    for mark in re.finditer(DRAWN, section):
        about = re.sub(r' data-(?:event|value|run|of)="[^"]*"|>.*', "", mark[0])
        sort = re.sub(AT, "", about)
        (place, *_) = places = re.findall(AT, mark[0])
        moved = mark[0]
        for one in {place} if "span" in sort else set(places):
            moved = moved.replace(f'="{one}"', f'="{float(one) + 0.2:.1f}"')
        lies = {
            "place": moved,
            "value": mark[0].replace('data-value="', 'data-value="1'),
            "words": mark[0].replace("<title>", "<title>1"),
            "of": re.sub(r'data-of="(\d+),(\d+)"', r'data-of="\2,\1"', mark[0]),
        }
        for name, lie in lies.items():
            if lie != mark[0]:
                there = section[: mark.start()] + lie + section[mark.end() :]
                found.setdefault(f"{name} of {sort}", there)
    found["another scale"] = section.replace(FIGURES[1], FIGURES[0])
    found["powers of ten"] = section.replace(FIGURES[0], FIGURES[1])
    found["no citation"] = section.replace("<circle", '<circle cx="9.0"/><circle', 1)
    found["a slanted line"] = re.sub(
        r'(class="full" x1="[^"]*" x2=")', r"\g<1>1", section
    )
    found["a line of no sort"] = section.replace('class="full"', 'class="none"')
    found["no change is a bound"] = section.replace('class="full"', 'class="dashed"')
    found["a bound is no change"] = section.replace('class="dashed"', 'class="full"')
    return found


@NEEDS_NODE
@pytest.mark.slow
def test_three_verifiers_compare_pictures(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The honest page holds, and no lie does, though the ledger's own key signed it."""
    run, lies = newest_run(ledger), list[str]()

    def lying(record: RunReader, suffix: str) -> str:
        html = page_of(record, suffix)
        section = compared(html)
        return html.replace(section, lies[-1]) if lies else html

    monkeypatch.setattr(closing, "page_of", lying)
    monkeypatch.setattr(bundle, "check_written", lambda *_: None)
    honest = write_bundle(ledger, run, tmp_path / "honest")
    section = compared((honest.path / "report.html").read_text())
    todo = changes(section)
    assert len(todo) > 25
    with verifiers(honest.root, tmp_path / "home") as all_three:
        codes, said = all_three.codes(honest.path)
        assert codes == (0, 0, 0), said
        for number, (name, lie) in enumerate(todo.items()):
            lies.append(lie)
            written = write_bundle(ledger, run, tmp_path / str(number))
            codes, said = all_three.codes(written.path)
            assert codes == (1, 1, 1), (name, said)


def test_a_picture_of_a_bundle(ledger: Ledger, tmp_path: Path) -> None:
    """Is the one of the ledger; one that withholds measurements has none."""
    html = report_text(ledger, newest_run(ledger))
    (started,) = ledger.events(type="run.started")
    run = str(started.run)
    whole = write_bundle(ledger, run, tmp_path / "whole")
    shown = ["verdict.reached"]
    hidden = write_bundle(ledger, run, tmp_path / "hidden", disclose=shown)
    with open_bundle(whole.path, ledger.plugins) as opened:
        page = report_text(opened, run)
        assert check_report(opened, page).verdict == "agrees"
        assert compared(page) == compared(html)
    with open_bundle(hidden.path, ledger.plugins) as opened:
        page = report_text(opened, run)
        assert check_report(opened, page).verdict == "agrees"
    assert 'data-rule="change"' not in page
    assert "no pair is drawn" in page
