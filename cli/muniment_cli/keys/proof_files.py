"""Checking a ``.tlog-proof`` file for ``muniment verify``.

Rules:

- If the ledger is at hand, the proof must agree with it: keys and their intervals, the
  signer's role, the root. Given keys narrow down which of its keys to believe; a
  fingerprint replaces the pins.
- Without the ledger, the given key is believed for the tree head; the role of the
  event's signer then stays unchecked, and the output says so.
- Keys of a ledger that nobody pinned prove nothing about who signed: exit 3, or 0 with
  trust on first use, and the output says so. A pinned root vouches for every checkpoint
  key; without it, the key that signed must be pinned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment_cli.shell.context import Session
from muniment_cli.terminal.output import fields, hint, show_json

if TYPE_CHECKING:
    from muniment.formats.tlog_proof import Included
    from muniment.keys.ed25519 import PublicKey
    from muniment.keys.enrolment import KeyEntry

__all__ = ["verify_proof"]

_MOST = 1_000_001  # one more than a proof may have, which its own rule refuses
_MOST_KEY = 64 << 10
_GIVE_KEY = "give the checkpoint key: `muniment keys export --role checkpoint`"
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def verify_proof(
    session: Session,
    path: Path,
    given: Sequence[str],
    *,
    as_json: bool,
    trust_on_first_use: bool = False,
) -> int:
    """Check the proof in *path* and say what it shows; return the exit code."""
    from muniment.formats.tlog_proof import check_inclusion, origin_of_proof

    with path.open("rb") as file:
        data = file.read(_MOST)
    origin = origin_of_proof(data)
    pins = {one for one in given if _FINGERPRINT.fullmatch(one)}
    keys = [_read_key(one) for one in given if one not in pins]
    trusted = {key.keyid for key in keys}
    beside = _beside(session, origin, data, keys, pins, path)
    if beside is not None:
        found, vouched = beside
        trusted |= vouched
    elif keys:
        found = check_inclusion(data, origin, keys, str(path))
    else:
        raise _lacking(session, origin, path, pins)
    pinned = found.checkpoint_key in trusted
    if as_json:
        show_json(_document(found, pinned=pinned))
    else:
        fields(_said(found, pinned=pinned))
        if not pinned:
            _advise(trust_on_first_use)
    return 0 if pinned or trust_on_first_use else 3


def _advise(trust_on_first_use: bool) -> None:
    said = "Trusted on first use: nobody" if trust_on_first_use else "Nobody"
    hint(f"\n{said} vouched for these keys: pin the ledger's root, or give --key.")


def _said(found: Included, *, pinned: bool) -> list[tuple[str, tuple[str, str] | str]]:
    member = _member(found)
    trusted = ("pinned", "green") if pinned else ("self-asserted", "yellow")
    return [
        ("event", f"{found.seq} of {found.size}: {member.get('type')}"),
        ("time", f"{member.get('time')} (claimed)"),
        ("ledger", str(member.get("ledger", found.origin))),
        ("signed by", f"{found.signer} ({_role(found)})"),
        ("under", f"the tree head of {found.size} events by {found.checkpoint_key}"),
        ("integrity", ("intact", "green")),
        ("authenticity", trusted),
        ("compared", f"1 event, {_hashes(found.hashes)} up to the root, 2 signatures"),
    ]


def _hashes(number: int) -> str:
    return "1 hash" if number == 1 else f"{number} hashes"


def _role(found: Included) -> str:
    return "enrolled for it" if found.enrolled else "role unchecked: no ledger here"


def _document(found: Included, *, pinned: bool) -> dict[str, object]:
    from muniment.encoding.canonical import parse

    return {
        "authenticity": "pinned" if pinned else "self-asserted",
        "checkpoint_key": found.checkpoint_key,
        "hashes": found.hashes,
        "integrity": "intact",
        "ok": pinned,
        "origin": found.origin,
        "role": "enrolled" if found.enrolled else "unchecked",
        "seq": found.seq,
        "signer": found.signer,
        "size": found.size,
        "statement": parse(found.payload),
    }


def _member(found: Included) -> dict[str, object]:
    from muniment.encoding.canonical import parse

    statement = parse(found.payload)
    predicate = statement.get("predicate") if isinstance(statement, dict) else None
    own = predicate.get("muniment") if isinstance(predicate, dict) else None
    return cast("dict[str, object]", own) if isinstance(own, dict) else {}


def _read(path: Path) -> str:
    from muniment.files.folder import read_given

    try:
        return read_given(path, _MOST_KEY).decode("ascii", "replace")
    except OSError as error:
        raise CannotTellError(
            f"the key cannot be read ({error.strerror})",
            rule="key/given",
            place=str(path),
            remedy=_GIVE_KEY,
        ) from None


def _read_key(text: str) -> PublicKey:
    from muniment.formats.checkpoint import parse_vkey
    from muniment.keys.ed25519 import PublicKey
    from muniment.verification.given import refuse_partial

    path = Path(text)
    content = text
    if path.is_file():
        content = _read(path)
    else:
        refuse_partial(content)
    content = content.strip()
    if content.count("+") >= 2 and ".muniment.invalid+" in content:  # noqa: PLR2004
        return parse_vkey(content)[1]
    try:
        return PublicKey.parse(content)
    except MunimentError as error:
        raise CannotTellError(
            error.message,
            rule="key/given",
            place=text[:80],
            remedy=_GIVE_KEY,
        ) from None


def _lacking(
    session: Session, origin: str, path: Path, given: Collection[str]
) -> CannotTellError:
    names = "; a fingerprint names a key, and checks no signature" if given else ""
    try:
        place = f"{path}, {session.place()}"
    except CannotTellError:
        place = str(path)
    return CannotTellError(
        f"the proof is for {origin}, and that ledger is not at hand{names}",
        rule="tlog-proof/no-key",
        place=place,
        remedy="give its checkpoint key with --key, or the ledger with --ledger",
    )


def _beside(
    session: Session,
    origin: str,
    data: bytes,
    keys: Sequence[PublicKey],
    given: Collection[str],
    path: Path,
) -> tuple[Included, set[str]] | None:
    """Check the proof beside its ledger; also return the keys that are vouched for.

    None if that ledger is not at hand.
    """
    from muniment.formats.checkpoint import origin as origin_of

    try:
        place = session.place()
    except CannotTellError:
        return None
    if keys and not place.exists():
        return None
    with session.open() as ledger:
        if origin_of(ledger.id) != origin:
            return None
        entries = ledger.keys.entries
        _require_known(entries, given, str(place))
        pins = given or ledger.home.pins(ledger.id)
        found = ledger.check_proof(data, keys, str(path))
    by_root = any(one.keyid in pins for one in entries if "root" in one.roles)
    notaries = {one.keyid for one in entries if "checkpoint" in one.roles}
    return found, notaries if by_root else notaries & set(pins)


def _require_known(
    entries: Iterable[KeyEntry], given: Collection[str], place: str
) -> None:
    strangers = set(given) - {one.keyid for one in entries}
    if strangers:
        raise WrongError(
            f"{min(strangers)} is not a key of this ledger",
            rule="key/pin",
            place=place,
            remedy="ask its keeper for the root's fingerprint",
        )
