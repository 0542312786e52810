"""The data of the kernel's own events, as the writer would have accepted it.

    run.started   name, seed: text; params: a reference; labels: texts by name …

Rules:

- A writer validates its events; somebody with its key need not. So the fields of the
  kernel's types are described here again, and compared: version 1 of each, from version
  2 of the events on; of decisions, from version 4 on.
- A required field is there, and each known field has its type. An unknown field may
  come from a later edition, and is not a fault.
- A number that JSON lacks is spelled as values are. Nothing else in data is decoded.
- The keyring checks the types about keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode
from muniment.errors import WrongError
from muniment.format_versions import DECISIONS, KERNEL_DATA
from muniment.verification.report import MALFORMED

__all__ = ["KERNEL", "FieldCheck", "Fields", "described", "fault"]


@dataclass(frozen=True, slots=True)
class FieldCheck:
    """Tells whether a value is valid for a field."""

    name: str
    """What the specification calls such a field."""
    types: frozenset[type]
    """All values of these types are valid: this is checked first, for every event."""
    others: Callable[[Any], bool] = lambda _: False
    """Tells whether a value of another type is valid."""

    def __call__(self, value: Any) -> bool:
        """Tell whether *value* is valid."""
        return type(value) in self.types or self.others(value)


Fields: TypeAlias = Mapping[str, tuple[FieldCheck, bool]]

_ABSENT = object()


def _check(
    name: str, *types: type, others: Callable[[Any], bool] = lambda _: False
) -> FieldCheck:
    return FieldCheck(name, frozenset(types), others)


def _tagged(tag: str) -> Callable[[Any], bool]:
    def checked(value: Any) -> bool:
        if type(value) is not dict or value.keys() != {tag}:
            return False
        try:
            decode(cast("JsonValue", value))
        except (WrongError, *MALFORMED):
            return False  # not as `encode` writes it
        return True

    return checked


def _is_content(value: Any) -> bool:
    return type(value) is dict and "$blob" in value


def _or_content(check: FieldCheck) -> FieldCheck:
    return FieldCheck(
        f"{check.name} or reference",
        check.types,
        lambda value: check.others(value) or _is_content(value),
    )


def _list_of(check: FieldCheck) -> FieldCheck:
    def checked(value: Any) -> bool:
        return type(value) is list and all(map(check, cast("Iterable[Any]", value)))

    return _check(f"list of {check.name}", others=checked)


def _by_name(check: FieldCheck) -> FieldCheck:
    def checked(value: Any) -> bool:
        named = cast("dict[str, Any]", value)
        return type(value) is dict and all(map(check, named.values()))

    return _check(f"object of {check.name}", others=checked)


_TEXT = _check("text", str)
_FLAG = _check("boolean", bool)
_INTEGER = _check("integer", int, others=_tagged("$int"))
_NUMBER = _check("number", int, float, others=_tagged("$float"))
_CONTENT = _check("reference", others=_is_content)
_OBJECT = _check("object", dict)
_LIST = _check("list", list)
_ANYTHING = _check("anything", bool, dict, float, int, list, str, type(None))
_TEXTS = _list_of(_TEXT)
_LONG = _or_content(_TEXT)
_OBJECTS = _or_content(_LIST)
_NAMES = _by_name(_TEXT)
_END = {
    "counts": _by_name(_INTEGER),
    "duration_us": _INTEGER,
    "visibility": _TEXT,
}


def _fields(need: dict[str, FieldCheck], may: dict[str, FieldCheck]) -> Fields:
    required = {name: (check, True) for name, check in need.items()}
    return required | {name: (check, False) for name, check in may.items()}


KERNEL: Mapping[str, Fields] = {
    "note.added": _fields({"text": _LONG}, {"details": _CONTENT, "visibility": _TEXT}),
    "blob.erased": _fields({"blobs": _TEXTS, "reason": _LONG}, {"legal_basis": _TEXT}),
    "plugin.failed": _fields(
        {"plugin": _TEXT, "hook": _TEXT, "error_type": _TEXT, "message": _CONTENT},
        {"event": _INTEGER},
    ),
    "plugin.refused": _fields(
        {"plugin": _TEXT, "event_type": _TEXT, "scope": _TEXT, "reason": _CONTENT}, {}
    ),
    "replay.judged": _fields(
        {"replay_of": _TEXT, "mode": _TEXT, "verdict": _TEXT, "compared": _INTEGER},
        {
            "guards": _LIST,
            "findings": _CONTENT,
            "level": _TEXT,
            "details": _CONTENT,
            "children": _INTEGER,
        },
    ),
    "claim.stated": _fields(
        {"id": _TEXT, "text": _LONG}, {"acceptance": _or_content(_OBJECT)}
    ),
    "run.started": _fields(
        {"name": _TEXT, "seed": _TEXT},
        {
            "program": _OBJECT,
            "params": _CONTENT,
            "labels": _NAMES,
            "labelled": _NAMES,
            "replay_of": _TEXT,
            "plugins": _NAMES,
            "environment": _OBJECT,
            "owner": _OBJECT,
            "parent": _NAMES,
            "fork": _OBJECT,
            "changed": _CONTENT,
            "visibility": _TEXT,
        },
    ),
    "run.resumed": _fields(
        {"generation": _INTEGER},
        {
            "program": _OBJECT,
            "owner": _OBJECT,
            "took_over": _FLAG,
            "supersedes": _LIST,
        },
    ),
    "run.interrupted": _fields({"reason": _TEXT}, {}),
    "run.paused": _fields(
        {"reason": _LONG}, {"waits_for": _TEXTS, "visibility": _TEXT}
    ),
    "run.canceled": _fields(
        {"reason": _LONG, "generation": _INTEGER}, {"visibility": _TEXT}
    ),
    "run.marked": _fields({"mark": _TEXT, "reason": _LONG}, {}),
    "pause.stated": _fields({"reason": _LONG}, {"visibility": _TEXT}),
    "decision.asked": _fields(
        {"subject": _CONTENT, "quorum": _INTEGER},
        {"prompt": _CONTENT, "of": _TEXTS, "visibility": _TEXT},
    ),
    "decision.given": _fields({"envelope": _OBJECT}, {}),
    "decision.reached": _fields(
        {"asked": _TEXT, "outcome": _TEXT, "answers": _LIST}, {}
    ),
    "decision.refused": _fields({"rule": _TEXT, "envelope": _TEXT}, {"asked": _TEXT}),
    "run.completed": _fields({"root": _TEXT}, {**_END, "result": _CONTENT}),
    "run.failed": _fields(
        {"root": _TEXT, "error_type": _TEXT, "message": _CONTENT},
        {**_END, "status": _TEXT, "cause": _LIST},
    ),
    "clock.read": _fields({"time": _TEXT}, {"answered_by": _OBJECT}),
    "verdict.reached": _fields(
        {"hypothesis": _TEXT, "verifier": _TEXT},
        {
            "passed": _FLAG,
            "source": _TEXT,
            "p_value": _NUMBER,
            "result": _ANYTHING,
            "settings": _or_content(_OBJECT),
            "inputs": _OBJECTS,
            "integrity": _TEXT,
            "level": _TEXT,
        },
    ),
    "property.tested": _fields(
        {"name": _TEXT, "transform": _TEXT, "passed": _FLAG},
        {
            "metric": _TEXT,
            "tolerance": _NUMBER,
            "difference": _NUMBER,
            "details": _CONTENT,
        },
    ),
    "synthesis.attempted": _fields(
        {"code": _LONG, "accepted": _FLAG},
        {
            "attempt": _INTEGER,
            "entrypoint": _TEXT,
            "origin": _TEXT,
            "rule": _TEXT,
            "message": _TEXT,
            "line": _INTEGER,
            "column": _INTEGER,
        },
    ),
}
"""Type → its fields: the check of each, and whether it is required."""


def described(version: int) -> Mapping[str, Fields]:
    """Return the types whose data is looked at where events have this *version*."""
    if version < KERNEL_DATA:
        return {}
    if version >= DECISIONS:
        return KERNEL
    return {one: KERNEL[one] for one in KERNEL if not one.startswith("decision.")}


def fault(kind: str, data: Mapping[str, Any]) -> str:
    """Say what is wrong with the *data* of a kernel event; empty if nothing is."""
    for name, (check, required) in KERNEL.get(kind, {}).items():
        value = data.get(name, _ABSENT)
        if type(value) in check.types:
            continue
        if value is _ABSENT:
            if required:
                return f"{kind} has no data.{name}"
        elif not check.others(value):
            return f"data.{name} is not what {kind} has there"
    return ""
