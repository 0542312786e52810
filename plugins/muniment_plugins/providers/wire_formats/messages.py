"""The messages API of Anthropic.

    {"model": "…", "max_tokens": 4096, "messages": [{"role": "user", …}]}
    {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", …}

Rules: the API requires a token limit, so there is a default; results of tools are in the
user's messages, and consecutive ones share a message; tokens from a cache are counted
beside the input. An answer that was paused (``pause_turn``), while tools of the provider
work, is not continued: what they did so far is in no message of ours.
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
)

__all__ = ["Messages"]

MAX_TOKENS = 4096

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": FILTERED,
}


class Messages:
    """The format of ``/v1/messages``."""

    path = "/v1/messages"
    lacks: tuple[str, ...] = ("seed",)

    def body(self, prompt: Prompt) -> Json:
        """Return what is sent for *prompt*."""
        said = [str(m["content"]) for m in prompt.messages if m["role"] == "system"]
        system = "\n\n".join([*([prompt.system] if prompt.system else []), *said])
        return {
            "model": prompt.model,
            "max_tokens": prompt.max_tokens or MAX_TOKENS,
            "messages": _turns(prompt.messages),
            **given(
                system=system or None,
                tools=list(map(_tool, prompt.tools)),
                tool_choice=_choice(prompt.tool_choice),
                temperature=prompt.temperature,
                stop_sequences=list(prompt.stop),
            ),
            **({"stream": True} if prompt.stream else {}),
            **prompt.options,
        }

    def read(self, whole: Json) -> Answer:
        """Return the answer that *whole* is."""
        blocks: list[Json] = whole["content"]
        calls = tuple(
            ToolCall(one["id"], one["name"], one["input"])
            for one in blocks
            if one["type"] == "tool_use"
        )
        reason = whole.get("stop_reason") or ""
        text = "".join(one["text"] for one in blocks if one["type"] == "text")
        why = part(whole, "stop_details").get("explanation")
        return Answer(
            text,
            calls,
            _REASONS.get(reason, reason),
            _usage(whole),
            whole.get("model") or "",
            whole.get("id") or "",
            refusal=(why or text) if reason == "refusal" else None,
        )

    def gather(self, events: Iterable[Json]) -> Json:
        """Return the whole that a stream amounts to."""
        whole: Json = {}
        blocks: dict[int, Json] = {}
        spelled: dict[int, str] = {}
        for event in events:
            kind, at = event["type"], event.get("index", 0)
            if kind == "message_start":
                whole = event["message"]
            elif kind == "content_block_start":
                blocks[at] = dict(event["content_block"])
            elif kind == "content_block_delta":
                delta = event["delta"]
                if delta["type"] == "text_delta":
                    blocks[at]["text"] += delta["text"]
                elif delta["type"] == "input_json_delta":
                    spelled[at] = spelled.get(at, "") + delta["partial_json"]
            elif kind == "message_delta":
                usage = {**whole.get("usage", {}), **event.get("usage", {})}
                whole = {**whole, **event["delta"], "usage": usage}
        for at, text in spelled.items():
            blocks[at]["input"] = arguments(text)
        return {**whole, "content": [blocks[at] for at in sorted(blocks)]}

    def delta(self, event: Json) -> str:
        """Return the text that *event* adds."""
        delta = part(event, "delta")
        return delta.get("text", "") if delta.get("type") == "text_delta" else ""

    def ends(self, event: Json) -> bool:
        """Tell whether *event* says that the answer is whole."""
        return event.get("type") == "message_stop"


def _usage(whole: Json) -> dict[str, int]:
    """Return the tokens; those that were read from a cache are beside the input.

    Where nothing is said of what was written to it, that was nothing.
    """
    usage = usage_of(whole) if whole.get("usage") else {}
    return {"cache_write_tokens": 0, **usage} if "cache_read_tokens" in usage else usage


def _turns(messages: Iterable[Mapping[str, Any]]) -> list[Json]:
    turns: list[Json] = []
    results = False
    for message in messages:
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            if not results:
                turns.append({"role": "user", "content": []})
            call, told = message["tool_call_id"], message["content"]
            block = {"type": "tool_result", "tool_use_id": call, "content": told}
            turns[-1]["content"].append(block)
        else:
            turns.append({"role": message["role"], "content": _content(message)})
        results = message["role"] == "tool"
    return turns


def _content(message: Mapping[str, Any]) -> object:
    calls = message.get("tool_calls", ())
    content = message.get("content")
    if not calls:
        return content
    said: list[Json] = [{"type": "text", "text": content}] if content else []
    return [
        *said,
        *(
            {
                "type": "tool_use",
                "id": one["id"],
                "name": one["name"],
                "input": one["arguments"],
            }
            for one in calls
        ),
    ]


def _tool(tool: Mapping[str, Any]) -> Json:
    told = function(tool)
    schema = told.pop("parameters")
    return {**told, "input_schema": schema}


def _choice(choice: str | None) -> object:
    if choice is None:
        return None
    if choice in ("auto", "none"):
        return {"type": choice}
    return {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}
