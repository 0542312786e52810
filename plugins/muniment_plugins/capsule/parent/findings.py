"""What a machine offers, as the first child in given surroundings found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muniment.encoding.canonical import JsonValue

__all__ = ["Machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """The strongest level here, and what the probe child could and could not do.

    ``missing`` has the layers that could not be raised, with the system's answers.
    """

    level: str
    probe: Mapping[str, JsonValue]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
