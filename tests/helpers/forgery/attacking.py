"""What tests do to a forged ledger: tamper with its file, and ask the verifier."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from forge import RUN, Forge, keyid
from muniment.formats.tables import SCHEMA
from muniment.verification.verify import Report, verify

__all__ = ["again", "check", "first", "small", "tampering"]


def small(name: str = "one") -> Forge:
    """Return a ledger with every kind of thing in it."""
    forge = Forge(name).open()
    forge.append("x.noted", {"text": "Zoë", "ünï": 1.5, "list": [1, {"a": [2.0e-7]}]})
    forge.append(
        "run.started",
        {"name": "x", "seed": "00", "params": forge.blob(b"[1]")},
        run=RUN,
    )
    reference = forge.blob(b'"prompt"')
    forge.append("llm.requested", {"request": reference, "n": 1}, run=RUN, scope="a")
    about = [
        {"digest": {"sha256": "ab" * 32}, "name": "spec.json"},
        {"digest": {"sha256": "cd" * 32}, "name": "code.py"},
    ]
    first = {"claim/c1": {"count": 1}}
    forge.append(
        "spec.issued", {"again": reference}, run=RUN, subject=about, series=first
    )
    forge.checkpoint()
    forge.append("x.claimed", {"large": forge.blob(b"x" * 2_000_000, file=True)})
    forge.enrol("second", ["writer"])
    second = {"count": 2, "prev": forge.rows[4].hash.hex()}
    forge.append(
        "note.added",
        {"text": "by another"},
        signer=forge.key("second"),
        series={"claim/c1": second, "Nächte": {"count": 1}},
    )
    forge.append(
        "key.revoked",
        {"keyid": keyid(forge.key("second")), "reason": "done"},
        signer=forge.key("root"),
    )
    forge.end_run(RUN, "run.failed", error_type="E", message=reference)
    forge.append("run.resumed", {"generation": 1}, run=RUN)
    forge.end_run(RUN)
    gone = forge.blob(b"my secret")
    opened = {"name": "y", "seed": "00", "params": gone}
    forge.append("run.started", opened, run="OPEN")
    forge.append("blob.erased", {"blobs": [gone["$blob"]], "reason": "asked"})
    forge.blobs[-1] = (*forge.blobs[-1][:2], None)
    forge.checkpoint()
    forge.append("note.added", {"text": "after the last checkpoint"})
    return forge


def check(forge: Forge, file: Path, *, fast: bool = False) -> Report:
    """Write the ledger anew and verify it with the first ledger's root pinned."""
    file.unlink(missing_ok=True)
    return again(forge.write(file), fast=fast)


def again(file: Path, *, fast: bool = False) -> Report:
    """Verify the file as it is, with the first ledger's root pinned."""
    root = keyid(Forge("one").key("root"))
    return verify(file, home=file.parent / "home", keys=[root], fast=fast)


def first(report: Report) -> tuple[str, int | None, int]:
    """Return rule and seq of the first finding, and the exit code."""
    assert not report.ok
    finding = report.findings[0]
    return finding.rule, finding.seq, report.exit_code


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that may do anything; the schema looks untouched afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA writable_schema=ON")
        for name, sql in SCHEMA.items():
            if sql.startswith("CREATE TRIGGER"):
                connection.execute(f"DROP TRIGGER {name}")
            elif sql.startswith("CREATE TABLE"):
                _set_sql(connection, name, _without_constraints(sql))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        yield connection
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA writable_schema=ON")
        for name, sql in SCHEMA.items():
            if sql.startswith("CREATE TRIGGER"):
                connection.execute(sql)
            elif sql.startswith("CREATE TABLE"):
                _set_sql(connection, name, sql)


def _without_constraints(sql: str) -> str:
    return (
        sql
        if "WITHOUT ROWID" in sql
        else sql.replace(" NOT NULL,", ",").replace(" NOT NULL)", ")")
    )


def _set_sql(connection: sqlite3.Connection, name: str, sql: str) -> None:
    connection.execute("UPDATE sqlite_master SET sql=? WHERE name=?", (sql, name))
