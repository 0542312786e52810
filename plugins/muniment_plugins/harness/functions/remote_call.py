"""A function call in another process: bytes there, bytes back.

    {"function": {"import": "triage:load", …}, "arguments": [{"value": [1, 2]}]}
    {"value": [1, 2, 3]}        {"error": {"type": "ValueError", "message": "…"}}

Rules:

- A function is sent as its import path, a value as JSON with NumPy and Arrow inside;
  never as pickle, in either direction. A value without such a form is refused before it
  is sent.
- ``__main__`` is not importable elsewhere, and neither is a lambda or a closure.
- The function's exception is raised again, under its own name.
- Over there `current_run()` has the id, the scope and the idempotency key, and records
  nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Never, cast

import orjson

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode, encode
from muniment.errors import MunimentError, UsageError, ValueRefused, printable
from muniment.plugins import Plugins
from muniment.programs.references import Function, Remembered, path_of, plain, refer
from muniment.runs.executors import Executor, Send
from muniment.runs.lanes.elsewhere import lane_elsewhere, told_lane
from muniment_plugins.harness.claim import Claim, Spec, as_values
from muniment_plugins.harness.functions.handouts import Given, Told
from muniment_plugins.harness.functions.hosts import Caller, Host, Inline, settled
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, recall
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["SERVE", "Away", "host_of", "require_importable", "serve", "task"]

SERVE = f"{__name__}:serve"
"""The function that an executor calls elsewhere."""

Row = dict[str, object]


def require_importable(function: Function, executor: str) -> None:
    """Refuse a function that other processes cannot find.

    Raises:
        UsageError: it is a lambda or a closure, or is defined in ``__main__``.

    """
    described = refer(function)
    module, _, name = path_of(described).partition(":")
    if "name" in described or ("<" not in name and module != "__main__"):
        return
    raise UsageError(
        f"{name} of {module} cannot be imported by another process",
        rule="harness/import",
        place=f'executor="{executor}"',
        remedy="put it into a module as a plain function, or use the threads executor",
    )


@contextmanager
def host_of(executor: Executor, caller: Caller | None) -> Generator[Host]:
    """Give the host of one run, which calls functions through *executor*."""
    with executor.host(SERVE) as send:
        if send is None:
            yield Inline(caller)
        else:
            yield Away(send, executor.reach == "machine")


@dataclass(frozen=True, slots=True)
class Away:
    """A host that sends bytes somewhere and waits for bytes."""

    send: Send
    executes: bool
    """Whether code runs over there too: a capsule is a process anyway."""

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Call *function* over there."""
        return _unpacked_answer(self.send(task(function, arguments, named)))

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Run code in the capsule over there, or ask the plugins of the run."""
        if not self.executes:
            return around.hook("execute_code", request=request)
        sent = {"hook": "execute_code", "request": _packed(dict(request), "request")}
        return _unpacked_answer(self.send(orjson.dumps(sent)))


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
            "lane": told_lane(),
        }
    )


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
        return Remembered(cast("Row", content), NO_SOURCES)
    if kind == "context":
        told = cast("dict[str, Row]", content)
        everything = {name: _unpacked(one) for name, one in told.items()}
        return Told(everything)
    members = cast("Row", content)
    return Claim.of(members) if kind == "Claim" else Spec.recorded(members)


def serve(sent: bytes) -> bytes:
    """Do what *sent* asks for, in this process; return the answer or the error."""
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
    with lane_elsewhere(asked.get("lane")):
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
    """Return the plugins installed here, looked up once per process."""
    return Plugins()


def _told(error: Exception) -> Row:
    told: Row = {"type": type(error).__name__, "message": printable(error)}
    if isinstance(error, MunimentError):
        told["message"] = error.message
        told["refused"] = [error.rule, error.place, error.remedy]
    try:
        told["data"] = encode(getattr(error, "data", None))
    except ValueRefused:
        told["data"] = None  # type and message are enough, as in a run
    return told


def _unpacked_answer(answer: bytes) -> object:
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
