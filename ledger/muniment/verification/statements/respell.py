"""Comparing a row of the log with the one spelling that its statement can have.

    {"_type":"https://in-toto.io/Statement/v1","predicate":{"data":…,"muniment":{"actor":…,
    "ledger":…,"ordinal":…,"prev":…,"run":…,"scope":…,"seq":…,"tenant":…,"time":…,
    "type":…,"version":…}},"predicateType":"urn:muniment:event:…:v…","subject":[…]}

Rules:

- A statement is sound if, written again from the few values that an event is free to
  choose and from its place in the log, it gives the stored bytes. That one comparison
  proves shape, canonical form, seq, prev, ledger and predicate type.
- Free are data, actor, ordinal, run, scope, series, tenant, time, type, version and
  subjects. The comparison cannot prove their own type and form, which are checked here.
- Pieces that repeat in event after event (actor, run, type) are checked and written
  once.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, cast

from orjson import OPT_SORT_KEYS, OPT_STRICT_INTEGER, dumps

from muniment.encoding.canonical import JsonValue, canonical
from muniment.format_versions import FORMATS, SERIES
from muniment.formats.series import read_series, series_json
from muniment.verification.statements.statement import (
    MAX_INTEGER,
    is_run_id,
    is_type_name,
)

__all__ = ["Rewriter"]

_HEAD = b'{"_type":"https://in-toto.io/Statement/v1","predicate":{"data":'
_OWN = b'[{"digest":{"sha256":"%b"},"name":"data.json"}]}'
_KIND = (
    b'","type":"%b","version":%d}},"predicateType":"urn:muniment:event:%b:v%d",'
    b'"subject":'
)
_IN_RUN = _HEAD + b'%b%b"ordinal":%d,"prev":"%b%b%d%b%b%b%b'
_ALONE = _HEAD + b'%b%b"prev":"%b","seq":%d%b%b%b%b'
_GENESIS = _HEAD + b'%b%b"seq":0%b%b%b%b'

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NESTING = 50
_FLAT = frozenset({str, int, bool, type(None)})
_STRICT = OPT_SORT_KEYS | OPT_STRICT_INTEGER
_REMEMBERED = 4096


class Rewriter:
    """Writes statements of one ledger again."""

    __slots__ = ("_actors", "_kinds", "_ledger", "_places", "_tenants", "version")

    def __init__(self) -> None:
        self.version = FORMATS["event"]
        """The version of the events, as the genesis states it."""
        self._ledger = b""
        self._actors: dict[object, bytes] = {}
        self._tenants: dict[object, bytes] = {}
        self._kinds: dict[tuple[object, object], bytes] = {}
        self._places: dict[tuple[object, object], bytes] = {}

    def expect(self, ledger: str) -> None:
        """Write the ledger id into every statement from here on: after the genesis."""
        self._ledger = b'"ledger":"%b",' % ledger.encode()
        self._actors.clear()

    def rewrite(
        self, predicate: Any, subject: Any, row: tuple[int, Any, Any], prev: bytes
    ) -> tuple[bytes, bool]:
        """Return the bytes of the statement with these free values at this place.

        Odd shapes raise `KeyError`, `TypeError`, `AttributeError`, `ValueRefused`, …:
        then the statement is not sound.

        Args:
            predicate: that of the parsed payload.
            subject: that of the parsed payload.
            row: the columns seq, type and run, which the bytes must repeat.
            prev: the previous leaf hash in hex; empty for the genesis.

        Returns:
            The bytes, and whether the statement is *plain*: about nothing but its own
            data, which holds neither objects nor lists, and in no series.

        """
        seq, name, run = row
        chain, data = predicate["muniment"], predicate["data"]
        plain = _FLAT.issuperset(map(type, data.values()))
        content = dumps(data, None, _STRICT)
        if not content.isascii() or not (plain or _is_plain(data.values(), _NESTING)):
            canonical([predicate])  # the depth of the whole counts
            content = canonical(data)
        if len(subject) == 1 and subject[0]["name"] == "data.json":
            about = _OWN % hexlify(sha256(content).digest())
        else:
            plain, about = False, _written_subject(subject, content)
        actor, tenant = chain["actor"], chain["tenant"]
        kind = name, chain["version"]
        who = self._actors.get(actor) or self._learn_actor(actor)
        whose = self._tenants.get(tenant) or self._learn_tenant(tenant)
        what = self._kinds.get(kind) or self._learn_kind(*kind)
        when = chain["time"].encode()
        if "series" in chain:
            plain, whose = False, self._written_series(chain["series"], prev) + whose
        if run is not None:
            lane, ordinal = (run, chain["scope"]), chain["ordinal"]
            where = self._places.get(lane) or self._learn_place(*lane)
            if not 0 <= ordinal <= MAX_INTEGER or not prev:
                raise TypeError
            place = who, ordinal, prev, where, seq
            return _IN_RUN % (content, *place, whose, when, what, about), plain
        if prev:
            text = _ALONE % (content, who, prev, seq, whose, when, what, about)
            return text, plain
        return _GENESIS % (content, who, whose, when, what, about), plain

    def _written_series(self, series: object, prev: bytes) -> bytes:
        if self.version < SERIES or not prev:
            raise TypeError
        return b',"series":%b' % series_json(read_series(series))

    def _learn_actor(self, actor: object) -> bytes:
        text = b',"muniment":{"actor":%b,%b' % (_quoted(actor), self._ledger)
        return _remember(self._actors, actor, text)

    def _learn_tenant(self, tenant: object) -> bytes:
        return _remember(
            self._tenants, tenant, b',"tenant":%b,"time":"' % _quoted(tenant)
        )

    def _learn_kind(self, name: Any, version: Any) -> bytes:
        if not (is_type_name(name) and 0 < version <= MAX_INTEGER):
            raise TypeError
        text = _KIND % (name.encode(), version, name.encode(), version)
        return _remember(self._kinds, (name, version), text)

    def _learn_place(self, run: Any, scope: object) -> bytes:
        if not is_run_id(run):
            raise TypeError
        text = b'","run":"%b","scope":%b,"seq":' % (run.encode(), _quoted(scope))
        return _remember(self._places, (run, scope), text)


def _remember(known: dict[Any, bytes], key: object, text: bytes) -> bytes:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = text
    return text


def _quoted(value: object) -> bytes:
    if type(value) is not str:
        raise TypeError
    return dumps(value)


def _is_plain(values: Iterable[object], depth: int) -> bool:
    """Tell whether orjson, which wrote ASCII, wrote these as RFC 8785 does.

    Only floats may differ; it refuses integers beyond 2^53, and sorts ASCII names as
    RFC 8785 does.
    """
    for value in values:
        kind = type(value)
        if kind in _FLAT:
            continue
        if kind is float or not depth:
            return False
        inner = cast("dict[str, object] | list[object]", value)
        items = inner.values() if isinstance(inner, dict) else inner
        if not (_FLAT.issuperset(map(type, items)) or _is_plain(items, depth - 1)):
            return False
    return True


def _written_subject(subject: Any, content: bytes) -> bytes:
    digest = sha256(content).hexdigest()
    again: list[JsonValue] = []
    for one in subject:
        name, value = one["name"], one["digest"]["sha256"]
        if type(name) is not str or not _DIGEST.fullmatch(value):
            raise TypeError
        if name == "data.json" and value != digest:
            raise TypeError
        again.append({"digest": {"sha256": value}, "name": name})
    if not again:
        raise TypeError
    return canonical(again) + b"}"
