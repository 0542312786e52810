"""Keys and notes that a caller gives for the comparison.

    SHA256:…  |  PEM  |  ssh-ed25519 AAAA…  |  a file of these          keys
    notes, one after the other  |  JSON lines {"note": …}               anchors

Rules: anything given that cannot be read is *cannot tell*; it is never ignored, and no
more is read of it than an honest file has. A fingerprint is whole, or it is none: one that
was copied in part, with more around it or without `SHA256:` says nothing against a ledger.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from muniment.errors import CannotTellError, KeyRefused
from muniment.keys.ed25519 import PublicKey
from muniment.verification.report import MALFORMED

__all__ = ["GIVE_ANCHOR", "GivenKey", "given_keyid", "given_notes", "refuse_partial"]

GivenKey = PublicKey | str | os.PathLike[str]

_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]")
"""A fingerprint; the last of its characters stands for four bits."""
_MEANT = re.compile(
    r"\s*(?:sha-?256:.*|[A-Za-z0-9+/]{43}\s*)", re.IGNORECASE | re.DOTALL
)
"""What somebody may have meant as one: a key in base64 ends with `=`."""
_SUFFIXES = frozenset({".key", ".pem", ".pub", ".txt"})
_GIVE_KEY = "give a public key as PEM, ssh-ed25519 line, fingerprint or file"
_MOST_NOTES = 64 << 20
_MOST_KEY = 64 << 10
_MAKE_ANCHOR = (
    "get the note anew: `muniment checkpoint -o FILE` writes one where the checkpoint key "
    "is, and fails where it is not; a shell's `>` leaves an empty file then"
)
GIVE_ANCHOR = "give a file of checkpoint notes, or of JSON lines with a note each"


def given_notes(path: Path) -> list[bytes]:
    """Return the notes in the file *path*, at least one."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_NOTES + 1)
    except OSError as error:
        raise CannotTellError(
            f"the anchor cannot be read ({error.strerror})",
            rule="anchor/missing",
            place=str(path),
            remedy=GIVE_ANCHOR,
        ) from None
    if len(data) > _MOST_NOTES:
        raise CannotTellError(
            f"the anchor has more than {_MOST_NOTES >> 20} MiB",
            rule="anchor/format",
            place=str(path),
            remedy=GIVE_ANCHOR,
        )
    notes = _json_notes(data, path) if data.startswith(b"{") else _split_notes(data)
    if not notes:
        raise CannotTellError(
            "the anchor is empty, and nothing can agree with it",
            rule="anchor/format",
            place=str(path),
            remedy=_MAKE_ANCHOR,
        )
    return notes


def _json_notes(data: bytes, path: Path) -> list[bytes]:
    notes: list[bytes] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            notes.append(json.loads(line)["note"].encode())
        except MALFORMED:
            raise CannotTellError(
                "not a JSON object with a note",
                rule="anchor/format",
                place=f"{path}:{number}",
                remedy=GIVE_ANCHOR,
            ) from None
    return notes


def _split_notes(data: bytes) -> list[bytes]:
    """Cut a file of notes after each signature line that another line follows."""
    notes: list[bytes] = []
    signed = True
    for line in data.splitlines(keepends=True):
        is_signature = line.startswith("— ".encode())
        if signed and not is_signature:
            if not line.strip():
                continue
            notes.append(b"")
        signed = is_signature
        notes[-1:] = [notes[-1] + line] if notes else [line]
    return notes


def given_keyid(key: GivenKey) -> str:
    """Return the key id of a given key."""
    if isinstance(key, PublicKey):
        return key.keyid
    text = os.fspath(key)
    if _KEYID.fullmatch(text):
        return text
    refuse_partial(text)
    place = ""
    try:
        spelled = text.startswith(("-----", "ssh-"))
        named = isinstance(key, os.PathLike) or (not spelled and _names_file(text))
        if named:
            place = text
            with Path(text).open(encoding="ascii", errors="replace") as file:
                text = file.read(_MOST_KEY)
        return PublicKey.parse(text).keyid
    except OSError as error:
        what, place = f"the key cannot be read ({error.strerror})", place or text
    except KeyRefused as error:
        what = error.message
    raise CannotTellError(
        what,
        rule="key/given",
        place=place or text.partition("\n")[0][:80],
        remedy=_GIVE_KEY,
    )


def refuse_partial(text: str) -> None:
    """Refuse a *text* that was meant as a fingerprint, and is no whole one.

    Raises:
        CannotTellError: it is one.

    """
    if _MEANT.fullmatch(text) and not _names_file(text):
        raise CannotTellError(
            "this is no whole fingerprint",
            rule="key/given",
            place=text.partition("\n")[0][:80],
            remedy="give SHA256: and the 43 characters that follow it, and nothing else",
        )


def _names_file(text: str) -> bool:
    """Tell whether *text* is a path; base64 and hexadecimal may hold a ``/`` too."""
    if Path(text).is_file():
        return True
    return text.startswith((".", "~", os.sep)) or Path(text).suffix.lower() in _SUFFIXES
