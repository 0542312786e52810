"""Values that stay as they were given: mappings and lists, frozen and thawed.

Rule: freezing copies, so that changing the original changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

__all__ = ["freeze", "freeze_members", "thaw", "thaw_members"]


def freeze(value: object) -> object:
    """Return *value* with read-only mappings, and tuples for lists."""
    if isinstance(value, Mapping):
        return freeze_members(cast("Mapping[str, object]", value))
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in cast("list[object]", value))
    return value


def freeze_members(value: Mapping[str, object]) -> Mapping[str, object]:
    """Return a frozen copy of the mapping *value*."""
    return MappingProxyType({key: freeze(item) for key, item in value.items()})


def thaw(value: object) -> object:
    """Return *value* with dicts and lists again, as JSON has them."""
    if isinstance(value, Mapping):
        return thaw_members(cast("Mapping[str, object]", value))
    if isinstance(value, tuple):
        return [thaw(item) for item in cast("tuple[object, ...]", value)]
    return value


def thaw_members(value: Mapping[str, object]) -> dict[str, object]:
    """Return a plain copy of the mapping *value*."""
    return {key: thaw(item) for key, item in value.items()}
