"""The values that JSON has, as Python has them."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["JsonValue"]

JsonValue: TypeAlias = (
    "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"
)
