"""Orders to erase: contents are erased only if a signed event names them.

    {"key": "<b64>", "payload": "<b64>", "signature": "<b64>"}

The trust home keeps the ``blob.erased`` event of each erasure in this form, so that an
older copy loses the contents too.

Rules: an order counts if it is a ``blob.erased`` of this ledger, signed by a key that
was allowed to sign it at its place. A list without one orders nothing: somebody who can
write to the trust home, but has no key, destroys nothing.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError
from muniment.formats.dsse import entry_hash, pae, spki_base64
from muniment.formats.statement import Event, read_event
from muniment.keys.ed25519 import PublicKey
from muniment.keys.keyring import Keyring
from muniment.storage.connections import Execute

__all__ = ["last_order", "ordered", "orders_in", "orders_of"]

_LAST = "SELECT payload, signature, key FROM event ORDER BY seq DESC LIMIT 1"
_ALL = "SELECT payload, signature, key FROM event WHERE type = 'blob.erased'"
_TAG = re.compile(r"sha256:[0-9a-f]{64}")
_PARTS = ("payload", "signature", "key")

_Row = tuple[bytes, bytes, bytes]


def last_order(execute: Execute) -> dict[str, JsonValue]:
    """Return the last event of the log in the form that the trust home keeps."""
    row = cast("_Row", execute(_LAST).fetchone())
    parts = (base64.b64encode(part).decode() for part in row)
    return dict(zip(_PARTS, parts, strict=True))


def orders_in(execute: Execute) -> Iterator[_Row]:
    """Yield payload, signature and key of each ``blob.erased`` of the log."""
    yield from cast("Iterable[_Row]", execute(_ALL).fetchall())


def orders_of(events: Iterable[JsonValue]) -> Iterator[_Row]:
    """Yield the same from the trust home's *events*; skip malformed ones."""
    for one in events:
        parts = [one.get(name) for name in _PARTS] if isinstance(one, dict) else []
        texts = [part for part in parts if isinstance(part, str)]
        try:
            payload, signature, key = (base64.b64decode(text) for text in texts)
        except ValueError:
            continue
        yield payload, signature, key


def ordered(rows: Iterable[_Row], keyring: Keyring) -> set[str]:
    """Return the contents that the orders in *rows* name, if they count."""
    found: set[str] = set()
    for row in rows:
        try:
            event = _checked(row, keyring)
        except (MunimentError, TypeError, ValueError):
            continue
        listed = event.raw.get("blobs") if event is not None else None
        if isinstance(listed, list):
            found.update(tag for tag in listed if isinstance(tag, str))
    return {tag for tag in found if _TAG.fullmatch(tag)}


def _checked(row: _Row, keyring: Keyring) -> Event | None:
    payload, signature, raw = row
    public = PublicKey(bytes(raw))
    leaf = entry_hash(payload, signature, spki_base64(public))
    event = read_event(payload, signature, public.raw, leaf)
    counts = (
        event.type == "blob.erased"
        and event.ledger == keyring.ledger_id
        and keyring.could_sign(event.seq, public.raw, event.type)
        and public.verify(signature, pae(payload))
    )
    return event if counts else None
