"""What a writer signs of other runs that is not so is found in a bundle as in a ledger.

Rule: each lie is one of those that the ledger's verifier is tried with; the bundle of the
run that tells it is written by somebody who does not look at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from copy_lies import LIES
from families import CHILD, OTHER, Data, Family
from forge import RUN, Forge, keyid
from forged_copies import Entry, ForkedRuns, forked_runs
from independent_verifier import witness
from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment.verification.report import Report
from muniment.verification.verify import verify
from muniment_plugins.evidence import bundle, write_bundle
from three_verifiers import NEEDS_NODE, verifiers

pytestmark = NEEDS_NODE
ROOT = keyid(Forge("one").key("root"))
ORDER = {
    "two answers swapped",
    "two readings swapped",
    "the parts of the origin",
    "other parts",
    "parts without an end",
    "a further attempt that nobody resumed",
    "a change about something",
    "a change with a secret that it has not",
}
"""Lies about which request was the n-th, parts, attempts, and secrets: those that only the
built-in verifier finds, as the other two say of themselves."""


@pytest.fixture(autouse=True)
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every forged ledger have a checkpoint, and no writer look at a bundle."""
    write = Forge.write

    def covered(forge: Forge, path: Path) -> Path:
        forge.checkpoint()
        return write(forge, path)

    monkeypatch.setattr(Forge, "write", covered)
    monkeypatch.setattr(bundle, "check_written", lambda *_: None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> ForkedRuns:
    """Return a run and its fork."""
    return forked_runs(tmp_path_factory.mktemp("runs"))


def judged(place: Path, run: str) -> tuple[Report, tuple[int, int, int], str]:
    """Return what is said of the bundle of *run*: by ours, and by all three."""
    with Ledger.open(place) as ledger:
        written = write_bundle(ledger, run, place.with_suffix(".zip"), raw=True)
    home = place.parent / "nobody"
    with verifiers(ROOT, home) as three, witness(ROOT) as asked:
        codes, said = three.codes(written.path)
        code, what = asked(written.path)
    report = verify_bundle(written.path, keys=[ROOT], home=home)
    assert code == report.exit_code, (what, str(report))
    return report, codes, said


def found(report: Report) -> set[tuple[str, int | None]]:
    """Return which rules which events break."""
    return {(one.rule, one.seq) for one in report.findings}


def test_forks_without_a_lie(runs: ForkedRuns, tmp_path: Path) -> None:
    """What the cases are made of is taken by all three, with nothing left out."""
    ledger = runs.judge(tmp_path)
    report, codes, said = judged(tmp_path / f"{runs.written}.db", runs.fork)
    assert ledger.ok
    assert codes == (0, 0, 0), said
    assert report.incomplete == ()
    assert str(ledger).partition("answers of forks")[2].partition(",")[0] in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIES)
def test_each_lie_of_a_fork(runs: ForkedRuns, tmp_path: Path, name: str) -> None:
    """The bundle's verifier finds what the ledger's does, and names a line."""

    def lie(runs: ForkedRuns, all_: list[Entry]) -> None:
        LIES[name](runs, all_)

    ledger = runs.judge(tmp_path, lie)
    report, codes, said = judged(tmp_path / f"{runs.written}.db", runs.fork)
    assert report.exit_code == 1
    assert found(report) == found(ledger)
    for one in report.findings:
        assert re.fullmatch(r"(events|related)\.intoto\.jsonl:\d+", one.place)
    assert codes == ((1, 0, 0) if name in ORDER else (1, 1, 1)), said


def _put(*path: Any, to: Any) -> Callable[[Data], object]:
    def spoil(data: Data) -> None:
        inside: Any = data
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = to

    return spoil


FALSE = {
    "another root": ("child", ("parent", "root"), OTHER),
    "another call": ("child", ("parent", "key"), "ab" * 32),
    "another caller": ("child", ("parent", "run"), OTHER),
    "more of its caller": ("child", ("parent", "more"), "x"),
    "about another caller": ("child", ("subject", 1, "digest", "sha256"), "ab" * 32),
    "another end": ("called", ("about", "leaf"), "ab" * 32),
    "another child": ("called", ("about", "run"), OTHER),
    "itself": ("called", ("about", "run"), RUN),
    "a child of no ledger": ("called", ("about", "run"), f"{CHILD[:-1]}Z"),
}


@pytest.mark.parametrize("name", [*FALSE, "another value", "one child twice", ""])
def test_each_lie_of_a_call(tmp_path: Path, name: str) -> None:
    """A call and its child that contradict each other are refused by all three.

    But a child that is not there at all is not known to be made up: only its ledger says so.
    """
    event, path, value = FALSE.get(name, ("", (), ""))
    family = Family(Forge("one").open(), event, _put(*path, to=value) if path else id)

    def first(data: Data) -> None:
        leaf = family.rows["ended"].hash.hex()
        data |= {"about": {"run": CHILD, "leaf": leaf}, "value": family.blob(b"7", "z")}

    if name == "one child twice":
        family.event, family.spoil = "called again", first
    family.write(b"999" if name == "another value" else b"7")
    family.forge.end_run(RUN)
    place = family.forge.write(tmp_path / "l.db")
    ledger = verify(place, keys=[ROOT], home=tmp_path / "nobody")
    report, codes, said = judged(place, RUN)
    assert ledger.exit_code == (1 if name else 0), str(ledger)
    if name == "a child of no ledger":
        assert report.incomplete == (f"child run {CHILD[:-1]}Z",)
        assert f"INCOMPLETE, it lacks child run {CHILD[:-1]}Z" in said
        assert codes == (0, 0, 0), said
    else:
        assert codes == ((1, 1, 1) if name else (0, 0, 0)), said
