"""Comparing runs: what two runs of the same program must have in common.

    entry          SHA-256(canonical([scope, type, data]))
    result digest  SHA-256(canonical({"entries": {scope: [entry, …]}, "result": …}))

Rules:

- Data is compared without its volatile fields and with contents in place of their
  commitments: salts, times, durations, hosts and positions differ between honest runs.
- Help is not compared either, such as the remedy of an error: it says what to do, not
  what happened.
- What a fact says beside its data, subjects and series, is no part of the result digest;
  `muniment.recorded.links` says how it is compared.
- The entries of a scope are sorted: which of two parallel effects was written first is
  not part of the result. Their order is compared separately, and reported as a finding.
- An effect counts once, by its last attempt; the facts that its performer recorded
  count as part of it. Lifecycle events and plugins' facts do not count.
- A result digest is computed, never stored: over short contents it would confirm a
  guess of what was erased.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import (
    JsonValue,
    canonical,
    parse,
    plainly,
    sha256_tag,
)
from muniment.encoding.codec import decode
from muniment.encoding.native import reread
from muniment.encoding.registry import ValueTypes
from muniment.encoding.texts import hidden
from muniment.events.types import Content, EventType, EventTypes, Prepared
from muniment.formats.statement import BlobRef, Event

__all__ = [
    "EFFECT_SCOPE",
    "PLUGIN_SCOPE",
    "Digest",
    "Reading",
    "comparable",
    "comparable_event",
    "content_bytes",
    "differences",
    "entry",
    "entry_of",
    "first_difference",
    "is_compared",
    "is_of_plugin",
    "outcome_difference",
    "twin_of",
]

EFFECT_SCOPE = "@"
"""The first letter of the scope segment that belongs to one effect's performer."""

PLUGIN_SCOPE = "plugin"
"""The first segment of the scopes that hold facts of plugins' hooks."""

ReadContent = Callable[[BlobRef], bytes]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the events of a ledger are read with."""

    types: EventTypes
    content: ReadContent
    version: int
    """The version of ``event`` that its genesis states."""


def is_compared(scope: str) -> bool:
    """Tell whether the facts of *scope* are part of a run's result."""
    return not is_of_plugin(scope) and not any(
        segment.startswith(EFFECT_SCOPE) for segment in scope.split("/")
    )


def is_of_plugin(scope: str) -> bool:
    """Tell whether *scope* holds facts that a plugin states beside the program."""
    return scope.partition("/")[0] == PLUGIN_SCOPE


def comparable(prepared: Prepared) -> dict[str, JsonValue]:
    """Return the data of an event that is about to be written, as it is compared."""
    volatile = prepared.type.volatile
    data = {n: v for n, v in prepared.inline.items() if n not in volatile}
    for name, content in prepared.contents.items():
        if name not in volatile:
            data[name] = _as_json(content.data, content.media)
    return _without_help(data, prepared.type)


def comparable_event(
    event: Event, event_type: EventType | None, read: ReadContent
) -> dict[str, JsonValue]:
    """Return the data of a recorded *event*, as it is compared.

    Raises:
        ErasedError: a content that is needed was erased.

    """
    raw = event.raw
    volatile: frozenset[str] = frozenset()
    if event_type is not None:
        raw, volatile = event_type.upcast(event.version, raw), event_type.volatile
    data: dict[str, JsonValue] = {}
    for name, value in raw.items():
        if name in volatile:
            continue
        if type(value) is dict and "$blob" in value:
            ref = BlobRef.from_json(value)
            data[name] = _as_json(read(ref), ref.media)
        else:
            data[name] = value
    return data if event_type is None else _without_help(data, event_type)


def _without_help(
    data: dict[str, JsonValue], event_type: EventType
) -> dict[str, JsonValue]:
    for path in event_type.helps:
        data = cast("dict[str, JsonValue]", _without(data, path.split(".")))
    return data


def _without(value: JsonValue, path: list[str]) -> JsonValue:
    """Return *value* without the value at *path*, otherwise unchanged."""
    step, *rest = path
    if isinstance(value, list) and step == "*":
        return [_without(one, rest) for one in value]
    if not isinstance(value, dict) or step not in value:
        return value
    if rest:
        return {**value, step: _without(value[step], rest)}
    return {name: one for name, one in value.items() if name != step}


def _as_json(content: bytes, media: str) -> JsonValue:
    if media.startswith("application/json"):
        return parse(content)
    if media.startswith("text/plain"):
        return content.decode()
    return {"$bytes": base64.b64encode(content).decode()}


def outcome_difference(
    recorded: tuple[str, dict[str, JsonValue]],
    got: tuple[str, dict[str, JsonValue]],
    hide: Callable[[str], str],
) -> tuple[str, JsonValue, JsonValue] | None:
    """Return how two outcomes differ, each a type and its data.

    The texts of errors are compared as they would be written here, on both sides.
    """
    difference = first_difference(recorded[0], got[0], "type")
    if difference is not None:
        return difference
    if not got[0].endswith(".failed"):
        return first_difference(recorded[1], got[1])
    return first_difference(_said(recorded[1], hide), _said(got[1], hide))


def _said(data: dict[str, JsonValue], hide: Callable[[str], str]) -> JsonValue:
    told = {name: data[name] for name in ("message", "data") if name in data}
    return {**data, **cast("dict[str, JsonValue]", hidden(told, hide))}


def entry(scope: str, kind: str, data: dict[str, JsonValue]) -> str:
    """Return the hash (hex) of one fact as it counts for the result digest.

    Written in parts, since each content may be as deep as canonical JSON goes.
    """
    return _hash(scope, kind, {name: canonical(data[name]) for name in data})


def entry_of(scope: str, kind: str, prepared: Prepared) -> str:
    """Return the `entry` of an event that is about to be written.

    Its contents are canonical JSON already: they are hashed as they are.
    """
    if prepared.type.helps:
        return entry(scope, kind, comparable(prepared))
    volatile = prepared.type.volatile
    inline, data = prepared.inline, prepared.written
    if not volatile.isdisjoint(inline):
        inline, data = {n: v for n, v in inline.items() if n not in volatile}, b""
    if prepared.contents.keys() <= volatile:
        if data:
            return hashlib.sha256(_place(scope, kind) + data + b"]").hexdigest()
        whole = plainly([scope, kind, inline])
        if whole is not None:
            return hashlib.sha256(whole).hexdigest()
    parts = {n: canonical(v) for n, v in inline.items()}
    for name, content in prepared.contents.items():
        if name not in volatile:
            is_json = content.media == "application/json"
            parts[name] = (
                content.data
                if is_json
                else canonical(_as_json(content.data, content.media))
            )
    return _hash(scope, kind, parts)


def _hash(scope: str, kind: str, parts: Mapping[str, bytes]) -> str:
    """Return the hash of a fact whose members are canonical JSON."""
    digest = hashlib.sha256(_place(scope, kind))
    before = b"{"
    for name in sorted(parts):
        digest.update(before + canonical(name) + b":")
        digest.update(parts[name])  # as it is: some take many megabytes
        before = b","
    digest.update(b"}]" if parts else b"{}]")
    return digest.hexdigest()


def _place(scope: str, kind: str) -> bytes:
    return b"[%b,%b," % (canonical(scope), canonical(kind))


class Digest:
    """The entries of a run, collected as it goes; 64 characters for each fact."""

    def __init__(self) -> None:
        self._entries: dict[str, list[str]] = {}

    def add(self, scope: str, kind: str, data: dict[str, JsonValue] | Prepared) -> None:
        """Count one fact, unless it is not compared."""
        if is_compared(scope):
            fact = entry_of if isinstance(data, Prepared) else entry
            self._entries.setdefault(scope, []).append(fact(scope, kind, data))  # type: ignore[arg-type] # each its own

    def result(self, result: JsonValue) -> str:
        """Return the result digest, ``sha256:<hex>``, with the program's *result*."""
        entries: dict[str, JsonValue] = {
            scope: cast("JsonValue", sorted(hashes))
            for scope, hashes in self._entries.items()
        }
        return sha256_tag(
            b'{"entries":%b,"result":%b}' % (canonical(entries), canonical(result))
        )


def first_difference(
    expected: JsonValue, got: JsonValue, path: str = ""
) -> tuple[str, JsonValue, JsonValue] | None:
    """Return path, expected and got of the first place where two values differ."""
    return next(differences(expected, got, path), None)


def differences(
    expected: JsonValue, got: JsonValue, path: str = ""
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield path, expected and got of every place where two values differ.

    A value that only one of them has is None in the other. Of lists of different
    lengths, equal elements at the beginning and at the end are left out.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        yield from _of_members(expected, got, path)
    elif isinstance(expected, list) and isinstance(got, list):
        yield from _of_elements(expected, got, path)
    elif type(expected) is not type(got) or expected != got:
        yield path, expected, got


def _of_members(
    expected: dict[str, JsonValue], got: dict[str, JsonValue], path: str
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    for name in sorted(expected.keys() | got.keys()):
        at = f"{path}.{name}" if path else name
        if name in expected and name in got:
            yield from differences(expected[name], got[name], at)
        else:
            yield at, expected.get(name), got.get(name)


def _of_elements(
    expected: list[JsonValue], got: list[JsonValue], path: str
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    shorter = min(len(expected), len(got))
    start = end = 0
    if len(expected) != len(got):
        while start < shorter and _same(expected[start], got[start]):
            start += 1
        while end < shorter - start and _same(expected[-1 - end], got[-1 - end]):
            end += 1
    for position in range(start, shorter - end):
        yield from differences(expected[position], got[position], f"{path}[{position}]")
    for position in range(shorter - end, len(expected) - end):
        yield f"{path}[{position}]", expected[position], None
    for position in range(shorter - end, len(got) - end):
        yield f"{path}[{position}]", None, got[position]


def _same(one: JsonValue, other: JsonValue) -> bool:
    return first_difference(one, other) is None


def content_bytes(prepared: Prepared, name: str) -> bytes:
    """Return the canonical bytes of the content *name*; ``null`` if there is none."""
    return prepared.contents.get(name, Content(b"null")).data


def twin_of(
    prepared: Prepared, name: str, values: ValueTypes, given: object = None
) -> object:
    """Return the field *name* as the record gives it back: equal, shared with nobody.

    *given* is the value that was written, if it is at hand.
    """
    content = prepared.contents.get(name)
    if content is None or not content.plain:
        return decode(parse(content_bytes(prepared, name)), values)
    return reread(given, content.data)
