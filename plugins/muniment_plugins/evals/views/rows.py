"""Rows: JSON objects of documents, records and views, and what they may lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

__all__ = ["Row", "as_row", "listed", "part"]

Row: TypeAlias = dict[str, Any]


def part(row: Mapping[str, Any], name: str) -> Row:
    """Return the object *name* of *row*; empty if it is not there, or null."""
    return row.get(name) or {}


def listed(row: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list *name* of *row*; empty if it is not there, or null."""
    return row.get(name) or []


def as_row(value: object) -> Row:
    """Return *value* if it is an object; else an empty one."""
    return cast("Row", value) if isinstance(value, dict) else {}
