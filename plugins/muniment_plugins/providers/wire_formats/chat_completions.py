"""Chat completions, the format of OpenAI that most servers use.

    {"model": "…", "messages": [{"role": "user", "content": "Say hi."}]}
    {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}], …}

Rules: requests for a stream ask for usage; the parts of a tool call are joined by index. A
``function_call``, as older servers have it, is a call of a tool that has no id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from muniment_plugins.providers.prompt import Answer, Prompt, ToolCall
from muniment_plugins.providers.wire_formats.dialects import usage_of
from muniment_plugins.providers.wire_formats.wire_format import (
    FILTERED,
    Json,
    arguments,
    function,
    given,
    part,
    spelled,
)

__all__ = ["Chat"]


class Chat:
    """The format of ``/chat/completions``."""

    path = "/chat/completions"
    lacks: tuple[str, ...] = ()

    def body(self, prompt: Prompt) -> Json:
        """Return what is sent for *prompt*."""
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        tools = [
            {"type": "function", "function": function(one)} for one in prompt.tools
        ]
        limit = "max_completion_tokens" if prompt.base_url is None else "max_tokens"
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        return {
            "model": prompt.model,
            "messages": [*system, *map(_message, prompt.messages)],
            **given(
                tools=tools,
                tool_choice=_choice(prompt.tool_choice),
                temperature=prompt.temperature,
                seed=prompt.seed,
                stop=list(prompt.stop),
                **{limit: prompt.max_tokens},
            ),
            **(streamed if prompt.stream else {}),
            **prompt.options,
        }

    def read(self, whole: Json) -> Answer:
        """Return the answer that *whole* is."""
        choice = whole["choices"][0]
        message = choice["message"]
        calls = tuple(
            ToolCall(
                one["id"],
                one["function"]["name"],
                arguments(one["function"]["arguments"]),
            )
            for one in message.get("tool_calls") or ()
        )
        reason = choice.get("finish_reason") or ""
        legacy = message.get("function_call")
        if legacy and not calls:
            calls = (ToolCall("", legacy["name"], arguments(legacy["arguments"])),)
        if reason == "function_call":
            reason = "tool_calls"
        refusal = message.get("refusal")
        return Answer(
            message.get("content") or "",
            calls,
            FILTERED if refusal else reason,
            usage_of(whole) if whole.get("usage") else {},
            whole.get("model") or "",
            whole.get("id") or "",
            refusal=refusal or None,
        )

    def gather(self, events: Iterable[Json]) -> Json:
        """Return the whole that a stream amounts to."""
        whole: Json = {}
        reason: str | None = None
        text: list[str] = []
        refusal: list[str] = []
        calls: dict[int, Json] = {}
        legacy: Json = {}
        for event in events:
            whole |= {
                name: event[name]
                for name in ("id", "model", "usage")
                if event.get(name)
            }
            for choice in event.get("choices", ()):
                delta = part(choice, "delta")
                text.append(delta.get("content") or "")
                refusal.append(delta.get("refusal") or "")
                reason = choice.get("finish_reason") or reason
                for piece in delta.get("tool_calls") or ():
                    _join(calls, piece)
                for name, piece in part(delta, "function_call").items():
                    legacy[name] = legacy.get(name, "") + (piece or "")
        message = {
            "content": "".join(text),
            "refusal": "".join(refusal),
            "tool_calls": list(calls.values()),
            "function_call": legacy and {"arguments": "", **legacy},
        }
        return {**whole, "choices": [{"message": message, "finish_reason": reason}]}

    def delta(self, event: Json) -> str:
        """Return the text that *event* adds."""
        choices: list[Json] = event.get("choices") or []
        return (part(choices[0], "delta").get("content") or "") if choices else ""

    def ends(self, event: Json) -> bool:
        """Tell whether *event* says that the answer is whole."""
        return any(one.get("finish_reason") for one in event.get("choices") or ())


def _join(calls: dict[int, Json], piece: Json) -> None:
    empty: Json = {"id": "", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(piece.get("index", len(calls)), empty)
    call["id"] = piece.get("id") or call["id"]
    for name, text in part(piece, "function").items():
        call["function"][name] += text or ""


def _message(message: Mapping[str, Any]) -> Json:
    calls = [
        {
            "id": one["id"],
            "type": "function",
            "function": {"name": one["name"], "arguments": spelled(one["arguments"])},
        }
        for one in message.get("tool_calls", ())
    ]
    told = {**message, "content": message.get("content")}
    return {**told, "tool_calls": calls} if calls else told


def _choice(choice: str | None) -> object:
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}
