"""Bundles whose writer has the keys, and leaves related runs out, or puts others in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from muniment import verify_bundle
from muniment.formats.evidence import RELATED
from muniment.formats.statement import BlobRef, Event
from muniment.ledger import Ledger
from muniment_plugins.evidence import bundle, write_bundle
from muniment_plugins.evidence.disclosure import Disclosure
from muniment_plugins.evidence.related import related_runs
from muniment_plugins.evidence.selection import RelatedRuns, Selected
from relatives import KINDS, Relatives
from spoiled_bundles import read, sealed, write
from three_verifiers import Verifiers

UP_TO = ("place", "of fork")
"""Kinds with an origin that has no end before the fork."""
Change = Callable[[RelatedRuns], RelatedRuns | None]


@dataclass(frozen=True)
class Chosen:
    """Stands in for a disclosure, and shows the events that a forger likes."""

    shows: Callable[[Event], bool]


def without(part: Selected, seqs: Iterable[int]) -> Selected:
    """Return *part* without some events, and without their blobs."""
    gone = frozenset(seqs)
    shown = [one for one in part.events() if one.seq not in gone]
    tags = {
        value.digest
        for one in shown
        for value in one.data.values()
        if isinstance(value, BlobRef)
    }
    chosen = cast("Disclosure", Chosen(lambda one: one.seq not in gone))
    about = [one for one in part.about if one.seq not in gone]
    blobs = {tag: ref for tag, ref in part.blobs.items() if tag in tags}
    return replace(part, disclosure=chosen, about=about, blobs=blobs)


def only(related: RelatedRuns, runs: Iterable[str]) -> RelatedRuns:
    """Return some of the runs."""
    parts = [part for part in related.parts if part.run in {*runs}]
    return replace(
        related, parts=tuple(parts), ends={one.run: one.end for one in parts}
    )


class Forger:
    """Writes bundles of a ledger with the keys, and looks at none of them."""

    def __init__(
        self, made: Relatives, three: Verifiers, base: Path, patch: pytest.MonkeyPatch
    ) -> None:
        self.made, self.three, self.base, self.patch = made, three, base, patch
        self.number = 0
        patch.setattr(bundle, "check_written", lambda *_: None)

    def write(self, kind: str, change: Change, *, raw: bool = False) -> Path:
        """Write the bundle of a kind with other related runs."""

        def changed(selected: Selected) -> Selected:
            return replace(selected, related=change(related_runs(selected)))

        self.patch.setattr(bundle, "with_related", changed)
        self.number += 1
        path = self.base / f"{self.number}"
        return write_bundle(self.made.ledger, self.made.runs[kind], path, raw=raw).path

    def judged(
        self, kind: str, change: Change, *, raw: bool = False
    ) -> tuple[tuple[int, int, int], str, Any]:
        """Return what all three say of it, and the report of ours."""
        path = self.write(kind, change, raw=raw)
        report = verify_bundle(
            path, keys=[self.made.root], home=self.made.home, require_complete=True
        )
        return *self.three.codes(path), report


@pytest.fixture
def forger(
    made: Relatives,
    three: Verifiers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Forger:
    """Give somebody with the keys."""
    return Forger(made, three, tmp_path, monkeypatch)


def below(ledger: Ledger, run: str) -> set[str]:
    """Return *run*, and the runs that it called, and so on."""
    starts = list(ledger.events(type="run.started"))
    found, before = {run}, 0
    while len(found) > before:
        before = len(found)
        found |= {
            str(one.run)
            for one in starts
            if cast("Any", one.raw.get("parent") or {}).get("run") in found
        }
    return found


@pytest.mark.slow
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "plain"])
def test_related_runs_that_are_left_out(forger: Forger, kind: str, raw: bool) -> None:
    """Each alone, with those that it alone brings, and all: incomplete, and named."""
    whole = related_runs(
        Selected.of(forger.made.ledger, forger.made.runs[kind])
    ).ends.keys()
    for run in [*whole, None]:
        gone = whole if run is None else below(forger.made.ledger, run)
        left = whole - gone

        def change(related: RelatedRuns, left: Iterable[str] = left) -> Any:
            return only(related, left) if left else None

        codes, said, report = forger.judged(kind, change, raw=raw)
        if kind == "of fork" and codes == (1, 1, 1):
            assert "stranger" in said  # an origin of what is left out
            continue
        assert codes == (0, 0, 0), said
        assert report.integrity == "intact"
        assert (report.completeness, report.exit_code) == ("unchecked", 3)
        assert report.incomplete
        named = " and ".join(report.incomplete)
        assert said.count("INCOMPLETE, it lacks ") == 2
        for one in report.incomplete:
            assert f"incomplete: it lacks {one}" in str(report)
            if one.startswith(("child run", "origin")):
                assert said.count(one) >= 2, (one, said)
        for one in gone & ({run} if run else set()):
            assert one in named or "of run" in named


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deep", "failed", "whole", "place", "of fork"])
def test_each_event_that_is_left_out(forger: Forger, kind: str) -> None:
    """The end of a child, and of an origin, covers its events; names bind the others.

    Beyond an end, only what something names is missed: see the page of the format.
    """
    selected = Selected.of(forger.made.ledger, forger.made.runs[kind])
    whole = related_runs(selected)
    passed: list[str] = []
    for part in whole.parts:
        events = list(part.events())
        for event in events:
            if event.run is None:
                continue

            def change(
                related: RelatedRuns, run: str = part.run, seq: int = event.seq
            ) -> RelatedRuns:
                parts = [
                    without(one, [seq]) if one.run == run else one
                    for one in related.parts
                ]
                return replace(related, parts=tuple(parts))

            codes, said, report = forger.judged(kind, change)
            if event.type == "run.failed":
                lacks = f"an end of child run {event.run} that covers its events"
                assert report.incomplete == (lacks,)
                assert said.count(lacks) == 2
            elif codes != (1, 1, 1):
                assert codes == (0, 0, 0), said
                assert f"origin {event.run} is here up to the fork" in str(report)
                passed.append(event.type)
    assert set(passed) <= ({"claim.stated", "note.added"} if kind in UP_TO else set())


def test_runs_that_are_not_related(forger: Forger) -> None:
    """A run that nothing names, or one instead of another, is refused."""
    ledger, runs = forger.made.ledger, forger.made.runs
    other = Selected.of(ledger, runs["plain"])

    def more(related: RelatedRuns) -> RelatedRuns:
        parts = sorted([*related.parts, other], key=lambda one: one.run)
        return replace(related, parts=tuple(parts))

    def instead(_: RelatedRuns) -> RelatedRuns:
        return related_runs(Selected.of(ledger, runs["twice"]))

    for change in (more, instead):
        codes, said, _ = forger.judged("deep", change)
        assert codes == (1, 1, 1), said
        assert "bundle/stranger" in said
    codes, said, _ = forger.judged(
        "plain", lambda related: replace(related, parts=(other,), ends={})
    )
    assert codes == (1, 1, 1), said


def test_more_of_an_origin(forger: Forger) -> None:
    """What follows the fork in its origin does not belong there."""
    ledger, runs = forger.made.ledger, forger.made.runs

    def change(related: RelatedRuns) -> RelatedRuns:
        parts = [
            Selected.of(ledger, one.run) if one.run == runs["origin"] else one
            for one in related.parts
        ]
        return replace(related, parts=tuple(parts), ends={p.run: p.end for p in parts})

    codes, said, _ = forger.judged("place", change)
    assert codes == (1, 1, 1), said
    assert "bundle/stranger" in said


def test_an_event_in_two_files(forger: Forger) -> None:
    """An event of a related run is not among those of the series, too."""
    codes, said, _ = forger.judged("whole", lambda one: replace(one, ends={}))
    assert codes == (1, 1, 1), said
    assert "bundle/series" in said


def test_a_redacted_bundle_with_related_runs(forger: Forger) -> None:
    """What is withheld of one run is not handed out with another."""
    files = read(forger.write("deep", lambda one: one))
    part = write_bundle(
        forger.made.ledger, forger.made.runs["deep"], forger.base / "part", disclose=[]
    )
    both = {**read(part.path), RELATED: files[RELATED]}
    path = write(forger.base / "both", sealed(both))
    codes, said = forger.three.codes(path)
    report = verify_bundle(path, keys=[forger.made.root], home=forger.made.home)
    assert codes == (1, 1, 1), said
    assert "bundle/related" in {one.rule for one in report.findings}


def test_a_file_without_events(forger: Forger) -> None:
    """It is there only if it holds something."""
    codes, said, _ = forger.judged("deep", lambda one: replace(one, parts=()))
    assert codes == (1, 1, 1), said
    assert "bundle/related" in said
