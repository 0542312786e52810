"""The interface of the three formats: a body out, an answer in, whole or streamed.

    format.body(prompt)      → the JSON to be sent
    format.read(whole)       → Answer
    format.gather(events)    → the whole that the events of a stream amount to
    format.delta(event)      → the text that one event adds
    format.ends(event)       → whether the answer is whole with it

Rules: a format knows nothing about sending, keys or retries. Arguments of tools are JSON
in a text; a text that is not JSON stays a text. A reason to end that a provider does not
give is empty, one that no format knows stays the provider's word. What is no answer yet, or
never will be, is none (`NoAnswer`), however politely it is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from muniment_plugins.providers.prompt import Answer, Prompt

__all__ = [
    "FILTERED",
    "Format",
    "Json",
    "NoAnswer",
    "arguments",
    "function",
    "given",
    "part",
    "spelled",
]

Json: TypeAlias = dict[str, Any]

FILTERED: Final = "content_filter"
"""The finish reason of an answer that is none, because somebody refused."""


class NoAnswer(Exception):
    """What a provider sent is well-formed, and no answer; *remedy* says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Format(Protocol):
    """The format of one model API."""

    path: str
    """What follows the base URL."""

    lacks: tuple[str, ...]
    """Members of a prompt that it cannot express."""

    def body(self, prompt: Prompt) -> Json:
        """Return what is sent for *prompt*."""
        ...

    def read(self, whole: Json) -> Answer:
        """Return the answer that *whole* is.

        Raises:
            NoAnswer: it is none.

        """
        ...

    def gather(self, events: Iterable[Json]) -> Json:
        """Return the whole that a stream amounts to."""
        ...

    def delta(self, event: Json) -> str:
        """Return the text that *event* adds."""
        ...

    def ends(self, event: Json) -> bool:
        """Tell whether *event* says that the answer is whole."""
        ...


def given(**members: object) -> Json:
    """Return the *members* that are not None, empty or absent."""
    return {
        name: value
        for name, value in members.items()
        if value is not None and value not in ((), [])
    }


def part(whole: Mapping[str, Any], name: str) -> Json:
    """Return the object *name* of *whole*; an empty one where there is none."""
    return whole.get(name) or {}


def arguments(text: object) -> Any:
    """Return the arguments of a tool that *text* spells."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


def spelled(value: object) -> str:
    """Return arguments as a text, the reverse of `arguments`."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def function(tool: Mapping[str, Any]) -> Json:
    """Return name, description and parameters of *tool*."""
    parameters: Json = tool.get("parameters") or {"type": "object", "properties": {}}
    return given(
        name=tool["name"],
        description=tool.get("description"),
        parameters=parameters,
    )
