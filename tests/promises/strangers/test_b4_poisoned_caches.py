"""A cache is believed under a secret of the trust home, else everything is folded."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from muniment.ledger import Ledger
from muniment.queries.projections import Projection
from muniment.queries.run_summary import RunSummaries
from muniment.trust.home import TrustHome

CREATE = (
    "CREATE TABLE IF NOT EXISTS projection (ledger TEXT, name TEXT, "
    "version INTEGER, run TEXT, size INTEGER, head TEXT, state BLOB, "
    "PRIMARY KEY (ledger, name, version, run)) WITHOUT ROWID"
)


class Titles(Projection[list[str]]):
    """Every note."""

    name = "titles"

    def initial(self) -> list[str]:  # type: ignore[override] # JSON
        """Begin with none."""
        return []

    def apply(self, state: object, event: object) -> list[str]:  # type: ignore[override] # JSON
        """Add one."""
        text = event.raw.get("text")  # type: ignore[attr-defined] # an event
        return [*state, text] if text else state  # type: ignore[misc,return-value] # a list

    def view(self, state: object) -> list[str]:
        """Return them."""
        return state  # type: ignore[return-value] # a list


def _poison(
    ledger: Ledger, state: bytes, check: Callable[[bytes, bytes], bytes]
) -> None:
    """Write *state* for every projection and run, as any writer of the file could."""
    runs = [event.run for event in ledger.events(type="run.started")]
    head, size = ledger.head.hash.hex(), ledger.head.size
    rows = [
        (ledger.id, one.name, one.version, run, size, head)
        for one in (RunSummaries, Titles)
        for run in ("", *runs)
    ]
    place = ledger.path.with_name("cache.db")
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(CREATE)
        for row in rows:
            connection.execute(
                "INSERT OR REPLACE INTO projection VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, check(repr(row).encode(), state) + state),
            )


CHECKS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "of the first edition": lambda names, state: hashlib.sha256(names + state).digest(),
    "keyless": lambda names, state: hashlib.sha256(names + b"\0" + state).digest(),
    "an empty key": lambda names, state: hmac.digest(
        b"", names + b"\0" + state, "sha256"
    ),
    "a key of zeros": lambda names, state: hmac.digest(
        b"\0" * 32, names + b"\0" + state, "sha256"
    ),
    "none": lambda _names, _state: b"",
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("reader", ["owner", "stranger"])
def test_a_poisoned_cache(
    check: str, reader: str, ledger: Ledger, tmp_path: Path
) -> None:
    """Whatever another wrote into the cache, answers are folded from events."""
    done = ledger.execute(lambda run: run.uuid(), name="honest")
    ledger.append("note.added", {"text": "honest"})
    record = ledger.project(RunSummaries, done.run_id)
    assert ledger.project(Titles) == ["honest"]
    poison = json.dumps(["poisoned"]).encode()
    ledger.close()
    home = TrustHome() if reader == "owner" else TrustHome(tmp_path / "stranger")
    with Ledger.open(ledger.path, home=home, readonly=True) as opened:
        _poison(opened, poison, CHECKS[check])
        assert opened.project(Titles) == ["honest"]
        assert opened.project(RunSummaries, done.run_id) == record


def test_a_state_of_another_place(ledger: Ledger) -> None:
    """A state that the owner made counts for that run, position and ledger alone."""
    runs = [ledger.execute(lambda run: run.uuid(), name=n).run_id for n in "ab"]
    records = [ledger.project(RunSummaries, run) for run in runs]
    place = ledger.path.with_name("cache.db")
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE projection SET run = 'x' WHERE run = ?", (runs[0],))
        connection.execute(
            "UPDATE projection SET run = ? WHERE run = ?", (runs[0], runs[1])
        )
    assert [ledger.project(RunSummaries, run) for run in runs] == records


def test_a_stranger_leaves_no_trace(ledger: Ledger, tmp_path: Path) -> None:
    """Without pinned keys nothing is remembered, and no home is made."""
    ledger.append("note.added", {"text": "a"})
    ledger.close()
    for name in ("cache.db", "ledger.db-wal", "ledger.db-shm"):
        ledger.path.with_name(name).unlink(missing_ok=True)
    home = tmp_path / "stranger"
    with Ledger.open(ledger.path, home=home, readonly=True) as opened:
        assert opened.project(Titles) == ["a"]
        assert opened.project(Titles) == ["a"]
    assert not home.exists()
    assert not ledger.path.with_name("cache.db").exists()


def test_the_owner_remembers(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the secret a state is used, and not folded again."""
    ledger.append("note.added", {"text": "a"})
    assert ledger.project(Titles) == ["a"]
    with monkeypatch.context() as patch:
        patch.setattr(Titles, "apply", lambda *_: pytest.fail("folded again"))
        assert ledger.project(Titles) == ["a"]
    secret = TrustHome().keys_directory(ledger.id).with_name("cache.json")
    assert secret.stat().st_mode & 0o777 == 0o600
    shutil.copy(secret, secret.with_name("kept"))
    secret.unlink()
    ledger.close()
    with Ledger.open(ledger.path, readonly=True) as opened:
        assert opened.project(Titles) == ["a"]
    assert secret.read_bytes() != secret.with_name("kept").read_bytes()
