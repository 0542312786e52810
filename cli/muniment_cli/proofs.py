"""Checks a ``.tlog-proof`` file for ``muniment verify``.

Rules: the checkpoint's keys are given, or are those of the ledger at hand; keys that
merely stand in a ledger that nobody pinned prove nothing about who signed: exit 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment_cli.context import Session
from muniment_cli.output import fields, hint, show_json

if TYPE_CHECKING:
    from muniment.inclusion import Included
    from muniment.keys import PublicKey

__all__ = ["verify_proof"]


def verify_proof(
    session: Session, path: Path, given: Iterable[str], *, as_json: bool
) -> int:
    """Check the proof in *path* and say what it shows; return the exit code."""
    from muniment.inclusion import check_inclusion, origin_of_proof

    data = path.read_bytes()
    origin = origin_of_proof(data)
    keys = [_read_key(one) for one in given]
    pinned = bool(keys)
    if not keys:
        keys, pinned = _keys_of_ledger(session, origin, path)
    found = check_inclusion(data, origin, keys, str(path))
    exit_code = 0 if pinned else 3
    if as_json:
        show_json(_document(found, pinned=pinned))
        return exit_code
    fields(_said(found, pinned=pinned))
    if not pinned:
        hint("\nNobody vouched for these keys: pin the ledger's root, or give --key.")
    return exit_code


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
        if content.startswith("SHA256:"):
            raise UsageError(
                "a fingerprint names a key, and checks no signature", rule="key/given"
            )
        return PublicKey.parse(content)
    except MunimentError as error:
        raise CannotTellError(
            error.message,
            rule="key/given",
            place=text[:80],
            remedy="give the checkpoint key: `muniment keys export --role checkpoint`",
        ) from None


def _keys_of_ledger(
    session: Session, origin: str, path: Path
) -> tuple[list[PublicKey], bool]:
    """Return the checkpoint keys of the ledger at hand, and whether it is pinned."""
    from muniment.checkpoint import origin as origin_of

    lacking = CannotTellError(
        f"the proof is for {origin}, and that ledger is not at hand",
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
        keyring = ledger.store.keyring()
        keys = [one.public for one in keyring.entries if "checkpoint" in one.roles]
        pins = ledger.home.pins(ledger.id)
        return keys, bool(pins & {one.keyid for one in keyring.entries})
