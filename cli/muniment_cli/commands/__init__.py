"""One module for each command; each holds the click command ``command``."""

from __future__ import annotations

__all__: list[str] = []
