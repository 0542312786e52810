"""What sessions of graphs in tests name by import paths."""

from __future__ import annotations

from typing import Any

__all__ = ["summed"]


def summed(messages: list[Any]) -> str:
    """Say how many messages there were."""
    return f"summed {len(messages)}"
