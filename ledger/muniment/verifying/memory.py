"""What others know of a ledger: the trust home, given keys, given anchors.

Rules:

- All of it is read before the snapshot that it is compared with: what a writer adds in
  between makes the log longer than the memory, never shorter.
- Given keys take the place of the home's pins. Given anchors are held by somebody else
  ("independently"); those of the home, by the writer's own user.
- What was given and cannot be read is *cannot tell*; it is never ignored.
- A pinned root makes every key authentic that the log enrols; a later root as well as
  the first, since it signed the hash of all that came before it. Without one, each key
  that signed, and each checkpoint key, must be pinned itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from muniment.checkpoint import Checkpoint, Note, origin
from muniment.errors import CannotTellError, KeyRefused, MunimentError, WrongError
from muniment.keyring import Keyring
from muniment.keys import PublicKey
from muniment.trust import TrustHome
from muniment.verifying.report import Findings
from muniment.verifying.tree import Mark

__all__ = ["GivenKey", "Memory", "is_pinned", "recall"]

GivenKey = PublicKey | str | os.PathLike[str]

_OWN = "the writer's own user"
_KEYID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_SUFFIXES = frozenset({".key", ".pem", ".pub", ".txt"})
_GIVE_KEY = "give a public key as PEM, ssh-ed25519 line, fingerprint or file"
_GIVE_ANCHOR = "give a file of checkpoint notes, or of JSON lines with a note each"


@dataclass(slots=True)
class Memory:
    """What is known of the ledger that a file claims to be."""

    pins: frozenset[str] = frozenset()
    keys_given: bool = False
    marks: list[Mark] = field(default_factory=list[Mark])

    @property
    def matched(self) -> bool:
        """Whether the log holds anything of what is remembered."""
        return any(mark.matched for mark in self.marks)

    @property
    def longest(self) -> int:
        """The greatest size that anybody remembers."""
        return max((mark.size for mark in self.marks), default=0)

    def anchored(self, size: int) -> str:
        """Say how far the log is confirmed, and by whom."""
        best: dict[str, int] = {}
        for mark in self.marks:
            if mark.matched:
                best[mark.source] = max(best.get(mark.source, 0), mark.size)
        said = [f"to {number} of {size}, {who(by)}" for by, number in best.items()]
        return "anchored " + "; ".join(said) if said else "not anchored"


def who(source: str) -> str:
    """Say who vouches: the writer's own user, or somebody independent."""
    return f"by {_OWN}" if source == _OWN else f"independently by {source}"


def recall(
    home: TrustHome,
    ledger: str,
    keys: Iterable[GivenKey] | None,
    anchor: str | os.PathLike[str] | None,
    findings: Findings,
) -> Memory:
    """Gather what is known of *ledger*; what cannot be read becomes a finding."""
    memory = Memory(keys_given=keys is not None)
    try:
        if keys is None:
            memory.pins = home.pins(ledger)
        else:
            listed = [keys] if isinstance(keys, (str, os.PathLike)) else keys
            memory.pins = frozenset(_keyid(key) for key in listed)
        head = home.head(ledger)
        if head is not None and head.size:
            memory.marks.append(Mark(head.size, _OWN, leaf=head.hash))
        for note in home.anchors(ledger):
            _remember(memory, note, _OWN, ledger, findings)
        if anchor is not None:
            path = Path(anchor)
            for note in _given_notes(path):
                _remember(memory, note, path.name, ledger, findings)
    except MunimentError as error:
        findings.add_error("unreadable", error)
    return memory


def _remember(
    memory: Memory, note: bytes, source: str, ledger: str, findings: Findings
) -> None:
    try:
        checkpoint = Checkpoint.parse(Note.parse(note).text)
    except WrongError as error:
        raise CannotTellError(
            f"an anchor is not a checkpoint ({error.message})",
            rule="anchor/format",
            place=source,
            remedy=_GIVE_ANCHOR,
        ) from None
    if checkpoint.origin != origin(ledger):
        what = f"the anchor is of another ledger ({checkpoint.origin})"
        remedy = "give the anchor of this ledger, or the ledger of this anchor"
        findings.add("foreign", "anchor/origin", what, place=source, remedy=remedy)
    elif checkpoint.size:
        memory.marks.append(Mark(checkpoint.size, source, note=note))


def _given_notes(path: Path) -> list[bytes]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CannotTellError(
            f"the anchor cannot be read ({error.strerror})",
            rule="anchor/missing",
            place=str(path),
            remedy=_GIVE_ANCHOR,
        ) from None
    notes = _json_notes(data, path) if data.startswith(b"{") else _split_notes(data)
    if not notes:
        raise CannotTellError(
            "the anchor holds no checkpoint",
            rule="anchor/format",
            place=str(path),
            remedy=_GIVE_ANCHOR,
        )
    return notes


def _json_notes(data: bytes, path: Path) -> list[bytes]:
    notes: list[bytes] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            notes.append(json.loads(line)["note"].encode())
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CannotTellError(
                "not a JSON object with a note",
                rule="anchor/format",
                place=f"{path}:{number}",
                remedy=_GIVE_ANCHOR,
            ) from None
    return notes


def _split_notes(data: bytes) -> list[bytes]:
    """Cut a file of notes where a signature line is followed by any other line."""
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


def _keyid(key: GivenKey) -> str:
    if isinstance(key, PublicKey):
        return key.keyid
    text = os.fspath(key)
    if _KEYID.fullmatch(text):
        return text
    place = ""
    try:
        spelled = text.startswith(("-----", "ssh-"))
        named = isinstance(key, os.PathLike) or (not spelled and _names_file(text))
        if named:
            place, text = text, Path(text).read_text("ascii", "replace")
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


def _names_file(text: str) -> bool:
    """Tell whether *text* is a path; base64 and hexadecimal may hold a ``/`` too."""
    if Path(text).is_file():
        return True
    return text.startswith((".", "~", os.sep)) or Path(text).suffix in _SUFFIXES


def is_pinned(
    memory: Memory, keyring: Keyring, signers: set[str], findings: Findings
) -> bool:
    """Tell whether the keys of the log are those that were accepted."""
    if not memory.pins:
        return False
    known = {entry.keyid for entry in keyring.entries}
    if not memory.pins & known:
        who_says = "the given keys are" if memory.keys_given else "the pinned keys are"
        findings.add(
            "foreign",
            "key/pin",
            f"none of {who_says} a key of this ledger",
            place="keys",
            remedy="this is another ledger, or a history rebuilt under other keys",
        )
        return False
    roots = {entry.keyid for entry in keyring.entries if "root" in entry.roles}
    notaries = {entry.keyid for entry in keyring.entries if "checkpoint" in entry.roles}
    return bool(roots & memory.pins) or (signers | notaries) <= memory.pins
