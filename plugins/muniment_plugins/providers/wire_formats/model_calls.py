"""Which requests are calls to models, however they are spelled.

    POST …//v1/chat%2Fcompletions/                    openai
    POST …/model/anthropic.claude-3/converse-stream   bedrock
    POST …/publishers/anthropic/models/c:rawPredict   vertex
    POST …/anything {"messages": [{"role": …}]}       unknown

Rules:

- A path is read as servers read it: decoded, without doubled and closing slashes, dot
  segments, parameters and the case of its letters.
- A path that is known makes a call, also where the body cannot be read. Elsewhere the
  shape of the body decides: messages with roles, contents with parts, or a model that is
  given something. One call too many is counted rather than one too few: a limit that is
  reached too early is seen.
- What only counts tokens, or judges a text, makes none.
- What an earlier version recognised, it is still (`dialects.recognise`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast
from urllib.parse import unquote, urlsplit

from muniment_plugins.providers.wire_formats.dialects import (
    PATHS,
    Dialect,
    Json,
    recognise,
)

__all__ = ["UNKNOWN", "model_call", "path_of"]

UNKNOWN = "unknown"
"""The provider, or the model, of a call that does not say it."""

_METHODS = ("POST", "PUT")
_LAYERS = 8
"""How often a path may be encoded over itself."""
_NAMED = tuple(
    (re.compile(pattern, re.IGNORECASE), provider)
    for pattern, provider in (
        (
            (
                r"/model/(.+)/(?:invoke(?:-with-response-stream)?|converse(?:-stream)?"
                r"|invoke-with-bidirectional-stream|async-invoke)$"
            ),
            "bedrock",
        ),
        (
            (
                r"/(?:publishers/[^/]+/models|endpoints)/(.+):(?:raw|streamRaw|"
                r"serverStreaming|direct|streamDirect|streaming)?Predict$"
            ),
            "vertex",
        ),
        (r"/endpoints/(.+)/chat/completions$", "vertex"),
        (
            (
                r"/(?:models|tunedModels|endpoints)/(.+):(?:streamGenerateContent|generateContent|"
                r"embedContent|batchEmbedContents|predict|generateText|generateMessage)$"
            ),
            "google",
        ),
    )
)
_KNOWN = tuple(
    (re.compile(one.pattern, re.IGNORECASE), provider) for one, provider in PATHS
)
_NO_CALLS = re.compile(
    r"(?:/count[_-]tokens|:countTokens|/models/count-tokens:rawPredict|/input_tokens"
    r"|/moderations|/(?:de)?tokenize|/files|/batches|/fine_tuning/jobs)$",
    re.IGNORECASE,
)
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/", re.IGNORECASE)
_GIVEN = ("messages", "prompt", "input", "inputs", "contents", "instances")


def model_call(
    method: str, url: str, body: object, *, is_opaque: bool = False
) -> Dialect | None:
    """Return the dialect of a request to a model, None for other requests.

    *body* is its JSON, if it has one; *is_opaque* says that it has a body which cannot be
    read.
    """
    known = recognise(method, urlsplit(url).path, body)
    if known is not None:
        return known
    path = path_of(url)
    if method.upper() not in _METHODS or _NO_CALLS.search(path):
        return None
    for pattern, provider in _NAMED:
        if found := pattern.search(path):
            return Dialect(provider, found[1])
    return _by_body(path, body, is_opaque=is_opaque)


def _by_body(path: str, body: object, *, is_opaque: bool) -> Dialect | None:
    provider = next((one for known, one in _KNOWN if known.search(path)), None)
    if provider is not None and is_opaque:
        return Dialect(provider, UNKNOWN)
    if not isinstance(body, Mapping):
        return None
    told = cast("Json", body)
    given = told.get("model")
    model = given if isinstance(given, str) and given else None
    if not _is_asked(told) and (provider is None or model is None):
        return None
    if model is None and (deployed := _DEPLOYMENT.search(path)):
        model = deployed[1]
    return Dialect(provider or UNKNOWN, model or UNKNOWN)


def path_of(url: str) -> str:
    """Return the path of *url* as servers read it."""
    path = urlsplit(url).path
    for _ in range(_LAYERS):
        path, before = unquote(path), path
        if path == before:
            break
    kept: list[str] = []
    for one in re.split(r"[/\\]", re.split(r"[?#]", path, maxsplit=1)[0]):
        segment = one.partition(";")[0].strip()
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)


def _is_asked(body: Json) -> bool:
    """Tell whether *body* has the shape of what models are asked."""
    if _all_have(body.get("messages"), "role") or _all_have(
        body.get("contents"), "parts"
    ):
        return True
    return isinstance(body.get("model"), str) and any(
        body.get(name) is not None for name in _GIVEN
    )


def _all_have(value: object, name: str) -> bool:
    """Tell whether *value* is a list of objects, each with a member *name*."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(one, Mapping) and name in one for one in cast("list[object]", value)
    )
