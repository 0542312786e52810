"""Prompts and answers of models, in terms that fit every provider.

    {"model": "openai:gpt-…", "prompt": "Say hi."}
    {"model": "anthropic:claude-…", "messages": [{"role": "user", "content": "…"}],
     "tools": [{"name": "weather", "parameters": {…}}], "max_tokens": 200}

    {"text": "Hi.", "tool_calls": [], "finish_reason": "stop", "model": "gpt-…",
     "usage": {"input_tokens": 9, "output_tokens": 2}, "cost": {"usd": "0.0001", …}}

Rules:

- A message is ``{"role": …, "content": …}`` with a text; an assistant's may have
  ``tool_calls``, a tool's has ``tool_call_id``. Parts that are not texts are passed on as
  they are, in the provider's own format.
- ``finish_reason`` is ``stop``, ``length``, ``tool_calls``, ``content_filter``, or
  another reason that the provider gives; it is empty where the provider gave none.
- A model that refused says so: ``refusal`` has its words, which may be none, and
  ``finish_reason`` is ``content_filter``. Other answers have no such member.
- ``model`` is empty where the provider did not say which model answered.
- An unknown member is refused; ``options`` go into the provider's body as they are.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn, cast

from muniment.errors import UsageError

__all__ = ["Answer", "Prompt", "ToolCall", "split"]

ATTEMPTS = 4
TIMEOUT_S = 600.0
_ROLES = ("system", "user", "assistant", "tool")


def split(model: object) -> tuple[str, str]:
    """Return provider and name of ``provider:name``; provider "" without a colon."""
    provider, colon, name = str(model).partition(":")
    return (provider, name) if colon else ("", provider)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request, read and checked."""

    model: str
    """The provider's name of the model."""
    messages: tuple[Mapping[str, Any], ...]
    system: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of a tool."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    api: str = "chat"
    """``chat`` or ``responses``, of an OpenAI server."""
    base_url: str | None = None
    timeout_s: float = TIMEOUT_S
    attempts: int = ATTEMPTS
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, request: Mapping[str, object]) -> Prompt:
        """Return the prompt that *request* is.

        Raises:
            UsageError: a member is unknown, missing or of the wrong form.

        """
        told = dict(request)
        _, told["model"] = split(told.get("model", ""))
        text = told.pop("prompt", None)
        if (text is None) == ("messages" not in told):
            _refuse("either a prompt or messages say what is asked", "prompt")
        messages = told.get("messages", [{"role": "user", "content": text}])
        told["messages"] = tuple(_message(one) for one in _sequence(messages))
        for name in ("tools", "stop"):
            told[name] = tuple(_sequence(told.get(name) or ()))
        known = [one.name for one in fields(cls)]
        for name in told.keys() - set(known):
            near = difflib.get_close_matches(name, [*known, "prompt"], n=1)
            _refuse(
                f"no prompt has {name!r}",
                name,
                f"did you mean {near[0]}?" if near else "",
            )
        if told.get("api", "chat") not in ("chat", "responses"):
            _refuse("an OpenAI server has chat and responses", "api")
        return cls(**cast("dict[str, Any]", told))

    @property
    def asked(self) -> str:
        """The text of the last message."""
        content = self.messages[-1].get("content") if self.messages else ""
        return content if isinstance(content, str) else str(content)


def _sequence(value: object) -> Sequence[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple):
        _refuse(
            f"a value of type {type(value).__name__} is not a list",
            "messages, tools, stop",
        )
    return cast("Sequence[Any]", value)


def _message(message: object) -> Mapping[str, Any]:
    told = cast("Mapping[str, Any]", message if isinstance(message, dict) else {})
    if told.get("role") not in _ROLES:
        _refuse(f"a message has one of the roles {', '.join(_ROLES)}", "messages")
    return told


def _refuse(message: str, member: str, remedy: str = "") -> NoReturn:
    raise UsageError(
        message, rule="provider/prompt", place=f"prompt.{member}", remedy=remedy
    )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    id: str
    name: str
    arguments: Any
    """An object; the text itself if it is not JSON."""

    def to_json(self) -> dict[str, object]:
        """Return the call as it is recorded."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    """Why it ended; empty if the provider does not say."""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    model: str = ""
    """The model that answered, as the provider says; empty if it does not say."""
    id: str = ""
    provider: str = ""
    cost: Mapping[str, str] | None = None
    refusal: str | None = None
    """The words in which the model refused; None if it did not."""

    def __str__(self) -> str:
        """Give the text."""
        return self.text

    @property
    def message(self) -> dict[str, object]:
        """The answer as a message, for the next prompt of the conversation."""
        message: dict[str, object] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [one.to_json() for one in self.tool_calls]
        return message

    def to_json(self) -> dict[str, object]:
        """Return the answer as it is recorded."""
        return {
            "text": self.text,
            "tool_calls": [one.to_json() for one in self.tool_calls],
            "finish_reason": self.finish_reason,
            "usage": dict(self.usage),
            "model": self.model,
            "id": self.id,
            "provider": self.provider,
            "cost": None if self.cost is None else dict(self.cost),
            **({} if self.refusal is None else {"refusal": self.refusal}),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Answer:
        """Return the answer that was recorded as *told*; what it lacks is empty."""
        known = {one.name for one in fields(cls)}
        given: dict[str, Any] = {"text": ""}
        given |= {name: value for name, value in told.items() if name in known}
        given["tool_calls"] = tuple(
            ToolCall(**one) for one in told.get("tool_calls", ())
        )
        return cls(**given)
