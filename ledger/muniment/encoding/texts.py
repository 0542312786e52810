"""Removing secrets from the texts of a value that an error carries.

    hidden({"url": "https://h/?key=8c41…"}, hide)      {"url": "https://h/?key=[redacted]"}

Rules: it looks into plain lists, tuples and dicts, keys included; all other values stay
as they are. The given value is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

__all__ = ["hidden", "remembered"]


def hidden(value: object, hide: Callable[[str], str]) -> object:
    """Return *value* with *hide* applied to each text in it."""
    if type(value) is str:
        return hide(value)
    if type(value) is dict:
        pairs = cast("dict[object, object]", value).items()
        return {hidden(name, hide): hidden(one, hide) for name, one in pairs}
    if type(value) is list:
        return [hidden(one, hide) for one in cast("list[object]", value)]
    if type(value) is tuple:
        return tuple(hidden(one, hide) for one in cast("tuple[object, ...]", value))
    return value


def remembered(text: str, memory: Mapping[str, object]) -> str:
    """Return *text* as the `redacted` methods of a run's *memory* leave it."""
    text = text.encode("utf-8", "backslashreplace").decode()
    for one in [*memory.values()]:
        hide = getattr(one, "redacted", None)
        text = text if hide is None else str(hide(text))
    return text
