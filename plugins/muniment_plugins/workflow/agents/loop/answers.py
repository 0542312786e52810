"""The answers of a model, and whether one that calls nothing is the last.

    {"text": "…", "tool_calls": [{"id": "c1", "name": "read", "arguments": {…}}],
     "finish_reason": "tool_calls", "usage": {…}, "cost": {"usd": "0.002"}}

Rules:

- An answer that cannot be read fails the node, and never passes for a last one.
- Calls get ids of their own where the provider gives none, or one twice.
- The last answer is a value only if the loop has a schema. It is looked for in the whole
  text, then in the only block of code in it; nothing is guessed. An object with a key twice
  is none.
- What a provider says that an answer took is relied on within bounds; else it is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.events.token_counts import tokens_taken
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.runtime.half_answers import cut_short
from muniment_plugins.workflow.tools.schemas import argument_fault

__all__ = [
    "AgentAnswer",
    "AgentCall",
    "Unfit",
    "before_sentinel",
    "read_answer",
    "read_value",
    "spent",
]

Members: TypeAlias = Mapping[str, object]
_SAID = ("text", "tool_calls")
_MONEY = Context(prec=28)
_LEAST, _MOST = Decimal("1e-12"), Decimal(10**9)
"""What an answer can cost in US dollars, if it costs something."""
_LONGEST = 64
"""Characters of a number: what has more is none that somebody asks for."""
_BLOCK = re.compile(r"```[a-zA-Z0-9_-]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call of a tool that a model asked for."""

    position: int
    """From 0, in its answer."""
    id: str
    name: str
    arguments: JsonValue

    def to_json(self) -> dict[str, JsonValue]:
        """Return the call as a message has it."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """One answer of a model."""

    text: str
    calls: tuple[AgentCall, ...] = ()
    finish_reason: str = ""
    """Empty if the provider does not say why it ended."""
    cut: str | None = None
    """Why it is not whole, as the reason to end a loop; None if it is."""
    besides: Members = field(default_factory=dict[str, object])
    """What it says beside its text and calls."""

    @property
    def asked(self) -> str:
        """Its calls as text: equal where they ask for the same, in whatever order."""
        rows = [[one.name, _canonical(one.arguments)] for one in self.calls]
        return json.dumps(sorted(json.dumps(one, default=str) for one in rows))


def _canonical(value: JsonValue) -> JsonValue:
    """Return *value* with its members in order, and numbers by their value."""
    if isinstance(value, dict):
        return {name: _canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an answer is not the value that it should be."""

    code: str
    """``not_json`` or ``schema``."""
    place: str
    message: str


def read_answer(told: object, turn: int, place: str) -> AgentAnswer:
    """Return the answer that a provider *told*.

    Raises:
        WorkflowFailed: it is none.

    """
    said = _members(told)
    text = said.get("text", "")
    calls: object = said.get("tool_calls") or cast("list[object]", [])
    if not isinstance(text, str) or not isinstance(calls, list):
        raise _unreadable(place)
    rows = [_members(one) for one in cast("list[object]", calls)]
    if not (text or rows or isinstance(said.get("text"), str)):
        raise _unreadable(place)
    return AgentAnswer(
        text,
        tuple(_call(number, one, rows, turn, place) for number, one in enumerate(rows)),
        str(said.get("finish_reason") or ""),
        cut_short(said),
        {name: one for name, one in said.items() if one and name not in _SAID},
    )


def _unreadable(place: str) -> WorkflowFailed:
    return WorkflowFailed(
        "the model's answer has neither a text nor calls of tools",
        rule="workflow/answer",
        place=place,
        remedy="let the provider return the members of an answer: text, tool_calls, …",
    )


def _members(value: object) -> Members:
    return cast("Members", value) if isinstance(value, Mapping) else {}


def _call(
    number: int, row: Members, rows: list[Members], turn: int, place: str
) -> AgentCall:
    name, given = row.get("name"), str(row.get("id") or "")
    if not isinstance(name, str):
        raise _unreadable(place)
    same = sum(one.get("id") == row.get("id") for one in rows)
    own = given if given and same == 1 else f"call_{turn}_{number}"
    return AgentCall(number, own, name, cast("JsonValue", row.get("arguments", {})))


def spent(told: object) -> tuple[int | None, Decimal | None]:
    """Return the tokens and the US dollars that an answer took, as far as they are known.

    A number that is none, or that nobody can have spent, is not known.
    """
    said = _members(told)
    return _tokens(said.get("usage")), _cost(said.get("cost"))


def _tokens(usage: object) -> int | None:
    taken = tokens_taken(usage)
    return taken.total if taken.is_known else None


def _cost(said: object) -> Decimal | None:
    given = _members(said).get("usd")
    if isinstance(given, bool) or not isinstance(given, int | float | str | Decimal):
        return None
    try:
        found = _MONEY.create_decimal(str(given)[:_LONGEST])
    except (ArithmeticError, ValueError):
        return None
    if not found.is_finite() or len(str(given)) > _LONGEST:
        return None
    return found if found == 0 or _LEAST <= found <= _MOST else None


def before_sentinel(text: str, sentinel: str) -> str | None:
    """Return what *text* says before the *sentinel* at its end; None if it is not there.

    It is the last word, or the last line: a part of a word, and a part of a JSON value,
    is none. Marks of emphasis around it, and a full stop, count for nothing.
    """
    found = re.search(rf"(?<![\w\"'])[*`]*{re.escape(sentinel)}[*`]*[.!]?\s*\Z", text)
    return None if found is None else text[: found.start()].strip()


def read_value(text: str, schema: Mapping[str, JsonValue]) -> JsonValue | Unfit:
    """Return the value that *text* is, if it fits *schema*, or why not.

    Raises:
        CannotTellError: jsonschema is not installed.

    """
    found: list[JsonValue] = []
    why = "it is not one JSON value, and nothing else"
    for candidate in (text, *_only_block(text)):
        try:
            found.append(
                json.loads(
                    candidate, parse_constant=_refuse, object_pairs_hook=_members_once
                )
            )
            break
        except _Twice as error:
            why = str(error)
        except (ValueError, RecursionError):
            continue
    if not found:
        return Unfit("not_json", "", why)
    fault = argument_fault(dict(schema), found[0])
    return found[0] if fault is None else Unfit("schema", fault.place, fault.message)


class _Twice(Exception):
    """An object has a key twice: nobody can tell which value is meant."""


def _members_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(one for one in names if names.count(one) > 1)
        raise _Twice(f"an object has the key {twice!r:.60} twice")
    return made


def _only_block(text: str) -> list[str]:
    blocks = _BLOCK.findall(text)
    return blocks if len(blocks) == 1 else []


def _refuse(word: str) -> None:
    raise ValueError(word)
