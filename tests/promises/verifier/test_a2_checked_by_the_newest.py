"""Completeness is *checked* only where the newest head and anchor were matched."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from attacking import tampering
from forge import Forge, keyid
from muniment.trust.home import TrustHome
from muniment.verification.verify import Report, verify

SIZE = 20


@pytest.fixture
def forge() -> Forge:
    """Give a ledger of twenty events with a checkpoint at five, ten, fifteen, twenty."""
    made = Forge("one").open()
    while len(made.rows) < SIZE:
        made.append("note.added", {"text": str(len(made.rows))})
        if not len(made.rows) % 5:
            made.checkpoint()
    return made


@pytest.fixture
def home(tmp_path: Path, forge: Forge) -> TrustHome:
    """Give a home that pins the ledger's root, and knows nothing else."""
    made = TrustHome(tmp_path / "home")
    made.pin(forge.ledger, keyid(forge.key("root")))
    return made


def judged(
    forge: Forge, home: TrustHome, place: Path, *, given: tuple[int, ...] = ()
) -> Report:
    """Verify the file at *place*, against anchors of these sizes."""
    anchor = place.with_name("anchor") if given else None
    if anchor is not None:
        anchor.write_bytes(b"\n".join(forge.note(size) for size in given))
    return verify(place, home=home, anchor=anchor)


def remember(
    home: TrustHome, forge: Forge, head: int, anchors: tuple[int, ...]
) -> None:
    """Let *home* know a head and anchors of these sizes."""
    if head:
        with home.head_memory(forge.ledger) as memory:
            memory.advance(head, forge.rows[head - 1].hash)
    for size in anchors:
        home.anchor(forge.ledger, forge.note(size))


def test_what_agrees_is_checked(forge: Forge, home: TrustHome, tmp_path: Path) -> None:
    """Head, anchors and given anchors that all agree make it checked."""
    remember(home, forge, SIZE, (5, 20))
    report = judged(forge, home, forge.write(tmp_path / "l.db"), given=(5, 10))
    assert (report.completeness, report.exit_code) == ("checked", 0)


@pytest.mark.parametrize(
    ("head", "anchors", "given"),
    [
        (head, anchors, given)
        for head, anchors, given in itertools.product(
            (0, 3, SIZE), ((), (5,), (5, 20)), ((), (5,), (5, 20))
        )
        if 20 in (*anchors, *given)
    ],
)
def test_an_old_match_is_not_enough(
    head: int,
    anchors: tuple[int, ...],
    given: tuple[int, ...],
    forge: Forge,
    home: TrustHome,
    tmp_path: Path,
) -> None:
    """Where the newest could not be matched, older matches do not make it checked."""
    remember(home, forge, head, anchors)
    place = forge.write(tmp_path / "l.db")
    with tampering(place) as connection:
        connection.execute("DELETE FROM event WHERE seq = 12")
    report = judged(forge, home, place, given=given)
    assert report.exit_code == 1
    assert report.completeness != "checked", str(report)


@pytest.mark.parametrize("head", [21, 25])
def test_a_longer_memory_is_not_checked(
    head: int, forge: Forge, home: TrustHome, tmp_path: Path
) -> None:
    """A head beyond the log is a finding, whatever older anchors say.

    At the ledger's own place, that is; elsewhere it is an older copy, and unchecked.
    """
    remember(home, forge, 0, (5, 20))
    with home.head_memory(forge.ledger) as memory:
        memory.advance(head, bytes(32))
    place = forge.write(tmp_path / "l.db")
    report = judged(forge, home, place, given=(5, 20))
    assert (report.completeness, report.exit_code) == ("unchecked", 0)
    home.remember(str(place), forge.ledger)
    report = judged(forge, home, place, given=(5, 20))
    assert (report.completeness, report.exit_code) == ("wrong", 1)
