"""Messages of sessions: what models are given, and what stays private.

    spoken({"role": "assistant", "content": "Done.", "reasoning": "They want …"})
        →  {"role": "assistant", "content": "Done."},  {"reasoning": "They want …"}

Rules:

- A message has a role; an assistant's may have ``tool_calls``, a tool's has
  ``tool_call_id``. A member that is nearly called so was mistyped, and is refused.
- Every other member is private: reasoning, and what a provider sent besides. So are parts
  of a content that are thoughts (`private_parts`). No visible text has any of it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from muniment.encoding.canonical import MAX_DEPTH
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.texts import tokens_of
from muniment_plugins.workflow.sessions.parts.calls import (
    call_text,
    calls_of,
    open_calls,
    require_calls,
)
from muniment_plugins.workflow.sessions.parts.private_parts import (
    says_thought,
    split_parts,
)

__all__ = [
    "ROLES",
    "SpokenMessage",
    "open_calls",
    "said",
    "spoken",
    "tokens_in",
    "visible_text",
]

Message = Mapping[str, object]

ROLES = ("system", "user", "assistant", "tool")
_MEMBERS = ("role", "content", "tool_calls", "tool_call_id", "name", "visibility")
_NEAR = 0.8
"""How much alike names are of which one is a mistyped other one."""
_VISIBILITIES = ("public", "private")


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """A message, in its visible and its private part."""

    role: str
    visibility: str
    message: dict[str, object]
    """What models are given."""
    private: dict[str, object] | None = None

    @property
    def tokens(self) -> int:
        """An estimate of what models are given."""
        return tokens_in(self.message)


def spoken(
    message: object, visibility: str | None = None, unsaid: str = "public"
) -> SpokenMessage:
    """Return *message* in its parts.

    Args:
        message: a mapping with a role, or a `SpokenMessage`.
        visibility: stands for what the message itself says.
        unsaid: what it is if nobody says.

    Raises:
        UsageError: it has no known role, or a member that was mistyped or is none.

    """
    if isinstance(message, SpokenMessage):
        return message
    if not isinstance(message, Mapping):
        raise _wrong(f"a {type(message).__name__} is no message", 'give {"role": …}')
    members = dict(cast("Message", message))
    for place, why in _unwritable(members, "message"):
        raise _wrong(f"{why} cannot be written", "send text", place)
    _require_spelled(members)
    if members.get("role") not in ROLES:
        raise _wrong(
            f"{members.get('role')!r:.80} is no role",
            f"one of {', '.join(ROLES)}",
            "message.role",
        )
    seen = visibility or members.pop("visibility", None) or unsaid
    members.pop("visibility", None)
    if seen not in _VISIBILITIES:
        raise _wrong(
            f"{seen!r:.80} is no visibility", "public or private", "message.visibility"
        )
    _require_texts(members)
    private = {key: members.pop(key) for key in list(members) if key not in _MEMBERS}
    members["content"], thoughts = _visible(members.get("content"))
    if thoughts:
        private["thoughts"] = thoughts
    if members.get("tool_calls") is not None:
        members["tool_calls"], besides = require_calls(members["tool_calls"])
        if besides:
            private["tool_calls"] = besides
    return SpokenMessage(str(members["role"]), str(seen), members, private or None)


def _require_texts(members: Message) -> None:
    for name in ("tool_call_id", "name"):
        if members.get(name) is not None and not isinstance(members[name], str):
            raise _wrong(
                f"{name} is a text, not a {type(members[name]).__name__}",
                "give a text, or leave it out",
                f"message.{name}",
            )
    if members["role"] == "tool" and not members.get("tool_call_id"):
        raise _wrong(
            "a tool's message does not say which call it answers",
            "give the id of the call",
            "message.tool_call_id",
        )


def _require_spelled(members: Message) -> None:
    """Refuse a member that was meant to be another one: what it says would be lost."""
    for name in members.keys() - {*_MEMBERS}:
        plain = name.casefold().replace("-", "_").strip()
        near = difflib.get_close_matches(plain, _MEMBERS, n=1, cutoff=_NEAR)
        if near and not says_thought(name):
            raise _wrong(
                f"no message has the member {name!r:.80}",
                f"did you mean {near[0]}? what a provider sent besides goes into "
                "provider_payload",
            )


def _unwritable(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Yield where *value* has what cannot be written in UTF-8 or as JSON, and what it is."""
    waiting: list[tuple[str, object, int]] = [(place, value, 0)]
    while waiting:
        at, one, depth = waiting.pop()
        if depth > MAX_DEPTH:
            yield at, f"what is nested deeper than {MAX_DEPTH}"
        elif isinstance(one, str) and not one.isascii():
            try:
                one.encode()
            except UnicodeEncodeError:
                yield at, "half a character (a lone surrogate)"
        elif isinstance(one, Mapping):
            for key, inner in cast("Mapping[object, object]", one).items():
                if not isinstance(key, str):
                    yield at, f"a member that is called {key!r:.40}"
                else:
                    waiting.append((at, key, 0))
                    waiting.append((f"{at}.{key:.40}", inner, depth + 1))
        elif isinstance(one, list | tuple):
            items = cast("Sequence[object]", one)
            waiting += [
                (f"{at}[{n}]", inner, depth + 1) for n, inner in enumerate(items)
            ]


def _visible(content: object) -> tuple[object, list[object]]:
    """Return *content* without the parts that are thoughts, and these."""
    if content is None:
        return "", []
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list | tuple):
        raise _wrong(
            f"a content is a text or parts, not a {type(content).__name__}",
            "give a text",
            "message.content",
        )
    return split_parts(cast("Sequence[object]", content))


def said(message: Message) -> str:
    """Return the text of a visible *message*, without its calls of tools."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[object]", content) if isinstance(content, list | tuple) else []
    return "\n".join(_text_of(one) for one in parts)


def _text_of(part: object) -> str:
    if isinstance(part, Mapping):
        text = cast("Message", part).get("text")
        if isinstance(text, str):
            return text
    return part if isinstance(part, str) else json.dumps(part, default=str)


def visible_text(message: Message) -> str:
    """Return all that *message* says, with its calls of tools, as one text."""
    lines = [said(message), *(call_text(one) for one in calls_of(message))]
    return "\n".join(one for one in lines if one)


def tokens_in(message: Message) -> int:
    """Return the estimated tokens of *message*."""
    return tokens_of(visible_text(message))


def _wrong(message: str, remedy: str, place: str = "message") -> UsageError:
    return UsageError(message, rule="session/message", place=place, remedy=remedy)
