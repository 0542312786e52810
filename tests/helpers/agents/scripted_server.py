"""A server whose model answers from a script, in both wire formats, whole and streamed.

    with ScriptedServer(lambda asked: script_of(asked.tools)) as server:
        …  # a program that asks `openai:…` or `anthropic:…` at server.url

What a script is, `muniment_plugins.providers.scripted` says; here is another reading of it,
so that a program which asks that provider and one that asks over HTTP come to the same.

Rule: the answers of a script without `when` and `turn` are used up in their order.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from model_server import ModelServer
from model_wire import CREATED, Json, Spoken, event, text_of, words

__all__ = ["Conversation", "ScriptedServer"]

Script = Sequence[Any]


@dataclass(frozen=True)
class Conversation:
    """What a request says, in whichever format."""

    turn: int
    """So many-th answer is asked for, from 1."""
    asked: str
    """The text of the last message."""
    tools: tuple[str, ...]
    """The names of the tools that are offered, sorted."""


class ScriptedServer(ModelServer):
    """The server; *script_of* says which script answers a request."""

    def __init__(self, script_of: Callable[[Conversation], Script]) -> None:
        super().__init__()
        self.speakers = {
            "/v1/chat/completions": self._chat,
            "/v1/messages": self._messages,
        }
        self._script_of = script_of
        self._waiting: dict[str, deque[Any]] = {}

    def _chat(self, body: Json) -> Spoken:
        told = body["messages"]
        offered = [one["function"]["name"] for one in body.get("tools") or []]
        turn = 1 + sum(one["role"] == "assistant" for one in told)
        return _chat_answer(
            body, self._answer(turn, text_of(told[-1]["content"] or ""), offered)
        )

    def _messages(self, body: Json) -> Spoken:
        told = body["messages"]
        offered = [one["name"] for one in body.get("tools") or []]
        # Messages of one role that follow each other may come as one.
        spoken = [role for role, _ in groupby(one["role"] for one in told)]
        turn = 1 + spoken.count("assistant")
        return _messages_answer(
            body, self._answer(turn, text_of(told[-1]["content"]), offered)
        )

    def _answer(self, turn: int, asked: str, tools: Sequence[str]) -> Json:
        """Return what the script answers: a text, and calls of tools."""
        seen = Conversation(turn, asked, tuple(sorted(tools)))
        script = self._script_of(seen)
        for one in script:
            named = isinstance(one, dict) and {"when", "turn"} & one.keys()
            if not named or one.get("when", "") not in asked:
                continue
            if one.get("turn", turn) == turn:
                return _members(one)
        left = self._waiting.setdefault(
            json.dumps(script), deque(one for one in script if not _named(one))
        )
        return _members(left.popleft())


def _named(one: Any) -> bool:
    return isinstance(one, dict) and bool({"when", "turn"} & one.keys())


def _members(one: Any) -> Json:
    said = {"text": one} if isinstance(one, str) else one
    return {"text": said.get("text", ""), "calls": said.get("tool_calls", [])}


def _chat_answer(body: Json, said: Json) -> Spoken:
    calls = [
        {
            "id": one["id"],
            "type": "function",
            "function": {
                "name": one["name"],
                "arguments": json.dumps(one["arguments"]),
            },
        }
        for one in said["calls"]
    ]
    message: Json = {"role": "assistant", "content": said["text"] or None}
    message |= {"tool_calls": calls} if calls else {}
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    head = {"id": "chatcmpl-1", "created": CREATED, "model": body["model"]}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Json, reason: str | None = None) -> str:
        part = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({**head, "object": "chat.completion.chunk", "choices": [part]})

    stream = [chunk({"role": "assistant", "content": ""})]
    stream += [chunk({"content": one}) for one in words(said["text"]) if one]
    for number, call in enumerate(calls):
        written = call["function"]["arguments"]
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        stream.append(chunk({"tool_calls": [{"index": number, **begun}]}))
        for part in (written[:7], written[7:]):
            grown = {"index": number, "function": {"arguments": part}}
            stream.append(chunk({"tool_calls": [grown]}))
    stream.append(chunk({}, reason))
    if (body.get("stream_options") or {}).get("include_usage"):
        told = {"object": "chat.completion.chunk", "choices": [], "usage": usage}
        stream.append(event({**head, **told}))
    return Spoken(whole, [*stream, "data: [DONE]\n\n"])


def _messages_answer(body: Json, said: Json) -> Spoken:
    blocks: list[Json] = []
    if said["text"]:
        blocks.append({"type": "text", "text": said["text"], "citations": None})
    blocks += [
        {
            "type": "tool_use",
            "id": one["id"],
            "name": one["name"],
            "input": one["arguments"],
        }
        for one in said["calls"]
    ]
    reason = "tool_use" if said["calls"] else "end_turn"
    usage = {"input_tokens": 9, "output_tokens": 4}
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    begun = {**whole, "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for number, block in enumerate(blocks):
        events += _block_events(number, block)
    ended = {"stop_reason": reason, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    return Spoken(whole, [event(one, one["type"]) for one in events])


def _block_events(number: int, block: Json) -> list[Json]:
    if block["type"] == "text":
        empty = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": one} for one in words(block["text"])]
    else:
        empty = {**block, "input": {}}
        written = json.dumps(block["input"])
        deltas = [
            {"type": "input_json_delta", "partial_json": part}
            for part in (written[:7], written[7:])
        ]
    at = {"index": number}
    return [
        {"type": "content_block_start", **at, "content_block": empty},
        *({"type": "content_block_delta", **at, "delta": one} for one in deltas),
        {"type": "content_block_stop", **at},
    ]
