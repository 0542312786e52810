"""Rows as readers get them: malformed rows are repaired for reading, and say so.

    seq 7  run.started {"name": 5}   →   Event(7, raw={"name": "", …}, fault="name …")
    seq 8  null                      →   Event(8, type="run.started", fault="no …")
    seq 9  execution.measured {"level": "gvisor"}   →   fault="data.layers is missing"

Rules:

- Readers continue whatever a row holds: one odd event hides no other. Whether a row is
  right is the verifier's question; this judges nothing.
- Data of a type that the kernel or an active plugin declares has the fields of its
  declaration, each with its type: a field that has another becomes its default, or an
  empty value. References to blobs are complete, and in fields that may be kept outside. In
  a field that nothing declares, what is no value stays as it was signed.
- Of other types, those that programs register too, nothing is known when they are read: a
  program changes its own as it likes. What a plugin's upcaster reads, it reads alone.
- `Event.fault` names the first odd thing; the signed bytes stay as they are in
  `Event.payload`. Whatever continues from a record, or hands it on as evidence, refuses an
  event with a fault: `as_signed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode, encode
from muniment.encoding.registry import UNBUILT
from muniment.errors import CannotTellError, MunimentError, UsageError, WrongError
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.events.effect_types import effect_types
from muniment.events.fields import (
    BLOB,
    LARGE,
    UNSURE,
    VEILED,
    Check,
    Mark,
    PlainData,
    check_of,
    fields_of,
)
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventType
from muniment.formats.statement import BlobRef, Event, read_event, when

__all__ = ["Declared", "as_signed", "readable", "references", "repaired", "undeclared"]

_NEVER = "1970-01-01T00:00:00.000000Z"
_TAG = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+")

_NO_VALUE = "is not a value"

Declared: TypeAlias = Callable[[str], EventType | None]
"""Returns the event type of a name if a plugin declares it."""


class _Field(NamedTuple):
    check: Check
    empty: JsonValue
    """What a reader gets in its place: the default, or an empty value."""
    required: bool
    outside: bool
    """Whether it may be a reference to a blob."""


_Fields = Mapping[str, _Field]


def undeclared(_: str) -> None:
    """Know no type of a plugin."""


def readable(
    row: tuple[Any, Any, Any], *parts: Any, declared: Declared = undeclared
) -> Event:
    """Return the event of a row, repaired where necessary.

    Args:
        row: the columns seq, type and run.
        parts: the columns payload, signature, key and hash.
        declared: what the active plugins declare.

    """
    try:
        event = read_event(*parts)
    except WrongError as error:
        return _nothing(row, parts, error.message)
    fault = _fault_of_place(event, row)
    if fault:
        return _nothing(row, parts, fault)
    return repaired(event, declared)


def repaired(event: Event, declared: Declared) -> Event:
    """Return *event* with the fields that its type declares; the same if it has them."""
    fields = _fields_of(event, declared)
    found: dict[str, tuple[str, JsonValue]] = {}
    for name, value in event.raw.items():
        one = fields.get(name, _ANYTHING)
        why = _odd(value, one)
        if why:
            kept = value if why == _NO_VALUE and name not in fields else one.empty
            found[name] = why, kept
    for name in fields.keys() - event.raw.keys():
        if fields[name].empty is not None:
            found[name] = "is missing", fields[name].empty
    lacking = {name for name in found if name in fields and fields[name].required}
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


def _odd(value: JsonValue, field: _Field) -> str:
    """Say what is odd about the *value* of a field; nothing if it is as declared."""
    check = field.check
    if type(value) is dict and "$blob" in value:
        whole = (
            isinstance(tag := value["$blob"], str)
            and _TAG.fullmatch(tag)
            and type(size := value.get("size")) is int
            and size >= 0
            and isinstance(value.get("media", ""), str)
            and value.keys() <= {"$blob", "media", "size"}
        )
        if whole and not field.outside:
            return "is a reference to a blob"
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


_ANYTHING = _Field(_anything, None, required=False, outside=True)


@cache
def _models() -> dict[str, Any]:
    effects = (made for kind in KERNEL_KINDS for made in effect_types(kind.name))
    return {one.name: one.model for one in (*KERNEL_TYPES, *effects)}


def _fields_of(event: Event, declared: Declared) -> _Fields:
    """Return the fields that readers take from an event like *event*."""
    model: Any = _models().get(event.type)
    if model is None:
        known = declared(event.type)
        is_read = known is not None and event.version == known.version
        model = known.model if known is not None and is_read else None
    elif event.version != 1:
        model = None
    return {} if model is None else _fields(model)


@cache
def _fields(model: Any) -> _Fields:
    """Return the declared fields of *model*, by name."""
    found: dict[str, _Field] = {}
    if issubclass(model, PlainData):
        for name, annotation in fields_of(model).items():
            marks = getattr(annotation, "__metadata__", ())
            default = encode(getattr(model, name, _empty(annotation)))
            required = not hasattr(model, name)
            found[name] = _field(annotation, marks, default, required=required)
        return found
    for name, info in model.model_fields.items():
        told, empty = info.annotation, encode(_empty(info.annotation))
        found[name] = _field(told, info.metadata, empty, required=info.is_required())
    return found


def _field(
    annotation: Any, marks: Collection[object], empty: JsonValue, *, required: bool
) -> _Field:
    """Return the field; anything fits where only pydantic knows what does."""
    try:
        plain = all(isinstance(one, Mark) for one in marks)
        check = check_of(annotation, "") if plain else _anything
    except (UsageError, TypeError):
        check = _anything
    outside = not {BLOB, LARGE, VEILED}.isdisjoint(marks)
    return _Field(check, empty, required, outside)


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
