"""Calls of tools in messages: read whatever is there, written only in a known shape.

    {"id": "c1", "name": "lookup", "arguments": {"order": 7}}
    {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{…}"}}

Rules:

- Calls that are added have an id and a name. What else they have is kept apart, as private.
- Reading never fails: a ledger may hold what an earlier version took.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn, cast

from muniment.errors import UsageError

__all__ = [
    "UNHEARD",
    "call_text",
    "calls_of",
    "open_calls",
    "require_calls",
    "without_results",
]

UNHEARD = "what called it ended before"
"""Why a call has no result, if whoever asked is not there any more."""

Members = Mapping[str, object]
_SHAPE = '{"id": "c1", "name": "…", "arguments": {…}}'
_MEMBERS = ("id", "name", "arguments", "type", "function")
_INNER = ("name", "arguments")


def require_calls(calls: object) -> tuple[list[object], list[object]]:
    """Return *calls* as a message has them, and what is kept apart of them.

    Raises:
        UsageError: they are none.

    """
    if not isinstance(calls, list | tuple):
        _refuse(f"calls of tools are a list, not a {type(calls).__name__}", "")
    made: list[object] = []
    private: list[object] = []
    for number, one in enumerate(cast("Sequence[object]", calls)):
        shown, besides = _required(one, f"[{number}]")
        made.append(shown)
        private += [besides] if besides else []
    return made, private


def _required(call: object, place: str) -> tuple[dict[str, object], dict[str, object]]:
    if not isinstance(call, Mapping):
        _refuse(f"a call of a tool is an object, not a {type(call).__name__}", place)
    members = dict(cast("Members", call))
    inner = members.get("function")
    if inner is not None and not isinstance(inner, Mapping):
        _refuse(
            f"a function is an object, not a {type(inner).__name__}",
            f"{place}.function",
        )
    told, where = members, place
    if inner is not None:
        told = dict(cast("Members", inner))
        where = f"{place}.function"
    for owner, name, at in ((members, "id", place), (told, "name", where)):
        value = owner.get(name)
        if not isinstance(value, str) or not value:
            _refuse(f"a call of a tool has no {name}", f"{at}.{name}")
    shown = {name: one for name, one in members.items() if name in _MEMBERS}
    besides = {name: one for name, one in members.items() if name not in _MEMBERS}
    if inner is not None:
        shown["function"] = {key: told[key] for key in told if key in _INNER}
        more = {key: told[key] for key in told if key not in _INNER}
        besides |= {"function": more} if more else {}
    return shown, {"id": members["id"], **besides} if besides else {}


def calls_of(message: Members) -> list[object]:
    """Return the calls of a *message*; none if it has something else in their place."""
    calls = message.get("tool_calls")
    return list(cast("list[object]", calls)) if isinstance(calls, list | tuple) else []


def call_text(call: object) -> str:
    """Return a *call* of a message as one text, whatever it is."""
    if not isinstance(call, Mapping):
        return call if isinstance(call, str) else json.dumps(call, default=str)
    members = cast("Members", call)
    inner = members.get("function")
    told = cast("Members", inner) if isinstance(inner, Mapping) else members
    given = told.get("arguments")
    text = given if isinstance(given, str) else json.dumps(given, default=str)
    return f"{told.get('name')}({text})"


def without_results(
    messages: Sequence[Members], why: str = UNHEARD
) -> list[dict[str, str]]:
    """Return a result that says *why* there is none, for each call that was left open."""
    text = f"error: no result: {why}"
    return [
        {"role": "tool", "tool_call_id": key, "content": text}
        for key in open_calls(messages)
    ]


def open_calls(messages: Sequence[Members]) -> list[str]:
    """Return the ids of the calls of the last answer in *messages* that have no result."""
    answered: list[object] = []
    for one in reversed(messages):
        if one.get("role") == "tool":
            answered.append(one.get("tool_call_id"))
            continue
        ids = [
            cast("Members", call).get("id")
            for call in calls_of(one)
            if isinstance(call, Mapping)
        ]
        return [str(key) for key in ids if key is not None and key not in answered]
    return []


def _refuse(message: str, place: str) -> NoReturn:
    raise UsageError(
        message,
        rule="session/message",
        place=f"message.tool_calls{place}",
        remedy=f"write each as {_SHAPE}",
    )
