"""The responses API of OpenAI.

    {"model": "…", "input": [{"role": "user", "content": "Say hi."}], "store": false}
    {"output": [{"type": "message", "content": [{"type": "output_text", …}]}], …}

Rules: nothing is stored at the provider unless ``options`` say so; the last event of a
stream holds the whole. What is queued, still made, cancelled or failed is no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muniment_plugins.providers.prompt import Answer, Prompt, ToolCall
from muniment_plugins.providers.wire_formats.dialects import usage_of
from muniment_plugins.providers.wire_formats.wire_format import (
    FILTERED,
    Json,
    NoAnswer,
    arguments,
    function,
    given,
    part,
    spelled,
)

__all__ = ["Responses"]


_LATER = "leave `background` out of the options: an answer is not fetched later"
_NO_ANSWERS = {
    "queued": _LATER,
    "in_progress": _LATER,
    "cancelled": "find out who cancelled it; a resume of the run asks again",
    "failed": "a resume of the run asks again",
}
"""What a response says that holds no answer → what to do."""


class Responses:
    """The format of ``/responses``."""

    path = "/responses"
    lacks: tuple[str, ...] = ("seed", "stop")

    def body(self, prompt: Prompt) -> Json:
        """Return what is sent for *prompt*."""
        tools = [{"type": "function", **function(one)} for one in prompt.tools]
        return {
            "model": prompt.model,
            "input": [item for one in prompt.messages for item in _items(one)],
            "store": False,
            **given(
                instructions=prompt.system,
                tools=tools,
                tool_choice=_choice(prompt.tool_choice),
                temperature=prompt.temperature,
                max_output_tokens=prompt.max_tokens,
            ),
            **({"stream": True} if prompt.stream else {}),
            **prompt.options,
        }

    def read(self, whole: Json) -> Answer:
        """Return the answer that *whole* is.

        Raises:
            NoAnswer: it is none yet, or will never be.

        """
        _require_ended(whole)
        calls = tuple(
            ToolCall(one["call_id"], one["name"], arguments(one["arguments"]))
            for one in whole["output"]
            if one["type"] == "function_call"
        )
        parts = [
            said
            for one in whole["output"]
            if one["type"] == "message"
            for said in one["content"]
        ]
        refused = [one["refusal"] for one in parts if one.get("refusal")]
        text = "".join(one.get("text") or one.get("refusal") or "" for one in parts)
        return Answer(
            text,
            calls,
            FILTERED if refused else _reason(whole, bool(calls)),
            usage_of(whole) if whole.get("usage") else {},
            whole.get("model") or "",
            whole.get("id") or "",
            refusal="".join(refused) or None,
        )

    def gather(self, events: Iterable[Json]) -> Json:
        """Return the whole that a stream amounts to."""
        whole: Json = {}
        for event in events:
            whole = event.get("response") or whole
        return whole

    def delta(self, event: Json) -> str:
        """Return the text that *event* adds."""
        added = event.get("type") == "response.output_text.delta"
        return event["delta"] if added else ""

    def ends(self, event: Json) -> bool:
        """Tell whether *event* says that the answer is whole."""
        return event.get("type") in ("response.completed", "response.incomplete")


def _items(message: Mapping[str, Any]) -> Iterator[Json]:
    if message["role"] == "tool":
        call, told = message["tool_call_id"], message["content"]
        yield {"type": "function_call_output", "call_id": call, "output": told}
        return
    if message.get("content"):
        yield {"role": message["role"], "content": message["content"]}
    for one in message.get("tool_calls", ()):
        told = spelled(one["arguments"])
        call = {"call_id": one["id"], "name": one["name"], "arguments": told}
        yield {"type": "function_call", **call}


def _require_ended(whole: Json) -> None:
    """Refuse what is no answer, whatever it holds.

    Raises:
        NoAnswer: it is none.

    """
    status = whole.get("status")
    if status not in _NO_ANSWERS:
        return
    raise NoAnswer(f"there is no answer: its status is {status}", _NO_ANSWERS[status])


def _reason(whole: Json, calls: bool) -> str:
    status: str = whole.get("status") or ""
    if status == "incomplete":
        why: str = part(whole, "incomplete_details").get("reason") or status
        return "length" if why == "max_output_tokens" else why
    if status == "completed":
        return "tool_calls" if calls else "stop"
    return status


def _choice(choice: str | None) -> object:
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "name": choice}
