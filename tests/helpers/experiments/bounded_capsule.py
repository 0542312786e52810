"""A capsule that runs code in the test's process, and has the bounds of the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from in_process import InProcess
from muniment.hookspecs import hookimpl
from muniment_plugins.capsule import check_code

__all__ = ["Bounded"]


class Bounded(InProcess):
    """Reads code and bounds as the capsule does."""

    @hookimpl
    def check_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Ask the capsule."""
        return {**check_code(request)}
