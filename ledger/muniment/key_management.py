"""Requesting, enrolling, rotating, revoking and trusting keys.

    {"key": {"keyid": "SHA256:…", "possession": {"writer": "…"}, "public": "…",
             "roles": ["writer"], "name": "ci runner"},
     "ledger": "sha256:…", "request": "muniment/key-request/v1"}

Rules:

- Private keys do not travel: the machine that will sign makes its key and a request;
  a root enrols the key of the request.
- Every key event is folded into a copy of the keyring before it is written: a ledger
  never holds one that its own verifier would refuse.
- Only the next root can replace a lost or stolen root, and it commits to another.
- Pinning says that this user accepts a key; it writes nothing to the ledger.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muniment.encoding.canonical import JsonValue
from muniment.errors import KeyRefused, UsageError, WrongError
from muniment.formats.dsse import Signer
from muniment.formats.statement import Event
from muniment.keys.ed25519 import PrivateKey, load_private, save_private
from muniment.keys.enrolment import (
    KeyEntry,
    enrolment,
    next_root_commitment,
    read_entry,
)
from muniment.keys.keyring import Keyring
from muniment.ledger import Ledger
from muniment.programs.import_guard import refuse_importing
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome

__all__ = [
    "RootChange",
    "enrol",
    "find_key",
    "install",
    "request",
    "revoke",
    "rotate",
    "rotate_root",
    "trust",
]

FORM = "muniment/key-request/v1"
_LEDGER_ID = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class RootChange:
    """The new root, and the file of its successor."""

    event: Event
    next_root: Path


def request(
    key: Signer, ledger_id: str, roles: list[str], name: str = ""
) -> dict[str, JsonValue]:
    """Return the request to enrol *key*; it contains nothing secret."""
    if "root" in roles:
        raise UsageError(
            "a root is never enrolled, only rotated",
            rule="key/root",
            remedy="`muniment keys rotate --root next-root.pem`",
        )
    if _LEDGER_ID.fullmatch(ledger_id) is None:
        raise UsageError(
            f"{ledger_id!r} is not a ledger id",
            rule="key/request",
            remedy="give sha256:<64 hex digits>, as `muniment status` prints it",
        )
    entry: JsonValue = enrolment(key, roles, ledger_id, name)
    return {"key": entry, "ledger": ledger_id, "request": FORM}


def enrol(ledger: Ledger, asked: JsonValue, root: Signer) -> Event:
    """Enrol the key of a request.

    Raises:
        KeyRefused: the request is not for this ledger, or its proofs are wrong; or
            *root* is not the root.

    """
    return _append(ledger, "key.enrolled", _entry(ledger, asked), root)


def rotate(ledger: Ledger, old: KeyEntry, asked: JsonValue, root: Signer) -> Event:
    """Replace the key *old*, which is not a root, by the key of a request."""
    data: dict[str, JsonValue] = {"new": _entry(ledger, asked), "old": old.keyid}
    return _append(ledger, "key.rotated", data, root)


def rotate_root(
    ledger: Ledger,
    next_root: PrivateKey,
    following: Path,
    algorithm: str | None = None,
) -> RootChange:
    """Make *next_root* the root; write a fresh key, the next one, to *following*.

    The fresh key is of *algorithm*, or of the same as *next_root*.

    The new root is pinned in the ledger's trust home. The old one stays pinned, since
    copies from before the change are known by it.

    Raises:
        KeyRefused: the ledger has not committed to *next_root*.

    """
    (old,) = ledger.store.keyring().current("root")
    after = PrivateKey.generate(algorithm or next_root.public.algorithm)
    data: dict[str, JsonValue] = {
        "new": enrolment(next_root, ["root"], ledger.id, "root"),
        "next_root": next_root_commitment(after.public),
        "old": old.keyid,
    }
    _rehearse(ledger, "key.rotated", data, next_root)
    save_private(following, after)
    try:
        event = _append(ledger, "key.rotated", data, next_root)
    except BaseException:
        following.unlink()
        raise
    ledger.home.pin(ledger.id, next_root.public.keyid)
    return RootChange(event, following)


def revoke(ledger: Ledger, old: KeyEntry, reason: str, root: Signer) -> Event:
    """End the key *old*, which is not a root, as of the event that this writes."""
    data: dict[str, JsonValue] = {"keyid": old.keyid, "reason": reason}
    return _append(ledger, "key.revoked", data, root)


def trust(ledger: Ledger, keyid: str) -> KeyEntry:
    """Pin the key *keyid* of *ledger* in its trust home, and remember the place.

    Raises:
        KeyRefused: it is not a key of this ledger.

    """
    refuse_importing()
    for entry in ledger.store.keyring().entries:
        if entry.keyid == keyid:
            ledger.home.remember(str(ledger.path), ledger.id)
            ledger.home.pin(ledger.id, keyid)
            return entry
    raise KeyRefused(
        f"{keyid} is not a key of this ledger",
        rule="key/unknown",
        place=str(ledger.path),
        remedy="ask whoever keeps the ledger for its root's fingerprint; "
        "`muniment keys list` shows what the file itself says",
    )


def find_key(keyring: Keyring, text: str) -> KeyEntry:
    """Return the only key that *text* names: by id, a unique prefix of it, or name.

    Raises:
        UsageError: there is none, or more than one.

    """
    prefix = text.rstrip("…")
    wanted = prefix if prefix.startswith("SHA256:") else f"SHA256:{prefix}"
    found = [one for one in keyring.entries if one.keyid.startswith(wanted)]
    found = found or [one for one in keyring.entries if one.name == text]
    if len(found) > 1:
        found = [one for one in found if one.until is None]
    if not text or len(found) != 1:
        raise UsageError(
            f"{'no key' if not found else 'more than one key'} is {text!r}",
            rule="key/unknown",
            remedy="`muniment keys list` lists them",
        )
    return found[0]


@contextmanager
def install(
    home: TrustHome, ledger_id: str, role: str, key: PrivateKey
) -> Generator[Path]:
    """Keep *key* as this user's key for *role*, once the block has enrolled it.

    It is on disk before the block runs: enrolling a key that nobody holds would lock
    the user out. A key that was there before is set aside.
    """
    path = home.keys_directory(ledger_id, create=True) / f"{role}.pem"
    fresh = path.with_name(f"{role}.{_short(key.public.keyid)}.new")
    save_private(fresh, key)
    try:
        yield path
    except BaseException:
        fresh.unlink()
        raise
    if os.path.lexists(path):
        old = load_private(path, follow=False).public.keyid
        path.replace(path.with_name(f"{role}.{_short(old)}.old"))
    fresh.replace(path)


def _short(keyid: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", keyid.removeprefix("SHA256:"))[:8]


def _entry(ledger: Ledger, asked: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(asked, dict) or asked.get("request") != FORM:
        raise KeyRefused(
            "this is not a key request",
            rule="key/request",
            remedy="make one with `muniment keys request` where the key shall be used",
        )
    if asked.get("ledger") != ledger.id:
        raise KeyRefused(
            f"the request is for another ledger ({asked.get('ledger')})",
            rule="key/request",
            place="ledger",
            remedy=f"make one for {ledger.id}",
        )
    entry = asked.get("key")
    try:
        read_entry(entry, ledger.id, ledger.head.size, "key")
    except WrongError as error:
        raise _refused(error) from None
    return entry if isinstance(entry, dict) else {}


def _append(
    ledger: Ledger, event_type: str, data: dict[str, JsonValue], signer: Signer
) -> Event:
    _rehearse(ledger, event_type, data, signer)
    prepared = ledger.port.prepare(event_type, data, None)
    draft = Draft(prepared, ledger.port.actor)
    return ledger.port.write([draft], None, signer)[0]


def _rehearse(
    ledger: Ledger, event_type: str, data: dict[str, JsonValue], signer: Signer
) -> None:
    """Fold the event into a copy of the keyring; refuse what `verify` would."""
    keyring = ledger.store.keyring()
    try:
        keyring.apply(ledger.head.size, event_type, data, signer.public)
    except WrongError as error:
        raise _refused(error) from None


def _refused(error: WrongError) -> KeyRefused:
    return KeyRefused(
        error.message,
        rule=error.rule,
        place=error.place,
        remedy=error.remedy or "`muniment keys list` shows who is who",
    )
