"""What models say on the wire, in the formats that their SDKs read.

    chat(body)        POST /v1/chat/completions
    responses(body)   POST /v1/responses
    anthropic(body)   POST /v1/messages

Each gives the whole answer and the events of the streamed one. The model calls the first
tool that it is offered, once, and echoes everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = [
    "CREATED",
    "Json",
    "Spoken",
    "anthropic",
    "chat",
    "event",
    "responses",
    "text_of",
    "words",
]

Json = dict[str, Any]
ARGUMENTS = {"city": "Zürich"}
CREATED = 1_700_000_000


class Spoken(NamedTuple):
    """An answer, whole and as the lines of a stream."""

    whole: Json
    stream: list[str]


def event(data: Json, name: str | None = None) -> str:
    """Return the lines of one event of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n"


def text_of(content: Any) -> str:
    """Return the text of what a message holds."""
    if isinstance(content, str):
        return content
    parts = [
        one.get("text") or one.get("content") or one.get("output", "")
        for one in content
    ]
    return " ".join(map(text_of, parts))


def words(text: str) -> Iterator[str]:
    """Yield *text* in parts, as tokens would come."""
    for number, word in enumerate(text.split(" ")):
        yield word if number == 0 else f" {word}"


def chat(body: Json) -> Spoken:
    """Answer a chat completion."""
    last = body["messages"][-1]
    tools = body.get("tools") or []
    calls = bool(tools) and last["role"] != "tool"
    text = f"echo: {text_of(last['content'])}"
    call = {
        "id": "call_1",
        "type": "function",
        "function": {
            "name": tools[0]["function"]["name"] if tools else "",
            "arguments": json.dumps(ARGUMENTS, ensure_ascii=False),
        },
    }
    message: Json = {"role": "assistant", "content": None if calls else text}
    if calls:
        message["tool_calls"] = [call]
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    head = {"id": "chatcmpl-1", "created": CREATED, "model": body["model"]}
    whole = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }

    def chunk(delta: Json, reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({**head, "object": "chat.completion.chunk", "choices": [choice]})

    stream = [chunk({"role": "assistant", "content": ""})]
    if calls:
        stream.append(chunk({"tool_calls": [{"index": 0, **call}]}))
    else:
        stream += [chunk({"content": word}) for word in words(text)]
    stream.append(chunk({}, reason))
    if (body.get("stream_options") or {}).get("include_usage"):
        last_one = {"object": "chat.completion.chunk", "choices": [], "usage": usage}
        stream.append(event({**head, **last_one}))
    return Spoken(whole, [*stream, "data: [DONE]\n\n"])


def responses(body: Json) -> Spoken:
    """Answer a request of the responses API."""
    asked = body["input"]
    last = {"role": "user", "content": asked} if isinstance(asked, str) else asked[-1]
    tools = body.get("tools") or []
    calls = bool(tools) and last.get("type") != "function_call_output"
    text = f"echo: {text_of(last.get('content') or last.get('output') or '')}"
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": tools[0]["name"] if tools else "",
        "arguments": json.dumps(ARGUMENTS, ensure_ascii=False),
        "status": "completed",
    }
    item = call if calls else message
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": CREATED,
        "model": body["model"],
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": tools,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 13,
        },
    }
    return Spoken(whole, _numbered(_response_events(whole, item, text, calls)))


def _numbered(events: list[Json]) -> list[str]:
    return [
        event({**one, "sequence_number": number}, one["type"])
        for number, one in enumerate(events)
    ]


def _response_events(whole: Json, item: Json, text: str, calls: bool) -> list[Json]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    at = {"item_id": item["id"], "output_index": 0}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    empty = {**item, "arguments": ""} if calls else {**item, "content": []}
    events.append(
        {"type": "response.output_item.added", "output_index": 0, "item": empty}
    )
    if calls:
        kind, told = "response.function_call_arguments", item["arguments"]
        events.append({"type": f"{kind}.delta", **at, "delta": told})
        events.append(
            {"type": f"{kind}.done", **at, "arguments": told, "name": item["name"]}
        )
    else:
        inside = {**at, "content_index": 0, "logprobs": []}
        part = {**item["content"][0], "text": ""}
        added = {**at, "content_index": 0, "part": part}
        events.append({"type": "response.content_part.added", **added})
        events += [
            {"type": "response.output_text.delta", **inside, "delta": word}
            for word in words(text)
        ]
        events.append({"type": "response.output_text.done", **inside, "text": text})
        done = {**added, "part": item["content"][0]}
        events.append({"type": "response.content_part.done", **done})
    events.append(
        {"type": "response.output_item.done", "output_index": 0, "item": item}
    )
    return [*events, {"type": "response.completed", "response": whole}]


def anthropic(body: Json) -> Spoken:
    """Answer a request of the messages API."""
    last = body["messages"][-1]
    tools = body.get("tools") or []
    content = last["content"]
    result = isinstance(content, list) and content[0]["type"] == "tool_result"
    calls = bool(tools) and not result
    text = f"echo: {text_of(content)}"
    block: Json = {"type": "text", "text": text, "citations": None}
    if calls:
        name = tools[0]["name"]
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": ARGUMENTS}
    reason = "tool_use" if calls else "end_turn"
    usage = {
        "input_tokens": 9,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 3,
        "output_tokens": 4,
    }
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Json] = [
        {
            "type": "message_start",
            "message": {
                **whole,
                "content": [],
                "stop_reason": None,
                "usage": {**usage, "output_tokens": 1},
            },
        },
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": _empty(block)},
        *(
            {"type": "content_block_delta", "index": 0, "delta": delta}
            for delta in _deltas(block)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 4},
        },
        {"type": "message_stop"},
    ]
    return Spoken(whole, [event(one, one["type"]) for one in events])


def _empty(block: Json) -> Json:
    return (
        {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}
    )


def _deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "text":
        for word in words(block["text"]):
            yield {"type": "text_delta", "text": word}
        return
    told = json.dumps(block["input"], ensure_ascii=False)
    for part in (told[:5], told[5:]):
        yield {"type": "input_json_delta", "partial_json": part}
