"""Texts of a value, each without its secrets: those of what an error carries.

    hidden({"url": "https://h/?key=8c41…"}, hide)      {"url": "https://h/?key=[redacted]"}

Rules: members of plain lists, tuples and dicts are looked at, keys too; what else there
is stays as it is. The value itself is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

__all__ = ["hidden"]


def hidden(value: object, hide: Callable[[str], str]) -> object:
    """Return *value* with each text in it as *hide* returns it."""
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
