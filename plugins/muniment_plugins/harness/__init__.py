"""The harness: claim, spec, bounded code, execution and verdict as one run."""

from __future__ import annotations

__all__: list[str] = []
