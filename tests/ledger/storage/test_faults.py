"""Every fault: one clear line, the right exit code, nothing half-written, then well."""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from faults import NOTE, clear, opened, refused, well
from muniment.errors import MunimentError, StoreError, WrongError
from muniment.keys.ed25519 import PrivateKey
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome


@contextmanager
def _files_limited_to(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_database(ledger: Ledger) -> None:
    """A database that may not grow refuses the append whole, and goes on later."""
    ledger.append("note.added", NOTE)
    driver = ledger.store._line._driver()
    (pages,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count={pages}")
    full = lambda: ledger.append_many([("note.added", NOTE)] * 20)  # noqa: E731
    for _ in range(2):
        refused(full, 3, "store/full")
    assert ledger.head.size == 2
    driver.execute("PRAGMA max_page_count=1000000")
    assert ledger.append("note.added", NOTE).seq == 2
    ledger.close()
    well(ledger.path, 3)


def test_a_file_that_may_not_grow(ledger: Ledger) -> None:
    """A limit on the size of files is one clear line, for log and contents alike."""
    ledger.append("note.added", NOTE)
    large = {"text": "x", "details": "y" * 1_100_000}
    with _files_limited_to(Path(f"{ledger.path}-wal").stat().st_size + 100):
        for data in (NOTE, large):
            with pytest.raises(StoreError, match=r"store/(full|io)") as caught:
                ledger.append("note.added", data)
            clear(caught.value, 3, caught.value.rule)
    assert not list(Path(f"{ledger.path}.blobs").glob("*"))
    assert ledger.append("note.added", large).seq == 2
    ledger.close()
    well(ledger.path, 3)


def test_a_locked_database(ledger: Ledger) -> None:
    """Somebody else's lock is waited for as long as was asked, then named."""
    ledger.append("note.added", NOTE)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        mine = opened(ledger.path)
        began = time.monotonic()
        refused(lambda: mine.append("note.added", NOTE), 3, "store/locked")
        refused(mine.checkpoint, 3, "store/locked")
        assert time.monotonic() - began < 50, "the limit that nobody asked for is 60"
        other.execute("ROLLBACK")
        driver = mine.store._line._driver()
        assert driver.execute("PRAGMA synchronous").fetchone() == (2,), "not durable"
        assert mine.append("note.added", NOTE).seq == 2
        mine.close()
    ledger.close()
    well(ledger.path, 3)


@pytest.mark.parametrize(
    ("content", "code", "rule"),
    [
        (b"", 1, "head/truncated"),
        (None, 1, "head/truncated"),
        (b"garbage, and more of it" * 300, 3, "store/not-a-database"),
    ],
)
def test_a_file_that_is_no_ledger_any_more(
    ledger: Ledger, content: bytes | None, code: int, rule: str
) -> None:
    """Emptied and gone are wrong where the place is known; garbage cannot be told."""
    place = ledger.path
    ledger.append("note.added", NOTE)
    ledger.close()
    kept = place.read_bytes()
    place.unlink()
    if content is not None:
        place.write_bytes(content)
    refused(lambda: opened(place), code, rule)
    refused(lambda: Ledger.open(place, readonly=True, plugins=()), code, rule)
    place.write_bytes(kept)
    well(place, 2)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "store/not-a-ledger"),
        (None, "store/missing"),
        (b"x" * 5000, "store/not-a-database"),
    ],
)
def test_an_unknown_file_that_is_no_ledger(
    tmp_path: Path, content: bytes | None, rule: str
) -> None:
    """What nobody remembers as a ledger is merely not one."""
    place = tmp_path / "other.db"
    if content is not None:
        place.write_bytes(content)
    refused(lambda: opened(place), 3, rule)
    assert place.exists() == (content is not None)
    refused(lambda: opened(tmp_path), 3, "store/directory")
    refused(lambda: opened(tmp_path / ("x" * 5000)), 3, "store/missing")
    refused(
        lambda: Ledger.create(tmp_path / ("x" * 300), plugins=()), 3, "store/unreadable"
    )


def test_a_missing_key(ledger: Ledger) -> None:
    """Without a key the ledger is read; an append says what is missing."""
    ledger.close()
    directory = TrustHome().keys_directory(ledger.id)
    key = directory / "writer.pem"
    kept = key.rename(directory / "away")
    with opened(ledger.path) as mine:
        assert not mine.writable
        assert [event.seq for event in mine.events()] == [0]
        refused(lambda: mine.append("note.added", NOTE), 4, "key/none")
    kept.rename(key)
    well(ledger.path, 1)


def test_a_key_that_others_read(ledger: Ledger) -> None:
    """A key with wrong permissions is refused by name."""
    ledger.close()
    key = TrustHome().keys_directory(ledger.id) / "writer.pem"
    key.chmod(0o644)
    with pytest.raises(MunimentError, match=r"writer\.pem") as caught:
        opened(ledger.path)
    clear(caught.value, 4, caught.value.rule)
    key.chmod(0o600)
    well(ledger.path, 1)


def test_a_key_of_somebody_else(ledger: Ledger) -> None:
    """A key that the ledger does not know signs nothing."""
    with Ledger.open(ledger.path, signer=PrivateKey.generate(), plugins=()) as mine:
        refused(lambda: mine.append("note.added", NOTE), 4, "key/role")
    ledger.close()
    well(ledger.path, 1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("locations.json", b"{"),
        ("locations.json", b"[]"),
        ("ledgers/{}/pins.json", b'{"a":1}'),
        ("ledgers/{}/head", b"\1" * 128),
        ("ledgers/{}/erased.jsonl", b"{}\n"),
        ("ledgers/{}/erased.jsonl", b"half a li"),
    ],
)
def test_a_damaged_trust_home(ledger: Ledger, name: str, content: bytes) -> None:
    """Damage in the trust home is named by file; it is never taken for nothing known."""
    ledger.append("note.added", NOTE)
    ledger.close()
    path = TrustHome().path / name.format(ledger.id.removeprefix("sha256:"))
    kept = path.read_bytes() if path.exists() else None
    path.write_bytes(content)

    def use() -> None:
        with opened(ledger.path) as mine:
            mine.append("note.added", NOTE)

    with pytest.raises(MunimentError, match=re.escape(path.name)) as caught:
        use()
    clear(caught.value, 3, caught.value.rule)
    if kept is None:
        path.unlink()
    else:
        path.write_bytes(kept)
    well(ledger.path, 2)


def test_an_anchor_that_cannot_be_written(ledger: Ledger, tmp_path: Path) -> None:
    """The checkpoint says so; the events are safe, and what is due later is made."""
    ledger.close()
    anchor = tmp_path / "not" / "there" / "anchor.txt"
    mine = Ledger.open(ledger.path, anchor=anchor, plugins=())
    assert mine.append("note.added", NOTE).seq == 1
    refused(mine.checkpoint, 3, "anchor/unwritable")
    anchor.parent.mkdir(parents=True)
    assert mine.append("note.added", NOTE).seq == 2
    note = mine.checkpoint()
    mine.close()
    assert note is not None
    assert note in anchor.read_bytes()
    well(ledger.path, 3)


def test_a_due_checkpoint_that_fails_refuses_before_it_writes(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append that raises wrote nothing, also when a checkpoint was due."""
    ledger.close()
    monkeypatch.setattr("muniment.storage.append.CHECKPOINT_EVENTS", 2)
    mine = Ledger.open(ledger.path, anchor=tmp_path / "no" / "file", plugins=())
    sizes = []
    for _ in range(6):
        try:
            mine.append("note.added", NOTE)
        except MunimentError:
            sizes.append((mine.head.size, len(list(mine.events()))))
            mine.append("note.added", NOTE)
    assert sizes
    assert mine.head.size == 7, "an append that raised had written"
    (tmp_path / "no").mkdir()
    mine.close()
    well(ledger.path, 7)


def test_a_closed_ledger(ledger: Ledger) -> None:
    """Closing twice is fine; writing to a closed ledger is not."""
    ledger.append("note.added", NOTE)
    ledger.close()
    ledger.close()
    refused(lambda: ledger.append("note.added", NOTE), 3, "store/closed")


READ_ONLY = """
import os, shutil, sqlite3, subprocess, sys
from pathlib import Path
work, home = Path(sys.argv[1]), Path(sys.argv[2])
from muniment import Ledger, verify
from muniment.errors import MunimentError
ledger = Ledger.create(work / "a" / "ledger.db", plugins=())
event = ledger.append("note.added", {"text": "a", "details": "b"})
ledger.close()
shutil.copytree(work / "a", work / "shm")
live = Ledger.open(work / "shm" / "ledger.db", readonly=True, plugins=())
copies = {"a": 2}
writer = Ledger.open(work / "a" / "ledger.db", plugins=())
writer.append("note.added", {"text": "in the log"})
for name, suffixes in {"wal": ("", "-wal"), "walshm": ("", "-wal", "-shm")}.items():
    (work / name).mkdir()
    for suffix in suffixes:
        shutil.copy(f"{work}/a/ledger.db{suffix}", work / name)
    copies[name] = 3
(work / "empty").mkdir()
writer.close()
shutil.copy(work / "a" / "ledger.db", work / "empty")
(work / "empty" / "ledger.db-wal").write_bytes(b"")
copies["a"] = copies["empty"] = 3
live.close()
mount = ["mount", "-o"]
subprocess.run(["mount", "--bind", work, work], check=True)
subprocess.run(["mount", "-o", "remount,ro,bind", work], check=True)
for name, size in copies.items():
    place = work / name / "ledger.db"
    for readonly in (True, False):
        try:
            with Ledger.open(place, readonly=readonly, plugins=(), timeout=1) as ledger:
                seqs = [one.seq for one in ledger.events()]
                assert seqs == list(range(size)), (name, seqs)
                assert ledger.resolve(ledger.event(1))["details"] == "b"
                ledger.prove(1)
                try:
                    ledger.append("note.added", {"text": "no"})
                    raise AssertionError("written on read-only media")
                except MunimentError as error:
                    print("append", name, readonly, error.exit_code, error.rule)
        except MunimentError as error:
            print("open", name, readonly, error.exit_code, error.rule, error)
    report = verify(place)
    print("verify", name, report.ok, report.exit_code, report.size)
"""


def test_read_only_media(tmp_path: Path, home: Path) -> None:
    """On read-only media a ledger is read, verified and proved, with and without log."""
    work = tmp_path / "media"
    work.mkdir()
    probe = ["unshare", "-m", "mount", "--bind", str(work), str(work)]
    try:
        allowed = subprocess.run(probe, capture_output=True, check=False).returncode
    except FileNotFoundError:
        allowed = 1
    if allowed:
        pytest.skip("mounting in a namespace of one's own is not permitted here")
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", READ_ONLY, str(work), str(home)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MUNIMENT_HOME": str(home)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    for name in ("a", "empty", "walshm"):
        assert f"append {name} True 4 store/read-only" in said, done.stdout
        assert f"append {name} False 3 store/" in done.stdout, done.stdout
        assert f"verify {name} True 0 3" in said, done.stdout
    assert any(line.startswith("open wal True 3 store/log") for line in said), (
        done.stdout
    )


def test_an_unwritable_place_to_create(tmp_path: Path) -> None:
    """A ledger that cannot be made leaves no key, pin or place behind."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    refused(
        lambda: Ledger.create(blocked / "ledger.db", plugins=()), 3, "store/read-only"
    )
    assert not (TrustHome().path / "ledgers").exists()


def test_a_trust_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Creating needs a trust home; without one nothing is made."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("MUNIMENT_HOME", str(blocked))
    place = tmp_path / "new" / "ledger.db"
    with pytest.raises(MunimentError, match="blocked") as caught:
        Ledger.create(place, plugins=())
    clear(caught.value, 3, caught.value.rule)
    assert not place.exists()
    assert not list(place.parent.glob("*")) if place.parent.exists() else True


def test_another_ledger_at_a_known_place(ledger: Ledger, tmp_path: Path) -> None:
    """Another ledger at a known place is foreign."""
    ledger.close()
    other = Ledger.create(tmp_path / "other.db", plugins=())
    other.close()
    kept = ledger.path.read_bytes()
    ledger.path.write_bytes(other.path.read_bytes())
    with pytest.raises(WrongError, match="another ledger") as caught:
        opened(ledger.path)
    clear(caught.value, 1, "head/foreign")
    ledger.path.write_bytes(kept)
    well(ledger.path, 1)
