"""The data of the kernel's own events, as the writer would have accepted it.

    run.started   name, seed: text; params: a reference; labels: texts by name …

Rules:

- A writer validates what it writes; somebody with its key need not. So the fields of the
  kernel's types are described here again, and compared: version 1 of each, from version
  2 of the events on.
- A field that has to be there is there, and each known field has its type. A field that
  is not known may come from a later edition, and is no fault.
- Types about keys are the keyring's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

__all__ = ["KERNEL", "fault"]

Check: TypeAlias = Callable[[Any], bool]
Fields: TypeAlias = Mapping[str, tuple[Check, bool]]


def _text(value: Any) -> bool:
    return type(value) is str


def _flag(value: Any) -> bool:
    return type(value) is bool


def _integer(value: Any) -> bool:
    return type(value) is int or _tagged(value, "$int")


def _number(value: Any) -> bool:
    return type(value) in (int, float) or _tagged(value, "$float")


def _tagged(value: Any, tag: str) -> bool:
    return type(value) is dict and value.keys() == {tag}


def _content(value: Any) -> bool:
    return type(value) is dict and "$blob" in value


def _object(value: Any) -> bool:
    return type(value) is dict


def _list(value: Any) -> bool:
    return type(value) is list


def _texts(value: Any) -> bool:
    return type(value) is list and all(map(_text, cast("Iterable[Any]", value)))


def _by_name(check: Check) -> Check:
    def checked(value: Any) -> bool:
        return type(value) is dict and all(
            map(check, cast("dict[str, Any]", value).values())
        )

    return checked


def _or_content(check: Check) -> Check:
    return lambda value: check(value) or _content(value)


def _anything(_: Any) -> bool:
    return True


_LONG = _or_content(_text)
_OBJECTS = _or_content(_list)
_NAMES = _by_name(_text)
_END = {"counts": _by_name(_integer), "duration_us": _integer}


def _fields(need: dict[str, Check], may: dict[str, Check]) -> Fields:
    required = {name: (check, True) for name, check in need.items()}
    return required | {name: (check, False) for name, check in may.items()}


KERNEL: Mapping[str, Fields] = {
    "note.added": _fields({"text": _LONG}, {"details": _content}),
    "blob.erased": _fields({"blobs": _texts, "reason": _LONG}, {"legal_basis": _text}),
    "plugin.failed": _fields(
        {"plugin": _text, "hook": _text, "error_type": _text, "message": _content},
        {"event": _integer},
    ),
    "replay.judged": _fields(
        {"replay_of": _text, "mode": _text, "verdict": _text, "compared": _integer},
        {"guards": _list, "findings": _content, "level": _text},
    ),
    "claim.stated": _fields(
        {"id": _text, "text": _LONG}, {"acceptance": _or_content(_object)}
    ),
    "run.started": _fields(
        {"name": _text, "seed": _text},
        {
            "program": _object,
            "params": _content,
            "labels": _NAMES,
            "replay_of": _text,
            "plugins": _NAMES,
            "environment": _object,
            "owner": _object,
        },
    ),
    "run.resumed": _fields(
        {"generation": _integer},
        {"program": _object, "owner": _object, "took_over": _flag},
    ),
    "run.interrupted": _fields({"reason": _text}, {}),
    "run.completed": _fields({"root": _text}, {**_END, "result": _content}),
    "run.failed": _fields(
        {"root": _text, "error_type": _text, "message": _content},
        {**_END, "status": _text, "cause": _list},
    ),
    "clock.read": _fields({"time": _text}, {}),
    "verdict.reached": _fields(
        {"hypothesis": _text, "verifier": _text},
        {
            "passed": _flag,
            "source": _text,
            "p_value": _number,
            "result": _anything,
            "settings": _or_content(_object),
            "inputs": _OBJECTS,
            "integrity": _text,
            "level": _text,
        },
    ),
    "property.tested": _fields(
        {"name": _text, "transform": _text, "passed": _flag},
        {
            "metric": _text,
            "tolerance": _number,
            "difference": _number,
            "details": _content,
        },
    ),
    "synthesis.attempted": _fields(
        {"code": _LONG, "accepted": _flag},
        {
            "attempt": _integer,
            "entrypoint": _text,
            "origin": _text,
            "rule": _text,
            "message": _text,
            "line": _integer,
            "column": _integer,
        },
    ),
}
"""Type → its fields: what each must be, and whether it has to be there."""


def fault(kind: str, data: Mapping[str, Any]) -> str:
    """Say what is wrong with the *data* of a kernel event; empty where nothing is."""
    for name, (check, required) in KERNEL.get(kind, {}).items():
        if name in data:
            if not check(data[name]):
                return f"data.{name} is not what {kind} has there"
        elif required:
            return f"{kind} has no data.{name}"
    return ""
