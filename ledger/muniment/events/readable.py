"""Rows as readers get them: malformed rows are repaired for reading, and say so.

    seq 7  run.started {"name": 5}   →   Event(7, raw={"name": "", …}, fault="name …")
    seq 8  null                      →   Event(8, type="run.started", fault="no …")

Rules:

- Readers continue whatever a row holds: one odd event hides no other. Whether a row is
  right is the verifier's question; this judges nothing.
- Data of a kernel type has the fields of its declaration, each with its type: a field
  that has another becomes its default, or an empty value. References to blobs are
  complete. In a field that nothing declares, what is no value stays as it was signed.
- `Event.fault` names the first odd thing; the signed bytes stay as they are in
  `Event.payload`. Whatever continues from a record, or hands it on as evidence, refuses an
  event with a fault: `as_signed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, get_args, get_origin

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode
from muniment.encoding.registry import UNBUILT
from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.events.effect_types import effect_types
from muniment.events.fields import UNSURE, Check, check_of, fields_of
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.formats.statement import BlobRef, Event, read_event, when

__all__ = ["as_signed", "readable", "references"]

_NEVER = "1970-01-01T00:00:00.000000Z"
_TAG = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+")

_NO_VALUE = "is not a value"

_Fields = Mapping[str, tuple[Check, Any]]


def readable(row: tuple[Any, Any, Any], *parts: Any) -> Event:
    """Return the event of a row, repaired where necessary.

    Args:
        row: the columns seq, type and run.
        parts: the columns payload, signature, key and hash.

    """
    try:
        event = read_event(*parts)
    except WrongError as error:
        return _nothing(row, parts, error.message)
    fault = _fault_of_place(event, row)
    if fault:
        return _nothing(row, parts, fault)
    fields: _Fields = _fields(event.type) if event.version == 1 else {}
    found: dict[str, tuple[str, JsonValue]] = {}
    for name, value in event.raw.items():
        check, empty = fields.get(name, _ANYTHING)
        why = _odd(value, check)
        if why:
            kept = value if why == _NO_VALUE and name not in fields else empty
            found[name] = why, kept
    for name in fields.keys() - event.raw.keys():
        if fields[name][1] is not None:
            found[name] = "is missing", fields[name][1]
    lacking = {name for name in found if name in _required(event.type)}
    faults = sorted(name for name in found if name in lacking or name in event.raw)
    if not faults:
        return event
    mended = {**event.raw, **{name: found[name][1] for name in faults}}
    return replace(event, _data=mended, fault=f"data.{faults[0]} {found[faults[0]][0]}")


def as_signed(event: Event) -> Event:
    """Return the *event*, of which readers see what was signed.

    Raises:
        WrongError: it was repaired.

    """
    if event.fault:
        raise WrongError(
            f"the event is malformed: {event.fault}",
            rule="event/malformed",
            seq=event.seq,
            place=f"event {event.seq} {event.type}",
            remedy="such a record can be neither continued nor handed on; "
            f"`muniment events show {event.seq}` prints what was signed",
        )
    return event


def references(event: Event) -> dict[str, BlobRef]:
    """Return the references to blobs in the data, by field; no value is decoded."""
    return {
        name: BlobRef.from_json(value)
        for name, value in event.raw.items()
        if type(value) is dict and "$blob" in value
    }


def _nothing(row: tuple[Any, Any, Any], parts: tuple[Any, ...], why: str) -> Event:
    """Return an event for a row that holds no statement, or one of another place."""
    seq, kind, run = row
    payload, signature, key, leaf = (
        part if isinstance(part, bytes) else b"" for part in parts
    )
    return Event(
        seq=seq,
        type=kind if isinstance(kind, str) and _NAME.fullmatch(kind) else "no.type",
        version=0,
        time=_NEVER,
        actor="",
        tenant="",
        hash=leaf.hex(),
        run=run if isinstance(run, str) else None,
        scope="" if isinstance(run, str) else None,
        ordinal=0 if isinstance(run, str) else None,
        payload=payload,
        signature=signature,
        key=key,
        fault=why,
    )


def _fault_of_place(event: Event, row: tuple[Any, Any, Any]) -> str:
    seq, kind, run = row
    if (event.seq, event.type, event.run) != (seq, kind, run):
        return f"it says it is event {event.seq!r:.20} of type {event.type!r:.40}"
    texts = (event.type, event.time, event.actor, event.tenant)
    if not all(type(one) is str for one in texts) or type(event.version) is not int:
        return "its own fields are of other kinds"
    placed = type(event.scope) is str and type(event.ordinal) is int
    if run is not None and not placed:
        return "it has no place in its run"
    try:
        when(event.time)
    except ValueError:
        return f"its time is {event.time!r:.40}"
    return "" if type(event.raw) is dict else "its data is not an object"


def _odd(value: JsonValue, check: Check) -> str:
    """Say what is odd about the *value* of a field; nothing if it is as declared."""
    if type(value) is dict and "$blob" in value:
        whole = (
            isinstance(tag := value["$blob"], str)
            and _TAG.fullmatch(tag)
            and type(size := value.get("size")) is int
            and size >= 0
            and isinstance(value.get("media", ""), str)
            and value.keys() <= {"$blob", "media", "size"}
        )
        return "" if whole else "is not a whole reference to a blob"
    try:
        read = UNSURE if type(value) in (dict, list) else check(value)
        if read is UNSURE:
            read = check(decode(value))
    except WrongError:
        return _NO_VALUE
    except MunimentError:
        # A value of an unregistered class still has an encoded form.
        well = check(value) is not UNSURE and _is_well_made(value)
        return "" if well else _NO_VALUE
    return "is of another kind" if read is UNSURE else ""


def _is_well_made(value: JsonValue) -> bool:
    """Tell whether each tag in *value* has content of its form, whatever its class."""
    try:
        decode(value, UNBUILT)
    except CannotTellError:  # what reads arrays is not installed
        return True
    except WrongError:
        return False
    return True


def _anything(value: object) -> object:
    return value


_ANYTHING: tuple[Check, Any] = (_anything, None)


@cache
def _models() -> dict[str, Any]:
    effects = (made for kind in KERNEL_KINDS for made in effect_types(kind.name))
    return {one.name: one.model for one in (*KERNEL_TYPES, *effects)}


@cache
def _fields(kind: str) -> _Fields:
    """Return the check of each field of the type, and its replacement."""
    model = _models().get(kind)
    if model is None:
        return {}
    return {
        name: (check_of(annotation, name), getattr(model, name, _empty(annotation)))
        for name, annotation in fields_of(model).items()
    }


@cache
def _required(kind: str) -> frozenset[str]:
    model = _models().get(kind)
    return frozenset(one for one in _fields(kind) if not hasattr(model, one))


_EMPTY: dict[Any, Callable[[], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: bool,
    list: list,
    dict: dict,
}


def _empty(annotation: Any) -> Any:
    """Return an empty value of the declared type."""
    if hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return get_args(annotation)[0]
    return _EMPTY.get(origin, lambda: None)()
