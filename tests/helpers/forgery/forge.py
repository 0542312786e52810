"""A forger of ledger files: writes the formats from their description alone.

It shares with the writer the table texts and nothing else that decides what stands in a
file, so that the verifier is tested against a second opinion.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forged import (
    Row,
    b64,
    entry,
    keyid,
    leaf_hash,
    make_key,
    named,
    pae,
    path,
    raw,
    root,
    signed,
    tiles,
)
from muniment.format_versions import FORMATS
from muniment.formats.tables import APPLICATION_ID, LAYOUT_VERSION, SCHEMA

__all__ = [
    "RUN",
    "Forge",
    "Row",
    "entry",
    "keyid",
    "leaf_hash",
    "make_key",
    "pae",
    "raw",
    "rehash",
    "root",
    "signed",
]

_EPOCH = datetime(2026, 11, 20, 7, 23, 41, 96123, tzinfo=UTC)
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
RUN = "01JD3Z8M6Q4W0V9K2T7N5RYXCB"


def referred(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the subjects that stand for the references in *data*."""
    tags = {
        name: str(value.get("$blob"))
        for name, value in data.items()
        if isinstance(value, dict)
    }
    return [
        {"digest": {"sha256": tag[7:]}, "name": name}
        for name, tag in tags.items()
        if re.fullmatch("sha256:[0-9a-f]{64}", tag)
    ]


@dataclass
class Forge:
    """A ledger in memory; `write` makes the file."""

    name: str = "one"
    rows: list[Row] = field(default_factory=list)
    blobs: list[tuple[bytes, int, bytes | None]] = field(default_factory=list)
    notes: list[tuple[int, bytes]] = field(default_factory=list)
    files: dict[bytes, bytes] = field(default_factory=dict)
    ledger: str = ""
    ordinals: dict[tuple[str, str], int] = field(default_factory=dict)

    def key(self, role: str) -> Ed25519PrivateKey:
        """Return the key of this ledger for *role*."""
        return make_key(f"{self.name}/{role}")

    def open(self, *, event: int = FORMATS["event"], **changes: Any) -> Forge:
        """Add the genesis; *event* is the version of the format that it states."""
        nonce = hashlib.sha256(self.name.encode()).hexdigest()
        context = f"nonce:{nonce}"
        data = {
            "formats": {"checkpoint": 1, "event": event, "layout": 1},
            "keys": [
                entry(self.key(role), [role], context)
                for role in ("root", "writer", "checkpoint")
            ],
            "next_root": "sha256:" + hashlib.sha256(raw(self.key("next"))).hexdigest(),
            "nonce": nonce,
        }
        self.append("ledger.opened", data | changes, signer=self.key("root"))
        digest = hashlib.sha256(self.rows[0].payload).hexdigest()
        self.ledger = f"sha256:{digest}"
        return self

    def statement(
        self,
        kind: str,
        data: dict[str, Any],
        run: str | None = None,
        scope: str = "",
        subject: list[Any] | None = None,
        **chain: Any,
    ) -> dict[str, Any]:
        """Return the next statement."""
        seq = len(self.rows)
        inner: dict[str, Any] = {
            "actor": "local",
            "seq": seq,
            "tenant": "default",
            "time": (_EPOCH + timedelta(milliseconds=7 * seq)).strftime(_TIME),
            "type": kind,
            "version": 1,
        }
        if seq:
            inner |= {"ledger": self.ledger, "prev": self.rows[-1].hash.hex()}
        if run is not None:
            place = (run, scope)
            inner |= {
                "run": run,
                "scope": scope,
                "ordinal": self.ordinals.setdefault(place, 0),
            }
            self.ordinals[place] += 1
        own = hashlib.sha256(rfc8785.dumps(data)).hexdigest()
        about = list(subject or []) + referred(data)
        return {
            "_type": "https://in-toto.io/Statement/v1",
            "predicate": {"data": data, "muniment": inner | chain},
            "predicateType": f"urn:muniment:event:{kind}:v1",
            "subject": about or [{"digest": {"sha256": own}, "name": "data.json"}],
        }

    def append(
        self,
        kind: str,
        data: dict[str, Any],
        *,
        signer: Ed25519PrivateKey | None = None,
        **rest: Any,
    ) -> Row:
        """Sign and add an event."""
        statement = self.statement(kind, data, **rest)
        return self.add(statement, signer or self.key("writer"))

    def add(self, statement: dict[str, Any], signer: Ed25519PrivateKey) -> Row:
        """Sign and add any statement."""
        return self.add_bytes(rfc8785.dumps(statement), statement, signer)

    def add_bytes(
        self, payload: bytes, statement: dict[str, Any], signer: Ed25519PrivateKey
    ) -> Row:
        """Sign and add any bytes."""
        chain = statement["predicate"]["muniment"]
        return self.put(payload, signer, chain["type"], chain.get("run"))

    def put(
        self,
        payload: bytes,
        signer: Ed25519PrivateKey,
        kind: str = "note.added",
        run: str | None = None,
    ) -> Row:
        """Sign any bytes and add a row for them, hashed as any other."""
        row = signed(len(self.rows), payload, signer, kind, run)
        self.rows.append(row)
        return row

    def enrol(self, name: str, roles: list[str], **rest: Any) -> Row:
        """Enrol the key *name* of this ledger."""
        data = entry(self.key(name), roles, self.ledger)
        return self.append("key.enrolled", data, signer=self.key("root"), **rest)

    def blob(self, content: bytes, *, file: bool = False) -> dict[str, Any]:
        """Keep *content* for the next event; return the reference."""
        kept = self.kept(content)
        digest = hashlib.sha256(kept).digest()
        self.blobs.append((digest, len(self.rows), None if file else kept))
        if file:
            self.files[digest] = kept
        return {"$blob": f"sha256:{digest.hex()}", "size": len(content)}

    @staticmethod
    def kept(content: bytes) -> bytes:
        """Return *content* behind its salt."""
        return hashlib.sha256(b"salt" + content).digest() + content

    def end_run(self, run: str, kind: str = "run.completed", **changes: Any) -> Row:
        """Add the end of a run, with its counts and its root."""
        mine = [row for row in self.rows if row.run == run]
        counts: dict[str, int] = {}
        for row in mine:
            scope = json.loads(row.payload)["predicate"]["muniment"]["scope"]
            counts[scope] = counts.get(scope, 0) + 1
        data = {"counts": counts, "root": root([row.hash for row in mine]).hex()}
        said = {name: one for name, one in (data | changes).items() if one is not None}
        return self.append(kind, said, run=run)

    def note(
        self, size: int | None = None, signer: Ed25519PrivateKey | None = None
    ) -> bytes:
        """Return the signed checkpoint of the first *size* events."""
        size = len(self.rows) if size is None else size
        return self.sign_note(
            size, root([row.hash for row in self.rows[:size]]), signer
        )

    def sign_note(
        self, size: int, top: bytes, signer: Ed25519PrivateKey | None = None
    ) -> bytes:
        """Return a signed note that says *size* and *top*."""
        signer = signer or self.key("checkpoint")
        origin = f"l-{self.ledger[7:39]}.muniment.invalid"
        text = f"{origin}\n{size}\n{b64(top)}\n".encode()
        mark = hashlib.sha256(origin.encode() + b"\n\1" + raw(signer)).digest()[:4]
        line = f"— {origin} {b64(mark + signer.sign(text))}\n"
        return text + b"\n" + line.encode()

    def proof(
        self, index: int, signer: Ed25519PrivateKey | None = None, *, bare: bool = False
    ) -> str:
        """Return a ``.tlog-proof`` of event *index* under all events."""
        row, extra = self.rows[index], ""
        if not bare:
            envelope: dict[str, Any] = {
                "payload": b64(row.payload),
                "payloadType": "application/vnd.in-toto+json",
                "signatures": [{"keyid": named(row.key), "sig": b64(row.signature)}],
            }
            spki = b64(bytes.fromhex("302a300506032b6570032100") + row.key)
            event = rfc8785.dumps({"envelope": envelope, "publicKey": spki})
            extra = f"extra {b64(event)}\n"
        hashes = [b64(one) for one in path([row.hash for row in self.rows], index)]
        lines = "\n".join([f"index {index}", *hashes])
        note = self.note(signer=signer).decode()
        return f"c2sp.org/tlog-proof@v1\n{extra}{lines}\n\n{note}"

    def checkpoint(self) -> None:
        """Add a checkpoint of all events so far."""
        self.notes.append((len(self.rows), self.note()))

    def subjects(self) -> set[tuple[int, bytes]]:
        """Return the rows of `subject`: of what events are about, and of their series."""
        found: set[tuple[int, bytes]] = set()
        for row in self.rows:
            with suppress(
                AttributeError, KeyError, RecursionError, TypeError, ValueError
            ):  # forged beyond that
                statement = json.loads(row.payload)
                for one in statement["subject"]:
                    if one["name"] != "data.json":
                        found.add((row.seq, bytes.fromhex(one["digest"]["sha256"])))
                for key in statement["predicate"]["muniment"].get("series", ()):
                    told = b"muniment/series/v1\n" + key.encode()
                    found.add((row.seq, hashlib.sha256(told).digest()))
        return found

    def write(self, path: Path) -> Path:
        """Make the file *path*, closed and without a write-ahead log."""
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={LAYOUT_VERSION}")
            for sql in SCHEMA.values():
                connection.execute(sql)
            self._fill(connection)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA journal_mode=WAL")
        for digest, data in self.files.items():
            directory = Path(f"{path}.blobs")
            directory.mkdir(exist_ok=True)
            (directory / digest.hex()).write_bytes(data)
        return path

    def _fill(self, connection: sqlite3.Connection) -> None:
        connection.executemany(
            "INSERT INTO event VALUES (?,?,?,?,?,?,?)",
            [
                (r.seq, r.type, r.run, r.payload, r.signature, r.key, r.hash)
                for r in self.rows
            ],
        )
        connection.executemany("INSERT INTO subject VALUES (?,?)", self.subjects())
        connection.executemany(
            "INSERT INTO blob (digest, seq, data) VALUES (?,?,?)", self.blobs
        )
        connection.executemany(
            "INSERT INTO tile VALUES (?,?,?)", tiles([row.hash for row in self.rows])
        )
        connection.executemany("INSERT INTO checkpoint VALUES (?,?)", self.notes)

    def with_rows(self, rows: list[Row], *, notes: bool = False) -> Forge:
        """Return a copy with other rows, and without checkpoints unless *notes*."""
        other = self.copy()
        other.rows = rows
        if not notes:
            other.notes = []
        return other

    def copy(self) -> Forge:
        """Return an independent copy, to go another way from here."""
        return copy.deepcopy(self)


def rehash(rows: list[Row], change: Callable[[int, dict[str, Any]], None]) -> list[Row]:
    """Change statements, then hash and chain all rows anew, without any key."""
    done: list[Row] = []
    ledger = ""
    for row in rows:
        statement = json.loads(row.payload)
        chain = statement["predicate"]["muniment"]
        if done:
            chain |= {"prev": done[-1].hash.hex(), "ledger": ledger}
        change(row.seq, statement)
        payload = rfc8785.dumps(statement)
        if not done:
            ledger = "sha256:" + hashlib.sha256(payload).hexdigest()
        leaf = leaf_hash(payload, row.signature, row.key)
        done.append(replace(row, payload=payload, hash=leaf))
    return done
