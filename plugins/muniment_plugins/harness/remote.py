"""A call of a function in another process: bytes there, bytes back.

    {"function": {"import": "triage:load", …}, "arguments": [{"value": [1, 2]}]}
    {"value": [1, 2, 3]}        {"error": {"type": "ValueError", "message": "…"}}

Rules:

- A function goes by its import path, a value as JSON with NumPy and Arrow inside; never
  pickle, in neither direction. What has no such form is refused before it is sent.
- ``__main__`` is not importable elsewhere, and neither is a lambda or a closure.
- What the function raises is raised again, under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Never, cast

import orjson

from muniment.canonical import JsonValue
from muniment.errors import MunimentError, UsageError, ValueRefused, printable
from muniment.plugins import Plugins
from muniment.values import decode, encode
from muniment_plugins.harness.claims import Claim, Spec, as_values
from muniment_plugins.harness.handouts import Given, Told
from muniment_plugins.harness.hosts import settled
from muniment_plugins.harness.references import (
    Function,
    Remembered,
    plain,
    recall,
    refer,
)
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["hook_task", "require_importable", "serve", "task", "unpacked"]

Row = dict[str, object]


def require_importable(function: Function, executor: str) -> None:
    """Refuse a function that no other process finds.

    Raises:
        UsageError: it is a lambda or a closure, or it stands in ``__main__``.

    """
    path = str(refer(function)["import"])
    module, _, name = path.partition(":")
    if "<" not in name and module != "__main__":
        return
    raise UsageError(
        f"{name} of {module} cannot be imported by another process",
        rule="harness/import",
        place=f'executor="{executor}"',
        remedy="put it into a module as a plain function, or use the threads executor",
    )


def task(
    function: Function, arguments: tuple[object, ...], named: Mapping[str, object]
) -> bytes:
    """Return the call of *function* as bytes.

    Raises:
        HarnessRefused: an argument has no exact form.

    """
    return orjson.dumps(
        {
            "function": refer(function),
            "arguments": [_packed(one, "argument") for one in arguments],
            "named": {name: _packed(one, name) for name, one in named.items()},
        }
    )


def hook_task(name: str, request: Mapping[str, object]) -> bytes:
    """Return the question *name* to the plugins over there, as bytes."""
    return orjson.dumps({"hook": name, "request": _packed(dict(request), name)})


def _packed(value: object, place: str) -> Row:
    if isinstance(value, Claim | Spec):
        return {type(value).__name__: value.to_json()}
    if isinstance(value, Told):
        known = value.known.items()
        return {"context": {name: _packed(one, name) for name, one in known}}
    if isinstance(value, Given):
        value = value.value
    if callable(value):
        return {"reference": refer(value)}
    try:
        return {"value": encode(value)}
    except ValueRefused as refusal:
        raise HarnessRefused(
            f"{place} cannot go to another process: {refusal.message}",
            rule="harness/value",
            place=refusal.place,
            remedy="give JSON values, NumPy arrays or Arrow tables",
        ) from refusal


def _unpacked(packed: Row) -> object:
    ((kind, content),) = packed.items()
    if kind == "value":
        return decode(cast("JsonValue", content))
    if kind == "reference":
        return Remembered(cast("Row", content))
    if kind == "context":
        told = cast("dict[str, Row]", content)
        everything = {name: _unpacked(one) for name, one in told.items()}
        return Told(everything)
    members = cast("Row", content)
    return Claim.of(members) if kind == "Claim" else Spec.recorded(members)


def serve(sent: bytes) -> bytes:
    """Do what *sent* asks for, where this is called; return what came of it."""
    try:
        asked: dict[str, Row] = orjson.loads(sent)
        answer = _asked(asked) if "hook" in asked else _called(asked)
        return orjson.dumps({"value": encode(as_values(answer))})
    except Exception as error:  # noqa: BLE001 - it is raised again over there
        return orjson.dumps({"error": _told(error)})


def _called(asked: dict[str, Row]) -> object:
    function = plain(recall(asked["function"]))
    arguments = cast("list[Row]", asked["arguments"])
    named = cast("dict[str, Row]", asked["named"])
    return settled(
        function(
            *(_unpacked(one) for one in arguments),
            **{name: _unpacked(one) for name, one in named.items()},
        )
    )


def _asked(asked: dict[str, Row]) -> object:
    request = _unpacked(asked["request"])
    return _plugins().first(str(asked["hook"]), run=None, request=request)


@cache
def _plugins() -> Plugins:
    """Return what is installed here, looked up once in a process."""
    return Plugins()


def _told(error: Exception) -> Row:
    told: Row = {"type": type(error).__name__, "message": printable(error)}
    if isinstance(error, MunimentError):
        told["message"] = error.message
        told["refused"] = [error.rule, error.place, error.remedy]
    try:
        told["data"] = encode(getattr(error, "data", None))
    except ValueRefused:
        told["data"] = None  # type and message have to do, as in a run
    return told


def unpacked(answer: bytes) -> object:
    """Return what `serve` answered, or raise what the function raised."""
    said = cast("Row", orjson.loads(answer))
    if "error" in said:
        _raise(cast("Row", said["error"]))
    return decode(cast("JsonValue", said["value"]))


def _raise(told: Row) -> Never:
    name, message = str(told["type"]), str(told["message"])
    if "refused" in told:
        rule, place, remedy = cast("list[str]", told["refused"])
        refused = type(name, (HarnessRefused,), {})
        raise refused(message, rule=rule, place=place, remedy=remedy)
    raise type(name, (Exception,), {"data": told["data"]})(message)
