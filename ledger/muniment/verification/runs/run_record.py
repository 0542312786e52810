"""The record of one run, from first principles: its own rows, and the keys for them.

    0 ledger.opened   the keys, found by type
    7 run.started     bytes → statement → place → key → signature → leaf hash
    9 run.completed   the root and the counts that the run ends with

Rules:

- The cost grows with the run, not with the ledger: of other rows it reads only those
  about keys. `muniment.verification.verify` judges the whole.
- Every row is judged as in the pass over the log: its one spelling, columns, leaf hash,
  signature, and whether its key was a writer at that event.
- Each row has its place in the run: `muniment.verification.runs.places`.
- If the run has ended, root and counts are those of its rows.
- It continues after decisions as they were answered; the answers are read beside it.
- One run does not show what follows a row, or whether the ledger continues.
"""

from __future__ import annotations

import re
from typing import Any

from orjson import loads

from muniment.errors import ValueRefused
from muniment.format_versions import DECISIONS
from muniment.formats.decisions import GIVEN
from muniment.formats.dsse import entry_hash
from muniment.formats.evidence import WithheldEvent
from muniment.formats.lifecycle import CONCLUDED
from muniment.keys.p256 import fits
from muniment.verification.key_check import KeyCheck
from muniment.verification.report import MALFORMED, Finding, Findings
from muniment.verification.runs.completeness import Runs
from muniment.verification.runs.decisions import Decisions, DecisionStep
from muniment.verification.runs.places import Places
from muniment.verification.signatures import InProcess, SignatureCheck
from muniment.verification.snapshot import MAX_PAYLOAD
from muniment.verification.statements.respell import Rewriter
from muniment.verification.statements.rows import Row
from muniment.verification.statements.statement import Expected, explain, is_time

__all__ = ["KEY_TYPES", "RunRecord"]

KEY_TYPES = ("key.enrolled", "key.revoked", "key.rotated", "ledger.opened")
"""The types of the events that decide which keys count."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ASK = "`muniment verify` judges the whole ledger; compare with a copy or an anchor"


class RunRecord:
    """Judges the rows of one run, and those about keys, in the order of the log."""

    __slots__ = (
        "_decisions",
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
        "sound",
    )

    def __init__(
        self, ledger: str, run: str, signatures: SignatureCheck | None = None
    ) -> None:
        """Judge the *run* of a *ledger*; by default this process checks signatures."""
        self._ledger = ledger
        self._run = run
        self._findings = Findings()
        self._signatures = InProcess() if signatures is None else signatures
        self.keys = KeyCheck(self._findings, self._signatures, ledger, 0)
        self._rewriter = Rewriter()
        self._runs = Runs(self._findings, fast=False)
        self._places = Places()
        self._decisions = Decisions(ledger)
        self._time = ""
        self.rows = 0
        """How many rows of the run were judged."""
        self.sound = 0
        """How many rows, of the run or not, were judged from statement to leaf hash."""
        self.proven = False
        """Whether the last of them is an end, whose root covers all others."""

    @property
    def ends(self) -> tuple[int, int]:
        """How many ends of the run agree with its rows, and how many it has."""
        return self._runs.compared, self._runs.ends

    @property
    def open(self) -> bool:
        """Whether the run may continue: it has no end, or one that is not final."""
        return any(self._runs.open())

    @property
    def decisions(self) -> tuple[int, int]:
        """How many answers and decisions were compared, and how many there are."""
        return self._decisions.compared, self._decisions.total

    def add(self, row: Row) -> None:
        """Judge the next row: one of the run, or one about keys."""
        seq, kind, run, payload, signature, key, stored = row
        before = len(self._findings)
        statement = self._statement(row)
        if statement is None:
            expected = Expected(
                seq,
                self._ledger if seq else None,
                time=self._time,
                version=self._rewriter.version,
            )
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
                version = self.keys.keyring.event_format
                self._runs.version = self._rewriter.version = version
            self._rewriter.expect(self._ledger)
        if self._runs.version >= DECISIONS and (run == self._run or kind == GIVEN):
            step = DecisionStep.of_statement(seq, kind, statement, leaf)
            self._decisions.take(step, self.keys.keyring, self._findings)
        if run == self._run:
            self._follow(seq, kind, statement["predicate"], leaf)
        self.sound += 1

    def withhold(self, one: WithheldEvent) -> None:
        """Count an event of the run of which a bundle shows the leaf hash alone."""
        self._places.withhold(one.scope, one.ordinal)
        self._runs.add(one.seq, self._run, one.scope, "", {}, one.leaf)
        self.rows += 1
        self.proven = False

    def finish(self) -> tuple[int, tuple[Finding, ...]]:
        """Return how many signatures were checked, and the findings, in order."""
        checked, bad = self._signatures.finish()
        for seq in bad:
            self.keys.add_bad(seq)
        if self.keys.keyring is None:
            self._add("event/genesis", "no genesis says which keys count", 0)
        return checked + self.keys.checked, self._findings.sorted()

    def _statement(self, row: Row) -> Any:
        """Return the statement of a sound row, else ``None``."""
        seq, kind, run, payload, signature, key, stored = row
        try:
            if len(payload) > MAX_PAYLOAD or not fits(key, signature):
                return None
            statement = loads(payload)
            predicate = statement["predicate"]
            chain = predicate["muniment"]
            prev = chain["prev"] if seq else ""
            again, _ = self._rewriter.rewrite(
                predicate, statement["subject"], (seq, kind, run), prev.encode()
            )
        except (*MALFORMED, ValueRefused):
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
        data, version = predicate["data"], self._runs.version
        for rule, what in self._places.broken(chain, kind, data, version):
            self._add(rule, what, seq)
        self._runs.add(seq, self._run, chain["scope"], kind, data, leaf)
        self.rows += 1
        self.proven = kind in CONCLUDED

    def _add(self, rule: str, message: str, seq: int) -> None:
        self._findings.add("run", rule, message, seq=seq, remedy=_ASK)
