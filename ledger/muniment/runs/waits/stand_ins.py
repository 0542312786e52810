"""What a plugin answers in a performer's place has a form that its asker can read.

    lane.effect("llm", AnswerableRequest({"model": …}, completion), perform)

    "(to be written)"   →   {"text": "(to be written)", "tool_calls": [], "finish_reason": "stop"}
    null                →   {"text": "", "tool_calls": [], "finish_reason": "stop"}
    {"text": 5}         →   refused: effect/response

Rules:

- Whoever asks says how such an answer is read, or its kind does (`EffectKind.fault`). Without
  either the answer is for the program, as it is.
- It is read before it is written: a replay and a resume answer with what the run got.
- What a performer returns, what a record has, and what the caller of a fork gives are no such
  answers, and taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from muniment.errors import RefusedError

if TYPE_CHECKING:
    from muniment.runs.seams import EffectState

__all__ = [
    "AnswerableRequest",
    "Misfit",
    "Reads",
    "completion",
    "members",
    "standing_in",
]

Reads: TypeAlias = Callable[[object], object]
"""Returns what is read of an answer; raises `Misfit`."""


class Misfit(ValueError):
    """An answer has another form; the text says which it should have."""


@dataclass(frozen=True, slots=True)
class AnswerableRequest:
    """A request, and how an answer is read that no performer gave."""

    request: object
    reads: Reads


def completion(value: object) -> object:
    """Return the completion of a model that *value* stands for.

    Raises:
        Misfit: it is none.

    """
    if value is None or isinstance(value, str):
        return {"text": value or "", "tool_calls": [], "finish_reason": "stop"}
    if isinstance(value, Mapping):
        said = cast("Mapping[str, object]", value)
        text, calls = said.get("text"), said.get("tool_calls")
        whole = isinstance(text, str) or (text is None and bool(calls))
        odd = [n for n, kind in _MEMBERS.items() if not isinstance(said.get(n), kind)]
        if whole and not odd and all(map(_is_call, cast("list[object]", calls or []))):
            return said
    raise Misfit(
        "a completion is a text, or has one, and tool_calls as a model gives them"
    )


_NOTHING = type(None)
_TEXTS = ("finish_reason", "model", "id", "provider", "refusal")
_MEMBERS: Mapping[str, tuple[type[Any], ...]] = {
    **dict.fromkeys(_TEXTS, (str, _NOTHING)),
    "tool_calls": (list, tuple, _NOTHING),
    "usage": (Mapping, _NOTHING),
    "cost": (Mapping, _NOTHING),
}


def members(value: object) -> Mapping[str, object]:
    """Return the members of a part of an answer; none if it is no object."""
    return cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})


def _is_call(row: object) -> bool:
    said = members(row)
    return isinstance(said.get("name"), str) and isinstance(said.get("id", ""), str)


def standing_in(call: EffectState, reads: Reads | None, value: object) -> object:
    """Return *value*, the answer to *call*, as *reads* reads it if a plugin gave it.

    Raises:
        RefusedError: it cannot be read.

    """
    given = call.given
    by: Mapping[str, object] = {} if given is None else given.by
    if by.get("who") != "plugin":
        return value
    why = call.kind.fault_of(call.request, value)
    if why is None:
        try:
            return value if reads is None else reads(value)
        except Misfit as misfit:
            why = str(misfit)
    scope = f" in {call.place.scope}" if call.place.scope else ""
    fallback = by.get("fallback")
    what = "what it answers" if fallback is None else f"the fallback {fallback}"
    raise RefusedError(
        f"{what} stands for no {call.kind.name} effect: {why}",
        rule="effect/response",
        place=f"plugin {by.get('name')}, {call.kind.name}{scope}",
        remedy="let it answer in that form, or halt",
    )
