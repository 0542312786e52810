"""A bundle holds the runs upon which its run rests, and they are compared with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from muniment import verify_bundle
from muniment.formats.evidence import EVENTS, RELATED, REPORT, SERIES
from muniment.verification.report import Report
from muniment_plugins.evidence import open_bundle, write_bundle
from muniment_plugins.evidence.exports.formats import FORMATS
from muniment_plugins.evidence.report.record import RunReader
from muniment_plugins.evidence.report.write import page_of
from relatives import KINDS, Relatives
from spoiled_bundles import read
from three_verifiers import Verifiers

CALLS, ANSWERS, FACTS = "calls and children", "answers of forks", "facts of forks"
COMPARED = {
    "deep": {CALLS: 6},
    "twice": {CALLS: 4},
    "failed": {CALLS: 3},
    "origin": {CALLS: 4},
    "whole": {CALLS: 4, ANSWERS: 5, FACTS: 2},
    "place": {CALLS: 4, ANSWERS: 3, FACTS: 1},
    "changed": {CALLS: 4, ANSWERS: 5, FACTS: 2},
    "of fork": {CALLS: 4, ANSWERS: 8, FACTS: 3},
    "child": {CALLS: 4},
    "plain": {},
    "erased": {ANSWERS: 4},
}
"""How many events that name other runs are compared; of a child, not its caller."""


def counts(report: Report) -> dict[str, tuple[int, int, int]]:
    """Return what was compared of runs that name each other, is unchecked, and lacks."""
    return {
        one.what: (one.compared, one.unchecked, one.lacking)
        for one in report.counts
        if one.what in (CALLS, ANSWERS, FACTS) and one.total
    }


def seqs(line: bytes) -> int:
    """Return the number of the event in a line of proofs."""
    return int(json.loads(line)["seq"])


def values(page: str) -> list[str]:
    """Return what a page cites, and how it shows that."""
    return re.findall(r"<data [^>]*>[^<]*</data>", page)


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(
    made: Relatives, three: Verifiers, tmp_path: Path, kind: str, raw: bool
) -> None:
    """All three take it; what names a run is compared, and nothing is incomplete."""
    path = tmp_path / ("bundle.zip" if raw else "bundle")
    written = write_bundle(made.ledger, made.runs[kind], path, raw=raw)
    codes, said = three.codes(written.path)
    assert codes == (0, 0, 0), said
    assert "INCOMPLETE" not in said
    report = verify_bundle(
        written.path, keys=[made.root], home=made.home, require_complete=True
    )
    assert (report.exit_code, report.completeness) == (0, "checked"), str(report)
    assert report.incomplete == ()
    left = {"child": {CALLS: (4, 1, 0)}}.get(kind)
    wanted = {name: (number, 0, 0) for name, number in COMPARED[kind].items()}
    assert counts(report) == (left or wanted)
    assert ("NOT COMPARED" in said) == (bool(left) or FACTS in COMPARED[kind])


def test_what_is_in_it(made: Relatives, tmp_path: Path) -> None:
    """Children are whole, an origin ends at the fork, and no event is there twice."""
    for kind in KINDS:
        run = made.runs[kind]
        files = read(write_bundle(made.ledger, run, tmp_path / kind).path)
        assert (RELATED in files) == (kind != "plain")
        names = [name for name in (EVENTS, RELATED, SERIES) if name in files]
        numbers = [*map(seqs, files["proofs.jsonl"].splitlines())]
        lines = [line for name in names for line in files[name].splitlines()]
        assert len(numbers) == len(set(numbers)) == len(lines) == len(set(lines))
        if RELATED not in files:
            continue
        first = len(files[EVENTS].splitlines())
        events = [
            made.ledger.event(seq)
            for seq in numbers[first : first + len(files[RELATED].splitlines())]
        ]
        (start,) = made.ledger.events(run=run, type="run.started")
        fork = start.raw.get("fork")
        origin = fork["run"] if isinstance(fork, dict) else None
        for other in {one.run for one in events if one.run}:
            here = [one.seq for one in events if one.run == other]
            whole = [one.seq for one in made.ledger.events(run=other)]
            if other == origin:
                assert isinstance(fork, dict)
                assert here == [one for one in whole if one <= int(str(fork["at"]))]
            elif here != whole:
                assert kind == "of fork"


def test_the_same_bundle_again(made: Relatives, tmp_path: Path) -> None:
    """The same run gives the same bytes, and no further closing event."""
    for kind in KINDS:
        first = write_bundle(made.ledger, made.runs[kind], tmp_path / f"{kind} 1")
        size = made.ledger.head.size
        again = write_bundle(made.ledger, made.runs[kind], tmp_path / f"{kind} 2")
        assert read(first.path) == read(again.path)
        assert made.ledger.head.size == size


@pytest.mark.parametrize("name", ["csv", "otlp", "prov"])
def test_exports(made: Relatives, tmp_path: Path, name: str) -> None:
    """A run and its bundle give the same export, whoever is related to it."""
    pytest.importorskip({"otlp": "opentelemetry.proto", "csv": "csv"}.get(name, name))
    for kind in KINDS:
        run = made.runs[kind]
        written = write_bundle(made.ledger, run, tmp_path / kind)
        with open_bundle(written.path) as bundle:
            assert FORMATS[name](bundle, run) == FORMATS[name](made.ledger, run), kind


def test_what_a_reader_is_told(made: Relatives, tmp_path: Path) -> None:
    """It is told of the run, of its series and of related runs, and its report has the same values."""
    for kind in KINDS:
        run = made.runs[kind]
        written = write_bundle(made.ledger, run, tmp_path / kind)
        with open_bundle(written.path) as bundle:
            assert bundle.run == run
            own = [one.seq for one in bundle.events(run=run)]
            assert own == [one.seq for one in made.ledger.events(run=run)]
            for key in bundle._shown:
                members = [one.seq for one in bundle.events(series=key)]
                assert members == [one.seq for one in made.ledger.events(series=key)]
            numbers = map(seqs, read(written.path)["proofs.jsonl"].splitlines())
            assert [one.seq for one in bundle.events()] == sorted(numbers)
            page = page_of(RunReader(bundle, run, bundle.checkpointed), ".html")
            told = [one for one in values(page) if 'data-rule="verify"' not in one]
            assert told == values((written.path / REPORT).read_text())
