"""The pass over the log: every row once, in order, in constant memory.

    seq 0 1 2 3 …   each row: bytes → statement → place → key → signature → tree

Rules:

- Everything is recomputed from the stored bytes; the columns are claims about them.
- A sound row costs one comparison (`verifying.rewrite`). Any doubt goes the
  slow way, which names each broken rule, and then goes on: later rows are judged too.
- From the first bad row on, roots and counts are not compared any more: they would only
  repeat that finding. Statements, columns, keys and signatures still are.
- *fast* checks the signatures of key events, since all trust hangs on them, and of
  everything beyond the last checkpoint; the checkpoints vouch for the rest.
"""

from __future__ import annotations

import sqlite3
import time
from binascii import hexlify
from collections.abc import Callable, Iterator
from typing import Any

from orjson import loads

from muniment.errors import ValueRefused
from muniment.signing import entry_hash
from muniment.verifying.contents import Blobs, Subjects
from muniment.verifying.keys import KeyCheck
from muniment.verifying.report import Findings
from muniment.verifying.rewrite import Rewriter
from muniment.verifying.runs import Runs
from muniment.verifying.signatures import SignatureCheck
from muniment.verifying.snapshot import Snapshot
from muniment.verifying.statement import (
    MAX_PAYLOAD,
    Expected,
    Row,
    explain,
    explain_columns,
    is_time,
)
from muniment.verifying.tree import Mark, Tree

__all__ = ["EventPass"]

_COLUMNS = "seq, type, run, payload, signature, key, hash"
_SIGNATURE = 64
_SECOND = len("2026-11-20T07:23:41.")
_MICROSECOND = len("2026-11-20T07:23:41.096123")
_TICK = 2048
_SECONDS_BETWEEN = 0.05
_ASK = "compare with a copy or an anchor; trust nothing from here on"
_FOLLOWED = frozenset(
    {
        "blob.erased",
        "ledger.opened",
        "run.completed",
        "run.failed",
        "run.interrupted",
        "run.resumed",
        "run.started",
    }
)
_ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class EventPass:
    """One pass over a snapshot; what it learned stands in its attributes."""

    def __init__(
        self,
        snapshot: Snapshot,
        findings: Findings,
        signatures: SignatureCheck,
        ledger: str,
        marks: list[Mark],
        *,
        fast: bool,
    ) -> None:
        self._snapshot = snapshot
        self._findings = findings
        covered = snapshot.value("SELECT max(size) FROM checkpoint") if fast else 0
        self._fast = fast
        self._covered = covered if isinstance(covered, int) else 0
        self._signatures = signatures
        self.keys = KeyCheck(findings, signatures, ledger, self._covered)
        self.tree = Tree(snapshot, findings, ledger, marks)
        self._grow = self.tree.frontier.append
        self.runs = Runs(findings, fast=fast)
        self.subjects = Subjects(snapshot, findings)
        self.blobs = Blobs(snapshot, findings, fast=fast)
        self.head: bytes | None = None
        """The leaf hash of the last event, recomputed."""
        self.events = 0
        self.size = 0
        """The seq that the next event would have."""
        self._ledger_id = ledger
        self._rewriter = Rewriter()
        self._prev = b""
        self._any_prev = False
        self._time = ""
        self._second = ""
        self._next = 0
        """The seq of the next row of `subject` or `blob`."""
        self._aim()

    def run(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        """Judge every row; call *progress* at most twenty times a second."""
        last = time.monotonic()
        for row in self._rows():
            self._judge(row)
            if not self.events % _TICK and progress is not None:
                now = time.monotonic()
                if now - last >= _SECONDS_BETWEEN:
                    progress(self.events, total)
                    last = now
        self.subjects.finish()
        self.tree.finish()
        if progress is not None:
            progress(self.events, total)

    def _rows(self) -> Iterator[Row]:
        """Yield the rows in order; text that is not UTF-8 comes as odd text."""
        sql = f"SELECT {_COLUMNS} FROM event WHERE seq >= ? ORDER BY seq"  # noqa: S608 - our names
        connection, start = self._snapshot.connection, -1 << 63
        while True:
            try:
                yield from connection.execute(sql, (start,))
            except sqlite3.OperationalError as error:
                if "decode" not in str(error) or connection.text_factory is not str:
                    raise
                connection.text_factory = _lenient
                start = self.size if self.events else start
            else:
                return

    def _judge(self, row: Row) -> None:
        seq, kind, run, payload, signature, key, stored = row
        if seq != self.size:
            self._skip_to(seq)
        statement, plain = self._sound_statement(seq, kind, run, payload)
        spki = self.keys.spki.get(key)
        if (
            statement is not None
            and spki is not None
            and type(signature) is bytes
            and len(signature) == _SIGNATURE
        ):
            leaf = entry_hash(payload, signature, spki)
            if (key, kind) not in self.keys.allowed:
                data = statement["predicate"]["data"]
                self.keys.judge(seq, kind, data, (key, signature, payload))
            elif seq >= self._covered:
                self._signatures.add(seq, key, signature, payload)
            if leaf != stored:
                self._doubt(row, leaf)
        else:
            leaf = self._judge_odd(row, statement)
        self.size = seq + 1
        self.events += 1
        self.head = leaf
        self._prev = hexlify(leaf)
        if statement is not None and (
            not plain
            or self._next <= seq
            or kind in _FOLLOWED
            or (run is not None and not self._fast)
        ):
            self._follow(row, statement, leaf)
        for level, index, root in self._grow(leaf):
            self.tree.tile(level, index, root)
        if self.size == self.tree.next:
            self.tree.compare(self.keys.keyring, leaf)

    def _sound_statement(
        self, seq: int, kind: Any, run: Any, payload: Any
    ) -> tuple[Any, bool]:
        """Return the statement of a row that is as it must be, else ``None``."""
        try:
            if len(payload) > MAX_PAYLOAD:
                return None, False
            statement = loads(payload)
            predicate = statement["predicate"]
            stamp, prev = predicate["muniment"]["time"], self._prev
            if self._any_prev and seq:
                prev = predicate["muniment"]["prev"].encode()
            again, plain = self._rewriter.rewrite(
                predicate, statement["subject"], (seq, kind, run), prev
            )
            if (
                again == payload
                and stamp >= self._time
                and (
                    (
                        stamp[:_SECOND] == self._second
                        and stamp[_SECOND:_MICROSECOND].isdigit()
                        and stamp[_MICROSECOND:] == "Z"
                        and stamp.isascii()
                    )
                    or self._is_new_second(stamp)
                )
            ):
                self._time = stamp
                self._any_prev = False
                return statement, plain
        except (*_ODD, ValueRefused):
            return None, False  # `explain` says what is odd
        return None, False

    def _is_new_second(self, stamp: str) -> bool:
        if not is_time(stamp):
            return False
        self._second = stamp[:_SECOND]
        return True

    def _judge_odd(self, row: Row, statement: Any) -> bytes:
        """Judge a row with a new key, or one where something is wrong."""
        seq, kind, _, payload, signature, key, stored = row
        if statement is None:
            self._explain(row)
            self._pass_over(seq)
        data = None if statement is None else statement["predicate"]["data"]
        spki = self.keys.spki.get(key) or self.keys.learn(seq, key)
        leaf = None
        signed = isinstance(signature, bytes) and len(signature) == _SIGNATURE
        if spki is not None and signed and isinstance(payload, bytes):
            leaf = entry_hash(payload, signature, spki)
            self.keys.judge(seq, kind, data, (key, signature, payload))
        if leaf is None or leaf != stored:
            self._doubt(row, leaf)
        if leaf is not None:
            return leaf
        return stored if isinstance(stored, bytes) else b""

    def _follow(self, row: Row, statement: Any, leaf: bytes) -> None:
        """Compare what a sound statement points at."""
        seq, kind, run = row[:3]
        predicate = statement["predicate"]
        data = predicate["data"]
        self.subjects.check(seq, statement["subject"])
        self.blobs.check(seq, data)
        if kind == "blob.erased":
            self.blobs.erase(seq, data)
        if run is not None and (not self._fast or kind in _FOLLOWED):
            self.runs.add(seq, run, predicate["muniment"]["scope"], kind, data, leaf)
        if kind == "ledger.opened":
            self._rewriter.expect(self._ledger_id)
        self._aim()

    def _aim(self) -> None:
        self._next = min(self.subjects.next, self.blobs.next)

    def _skip_to(self, seq: int) -> None:
        if seq > self.size:
            what = f"the events {self.size} to {seq - 1} are missing"
            if seq == self.size + 1:
                what = "the event is missing"
            self._add("missing", "event/seq", what, self.size)
        else:
            self._add("inserted", "event/seq", "no event has this number", seq)
        self._pass_over(seq - 1)
        self._rewriter.expect(self._ledger_id)
        self._break(seq)

    def _pass_over(self, seq: int) -> None:
        self.subjects.skip(seq)
        self.blobs.skip(seq)
        self._aim()

    def _explain(self, row: Row) -> None:
        seq = row[0]
        known = not self._any_prev and self._prev
        expected = Expected(
            seq,
            self._ledger_id if seq else None,
            self._prev.decode() if known else None,
            self._time,
            self._claim,
        )
        explain(row, expected, self._findings)
        self._rewriter.expect(self._ledger_id)
        self._break(seq)

    def _claim(self, seq: int) -> object:
        """Return the seq that the row at *seq* says it has."""
        sql = "SELECT CASE typeof(payload) WHEN 'blob' THEN payload END FROM event "
        try:
            payload: Any = self._snapshot.value(f"{sql} WHERE seq = ?", seq)
            return loads(payload)["predicate"]["muniment"]["seq"]
        except (*_ODD, OverflowError):
            return None

    def _doubt(self, row: Row, leaf: bytes | None) -> None:
        """Say that the hash is wrong, or why it cannot be told."""
        before = len(self._findings)
        explain_columns(row, self._findings)
        if leaf is not None and len(self._findings) == before:
            what = "the hash is not that of payload, signature and key"
            self._add("edited", "event/leaf-hash", what, row[0])
        self._break(row[0])

    def _break(self, seq: int) -> None:
        """Compare no roots from here on; the next row may name any row before it."""
        self._any_prev = True
        self.runs.broken = True
        if not self.tree.broken:
            self.tree.broken = True
            note = f"roots, tiles and counts were not compared from event {seq} on"
            self._findings.notes.append(note)

    def _add(self, kind: str, rule: str, message: str, seq: int) -> None:
        self._findings.add(kind, rule, message, seq=seq, remedy=_ASK)


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
