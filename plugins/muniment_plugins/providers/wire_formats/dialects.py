"""The known dialects of model APIs, and what an answer says about itself.

    POST …/chat/completions      openai       {"model": …, "messages": […]}
    POST …/responses             openai       {"model": …, "input": …}
    POST …/v1/messages           anthropic    {"model": …, "messages": […]}
    POST …:generateContent       google       the model is in the path

Rules:

- A request is a model call by its path and a ``model`` that it names, whatever the host:
  most servers speak somebody else's dialect.
- Model, finish reason and tokens are read from the answer, streamed or whole, and have
  the same names for every dialect. What an answer does not say is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from muniment_plugins.providers.wire_formats.sse import objects

__all__ = ["Dialect", "about", "recognise", "usage_of"]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The provider whose dialect a request uses, and the model that it asks."""

    provider: str
    model: str


_PATHS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
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

_INPUT = ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount", "eval_count")
_CACHED = (
    "cache_read_input_tokens",
    "cached_tokens",
    "cachedContentTokenCount",
)
_WRITTEN = ("cache_creation_input_tokens",)


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
    for pattern, provider in _PATHS:
        if pattern.search(path):
            return Dialect(provider, model)
    return None


def about(content_type: str, body: str) -> dict[str, object]:
    """Return ``model``, ``finish_reason`` and ``usage``, as far as *body* says them."""
    found: dict[str, object] = {}
    usage: dict[str, int] = {}
    for message in _messages(content_type, body):
        for part in _parts(message):
            _add(found, "model", part.get("model") or part.get("modelVersion"))
            _add(found, "finish_reason", _reason(part))
            usage |= usage_of(part)
    return {**found, "usage": usage} if usage else found


def _messages(content_type: str, body: str) -> Iterable[Json]:
    if content_type.startswith("text/event-stream"):
        return objects(body)
    try:
        whole: object = json.loads(body)
    except (ValueError, RecursionError):
        return _lines(body)
    found = cast("list[object]", whole) if isinstance(whole, list) else [whole]
    return [cast("Json", one) for one in found if isinstance(one, dict)]


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
    return part.get("stop_reason") or part.get("done_reason") or _status(part)


def _status(part: Json) -> object:
    """Return the finish reason of a response object, which has only a status."""
    return part.get("status") if part.get("object") == "response" else None


def _add(found: dict[str, object], name: str, value: object) -> None:
    if isinstance(value, str) and value:
        found[name] = value


def usage_of(part: Json) -> dict[str, int]:
    """Return the tokens that *part* of an answer counts, by our names."""
    told = part.get("usage") or part.get("usageMetadata") or part
    counts = dict(cast("Json", told)) if isinstance(told, dict) else {}
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = counts.get(name)
        if isinstance(details, dict):
            counts |= cast("Json", details)
    names = {
        "input_tokens": _INPUT,
        "output_tokens": _OUTPUT,
        "cache_read_tokens": _CACHED,
        "cache_write_tokens": _WRITTEN,
    }
    found = {ours: _first(counts, theirs) for ours, theirs in names.items()}
    return {name: count for name, count in found.items() if count is not None}


def _first(counts: Json, names: Iterable[str]) -> int | None:
    for name in names:
        count = counts.get(name)
        if type(count) is int and count >= 0:
            return count
    return None
