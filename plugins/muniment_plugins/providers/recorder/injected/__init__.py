"""The first folder on the import path of recorded programs; never imported itself."""

from __future__ import annotations

__all__: list[str] = []
