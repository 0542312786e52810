r"""A C2SP signed note: a text, a blank line and the lines of its signers.

    example.com/log                                        any text, UTF-8
    15
                                                           (a blank line)
    — example.com/log NaFLfyu0QcPf…avgI=                   name, base64(mark || signature)

Rules:

- The *mark* is 4 bytes of SHA-256 over name, key type and key: which key to try. A line
  of a known key must verify; lines of unknown keys (witnesses) are kept and ignored.
- No control character but the newline; the last blank line of the message ends the
  text; at most 100 lines; standard padded base64.
- Every constructed object can be printed, every printed one parsed, and nothing else.

Specification: C2SP signed-note; ``docs/spec/checkpoint.md``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from muniment.errors import UsageError, WrongError
from muniment.formats.dsse import decode_base64, encode_base64
from muniment.keys.ed25519 import PublicKey

__all__ = [
    "MAX_SIGNATURES",
    "Note",
    "NoteSignature",
    "decode_text",
    "log_id",
    "malformed",
    "parse_vkey",
    "vkey",
]

MAX_SIGNATURES = 100
"""More signature lines than this are refused, as in golang.org/x/mod/sumdb/note."""

_MAX_BYTES = 1_000_000
_MARK_SIZE = 4
_ED25519 = b"\x01"
_DASH = "— "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")
_VKEY = re.compile(r"([^+]*)\+([0-9a-f]{8})\+(.*)", re.DOTALL)


def log_id(name: str, public: PublicKey) -> bytes:
    """Return the 32 bytes that name a key in a log; its first 4 mark signature lines.

    Sigstore's ``logId.keyId`` is the whole of it.
    """
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public.raw).digest()


def vkey(name: str, public: PublicKey) -> str:
    """Return the verifier key ``<name>+<8 hex>+<b64>`` that note tools take."""
    _check_name(name, "vkey/name")
    if public.algorithm != "ed25519":
        raise UsageError(
            f"{public.keyid} is a P-256 key, and notes are signed by Ed25519 keys",
            rule="vkey/algorithm",
            remedy="give the key of the log: muniment keys export --role checkpoint",
        )
    key = encode_base64(_ED25519 + public.raw)
    return f"{name}+{log_id(name, public)[:4].hex()}+{key}"


def parse_vkey(text: str) -> tuple[str, PublicKey]:
    """Return the name and the key that `vkey` put into *text*.

    Raises:
        WrongError: anything else; the rule names the fault.
        KeyRefused: the key itself is refused.

    """
    match = _VKEY.fullmatch(text)
    if match is None:
        malformed("vkey/shape", "not <name>+<8 hexadecimal digits>+<base64>")
    name, mark, key = match[1], match[2], decode_base64(match[3])
    _check_name(name, "vkey/name")
    if key is None:
        malformed("vkey/base64", "the key is not standard padded base64")
    if key[:1] != _ED25519:
        malformed("vkey/algorithm", "the key is not of type 1 (Ed25519)")
    public = PublicKey(key[1:])
    if log_id(name, public)[:4].hex() != mark:
        malformed("vkey/mark", "the 8 digits are not those of this name and key")
    return name, public


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: who claims to sign, with which key, and the signature.

    Raises:
        WrongError: the name is empty or has a space or plus; the bytes are missing.

    """

    name: str
    mark: bytes
    signature: bytes

    def __post_init__(self) -> None:
        """Refuse fields that no line can carry."""
        _check_name(self.name, "note/name")
        if len(self.mark) != _MARK_SIZE or not self.signature:
            malformed("note/short", "a signature line has 4 bytes and a signature")

    def line(self) -> str:
        """Return the line with its end."""
        return f"{_DASH}{self.name} {encode_base64(self.mark + self.signature)}\n"

    @classmethod
    def parse(cls, line: str) -> NoteSignature:
        """Read *line* without its end."""
        if not line.startswith(_DASH):
            malformed("note/line", "a line after the blank one is not a signature")
        name, separator, text = line.removeprefix(_DASH).partition(" ")
        if not separator:
            malformed("note/line", "a signature line has no base64 after the name")
        value = decode_base64(text)
        if value is None:
            malformed("note/base64", "a signature is not standard padded base64")
        return cls(name, value[:_MARK_SIZE], value[_MARK_SIZE:])


@dataclass(frozen=True, slots=True)
class Note:
    """A text and the lines that sign it; any text, checkpoint or not.

    Raises:
        WrongError: the text has control characters or no final newline, or there are
            no signatures, or more than `MAX_SIGNATURES`.

    """

    text: str
    signatures: tuple[NoteSignature, ...]

    def __post_init__(self) -> None:
        """Refuse a text or signatures that no note can carry."""
        decode_text(self.text, "note")
        if not self.text.endswith("\n"):
            malformed("note/final-newline", "the text does not end with a newline")
        if not self.signatures:
            malformed("note/unsigned", "there is no signature line")
        if len(self.signatures) > MAX_SIGNATURES:
            malformed("note/too-many", f"more than {MAX_SIGNATURES} signature lines")

    def to_bytes(self) -> bytes:
        """Return the note as it is stored and sent."""
        return (self.text + "\n" + "".join(s.line() for s in self.signatures)).encode()

    @classmethod
    def parse(cls, data: bytes) -> Note:
        """Read exactly what `to_bytes` writes.

        Raises:
            WrongError: anything else; the rule names the fault.

        """
        message = decode_text(data, "note")
        if not message.endswith("\n"):
            malformed("note/final-newline", "the note does not end with a newline")
        end = message.rfind("\n\n")
        if end < 0:
            malformed("note/blank-line", "no blank line ends the text")
        lines = message[end + 2 : -1]
        if not lines:
            malformed("note/unsigned", "there is no signature line")
        signatures = tuple(NoteSignature.parse(line) for line in lines.split("\n"))
        return cls(message[: end + 1], signatures)

    def verify(self, name: str, publics: Iterable[PublicKey]) -> PublicKey | None:
        """Return the first of *publics* that signed as *name*; ``None`` if none did.

        Raises:
            WrongError: a line claims to be by one of them, but is not.

        """
        keys = [(log_id(name, public)[:4], public) for public in publics]
        text, signer = self.text.encode(), None
        for line in self.signatures:
            claimed = [
                key for mark, key in keys if (line.name, line.mark) == (name, mark)
            ]
            made = [key for key in claimed if key.verify(line.signature, text)]
            if claimed and not made:
                malformed(
                    "note/signature", f"the signature of {claimed[0].keyid} is wrong"
                )
            signer = signer or next(iter(made), None)
        return signer


def decode_text(data: bytes | str, what: str) -> str:
    """Return *data* as text that a note may hold.

    Args:
        data: not more than a million bytes of UTF-8.
        what: the first part of the rule of a refusal (``note``, ``checkpoint``, …).

    Raises:
        WrongError: too long, not UTF-8, or with a control character but the newline.

    """
    if len(data) > _MAX_BYTES:
        malformed(f"{what}/too-long", f"more than {_MAX_BYTES} bytes")
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError:
        malformed(f"{what}/encoding", "not UTF-8")
    if _CONTROL.search(text):
        malformed(f"{what}/control", "a control character other than newline")
    return text


def _check_name(name: str, rule: str) -> None:
    one_word = name.split() == [name]
    if not one_word or "+" in name or _CONTROL.search(name):
        malformed(rule, "a name is not empty and has neither space nor plus")


def malformed(rule: str, message: str) -> NoReturn:
    """Refuse a note, or something in it, by the *rule* that it breaks."""
    raise WrongError(
        message,
        rule=rule,
        place=rule.partition("/")[0],
        remedy="get it again from its source; if it stays so, trust nothing that it says",
    )
