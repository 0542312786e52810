"""The verifier on files: where they are, and whether they can be read."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from attacking import small
from forge import Forge, keyid
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify


@pytest.fixture
def forge() -> Forge:
    """Return a ledger with every kind of thing in it."""
    return small()


@pytest.fixture
def path(tmp_path: Path, forge: Forge) -> Path:
    """Return the file of the ledger."""
    return forge.write(tmp_path / "ledger.db")


@pytest.fixture
def home(tmp_path: Path) -> TrustHome:
    """Return a trust home that knows nothing."""
    return TrustHome(tmp_path / "home")


def pin(home: TrustHome, forge: Forge, path: Path | None = None) -> None:
    """Make *home* know the ledger, as its creator's home does."""
    home.pin(forge.ledger, keyid(forge.key("root")))
    if path is not None:
        home.remember(str(path), forge.ledger)
        with home.head_memory(forge.ledger) as memory:
            memory.advance(len(forge.rows), forge.rows[-1].hash)


@pytest.mark.parametrize(
    "junk", [b"junk" * 5000, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_not_a_database(tmp_path: Path, home: TrustHome, junk: bytes) -> None:
    """A file that is not a database, or an encrypted one, is one clear line, exit 3."""
    path = tmp_path / "ledger.db"
    path.write_bytes(junk)
    report = verify(path, home=home)
    assert (report.exit_code, report.integrity) == (3, "cannot tell")
    assert len(report.findings) == 1
    assert "\n" not in str(report.findings[0])


def test_directory_and_url(tmp_path: Path, path: Path, home: TrustHome) -> None:
    """A directory and another database's URL are exit 3; sqlite:///PATH is a path."""
    assert verify(tmp_path, home=home).exit_code == 3
    assert verify("postgresql://host/db", home=home).exit_code == 3
    assert verify(f"sqlite:///{path}", home=home).integrity == "intact"


def test_odd_path(tmp_path: Path, forge: Forge, home: TrustHome) -> None:
    """Spaces, percent signs and question marks in a path are only characters."""
    path = forge.write(tmp_path / "a b%41?mode=rwc#é.db")
    assert verify(path, home=home).integrity == "intact"


def test_corrupt_pages(path: Path, forge: Forge, home: TrustHome) -> None:
    """No corrupt page passes and none ends in a traceback."""
    pin(home, forge, path)
    good = path.read_bytes()
    size = 4096
    for page in range(1, len(good) // size):
        for what in (b"\0" * size, b"\xff" * size):
            path.write_bytes(good[: page * size] + what + good[(page + 1) * size :])
            report = verify(path, home=home)
            assert report.exit_code in (1, 3), page
            assert not report.ok
    path.write_bytes(good[: len(good) // 2])
    assert verify(path, home=home).exit_code == 3


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_read_only_directory(path: Path, home: TrustHome) -> None:
    """A ledger on read-only media verifies."""
    path.parent.chmod(0o555)
    path.chmod(0o444)
    try:
        assert verify(path, home=home).integrity == "intact"
    finally:
        path.parent.chmod(0o755)


def test_write_ahead_log_counts(path: Path, forge: Forge, home: TrustHome) -> None:
    """Events that stand in the write-ahead log only are part of the ledger."""
    pin(home, forge)
    row = forge.append("note.added", {"text": "in the log"})
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        values = (
            row.seq,
            row.type,
            None,
            row.payload,
            row.signature,
            row.key,
            row.hash,
        )
        writer.execute("INSERT INTO event VALUES (?,?,?,?,?,?,?)", values)
        writer.commit()
        report = verify(path, home=home)
    assert (report.size, report.ok) == (16, True)


def test_progress(path: Path, home: TrustHome) -> None:
    """Progress ends with all events done."""
    calls: list[tuple[int, int]] = []
    verify(path, home=home, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (15, 15)
