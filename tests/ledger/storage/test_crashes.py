"""Killed at any point, nothing that was reported durable is lost and nothing forks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from children import Child, Report, die, start
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.storage.create import create_ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

APPEND = ("signed", "contents written", "inserted", "committed", "remembered")
CHECKPOINT = ("checkpoint signed", "checkpoint committed", "checkpoint published")
CREATE = ("written", "keys kept", "pinned", "published", "remembered")
LARGE = "x" * 1_100_000


def _writer(place: Path, label: str, skip: int) -> Callable[[Report], None]:
    return lambda report: _write(place, report, label, skip)


def _write(place: Path, report: Report, label: str, skip: int) -> None:
    """Append until the step *label* was reached *skip* times, then die there."""
    left = skip

    def step(reached: str) -> None:
        nonlocal left
        if reached == label:
            left -= 1
            if left < 0:
                die()

    with Ledger.open(place, plugins=()) as ledger:
        ledger.store.step = step
        for number in range(100):
            _append(ledger, number, report)
            if number % 2:
                ledger.checkpoint()


def _append(ledger: Ledger, number: int, report: Report) -> None:
    data = {"text": f"n{number}", "details": {"x": "y" * (number * 37 % 5000)}}
    if number % 5 == 4:
        events = ledger.append_many([("note.added", data)] * 3)
    else:
        events = [ledger.append("note.added", data)]
    for event in events:
        report(f"{event.seq} {event.hash}")


def _holds(place: Path, acknowledged: dict[int, str]) -> None:
    """Check the ledger against everything that was ever acknowledged for it."""
    with Ledger.open(place, plugins=()) as ledger:
        stored = {event.seq: event.hash for event in ledger.events()}
        ledger.append("note.added", {"text": "after the crash"})
    assert list(stored) == list(range(len(stored)))
    assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged
    report = verify(place)
    assert (report.ok, report.exit_code) == (True, 0), report


def _collect(child: Child, acknowledged: dict[int, str]) -> int:
    code, lines = child.end()
    for line in lines:
        seq, leaf = line.split(" ", 1)
        assert seq != "error", line
        assert acknowledged.setdefault(int(seq), leaf) == leaf, "the history forked"
    return code


@pytest.mark.parametrize("label", APPEND + CHECKPOINT)
def test_a_kill_at_a_step_loses_nothing(ledger: Ledger, label: str) -> None:
    """Whatever step of an append or a checkpoint a writer dies at, the next goes on."""
    place, acknowledged = ledger.path, dict[int, str]()
    ledger.close()
    for skip in (0, 3, 6):
        child = start(_writer(place, label, skip))
        assert _collect(child, acknowledged) == -9
        _holds(place, acknowledged)


@pytest.mark.slow
def test_two_hundred_kills_of_several_writers(ledger: Ledger) -> None:
    """Four writers, killed at steps and at random 240 times: one chain, all of it.

    How long they live goes by how fast one is here.
    """
    place, acknowledged = ledger.path, dict[int, str]()
    ledger.close()
    labels = APPEND + CHECKPOINT
    dice, children, kills = random.Random(7), list[Child](), 0  # noqa: S311 - a test's
    began = time.monotonic()
    _collect(start(_writer(place, "remembered", 9)), acknowledged)
    pace = time.monotonic() - began
    while kills < 240 or len(acknowledged) <= 200:
        while len(children) < 4:
            at = dice.choice(labels) if dice.random() < 0.5 else "never"
            children.append(start(_writer(place, at, dice.randrange(9))))
        time.sleep(dice.uniform(0, pace / 4))
        victim = children.pop(dice.randrange(len(children)))
        victim.kill()
        kills += _collect(victim, acknowledged) == -9
        if kills % 60 == 0:
            _holds(place, acknowledged)
    for child in children:
        child.kill()
        _collect(child, acknowledged)
    _holds(place, acknowledged)


@pytest.mark.parametrize("label", CREATE)
def test_a_kill_while_a_ledger_is_made(tmp_path: Path, label: str) -> None:
    """A killed creation leaves a whole ledger or none, and the next attempt works."""
    place = tmp_path / "work" / "ledger.db"

    def body(_: Report) -> None:
        create_ledger(
            place, TrustHome(), step=lambda reached: die() if reached == label else None
        )

    assert start(body).end()[0] == -9
    assert place.exists() == (label in ("published", "remembered"))
    if not place.exists():
        Ledger.create(place, plugins=()).close()
    with Ledger.open(place, plugins=()) as ledger:
        ledger.append("note.added", {"text": "first"})
        assert TrustHome().ledger_at(str(place)) == ledger.id
    assert verify(place).ok


@pytest.mark.parametrize("label", ["inserted", "committed", "remembered"])
@pytest.mark.parametrize("size", [10, 2000, 1_100_000])
def test_a_kill_while_content_is_erased(ledger: Ledger, label: str, size: int) -> None:
    """An erasure that was cut off is finished when the ledger is opened next."""
    secret = "secret " * (size // 7)
    event = ledger.append("note.added", {"text": "a", "details": secret})
    ref, place = event.data["details"].digest, ledger.path  # type: ignore[attr-defined] # a BlobRef
    ledger.close()

    def body(_: Report) -> None:
        with Ledger.open(place, plugins=()) as mine:
            mine.store.step = lambda reached: die() if reached == label else None
            mine.erase(ref, reason="asked to")

    assert start(body).end()[0] == -9
    with Ledger.open(place, plugins=()) as again:
        assert [e.type for e in again.events()].count("blob.erased") == 1
    for file in [place, *place.parent.rglob("*")]:
        assert not file.is_file() or b"secret secret" not in file.read_bytes(), file
    report = verify(place)
    assert (report.ok, report.erased) == (True, 1), report


def test_a_writer_killed_with_a_large_content(ledger: Ledger) -> None:
    """The file that a killed append leaves is nobody's: it stays, and is noted."""
    first = ledger.append("note.added", {"text": "a", "details": "old"})
    place = ledger.path
    ledger.close()

    def body(_: Report) -> None:
        with Ledger.open(place, plugins=()) as mine:
            mine.store.step = lambda reached: die() if reached == "inserted" else None
            mine.append("note.added", {"text": "b", "details": LARGE})

    assert start(body).end()[0] == -9
    directory = Path(f"{place}.blobs")
    (left,) = directory.iterdir()
    with Ledger.open(place, plugins=()) as again:
        again.erase(str(first.raw["details"]["$blob"]), reason="asked to")  # type: ignore[index,call-overload] # a reference
    assert list(directory.iterdir()) == [left]
    report = verify(place)
    assert report.ok
    assert any(left.name in note for note in report.notes), report.notes


def test_an_append_that_failed_takes_its_files_with_it(ledger: Ledger) -> None:
    """What fails after a large content was written leaves no file behind."""

    def fail(label: str) -> None:
        if label == "inserted":
            raise UsageError("no", rule="test/no")

    ledger.store.step = fail
    with pytest.raises(UsageError, match="no"):
        ledger.append("note.added", {"text": "b", "details": LARGE})
    assert list(Path(f"{ledger.path}.blobs").iterdir()) == []
    ledger.store.step = lambda _: None
    assert ledger.append("note.added", {"text": "b"}).seq == 1
