r"""The signed tree head as a C2SP signed note, and proofs that point at one.

    l-0123456789abcdef0123456789abcdef.muniment.invalid      origin: names the ledger
    1235                                                     size: events in the tree
    G/WnmxpL/hYw8BnsuSKNA4twxHEvdnN7cZ5wW1b3S/M=             root of that tree
                                                             (a blank line)
    — l-0123456789abcdef0123456789abcdef.muniment.invalid NaFLfyu0QcPf…avgI=

    c2sp.org/tlog-proof@v1                                   a proof for one event
    index 7
    yUtwSRG2q4C5PYzPEC8hTETw7rYWH8Ny4CCDXCTQ0Qw=             nearest sibling first
                                                             (a blank line)
    l-0123456789abcdef0123456789abcdef.muniment.invalid      a checkpoint, as above
    …

Rules:

- The origin's last label is ``invalid`` (RFC 2606): it names, and never resolves.
- The note is signed under the origin's name; lines of witnesses may follow.
- No extension lines; decimal numbers without leading zeros, below 2^63; padded base64.
- Every constructed object can be printed, every printed one parsed, and nothing else.

Specification: C2SP signed-note, tlog-checkpoint, tlog-proof; ``docs/spec/checkpoint.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError, UsageError, WrongError
from muniment.formats.dsse import Signer, decode_base64, encode_base64
from muniment.formats.merkle import EMPTY_ROOT, HASH_SIZE, verify_inclusion
from muniment.formats.signed_note import (
    MAX_SIGNATURES,
    Note,
    NoteSignature,
    decode_text,
    log_id,
    malformed,
    parse_vkey,
    vkey,
)
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring

__all__ = [
    "MAX_SIGNATURES",
    "Checkpoint",
    "Note",
    "NoteSignature",
    "TlogProof",
    "check_quoted",
    "log_id",
    "origin",
    "parse_vkey",
    "read_checkpoint",
    "read_vouched",
    "sign_checkpoint",
    "vkey",
]

_MAX_NUMBER = 2**63 - 1
_MAX_HASHES = 63
_HEADER = "c2sp.org/tlog-proof@v1"
_LEDGER_ID = re.compile(r"sha256:([0-9a-f]{64})")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def origin(ledger_id: str) -> str:
    """Return the origin of a ledger's checkpoints: ``l-<32 hex>.muniment.invalid``.

    Raises:
        UsageError: *ledger_id* is not ``sha256:<64 hex>``.

    """
    match = _LEDGER_ID.fullmatch(ledger_id)
    if match is None:
        raise UsageError(
            f"{ledger_id[:80]!r} is not a ledger id",
            rule="checkpoint/ledger-id",
            remedy="give sha256: and 64 hexadecimal digits",
        )
    return f"l-{match[1][:32]}.muniment.invalid"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How many events a ledger has, and the root over them.

    Raises:
        WrongError: a field that no checkpoint can carry; the rule names it.

    """

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        """Refuse fields that no checkpoint can carry."""
        if not self.origin:
            malformed("checkpoint/no-origin", "the first line, the origin, is empty")
        decode_text(self.origin, "checkpoint")
        if "\n" in self.origin:
            malformed("checkpoint/origin-line", "the origin is more than one line")
        _check_number(self.size, "checkpoint/size")
        if len(self.root) != HASH_SIZE:
            malformed("checkpoint/root-size", "the root is not 32 bytes")
        if self.size == 0 and self.root != EMPTY_ROOT:
            malformed("checkpoint/empty-root", "an empty tree has another root")

    def text(self) -> bytes:
        """Return the signed text: three lines."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n".encode()

    @classmethod
    def parse(cls, text: bytes | str) -> Checkpoint:
        """Read exactly what `text` writes.

        Raises:
            WrongError: anything else; the rule names the fault.

        """
        lines = decode_text(text, "checkpoint").split("\n")
        if lines[-1]:
            malformed("checkpoint/final-newline", "the last line has no end")
        if len(lines) < 4:  # noqa: PLR2004 - three lines and what follows the last end
            malformed("checkpoint/lines", "not three lines: origin, size, root")
        if len(lines) > 4:  # noqa: PLR2004 - the same
            malformed("checkpoint/extension", "extension lines after the root")
        size, root = _parse_number(lines[1], "checkpoint/size"), decode_base64(lines[2])
        if root is None:
            malformed(
                "checkpoint/root-base64", "the root is not standard padded base64"
            )
        return cls(lines[0], size, root)


def sign_checkpoint(checkpoint: Checkpoint, signer: Signer) -> bytes:
    """Return the note in which *signer*, as the origin, signs *checkpoint*."""
    name, text = checkpoint.origin, checkpoint.text()
    mark = log_id(name, signer.public)[:4]
    signature = NoteSignature(name, mark, signer.sign(text))
    return Note(text.decode(), (signature,)).to_bytes()


def read_checkpoint(
    note: bytes, origin: str, publics: Iterable[PublicKey]
) -> Checkpoint:
    """Return the checkpoint in *note*, signed as *origin* by one of *publics*.

    Raises:
        WrongError: not a note (``note/…``); not a checkpoint, or one of another ledger
            (``checkpoint/…``); not signed by any of them, or wrongly.

    """
    parsed = Note.parse(note)
    checkpoint = Checkpoint.parse(parsed.text)
    if checkpoint.origin != origin:
        malformed("checkpoint/origin", f"the checkpoint is of {checkpoint.origin}")
    if parsed.verify(origin, publics) is None:
        malformed("checkpoint/unsigned", "no known checkpoint key signed it")
    return checkpoint


def read_vouched(
    note: bytes, origin: str, keyring: Keyring
) -> tuple[Checkpoint, PublicKey]:
    """Return the checkpoint in *note*, and the key of the ledger that signed it.

    A note counts only if it was signed by a key that *keyring* has for checkpoints, and
    that held the role at the note's size. If the keyring ends before that size, the
    keys at its end count.

    Raises:
        WrongError: as `read_checkpoint`; ``checkpoint/interval`` if the key was a
            checkpoint key of the ledger, but not at that size.

    """
    parsed = Note.parse(note)
    checkpoint = Checkpoint.parse(parsed.text)
    if checkpoint.origin != origin:
        malformed("checkpoint/origin", f"the checkpoint is of {checkpoint.origin}")
    size = checkpoint.size
    signer = parsed.verify(origin, keyring.checkpoint_keys_at(size))
    if signer is not None:
        return checkpoint, signer
    every = [one.public for one in keyring.entries if "checkpoint" in one.roles]
    former = parsed.verify(origin, every)
    if former is None:
        malformed("checkpoint/unsigned", "no checkpoint key of this ledger signed it")
    what = f"{former.keyid} was not a checkpoint key of this ledger at size {size}"
    return malformed("checkpoint/interval", what)


def check_quoted(continues: JsonValue) -> None:
    """Refuse a successor whose quote is not a checkpoint of the ledger it names.

    Args:
        continues: that member of a genesis; None if the ledger succeeds none.

    Raises:
        WrongError: ``key/continues``.

    """
    if continues is None:
        return
    named = continues if isinstance(continues, dict) else {}
    what = "it is not a checkpoint"
    try:
        note = Note.parse(str(named.get("checkpoint")).encode("utf-8", "replace"))
        quoted = Checkpoint.parse(note.text)
        if quoted.origin == origin(str(named.get("ledger"))):
            return
        what = "it is not a checkpoint of the ledger that is named"
    except MunimentError:
        pass
    raise WrongError(
        what,
        rule="key/continues",
        seq=0,
        place="event 0 data.continues.checkpoint",
        remedy="quote the last checkpoint of the ledger that is continued",
    )


@dataclass(frozen=True, slots=True)
class TlogProof:
    """That one entry is in the tree of a checkpoint; checked without the ledger.

    Raises:
        WrongError: a field that no proof can carry; the rule names it.

    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint_note: bytes
    extra: bytes | None = None

    def __post_init__(self) -> None:
        """Refuse fields that no proof can carry."""
        _check_number(self.index, "tlog-proof/index")
        if len(self.hashes) > _MAX_HASHES:
            malformed("tlog-proof/too-many", f"more than {_MAX_HASHES} hashes")
        if any(len(value) != HASH_SIZE for value in self.hashes):
            malformed("tlog-proof/hash-size", "a hash is not 32 bytes")
        if self.extra == b"":
            malformed("tlog-proof/extra", "extra data is absent or at least one byte")
        decode_text(self.checkpoint_note, "tlog-proof")
        if not self.checkpoint_note.endswith(b"\n"):
            malformed("tlog-proof/checkpoint", "no checkpoint, or its last line is cut")

    def to_text(self) -> str:
        """Return the proof as it is stored and sent."""
        extra = "" if self.extra is None else f"extra {encode_base64(self.extra)}\n"
        hashes = "".join(encode_base64(value) + "\n" for value in self.hashes)
        note = decode_text(self.checkpoint_note, "tlog-proof")
        return f"{_HEADER}\n{extra}index {self.index}\n{hashes}\n{note}"

    @classmethod
    def parse(cls, data: bytes | str) -> TlogProof:
        """Read exactly what `to_text` writes.

        Raises:
            WrongError: anything else; the rule names the fault. `verify` judges the
                checkpoint itself.

        """
        head, blank, note = decode_text(data, "tlog-proof").partition("\n\n")
        header, *lines = head.split("\n")
        if header != _HEADER:
            malformed("tlog-proof/header", f"the first line is not {_HEADER}")
        if not blank:
            malformed("tlog-proof/blank-line", "no blank line before the checkpoint")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = decode_base64(lines.pop(0).removeprefix("extra "))
            if extra is None:
                malformed(
                    "tlog-proof/extra", "extra data is not standard padded base64"
                )
        if not lines or not lines[0].startswith("index "):
            malformed("tlog-proof/no-index", "no line says the index")
        number = lines.pop(0).removeprefix("index ")
        index = _parse_number(number, "tlog-proof/index")
        hashes: list[bytes] = []
        for line in lines:
            value = decode_base64(line)
            if value is None:
                malformed("tlog-proof/base64", "a hash is not standard padded base64")
            hashes.append(value)
        return cls(index, tuple(hashes), note.encode(), extra)

    def verify(
        self, leaf: bytes, origin: str, publics: Iterable[PublicKey]
    ) -> Checkpoint:
        """Return the checkpoint that, by this proof, covers the leaf hash *leaf*.

        Args:
            leaf: `muniment.formats.dsse.entry_hash` of the event, recomputed from its bytes.
            origin: the ledger that the caller expects.
            publics: its checkpoint keys, from a source that the caller trusts.

        Raises:
            WrongError: the checkpoint is refused, or the hashes do not lead to it.

        """
        checkpoint = read_checkpoint(self.checkpoint_note, origin, publics)
        if self.index >= checkpoint.size:
            malformed("tlog-proof/beyond", "the checkpoint's tree is smaller than that")
        if not verify_inclusion(
            leaf, self.index, checkpoint.size, self.hashes, checkpoint.root
        ):
            malformed("tlog-proof/inclusion", "the hashes do not lead to the root")
        return checkpoint


def _check_number(number: int, rule: str) -> None:
    if not 0 <= number <= _MAX_NUMBER:
        malformed(rule, "not a decimal number below 2^63 without leading zeros")


def _parse_number(text: str, rule: str) -> int:
    number = int(text) if _NUMBER.fullmatch(text) else -1
    _check_number(number, rule)
    return number
