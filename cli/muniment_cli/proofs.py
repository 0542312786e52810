"""Checks a ``.tlog-proof`` file for ``muniment verify``.

Rules:

- The checkpoint's keys are given, or are those of the ledger at hand. A fingerprint that
  is given stands for the pins: it says which keys of that ledger to believe.
- Keys that merely stand in a ledger that nobody pinned prove nothing about who signed:
  exit 3, or 0 with trust on first use, which says so. A pinned root vouches for every
  checkpoint key; without it, the one that signed must be pinned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment_cli.context import Session
from muniment_cli.output import fields, hint, show_json

if TYPE_CHECKING:
    from muniment.inclusion import Included
    from muniment.keys import PublicKey

__all__ = ["verify_proof"]

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
    from muniment.inclusion import check_inclusion, origin_of_proof

    data = path.read_bytes()
    origin = origin_of_proof(data)
    pins = {one for one in given if _FINGERPRINT.fullmatch(one)}
    keys = [_read_key(one) for one in given if one not in pins]
    trusted = {key.keyid for key in keys}
    if pins or not keys:
        known, vouched = _keys_of_ledger(session, origin, path, pins)
        keys += known
        trusted |= vouched
    found = check_inclusion(data, origin, keys, str(path))
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
        ("signed by", found.signer),
        ("under", f"the tree head of {found.size} events by {found.checkpoint_key}"),
        ("integrity", ("intact", "green")),
        ("authenticity", trusted),
    ]


def _document(found: Included, *, pinned: bool) -> dict[str, object]:
    from muniment.canonical import parse

    return {
        "authenticity": "pinned" if pinned else "self-asserted",
        "checkpoint_key": found.checkpoint_key,
        "integrity": "intact",
        "ok": pinned,
        "origin": found.origin,
        "seq": found.seq,
        "signer": found.signer,
        "size": found.size,
        "statement": parse(found.payload),
    }


def _member(found: Included) -> dict[str, object]:
    from muniment.canonical import parse

    statement = parse(found.payload)
    predicate = statement.get("predicate") if isinstance(statement, dict) else None
    own = predicate.get("muniment") if isinstance(predicate, dict) else None
    return cast("dict[str, object]", own) if isinstance(own, dict) else {}


def _read_key(text: str) -> PublicKey:
    from muniment.checkpoint import parse_vkey
    from muniment.keys import PublicKey

    path = Path(text)
    content = text
    if path.is_file():
        content = path.read_text("ascii", "replace")
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
            remedy="give the checkpoint key: `muniment keys export --role checkpoint`",
        ) from None


def _keys_of_ledger(
    session: Session, origin: str, path: Path, given: Collection[str]
) -> tuple[list[PublicKey], set[str]]:
    """Return the checkpoint keys of the ledger at hand, and which are vouched for."""
    from muniment.checkpoint import origin as origin_of

    names = "; a fingerprint names a key, and checks no signature" if given else ""
    lacking = CannotTellError(
        f"the proof is for {origin}, and that ledger is not at hand{names}",
        rule="tlog-proof/no-key",
        place=str(path),
        remedy="give its checkpoint key with --key, or the ledger with --ledger",
    )
    try:
        place = session.place()
    except CannotTellError:
        raise lacking from None
    with session.open() as ledger:
        if origin_of(ledger.id) != origin:
            lacking.place = f"{path}, {place}"
            raise lacking
        pins = given or ledger.home.pins(ledger.id)
        entries = ledger.store.keyring().entries
    if given and not any(one.keyid in given for one in entries):
        raise WrongError(
            "none of the given keys is a key of this ledger",
            rule="key/pin",
            place=str(place),
            remedy="ask its keeper for the root's fingerprint",
        )
    keys = [one.public for one in entries if "checkpoint" in one.roles]
    by_root = any(one.keyid in pins for one in entries if "root" in one.roles)
    return keys, {key.keyid for key in keys if by_root or key.keyid in pins}
