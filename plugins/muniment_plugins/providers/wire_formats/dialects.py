"""The known dialects of model APIs, and what an answer says about itself.

    POST …/chat/completions      openai       {"model": …, "messages": […]}
    POST …/responses             openai       {"model": …, "input": …}
    POST …/v1/messages           anthropic    {"model": …, "messages": […]}
    POST …:generateContent       google       the model is in the path

Rules:

- A request is a model call by its path and a ``model`` that it names, whatever the host:
  most servers speak somebody else's dialect. Other spellings of these paths, and other
  calls, are known by `model_calls`.
- Model, finish reason and tokens are read from the answer, streamed or whole, and have
  the same names for every dialect. What an answer does not say is left out.
- Tokens are whole numbers below 2**53. If an answer says anything else in the place of
  one, none of its counts are relied on. Its total is kept where it is more than the parts.
- An answer that says how many tokens were written to a cache counts cached ones beside its
  input (`muniment.events.token_counts`). Where the tokens of the prompt contain them, as
  in OpenAI's dialect whoever speaks it, that is not said.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from muniment.events.token_counts import is_count
from muniment_plugins.providers.wire_formats.sse import objects

__all__ = ["PATHS", "Dialect", "Json", "about", "recognise", "usage_of"]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The provider whose dialect a request uses, and the model that it asks."""

    provider: str
    model: str


PATHS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), provider)
    for pattern, provider in (
        (r"/chat/completions$", "openai"),
        (r"/responses$", "openai"),
        (r"/completions$", "openai"),
        (r"/embeddings$", "openai"),
        (r"/v1/messages$", "anthropic"),
        (r"/v1/complete$", "anthropic"),
        (r"/api/(?:chat|generate|embed|embeddings)$", "ollama"),
        (r"/v2/chat$", "cohere"),
    )
)
_GOOGLE = re.compile(r"/models/([^/:]+):(?:streamG|g)enerateContent$")

_EVENT_STREAM = "application/vnd.amazon.eventstream"
_PACKED = re.compile(r'"bytes":\s*"([A-Za-z0-9+/=]+)"')
_WRITTEN = "cache_write_tokens"
_NAMES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": (
        *("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_eval_count"),
        "inputTokens",
    ),
    "output_tokens": (
        *("output_tokens", "completion_tokens", "candidatesTokenCount", "eval_count"),
        "outputTokens",
    ),
    "cache_read_tokens": (
        *("cache_read_input_tokens", "cached_tokens", "cachedContentTokenCount"),
        "cacheReadInputTokens",
    ),
    _WRITTEN: ("cache_creation_input_tokens", "cacheWriteInputTokens"),
    "total_tokens": ("total_tokens", "totalTokenCount", "totalTokens"),
}
"""Our name of a count → theirs."""
_BESIDE = {
    "thoughtsTokenCount": "output_tokens",
    "toolUsePromptTokenCount": "input_tokens",
}
"""What Google counts beside the input and the output."""


def recognise(method: str, path: str, body: object) -> Dialect | None:
    """Return the dialect of a request with the JSON *body*, None for other requests."""
    if method != "POST" or not isinstance(body, dict):
        return None
    google = _GOOGLE.search(path)
    if google is not None:
        return Dialect("google", unquote(google[1]))
    model = cast("Json", body).get("model")
    if not isinstance(model, str):
        return None
    for pattern, provider in PATHS:
        if pattern.search(path):
            return Dialect(provider, model)
    return None


def about(content_type: str, body: str) -> dict[str, object]:
    """Return ``model``, ``finish_reason`` and ``usage``, as far as *body* says them."""
    found: dict[str, object] = {}
    counts: dict[str, object] = {}
    for message in _messages(content_type, body):
        for part in _parts(message):
            _add(found, "model", part.get("model") or part.get("modelVersion"))
            _add(found, "finish_reason", _reason(part))
            counts |= _said(part)
    usage = _usage(counts)
    return {**found, "usage": usage} if usage else found


def _messages(content_type: str, body: str) -> Iterable[Json]:
    if content_type.startswith("text/event-stream"):
        return objects(body)
    if content_type.startswith(_EVENT_STREAM):
        return _framed(body)
    try:
        whole: object = json.loads(body)
    except (ValueError, RecursionError):
        return _lines(body)
    found = cast("list[object]", whole) if isinstance(whole, list) else [whole]
    return [cast("Json", one) for one in found if isinstance(one, dict)]


def _framed(body: str) -> Iterator[Json]:
    """Yield the objects in Amazon's event stream: between its heads, or packed in them."""
    at, decoder = body.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            one, end = cast("tuple[object, int]", decoder.raw_decode(body, at))
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(one, dict):
                yield cast("Json", one)
        at = body.find("{", end)
    for found in _PACKED.finditer(body):
        try:
            one = json.loads(base64.b64decode(found[1]))
        except (ValueError, RecursionError):
            continue
        if isinstance(one, dict):
            yield cast("Json", one)


def _lines(body: str) -> Iterator[Json]:
    """Yield the objects of a body of JSON lines, as some servers stream."""
    for line in body.splitlines():
        try:
            one: object = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(one, dict):
            yield cast("Json", one)


def _parts(message: Json) -> Iterator[Json]:
    """Yield a message and what it wraps: the events of some dialects have envelopes."""
    yield message
    for name in ("response", "message", "delta"):
        inner = message.get(name)
        if isinstance(inner, dict):
            yield cast("Json", inner)


def _reason(part: Json) -> object:
    for name in ("choices", "candidates"):
        choices = part.get(name)
        if isinstance(choices, list) and choices:
            choice = cast("list[object]", choices)[0]
            if isinstance(choice, dict):
                told = cast("Json", choice)
                return told.get("finish_reason") or told.get("finishReason")
    blocked = part.get("promptFeedback")  # of Google, which answers then with nothing
    if isinstance(blocked, dict) and cast("Json", blocked).get("blockReason"):
        return cast("Json", blocked)["blockReason"]
    said = part.get("stop_reason") or part.get("done_reason") or part.get("stopReason")
    return said or _status(part)


def _status(part: Json) -> object:
    """Return the finish reason of a response object, which has only a status."""
    return part.get("status") if part.get("object") == "response" else None


def _add(found: dict[str, object], name: str, value: object) -> None:
    if isinstance(value, str) and value:
        found[name] = value


def usage_of(part: Json) -> dict[str, int]:
    """Return the tokens that *part* of an answer counts, by our names."""
    return _usage(_said(part))


def _said(part: Json) -> dict[str, object]:
    """Return what *part* says in the place of counts, by our names."""
    told = part.get("usage") or part.get("usageMetadata") or part
    counts = dict(cast("Json", told)) if isinstance(told, dict) else {}
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = counts.get(name)
        if isinstance(details, dict):
            counts |= cast("Json", details)
    found: dict[str, object] = {}
    for ours, theirs in _NAMES.items():
        said = [counts[name] for name in theirs if counts.get(name) is not None]
        if said:
            odd = not all(map(is_count, said))
            found[ours] = None if odd else max(cast("list[int]", said))
    if counts.get("prompt_tokens") is not None and is_count(found.get(_WRITTEN)):
        del found[_WRITTEN]
    for name, ours in _BESIDE.items():
        more = counts.get(name)
        if more is not None:
            said = [found.get(ours, 0), more]
            known = all(map(is_count, said))
            found[ours] = sum(cast("list[int]", said)) if known else None
    return found


def _usage(counts: Mapping[str, object]) -> dict[str, int]:
    """Return *counts* if each of them is one, and their total if it says more."""
    if not all(map(is_count, counts.values())):
        return {}
    usage = cast("dict[str, int]", dict(counts))
    total = usage.pop("total_tokens", None)
    if total is None or not usage.keys() & {"input_tokens", "output_tokens"}:
        return usage
    if usage.get("input_tokens") == total:
        usage.setdefault("output_tokens", 0)  # embeddings have none
    more = total > usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    return {**usage, "total_tokens": total} if more else usage
