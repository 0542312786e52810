"""Which key may sign what, and from which event to which: a pure fold over key events.

    0 ledger.opened  {"keys": [root, writer, checkpoint], "next_root": …} by the root
    7 key.enrolled   {"keyid": …, "roles": ["writer"], …}                 by the root
    9 key.revoked    {"keyid": …, "reason": "laptop stolen"}              by the root
   12 key.rotated    {"old": …, "new": …, "next_root": …}        by the next root alone

Rules:

- ``ledger.opened`` lists the first keys, exactly one of them a root, and commits to the
  hash of the next root: ``next_root = sha256:<hex of SHA-256(raw public key)>``.
- ``key.enrolled``, ``key.revoked`` and ``key.rotated`` are signed by the root; every
  other event by a writer; checkpoints by a checkpoint key. An approver signs no event,
  only the answers inside ``decision.given``.
- A key counts for events after the one that enrols it, up to and including the one that
  ends it. A key that was ever enrolled is never enrolled again.
- A key and those that it replaces by ``key.rotated`` have one *holder*: `holder` names
  the first of them. Keys that are enrolled on their own have each their own.
- Each role of a new key has its own proof of possession.
- There is always one root. No root can be enrolled or revoked: it is replaced by
  ``key.rotated``, signed by the key whose hash was committed, and by nothing else. So
  a lost root can be replaced, and a stolen one cannot name its successor.

Nothing here reads a file or a clock. A violation is a `WrongError` that names the rule;
it leaves the keyring unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import CannotTellError, WrongError
from muniment.format_versions import FORMATS
from muniment.keys.ed25519 import PublicKey
from muniment.keys.enrolment import (
    JsonObject,
    KeyEntry,
    genesis_context,
    next_root_commitment,
    read_entry,
    read_members,
    read_text,
    wrong,
)

__all__ = ["KEY_EVENTS", "Keyring"]

KEY_EVENTS = frozenset({"ledger.opened", "key.enrolled", "key.revoked", "key.rotated"})
"""The types that roots sign: they say which keys count."""
_NONCE = re.compile(r"[0-9a-f]{64}")
_TAG = re.compile(r"sha256:[0-9a-f]{64}")


class Keyring:
    """The keys of one ledger at one position; `apply` moves it forward.

    Attributes:
        event_format: the version of ``event`` that the genesis states.
        ledger_id: the context of every proof of possession after the genesis.
        publics: every key ever enrolled, by its raw bytes, for verifying signatures.

    """

    __slots__ = (
        "_entries",
        "_holders",
        "_next_root",
        "_roots",
        "_writers",
        "event_format",
        "ledger_id",
        "publics",
    )

    def __init__(self, ledger_id: str, next_root: str) -> None:
        """Start without keys; callers use `genesis`."""
        self.ledger_id = ledger_id
        self.event_format = FORMATS["event"]
        self.publics: dict[bytes, PublicKey] = {}
        self._next_root = next_root
        self._entries: dict[str, KeyEntry] = {}
        self._holders: dict[str, str] = {}
        self._roots: set[bytes] = set()
        self._writers: set[bytes] = set()

    @classmethod
    def genesis(cls, data: JsonValue, signer: PublicKey, ledger_id: str) -> Keyring:
        """Return the keyring after the ``ledger.opened`` event with *data*.

        Raises:
            WrongError: *data* is malformed, a key or a proof in it is not good, or
                *signer* is not its root; ``seq`` is 0.

        """
        with _event(0):
            return cls._genesis(data, signer, ledger_id)

    @classmethod
    def _genesis(cls, data: JsonValue, signer: PublicKey, ledger_id: str) -> Keyring:
        members = read_members(
            data, "data", ("formats", "keys", "next_root", "nonce"), ("continues",)
        )
        nonce = read_text(members, "nonce", "data", _NONCE)
        formats = _read_formats(members["formats"])
        if "continues" in members:
            _check_continues(members["continues"])
        keyring = cls(ledger_id, read_text(members, "next_root", "data", _TAG))
        keyring.event_format = formats["event"]
        listed = members["keys"]
        if not isinstance(listed, list):
            wrong("type", "is not a list", "data.keys")
        context = genesis_context(nonce)
        for number, item in enumerate(listed):
            keyring._add(read_entry(item, context, 0, f"data.keys[{number}]"))
        if len(keyring._roots) != 1:
            wrong("root", f"lists {len(keyring._roots)} roots, not one", "data.keys")
        keyring._require_root(signer, "ledger.opened")
        return keyring

    @property
    def entries(self) -> tuple[KeyEntry, ...]:
        """Every key ever enrolled, in the order of enrolment."""
        return tuple(self._entries.values())

    def copy(self) -> Keyring:
        """Return an independent keyring at the same position."""
        twin = Keyring(self.ledger_id, self._next_root)
        twin.event_format = self.event_format
        twin.publics.update(self.publics)
        twin._entries.update(self._entries)
        twin._holders.update(self._holders)
        twin._roots.update(self._roots)
        twin._writers.update(self._writers)
        return twin

    def may_sign(self, public_raw: bytes, event_type: str) -> bool:
        """Tell whether this key may sign the next event, if it is of *event_type*."""
        if event_type not in KEY_EVENTS:
            return public_raw in self._writers
        return public_raw in self._roots or (
            event_type == "key.rotated" and sha256_tag(public_raw) == self._next_root
        )

    def current(self, role: str) -> tuple[PublicKey, ...]:
        """Return the keys that hold *role* now, in the order of enrolment."""
        return tuple(
            entry.public
            for entry in self._entries.values()
            if entry.until is None and role in entry.roles
        )

    def checkpoint_keys_at(self, size: int) -> tuple[PublicKey, ...]:
        """Return the keys that may sign a checkpoint over the first *size* events."""
        return tuple(
            entry.public
            for entry in self._entries.values()
            if "checkpoint" in entry.roles
            and entry.since < size
            and (entry.until is None or size <= entry.until)
        )

    def could_sign(self, seq: int, public_raw: bytes, event_type: str) -> bool:
        """Tell whether this key was allowed to sign the past event *seq*.

        The keyring must have been folded beyond *seq*, or to the end of the log.
        """
        public = self.publics.get(public_raw)
        entry = None if public is None else self._entries[public.keyid]
        if entry is None or (entry.until is not None and seq > entry.until):
            return False
        if event_type not in KEY_EVENTS:
            return "writer" in entry.roles and entry.since < seq
        itself = event_type in ("ledger.opened", "key.rotated")
        return "root" in entry.roles and entry.since < seq + itself

    def approver(self, keyid: str, seq: int) -> PublicKey | None:
        """Return the key *keyid* if it may answer for people with the event *seq*."""
        entry = self._entries.get(keyid)
        if entry is None or "approver" not in entry.roles or entry.since >= seq:
            return None
        return entry.public if entry.until is None or seq <= entry.until else None

    def holder(self, keyid: str) -> str:
        """Return the first of the keys that *keyid* replaces by rotation, or itself."""
        return self._holders.get(keyid, keyid)

    def apply(
        self, seq: int, event_type: str, data: JsonValue, signer: PublicKey
    ) -> None:
        """Fold the event *seq*; types that say nothing about keys change nothing.

        Raises:
            WrongError: the event breaks a rule of keys; nothing was folded.

        """
        if event_type not in KEY_EVENTS:
            return
        with _event(seq):
            if event_type == "key.enrolled":
                self._enrol(seq, data, signer)
            elif event_type == "key.revoked":
                self._revoke(seq, data, signer)
            elif event_type == "key.rotated":
                self._rotate(seq, data, signer)
            else:
                wrong("genesis", "a ledger is opened once, by its event 0", "type")

    def _enrol(self, seq: int, data: JsonValue, signer: PublicKey) -> None:
        self._require_root(signer, "key.enrolled")
        entry = read_entry(data, self.ledger_id, seq, "data")
        if "root" in entry.roles:
            wrong("root", "a root is never enrolled, only rotated", "data.roles")
        self._add(entry)

    def _revoke(self, seq: int, data: JsonValue, signer: PublicKey) -> None:
        self._require_root(signer, "key.revoked")
        members = read_members(data, "data", ("keyid", "reason"))
        read_text(members, "reason", "data")
        entry = self._current(read_text(members, "keyid", "data"), "data.keyid")
        if "root" in entry.roles:
            wrong("root", "a root is never revoked, only rotated", "data.keyid")
        self._end(entry, seq)

    def _rotate(self, seq: int, data: JsonValue, signer: PublicKey) -> None:
        members = read_members(data, "data", ("new", "old"), ("next_root",))
        old = self._current(read_text(members, "old", "data"), "data.old")
        new = read_entry(members["new"], self.ledger_id, seq, "data.new")
        if not set(new.roles) <= set(old.roles):
            wrong("roles", "has a role that the old key has not", "data.new.roles")
        if "root" in old.roles:
            self._rotate_root(old, new, members, signer)
            self._holders[new.keyid] = self.holder(old.keyid)
            return
        self._require_root(signer, "key.rotated")
        if "next_root" in members:
            what = "stands in the rotation of a key that is not a root"
            wrong("unknown-member", what, "data.next_root")
        self._add(new)
        self._end(old, seq)
        self._holders[new.keyid] = self.holder(old.keyid)

    def _rotate_root(
        self, old: KeyEntry, new: KeyEntry, members: JsonObject, signer: PublicKey
    ) -> None:
        """Replace the root; the old root's consent is neither needed nor enough."""
        if "root" not in new.roles:
            wrong("roles", "does not take the role of the root", "data.new.roles")
        if next_root_commitment(new.public) != self._next_root:
            what = "is not the next root that was committed to"
            wrong("next-root", what, "data.new.public")
        if signer != new.public:
            wrong("role", "is not signed by the new root itself", "signature")
        if "next_root" not in members:
            wrong("missing-member", "commits to no next root", "data.next_root")
        following = read_text(members, "next_root", "data", _TAG)
        before = self._next_root
        self._next_root = following
        try:
            self._add(new)
        except WrongError:
            self._next_root = before
            raise
        self._end(old, new.since)

    def _require_root(self, signer: PublicKey, event_type: str) -> None:
        if signer.raw not in self._roots:
            what = f"{signer.keyid} is not the root; only the root signs {event_type}"
            wrong("role", what, "signature")

    def _current(self, keyid: str, place: str) -> KeyEntry:
        entry = self._entries.get(keyid)
        if entry is None:
            wrong("unknown", f"{keyid} was never enrolled", place)
        if entry.until is not None:
            wrong("revoked", f"{keyid} ended with event {entry.until}", place)
        return entry

    def _add(self, entry: KeyEntry) -> None:
        if entry.public.raw in self.publics:
            wrong("duplicate", f"{entry.keyid} was enrolled before", "data")
        # A next root that is already enrolled could never be rotated to.
        known = [*self.publics.values(), entry.public]
        if self._next_root in map(next_root_commitment, known):
            wrong("next-root", "the next root is a key of the ledger already", "data")
        self.publics[entry.public.raw] = entry.public
        self._entries[entry.keyid] = entry
        if "root" in entry.roles:
            self._roots.add(entry.public.raw)
        if "writer" in entry.roles:
            self._writers.add(entry.public.raw)

    def _end(self, entry: KeyEntry, seq: int) -> None:
        self._entries[entry.keyid] = replace(entry, until=seq)
        self._roots.discard(entry.public.raw)
        self._writers.discard(entry.public.raw)


@contextmanager
def _event(seq: int) -> Generator[None]:
    """Add event *seq* to every violation inside."""
    try:
        yield
    except WrongError as error:
        error.seq = seq
        error.place = f"event {seq} {error.place}"
        raise


def _read_formats(value: JsonValue) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, version in read_members(value, "data.formats", tuple(FORMATS)).items():
        if type(version) is not int or version < 1:
            wrong("type", "is not a version number", f"data.formats.{name}")
        if version > FORMATS[name]:
            raise CannotTellError(
                f"the ledger has version {version} of its {name} format; here versions "
                f"up to {FORMATS[name]} are known",
                rule="key/formats",
                place=f"event 0 data.formats.{name}",
                remedy="use a newer muniment",
            )
        found[name] = version
    return found


def _check_continues(value: JsonValue) -> None:
    place = "data.continues"
    members = read_members(value, place, ("checkpoint", "ledger", "reason"))
    read_text(members, "checkpoint", place)
    read_text(members, "ledger", place, _TAG)
    read_text(members, "reason", place)
