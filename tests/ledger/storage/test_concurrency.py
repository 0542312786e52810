"""Many writers, one chain: processes, threads, forks, and a verifier beside them."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from children import Report, start
from muniment.errors import StoreError
from muniment.ledger import Ledger
from muniment.verification.verify import verify


def _appends(place: Path, count: int, report: Report) -> None:
    with Ledger.open(place, plugins=()) as ledger:
        for number in range(count):
            event = ledger.append("note.added", {"text": f"{os.getpid()} {number}"})
            report(f"{event.seq} {event.hash}")


def _processes(place: Path, processes: int, count: int) -> dict[int, str]:
    children = [
        start(lambda report: _appends(place, count, report)) for _ in range(processes)
    ]
    threads, ends = list[threading.Thread](), list[tuple[int, list[str]]]()
    for child in children:  # a full pipe would stop a writer: read all at once
        thread = threading.Thread(target=lambda one=child: ends.append(one.end()))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    acknowledged: dict[int, str] = {}
    for code, lines in ends:
        assert code == 0, lines[-1]
        for line in lines:
            seq, leaf = line.split()
            assert acknowledged.setdefault(int(seq), leaf) == leaf
    return acknowledged


@pytest.mark.slow
def test_eight_processes_and_a_thousand_appends_each(ledger: Ledger) -> None:
    """8,000 appends by 8 processes: 8,000 events, one chain, no error."""
    place = ledger.path
    ledger.close()
    acknowledged = _processes(place, 8, 1000)
    assert sorted(acknowledged) == list(range(1, 8001))
    report = verify(place)
    assert (report.ok, report.size) == (True, 8001), report


def test_processes_beside_an_open_parent(ledger: Ledger) -> None:
    """Children forked from an open ledger write beside it, and after it closed."""
    ledger.append("note.added", {"text": "before the fork"})

    def body(report: Report) -> None:
        for number in range(50):
            event = ledger.append("note.added", {"text": f"inherited {number}"})
            report(f"{event.seq} {event.hash}")
        ledger.close()

    children = [start(body) for _ in range(3)]
    for number in range(50):
        ledger.append("note.added", {"text": f"parent {number}"})
    ledger.close()
    seen: dict[int, str] = {}
    for child in children:
        code, lines = child.end()
        assert code == 0, lines[-1]
        seen |= {int(line.split()[0]): line.split()[1] for line in lines}
    assert len(seen) == 150
    report = verify(ledger.path)
    assert (report.ok, report.size) == (True, 202), report


def test_a_parent_that_closes_leaves_its_children_their_log(ledger: Ledger) -> None:
    """A child holds SQLite's locks itself: nobody deletes the log under it."""
    ledger.append("note.added", {"text": "before"})
    list(ledger.events())
    reading, writing = os.pipe()

    def body(report: Report) -> None:
        ledger.append("note.added", {"text": "child"})
        os.read(reading, 1)
        event = ledger.append("note.added", {"text": "child again"})
        report(f"{event.seq} {[e.seq for e in ledger.events()]}")

    child = start(body)
    while ledger.head.size < 3:
        time.sleep(0.01)
    ledger.close()
    wal = Path(f"{ledger.path}-wal")
    assert wal.exists(), "the parent took the log away from its child"
    os.write(writing, b"x")
    assert child.end() == (0, ["3 [0, 1, 2, 3]"])
    os.close(reading)
    os.close(writing)
    assert verify(ledger.path).ok


def test_a_fork_waits_for_the_transaction_of_another_thread(ledger: Ledger) -> None:
    """A child that is forked while a thread appends finds no lock held."""
    ledger.append("note.added", {"text": "whatever is made once is made"})
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            ledger.append("note.added", {"text": "x"})
            time.sleep(0.001)  # a lock that is taken again at once starves the others

    thread = threading.Thread(target=work)
    thread.start()

    def body(report: Report) -> None:
        report(str(ledger.append("note.added", {"text": "child"}).seq))

    try:
        ends = [start(body).end() for _ in range(4)]
    finally:
        stop.set()
        thread.join()
    assert [code for code, _ in ends] == [0] * 4
    assert verify(ledger.path).ok


def test_four_threads_on_one_ledger(ledger: Ledger) -> None:
    """Threads that share one object write one chain, and each sees its own events."""
    seen: list[int] = []

    def work(name: int) -> None:
        for number in range(100):
            event = ledger.append("note.added", {"text": f"{name} {number}"})
            assert ledger.event(event.seq).data["text"] == f"{name} {number}"
            seen.append(event.seq)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 401))
    assert verify(ledger.path).ok


@pytest.mark.slow
def test_verify_beside_eight_writers_raises_no_alarm(ledger: Ledger) -> None:
    """While eight processes write, verification holds, again and again."""
    place = ledger.path
    ledger.close()
    children = [start(lambda _: _appends(place, 150, lambda _: None)) for _ in range(8)]
    sizes = []
    for _ in range(25):
        report = verify(place)
        assert (report.ok, report.findings) == (True, ()), report
        sizes.append(report.size)
    assert [child.end()[0] for child in children] == [0] * 8
    assert sizes == sorted(sizes)
    assert verify(place).size == 1201


def test_close_does_not_wait_for_a_reader(ledger: Ledger) -> None:
    """A reader that holds a snapshot delays neither an append nor the end."""
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchone()
        ledger.append("note.added", {"text": "x"})
        began = time.monotonic()
        ledger.close()
        assert time.monotonic() - began < 50, "a lock is waited for up to 60"
        assert reader.execute("SELECT count(*) FROM event").fetchone() == (1,)
    assert verify(ledger.path).size == 2


def test_a_fork_does_not_wait_for_ever(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that stays in a transaction delays a fork; its child is locked out."""
    ledger.close()
    ledger = Ledger.open(ledger.path, timeout=0.5, plugins=())
    monkeypatch.setattr("muniment.storage.transactions._PATIENCE", 0.1)
    inside, go = threading.Event(), threading.Event()

    def step(label: str) -> None:
        if label == "inserted":
            inside.set()
            go.wait(300)

    ledger.append("note.added", {"text": "before"})
    ledger.store.step = step
    thread = threading.Thread(
        target=lambda: ledger.append("note.added", {"text": "slow"})
    )
    thread.start()
    assert inside.wait(300)

    def body(report: Report) -> None:
        ledger.store.step = lambda _: None
        with pytest.raises(StoreError, match="store/locked"):
            ledger.append("note.added", {"text": "child"})
        report("locked out")

    child = start(body)
    assert child.end() == (0, ["locked out"])
    go.set()
    thread.join()
    ledger.store.step = lambda _: None
    assert ledger.append("note.added", {"text": "parent"}).seq == 3
    ledger.close()
    assert verify(ledger.path).ok
