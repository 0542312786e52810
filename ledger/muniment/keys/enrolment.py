"""One key as an event enrols it, with its proofs of possession.

    {"keyid": "SHA256:bbXpuKG6…", "name": "ci runner",
     "possession": {"writer": "<b64 signature over possession_message>"},
     "public": "11qYAYKx…=", "roles": ["writer"]}

Rules:

- Exactly these members, ``name`` being optional; ``keyid`` is the one of ``public``.
- ``roles`` lists some of approver, checkpoint, root, writer, each once.
- A key with the role checkpoint is Ed25519: signed notes know no P-256 key for logs.
- ``possession`` has one proof for each role, by the new key itself, over a message that
  names the ledger (in a genesis: its nonce), the key and the role.
- Binary values are canonical base64: one value, one spelling.

Each violation is a `WrongError` with a rule of its own, placed within ``data``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from muniment.encoding.canonical import JsonValue, sha256_tag
from muniment.errors import KeyRefused, WrongError
from muniment.keys.ed25519 import ROLES, PublicKey, possession_message
from muniment.keys.p256 import low_s

__all__ = [
    "JsonObject",
    "KeyEntry",
    "enrolment",
    "genesis_context",
    "next_root_commitment",
    "read_entry",
    "read_members",
    "read_text",
    "wrong",
]

JsonObject = Mapping[str, JsonValue]

_ENTRY = ("keyid", "possession", "public", "roles")


class _Possessor(Protocol):
    """A key that can sign its own enrolment, such as a ``Signer``."""

    @property
    def public(self) -> PublicKey: ...

    def sign(self, message: bytes, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One key and its interval: since < seq ≤ until (genesis keys: from event 0)."""

    public: PublicKey
    roles: tuple[str, ...]
    name: str
    since: int
    until: int | None = None

    @property
    def keyid(self) -> str:
        """The name that ``ssh-keygen -lf`` prints."""
        return self.public.keyid


def enrolment(
    key: _Possessor, roles: Sequence[str], context: str, name: str = ""
) -> dict[str, JsonValue]:
    """Return the entry that enrols *key* for *roles*, proofs of possession included.

    Args:
        key: the new key; it signs for itself.
        roles: some of `muniment.keys.ed25519.ROLES`.
        context: the ledger id, or `genesis_context` in ``ledger.opened``.
        name: what people call the key.

    """
    public = key.public
    proofs: dict[str, JsonValue] = {
        role: _b64(_proof(key, possession_message(context, public, role)))
        for role in roles
    }
    entry: dict[str, JsonValue] = {
        "keyid": public.keyid,
        "possession": proofs,
        "public": _b64(public.raw),
        "roles": list(roles),
    }
    return {**entry, "name": name} if name else entry


def _proof(key: _Possessor, message: bytes) -> bytes:
    proof = key.sign(message)
    return proof if key.public.algorithm == "ed25519" else low_s(proof)


def genesis_context(nonce: str) -> str:
    """Return the possession context of a genesis with *nonce* (64 hex digits)."""
    return f"nonce:{nonce}"


def next_root_commitment(public: PublicKey) -> str:
    """Return the value of ``next_root`` that makes *public* the next root."""
    return sha256_tag(public.raw)


def read_entry(value: JsonValue, context: str, seq: int, place: str) -> KeyEntry:
    """Return the key that *value* enrols with event *seq*; check all it claims."""
    members = read_members(value, place, _ENTRY, ("name",))
    name = read_text(members, "name", place) if "name" in members else ""
    public = _public(members, place)
    roles = _roles(members["roles"], f"{place}.roles")
    if "checkpoint" in roles and public.algorithm != "ed25519":
        what = "has the role checkpoint, which only an Ed25519 key can have"
        wrong("checkpoint-algorithm", what, f"{place}.roles")
    where = f"{place}.possession"
    proofs = read_members(members["possession"], where, roles)
    for role in roles:
        signature = _bytes(proofs, role, where)
        if not public.verify(signature, possession_message(context, public, role)):
            what = f"does not prove possession of {public.keyid} as {role} here"
            wrong("possession", what, f"{where}.{role}")
    return KeyEntry(public, roles, name, seq)


def _public(members: JsonObject, place: str) -> PublicKey:
    try:
        public = PublicKey(_bytes(members, "public", place))
    except KeyRefused as error:
        raise WrongError(
            error.message, rule=error.rule, place=f"{place}.public"
        ) from None
    if read_text(members, "keyid", place) != public.keyid:
        wrong("keyid", f"is not {public.keyid}", f"{place}.keyid")
    return public


def _roles(value: JsonValue, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        wrong("roles", "is not a list of roles", place)
    roles = tuple(role for role in value if isinstance(role, str) and role in ROLES)
    if len(roles) != len(value):
        wrong("roles", f"knows only the roles {', '.join(ROLES)}", place)
    if len(set(roles)) != len(roles):
        wrong("roles", "names a role twice", place)
    return roles


def read_members(
    value: JsonValue, place: str, required: Iterable[str], optional: Iterable[str] = ()
) -> JsonObject:
    """Return *value*, an object with the *required* members, maybe *optional* ones."""
    if not isinstance(value, dict):
        wrong("type", "is not an object", place)
    for name in required:
        if name not in value:
            wrong("missing-member", "is missing", f"{place}.{name}")
    for name in value.keys() - {*required, *optional}:
        wrong("unknown-member", "is not a member that belongs here", f"{place}.{name}")
    return value


def read_text(
    members: JsonObject, name: str, place: str, form: re.Pattern[str] | None = None
) -> str:
    """Return the text *name* of *members*, which must have the *form*."""
    value = members[name]
    if not isinstance(value, str):
        wrong("type", "is not a text", f"{place}.{name}")
    if form is not None and form.fullmatch(value) is None:
        wrong("form", f"does not match {form.pattern}", f"{place}.{name}")
    return value


def _bytes(members: JsonObject, name: str, place: str) -> bytes:
    text = read_text(members, name, place)
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = None
    if raw is None or _b64(raw) != text:
        wrong("base64", "is not canonical base64", f"{place}.{name}")
    return raw


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def wrong(rule: str, message: str, place: str) -> NoReturn:
    """Raise the violation of ``key/<rule>`` at *place*; the caller knows the seq."""
    raise WrongError(message, rule=f"key/{rule}", place=place)
