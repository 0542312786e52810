"""The record of one run, from first principles: its own rows, and who might sign them.

    0 ledger.opened   the keys, found by type
    7 run.started     bytes → statement → place → key → signature → leaf hash
    9 run.completed   the root and the counts that the run ends with

Rules:

- It costs what the run costs: other rows of the ledger are not looked at, except those
  about keys. `muniment.verifier` judges the whole.
- Every row is judged as in the pass over the log: its one spelling, columns, leaf hash,
  signature, and whether its key was a writer at that event.
- Each row has its place in the run: `muniment.verifying.places`.
- Where the run has ended, root and counts are those of its rows.
- What follows a row, and whether the ledger goes on, cannot be told from one run.
"""

from __future__ import annotations

import re
from typing import Any

from orjson import loads

from muniment.errors import ValueRefused
from muniment.formats import OWN_PLACES
from muniment.signing import entry_hash
from muniment.verifying.keys import KeyCheck
from muniment.verifying.places import Places
from muniment.verifying.report import Finding, Findings
from muniment.verifying.rewrite import Rewriter
from muniment.verifying.rows import Row
from muniment.verifying.runs import Runs
from muniment.verifying.signatures import InProcess
from muniment.verifying.snapshot import MAX_PAYLOAD
from muniment.verifying.statement import Expected, explain, is_time

__all__ = ["KEY_TYPES", "RunRecord"]

KEY_TYPES = ("key.enrolled", "key.revoked", "key.rotated", "ledger.opened")
"""The types of the events that say which keys count."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ENDS = frozenset({"run.completed", "run.failed"})
_ASK = "`muniment verify` judges the whole ledger; compare with a copy or an anchor"
_ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class RunRecord:
    """Judges the rows of one run, and those about keys, in the order of the log."""

    __slots__ = (
        "_findings",
        "_ledger",
        "_places",
        "_rewriter",
        "_run",
        "_runs",
        "_signatures",
        "_time",
        "keys",
        "proven",
        "rows",
    )

    def __init__(self, ledger: str, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._findings = Findings()
        self._signatures = InProcess()
        self.keys = KeyCheck(self._findings, self._signatures, ledger, 0)
        self._rewriter = Rewriter()
        self._runs = Runs(self._findings, fast=False)
        self._places = Places()
        self._time = ""
        self.rows = 0
        """How many rows of the run were judged."""
        self.proven = False
        """Whether the last of them is an end, whose root covers all before it."""

    def add(self, row: Row) -> None:
        """Judge the next row: one of the run, or one about keys."""
        seq, kind, run, payload, signature, key, stored = row
        before = len(self._findings)
        statement = self._statement(row)
        if statement is None:
            expected = Expected(seq, self._ledger if seq else None, None, self._time)
            explain(row, expected, self._findings)
            if len(self._findings) == before:
                self._add("event/shape", "it is not a statement of ours", seq)
            return
        data = statement["predicate"]["data"]
        spki = self.keys.spki.get(key) or self.keys.learn(seq, key)
        if spki is None:
            return
        leaf = entry_hash(payload, signature, spki)
        self.keys.judge(seq, kind, data, (key, signature, payload))
        if leaf != stored:
            what = "the hash is not that of payload, signature and key"
            self._add("event/leaf-hash", what, seq)
        if seq == 0:
            if self.keys.keyring is not None:
                self._runs.version = self.keys.keyring.event_format
            self._rewriter.expect(self._ledger)
        if run == self._run:
            self._follow(seq, kind, statement["predicate"], leaf)

    def finish(self) -> tuple[int, tuple[Finding, ...]]:
        """Return how many signatures were checked, and what was found, in order."""
        checked, bad = self._signatures.finish()
        for seq in bad:
            self.keys.add_bad(seq)
        if self.keys.keyring is None:
            self._add("event/genesis", "no genesis says which keys count", 0)
        return checked + self.keys.checked, self._findings.sorted()

    def _statement(self, row: Row) -> Any:
        """Return the statement of a row that is as it must be, else ``None``."""
        seq, kind, run, payload, signature, key, stored = row
        try:
            if len(payload) > MAX_PAYLOAD or len(signature) != 64:  # noqa: PLR2004 - Ed25519
                return None
            statement = loads(payload)
            predicate = statement["predicate"]
            chain = predicate["muniment"]
            prev = chain["prev"] if seq else ""
            again, _ = self._rewriter.rewrite(
                predicate, statement["subject"], (seq, kind, run), prev.encode()
            )
        except (*_ODD, ValueRefused):
            return None  # `explain` says what is odd
        linked = not seq or _DIGEST.fullmatch(prev) is not None
        typed = all(type(one) is bytes for one in (payload, signature, key, stored))
        if again != payload or not linked or not typed:
            return None
        if not is_time(chain["time"]) or chain["time"] < self._time:
            return None
        self._time = chain["time"]
        return statement

    def _follow(self, seq: int, kind: str, predicate: Any, leaf: bytes) -> None:
        chain = predicate["muniment"]
        scope, ordinal = chain["scope"], chain["ordinal"]
        begins = not self.rows
        if begins and kind != "run.started":
            self._add("run/start", f"the run begins with {kind}", seq)
        elif not begins and kind == "run.started" and self._runs.version >= OWN_PLACES:
            self._add("run/start", "the run begins again", seq)
        broken = self._places.taken(scope, ordinal, kind, predicate["data"])
        if broken and (broken[0] != "run/order" or self._runs.version >= OWN_PLACES):
            self._add(*broken, seq)
        self._runs.add(seq, self._run, scope, kind, predicate["data"], leaf)
        self.rows += 1
        self.proven = kind in _ENDS

    def _add(self, rule: str, message: str, seq: int) -> None:
        self._findings.add("run", rule, message, seq=seq, remedy=_ASK)
