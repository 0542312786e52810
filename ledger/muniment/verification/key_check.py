"""The key of each event: whether it was allowed to sign, and whether it did.

Rules:

- The genesis makes the keyring, key events move it; both only if their own signature
  holds, whatever else is skipped: all trust depends on them.
- Every other event's key must be a writer at that seq, and its signature goes to the
  signature check, unless a later checkpoint vouches for it (*fast*).
- A key that no ledger may have (low order, not canonical) is reported as such.
"""

from __future__ import annotations

from typing import Any

from muniment.errors import KeyRefused, WrongError
from muniment.formats.checkpoint import check_quoted
from muniment.formats.dsse import pae, spki_base64
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import KEY_EVENTS, Keyring
from muniment.verification.report import Findings
from muniment.verification.signatures import SignatureCheck

__all__ = ["KeyCheck"]

_ASK = "compare with a copy or an anchor; trust nothing from here on"


class KeyCheck:
    """The keys of the log, up to the current position of the pass."""

    __slots__ = (
        "_findings",
        "_ledger",
        "_publics",
        "_signatures",
        "allowed",
        "checked",
        "covered",
        "keyring",
        "spki",
    )

    def __init__(
        self,
        findings: Findings,
        signatures: SignatureCheck,
        ledger: str,
        covered: int,
    ) -> None:
        """Skip the signatures of events before *covered*, except key events."""
        self._findings = findings
        self._signatures = signatures
        self._ledger = ledger
        self.covered = covered
        self.allowed: set[tuple[object, object]] = set()
        """The keys and event types for which only the signature is left to check."""
        self._publics: dict[object, PublicKey] = {}
        self.spki: dict[object, bytes] = {}
        """Raw key → its form in a log entry, for keys that `learn` accepted."""
        self.keyring: Keyring | None = None
        self.checked = 0
        """How many signatures were checked here."""

    def learn(self, seq: int, key: object) -> bytes | None:
        """Add *key* to `spki` and return its form there; ``None`` for a refused key."""
        if not isinstance(key, bytes):
            return None
        try:
            public = PublicKey(key)
        except KeyRefused as error:
            self._findings.add_error("key", error, seq, f"event {seq} key")
            return None
        self._publics[key] = public
        self.spki[key] = spki_base64(public)
        return self.spki[key]

    def judge(
        self, seq: int, kind: Any, data: Any, row: tuple[bytes, bytes, bytes]
    ) -> None:
        """Judge the key and the signature of an event of type *kind*.

        Args:
            seq: its position.
            kind: its type.
            data: its data; ``None`` if the statement is unsound: then it moves no key.
            row: key, signature and payload, of the right sizes.

        """
        key, signature, payload = row
        if seq == 0 or kind in KEY_EVENTS:
            self._judge_key_event(seq, kind, data, row)
            return
        if (key, kind) not in self.allowed:
            self._allow(seq, kind, key)
        if seq >= self.covered:
            self._signatures.add(seq, key, signature, payload)

    def _allow(self, seq: int, kind: Any, key: bytes) -> None:
        if self.keyring is None:
            return  # the genesis has a finding already
        if self.keyring.may_sign(key, kind):
            self.allowed.add((key, kind))
            return
        public = self._publics.get(key)
        named = public.keyid if public else "a refused key"
        what = f"{named} is not a writer here"
        self._findings.add("key", "key/role", what, seq=seq, remedy=_ASK)

    def _judge_key_event(
        self, seq: int, kind: Any, data: Any, row: tuple[bytes, bytes, bytes]
    ) -> None:
        key, signature, payload = row
        public = self._publics.get(key)
        if public is None:
            return
        self.checked += 1
        self.allowed.clear()
        if not public.verify(signature, pae(payload)):
            self.add_bad(seq)
        elif data is not None:
            try:
                self._move(seq, kind, data, public)
            except WrongError as error:
                self._findings.add_error("key", error, seq)

    def _move(self, seq: int, kind: Any, data: Any, public: PublicKey) -> None:
        if seq == 0 and kind == "ledger.opened":
            self.keyring = Keyring.genesis(data, public, self._ledger)
            check_quoted(data.get("continues"))
        elif seq == 0:
            what = f"event 0 is {kind}, not ledger.opened"
            raise WrongError(what, rule="event/genesis", seq=0)
        elif self.keyring is not None:
            self.keyring.apply(seq, kind, data, public)

    def add_bad(self, seq: int) -> None:
        """Say that the signature of the event *seq* is wrong."""
        what = "the signature is not its key's over the payload"
        self._findings.add("edited", "event/signature", what, seq=seq, remedy=_ASK)
