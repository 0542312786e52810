"""Answers on the wire that no provider gave: what a plugin answered in its place.

    "use a default"     →  200, a chat completion whose text is that, streamed if asked for
    {"status": 200, …}  →  itself: an answer as it is recorded
    null                →  403, an error in JSON

Rules:

- A client gets a whole HTTP answer in the format that it asked for, and the record holds
  just that. Anything but a text is spelled as JSON.
- Where there is nothing to say, or no text in the format, the client gets a refusal that
  SDKs raise as an error, and do not try again.
- Requests that are no model calls are answered with the value as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Protocol, cast

from muniment import EffectFailed, GateAnswer
from muniment_plugins.providers.wire_formats.model_calls import path_of
from muniment_plugins.providers.wire_formats.wire_format import Json

__all__ = ["AskedOnTheWire", "on_the_wire"]

_REFUSED = 403
"""No SDK tries again after it."""
_ID = "stand-in"


class AskedOnTheWire(Protocol):
    """What was asked."""

    @property
    def kind(self) -> str:
        """The kind of the effect."""
        ...

    @property
    def request(self) -> Mapping[str, object]:
        """The request as it is recorded."""
        ...


def on_the_wire(one: AskedOnTheWire, given: GateAnswer) -> GateAnswer:
    """Return what a plugin has *given* as the answer to an exchange, as the wire has it."""
    from dataclasses import replace  # noqa: PLC0415 - few need it

    value = given.value
    if given.error is not None or given.refusal is not None or _is_wired(value):
        return given
    if value is None:
        return replace(given, value=None, error=_refusal(one, "it has no answer"))
    if one.kind != "llm":
        return replace(given, value=_whole("application/json", [_spelled(value)]))
    written = _written(one, value if isinstance(value, str) else _spelled(value))
    if written is None:
        why = "its answer has no form in this API"
        return replace(given, value=None, error=_refusal(one, why))
    return replace(given, value=_whole(*written))


def _is_wired(value: object) -> bool:
    return isinstance(value, dict) and {"status", "headers", "chunks"} <= {
        *cast("Json", value)
    }


def _spelled(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _whole(media: str, chunks: Iterable[str], status: int = 200) -> dict[str, object]:
    parts = [*chunks]
    size = len("".join(parts).encode())
    headers = [["content-type", media], ["content-length", str(size)]]
    reason = "OK" if status == 200 else "Forbidden"  # noqa: PLR2004 - the status
    told: dict[str, object] = {"status": status, "protocol": "HTTP/1.1"}
    return {**told, "reason": reason, "headers": headers, "chunks": parts}


def _refusal(one: AskedOnTheWire, why: str) -> EffectFailed:
    message = f"a plugin answers in place of the server, and {why}"
    error = {"type": "permission_error", "code": "stand_in", "message": message}
    body = json.dumps({"type": "error", "error": error})
    data = _whole("application/json", [body], _REFUSED)
    told = "AnswerRefused", f"status {_REFUSED}"
    return EffectFailed(one.kind, *told, data)  # type: ignore[arg-type] # plain JSON


def _written(one: AskedOnTheWire, text: str) -> tuple[str, list[str]] | None:
    """Return the media type and the chunks of an answer that says *text*; None for none."""
    path = path_of(str(one.request["url"])).lower()
    body = one.request.get("body")
    asked = cast("Mapping[str, object]", body).get("json") if body else None
    told = cast("Json", asked) if isinstance(asked, dict) else {}
    model, streams = str(one.request.get("model")), told.get("stream") is True
    if path.endswith("/chat/completions"):
        return _chat(model, text, streams=streams, options=told.get("stream_options"))
    if path.endswith("/v1/messages"):
        return _messages(model, text, streams=streams)
    if path.endswith("/responses"):
        return _responses(model, text, streams=streams)
    if path.endswith(":generatecontent"):
        part = {"role": "model", "parts": [{"text": text}]}
        choice = {"content": part, "finishReason": "STOP", "index": 0}
        counts = {"promptTokenCount": 0, "candidatesTokenCount": 0}
        whole = {"candidates": [choice], "modelVersion": model, "usageMetadata": counts}
        return "application/json", [json.dumps(whole)]
    if path.endswith("/api/chat") and not streams and "stream" in told:
        message = {"role": "assistant", "content": text}
        return "application/json", [
            json.dumps({"model": model, "message": message, "done": True})
        ]
    return None


def _events(events: Iterable[Json], *, named: bool) -> tuple[str, list[str]]:
    said = [
        (f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n"
        for one in events
    ]
    return "text/event-stream", said


def _chat(
    model: str, text: str, *, streams: bool, options: object
) -> tuple[str, list[str]]:
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    head: Json = {"id": f"chatcmpl-{_ID}", "created": 0, "model": model}
    message = {"role": "assistant", "content": text}
    if not streams:
        choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {**head, "object": "chat.completion", "choices": [choice]}
        return "application/json", [json.dumps({**whole, "usage": usage})]
    head["object"] = "chat.completion.chunk"
    deltas: list[tuple[Json, str | None]] = [(message, None), ({}, "stop")]
    events = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    if isinstance(options, dict) and cast("Json", options).get("include_usage"):
        events.append({**head, "choices": [], "usage": usage})
    media, said = _events(events, named=False)
    return media, [*said, "data: [DONE]\n\n"]


def _messages(model: str, text: str, *, streams: bool) -> tuple[str, list[str]]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    block: Json = {"type": "text", "text": text}
    ended: Json = {"stop_reason": "end_turn", "stop_sequence": None}
    whole: Json = {"id": f"msg_{_ID}", "type": "message", "role": "assistant"}
    whole |= {"model": model, "content": [block], **ended, "usage": usage}
    if not streams:
        return "application/json", [json.dumps(whole)]
    begun: Json = {**whole, "content": [], "stop_reason": None}
    delta = {"type": "text_delta", "text": text}
    return _events(
        [
            {"type": "message_start", "message": begun},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {**block, "text": ""},
            },
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 0}},
            {"type": "message_stop"},
        ],
        named=True,
    )


def _responses(model: str, text: str, *, streams: bool) -> tuple[str, list[str]]:
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    item: Json = {"type": "message", "id": f"msg_{_ID}", "role": "assistant"}
    item |= {"status": "completed", "content": [part]}
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    whole: Json = {"id": f"resp_{_ID}", "object": "response", "created_at": 0}
    whole |= {"model": model, "status": "completed", "output": [item], "usage": usage}
    whole |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    if not streams:
        return "application/json", [json.dumps(whole)]
    begun: Json = {**whole, "status": "in_progress", "output": [], "usage": None}
    at: Json = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    empty: Json = {**part, "text": ""}
    delta: Json = {"delta": text, "logprobs": []}
    done: Json = {"text": text, "logprobs": []}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "content": []},
        },
        {"type": "response.content_part.added", **at, "part": empty},
        {"type": "response.output_text.delta", **at, **delta},
        {"type": "response.output_text.done", **at, **done},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    numbered = [{**one, "sequence_number": n} for n, one in enumerate(events)]
    return _events(numbered, named=True)
