"""The pass over the log: every row once, in order, in constant memory.

    seq 0 1 2 3 …   each row: bytes → statement → place → key → signature → tree

Rules:

- Everything is recomputed from the stored bytes; the columns are claims about them.
- A sound row costs one comparison (`muniment.verification.statements.respell`). Any
  doubt takes the slow path, which names each broken rule and then continues: later rows
  are judged too.
- No finding switches another comparison off. A damaged row keeps its place in chain,
  tree and run by its stored hash, which is compared with its bytes. Only after missing
  rows is the root unknown, and that is counted.
- A row counts as compared if every step was completed, not if nothing was found.
- *fast* checks the signatures of key events, since all trust depends on them, and of
  all events after the last checkpoint; the checkpoints vouch for the rest.
"""

from __future__ import annotations

import time
from binascii import hexlify
from collections.abc import Callable, Mapping
from typing import Any, cast

from orjson import loads

from muniment.errors import ValueRefused
from muniment.format_versions import DECISIONS
from muniment.formats.dsse import entry_hash
from muniment.formats.evidence import CLOSED
from muniment.formats.lifecycle import LIFE
from muniment.formats.series import read_series
from muniment.keys.p256 import fits
from muniment.verification.contents import BlobCheck, Subjects
from muniment.verification.key_check import KeyCheck
from muniment.verification.public_digests import FIELDS as PUBLIC
from muniment.verification.public_digests import Public
from muniment.verification.report import MALFORMED, Findings
from muniment.verification.runs.across_runs import AcrossRuns
from muniment.verification.runs.completeness import Runs
from muniment.verification.runs.decisions import (
    FOLLOWED,
    Decisions,
    DecisionStep,
    concerns,
)
from muniment.verification.runs.places import OF_RUNS
from muniment.verification.series import SeriesCheck
from muniment.verification.signatures import SignatureCheck
from muniment.verification.snapshot import MAX_PAYLOAD, Snapshot
from muniment.verification.statements.kernel_data import (
    KERNEL,
    Fields,
    described,
    fault,
)
from muniment.verification.statements.respell import Rewriter
from muniment.verification.statements.rows import Row, numbered_below, rows_from
from muniment.verification.statements.statement import (
    Expected,
    Salvage,
    explain,
    explain_columns,
    is_time,
)
from muniment.verification.tiles import RootMark, Tree

__all__ = ["EventPass"]

_SIGNATURE = 64
_HASH = 32
_SECOND = len("2026-11-20T07:23:41.")
_MICROSECOND = len("2026-11-20T07:23:41.096123")
_TICK = 2048
_SECONDS_BETWEEN = 0.05
_ASK = "compare with a copy or an anchor; trust nothing from here on"
_FOLLOWED = LIFE | FOLLOWED | {CLOSED, "blob.erased", "ledger.opened"}


class EventPass:
    """One pass over a snapshot; its attributes hold the results."""

    def __init__(
        self,
        snapshot: Snapshot,
        findings: Findings,
        signatures: SignatureCheck,
        ledger: str,
        marks: list[RootMark],
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
        self.series = SeriesCheck(findings)
        self.decisions = Decisions(ledger, whole=not fast)
        self._decides = True
        self.across = AcrossRuns(snapshot, findings, self.runs.asked, fast=fast)
        self.subjects = Subjects(snapshot, findings)
        self.blobs = BlobCheck(snapshot, findings, fast=fast)
        self._public = Public(snapshot, findings, fast=fast)
        self.head: bytes | None = None
        """The leaf hash of the last event."""
        self.sound = 0
        """How many rows passed every comparison."""
        self.odd = 0
        """How many rows were odd."""
        self.size: int = 0
        """The seq that the next event would have."""
        self._ledger_id = ledger
        self._described: Mapping[str, Fields] = KERNEL
        """The types whose data is checked."""
        self._rewriter = Rewriter()
        self._prev = b""
        self._any_prev = False
        self._time = ""
        self._second = ""
        self._next = 0
        """The seq of the next row of `subject` or `blob`."""
        self._aim()

    @property
    def time(self) -> str:
        """The latest time in a sound event."""
        return self._time

    @property
    def events(self) -> int:
        """How many rows were checked."""
        return self.sound + self.odd

    def run(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        """Judge every row; call *progress* at most twenty times a second."""
        last = time.monotonic()
        for seq in numbered_below(self._snapshot):
            self._add("inserted", "event/seq", "no event has this number", seq)
            self.odd += 1
        for row in rows_from(self._snapshot, lambda: self.size):
            self._judge(row)
            if not self.size % _TICK and progress is not None:
                now = time.monotonic()
                if now - last >= _SECONDS_BETWEEN:
                    progress(self.events, total)
                    last = now
        self.subjects.finish()
        self.across.forks.finish()
        self.tree.finish(self.size)
        if progress is not None:
            progress(self.events, total)

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
            and (len(signature) == _SIGNATURE or fits(key, signature))
            and (leaf := entry_hash(payload, signature, spki)) == stored
        ):
            if (key, kind) not in self.keys.allowed:
                data = statement["predicate"]["data"]
                self.keys.judge(seq, kind, data, (key, signature, payload))
            elif seq >= self._covered:
                self._signatures.add(seq, key, signature, payload)
            self.sound += 1
        else:
            leaf = self._judge_odd(row, statement)
        if statement is not None and kind in self._described:
            self._check_data(seq, kind, statement)
        self.size = seq + 1
        self.head = leaf
        self._prev = hexlify(leaf)
        if statement is not None and (
            not plain
            or self._next <= seq
            or kind in _FOLLOWED
            or (not self._fast and (run is not None or kind in OF_RUNS))
        ):
            self._follow(row, statement, leaf)
        for level, index, root in self._grow(leaf):
            self.tree.tile(seq, level, index, root)
        if self.size >= self.tree.next:
            self.tree.compare(self.size, self.keys.keyring, leaf)

    def _sound_statement(
        self, seq: int, kind: Any, run: Any, payload: Any
    ) -> tuple[Any, bool]:
        """Return the statement of a sound row, else ``None``."""
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
        except (*MALFORMED, ValueRefused):
            return None, False  # `explain` says what is odd
        return None, False

    def _is_new_second(self, stamp: str) -> bool:
        if not is_time(stamp):
            return False
        self._second = stamp[:_SECOND]
        return True

    def _judge_odd(self, row: Row, statement: Any) -> bytes:
        """Judge a row with a new key, or with a fault."""
        seq, kind, _, payload, signature, key, stored = row
        sound = statement is not None
        read = statement if sound else self._explain(row)
        data = statement["predicate"]["data"] if sound else None
        spki = self.keys.spki.get(key) or self.keys.learn(seq, key)
        computed = None
        signed = isinstance(signature, bytes) and spki and fits(key, signature)
        if spki is not None and signed and isinstance(payload, bytes):
            computed = entry_hash(payload, signature, spki)
            self.keys.judge(seq, kind, data, (key, signature, payload))
        if sound and computed is not None and computed == stored:
            self.sound += 1
            return computed
        self.odd += 1
        if sound:
            explain_columns(row, self._findings)
        leaf = self._place(row, computed)
        if not sound:
            self._follow_odd(row, read, leaf)
        return leaf

    def _place(self, row: Row, computed: bytes | None) -> bytes:
        """Return the hash by which a damaged row keeps its place in chain and tree.

        That is the computed or the stored one: the one that the next row names, if any.
        """
        seq, stored = row[0], row[6]
        stands = isinstance(stored, bytes) and len(stored) == _HASH
        if computed is not None and stands and computed != stored:
            what = "the hash is not that of payload, signature and key"
            self._add("edited", "event/leaf-hash", what, seq)
        named = self._named_by(seq + 1)
        if computed is not None and (named == computed or not stands):
            return computed
        return cast("bytes", stored) if stands else named or bytes(_HASH)

    def _named_by(self, seq: int) -> bytes | None:
        """Return the hash that the row *seq* names as its predecessor's."""
        try:
            return bytes.fromhex(self._claimed(seq)["prev"])
        except MALFORMED:
            return None

    def _claimed(self, seq: int) -> Any:
        """Return the chain's own fields that the row *seq* claims."""
        payload: Any = self._snapshot.payload(seq)
        return loads(payload)["predicate"]["muniment"]

    def _follow_odd(self, row: Row, statement: Any, leaf: bytes) -> None:
        """Compare the rows of an unsound statement, as far as it can be read."""
        seq, kind, run = row[:3]
        read = Salvage.of(statement)
        if read.data is None or read.subject is None:
            self._pass_over(seq)
        else:
            self.subjects.check(seq, read.subject, read.series or ())
            self.blobs.check(seq, read.data)
            if kind == "blob.erased":
                self.blobs.erase(seq, read.data)
            self._aim()
        if read.series is None:
            self.series.lose()
        else:
            self.series.check(seq, read.series, leaf)
        self.decisions.lose()
        belongs = read.run or (run if isinstance(run, str) else None)
        if belongs is not None:
            named = kind if isinstance(kind, str) else ""
            self.runs.add(seq, belongs, read.scope, named, read.data or {}, leaf)

    def _check_data(self, seq: int, kind: str, statement: Any) -> None:
        predicate = statement["predicate"]
        if predicate["muniment"]["version"] != 1:
            return
        if wrong := fault(kind, predicate["data"]):
            self._add("edited", "event/data", wrong, seq)
        elif kind in PUBLIC:
            self._public.check(seq, kind, statement)

    def _follow(self, row: Row, statement: Any, leaf: bytes) -> None:
        """Compare the rows, the series and the run of a sound statement."""
        (seq, kind, run), predicate = row[:3], statement["predicate"]
        data, chain = predicate["data"], predicate["muniment"]
        links = read_series(chain["series"]) if "series" in chain else ()
        self.series.check(seq, links, leaf)
        if kind == CLOSED:
            self.series.compare(seq, data)
        self.subjects.check(seq, statement["subject"], links)
        self.blobs.check(seq, data, statement["subject"], run)
        if kind == "blob.erased":
            self.blobs.erase(seq, data)
        if run is not None and (not self._fast or kind in _FOLLOWED):
            self.runs.place(seq, run, chain, kind, data)
            self.runs.add(seq, run, chain["scope"], kind, data, leaf)
            self.across.check(seq, run, kind, statement, self.runs.version)
        elif run is None and kind in OF_RUNS:
            self.runs.outside(seq, kind)
        if self._decides and concerns(kind):
            step = DecisionStep.of_statement(seq, kind, statement, leaf)
            self.decisions.take(step, self.keys.keyring, self._findings)
        if kind == "ledger.opened":
            if self.keys.keyring is not None:
                version = self.keys.keyring.event_format
                self.runs.version = self._rewriter.version = version
                self.blobs.version = version
                self._decides = version >= DECISIONS
                self._described = described(version)
            self._rewriter.expect(self._ledger_id)
        self._aim()

    def _aim(self) -> None:
        self._next = min(self.subjects.next, self.blobs.next)

    def _skip_to(self, seq: int) -> None:
        several = f"the events {self.size} to {seq - 1} are missing"
        what = "the event is missing" if seq == self.size + 1 else several
        self._add("missing", "event/seq", what, self.size)
        self._pass_over(seq - 1)
        self.series.lose()
        self.decisions.lose()
        self._rewriter.expect(self._ledger_id)
        self._any_prev = True
        self.tree.lose(self.size)

    def _pass_over(self, seq: int) -> None:
        self.subjects.skip(seq)
        self.blobs.skip(seq)
        self._aim()

    def _explain(self, row: Row) -> Any:
        """Report why a row is not a statement; return its readable parts."""
        seq, before = row[0], len(self._findings)
        known = not self._any_prev and self._prev
        expected = Expected(
            seq,
            self._ledger_id if seq else None,
            self._prev.decode() if known else None,
            self._time,
            self._claim,
            self._rewriter.version,
        )
        read = explain(row, expected, self._findings)
        if len(self._findings) == before:
            what = "the payload is not exactly a statement"
            self._add("edited", "event/shape", what, seq)
        self._any_prev = False
        self._rewriter.expect(self._ledger_id)
        return read

    def _claim(self, seq: int) -> object:
        """Return the seq that the row at *seq* claims."""
        try:
            return self._claimed(seq)["seq"]
        except MALFORMED:
            return None

    def _add(self, kind: str, rule: str, message: str, seq: int) -> None:
        self._findings.add(kind, rule, message, seq=seq, remedy=_ASK)
