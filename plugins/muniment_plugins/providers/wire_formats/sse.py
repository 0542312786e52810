"""Server-sent events: how models stream.

    event: message_start
    data: {"type": "message_start", …}
    ⏎

Rules: lines end with LF, CR or CRLF; a blank line ends an event; several ``data`` lines
are joined by LF; lines that begin with a colon are comments; an event that the end cuts
off does not count. Source: WHATWG HTML, *Server-sent events*, 9.2.6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

__all__ = ["events", "objects", "unread"]

_DONE = "[DONE]"
"""Ends a stream of OpenAI's servers; all other data is JSON."""
_LINE = re.compile(r"\r\n|\n|\r")


def events(body: str) -> Iterator[tuple[str, str]]:
    """Yield name and data of each event of *body*."""
    name, data = "", list[str]()
    for line in _LINE.split(body.removeprefix("\ufeff"))[:-1]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name or "message", "\n".join(data)
            name, data = "", []
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value


def unread(body: str) -> Iterator[str]:
    """Yield the data of each event of *body* that should hold JSON, and does not."""
    for _, data in events(body):
        if data.strip() in ("", _DONE):
            continue
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            yield data


def objects(body: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that the events of *body* hold; others are skipped."""
    for _, data in events(body):
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):  # [DONE]
            continue
        if isinstance(message, dict):
            yield cast("dict[str, Any]", message)
