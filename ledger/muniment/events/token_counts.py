"""How many tokens an answer of a model took, by the usage that it states.

    {"input_tokens": 5, "cache_read_tokens": 90, "cache_write_tokens": 0,
     "output_tokens": 7}                            read 95, written 7
    {"input_tokens": 95, "cache_read_tokens": 90, "output_tokens": 7}
                                                    read 95, written 7

Rules:

- What a model read are all tokens of its prompt, those in a cache, too, as OpenTelemetry
  has it. Some providers count these within the input, and some beside it; the latter say
  how many were written to the cache, or more than the input.
- A count is a whole number from 0 and below 2**53. If something else is said in the place
  of one, or read or written is not said, nobody knows how many there were: what is said
  is the least.
- What a total says beyond the parts was taken, too; whether read or written is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard, cast

__all__ = ["INEXACT", "TokenCount", "is_count", "tokens_taken"]

_INPUT = "input_tokens"
_SPELLINGS = {
    "read": (_INPUT, "prompt_tokens"),
    "written": ("output_tokens", "completion_tokens"),
    "cache_read": ("cache_read_tokens", "cache_read_input_tokens"),
    "cache_write": ("cache_write_tokens", "cache_creation_input_tokens"),
    "total": ("total_tokens",),
}
"""What is counted → its names; the first that is there counts."""
INEXACT = 2**53
"""The first whole number that not every reader reads exactly."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What one answer took."""

    read: int | None
    """None if that is not said."""
    written: int | None
    """None if that is not said."""
    more: int
    """What its total says beyond these."""
    is_known: bool
    """Whether that is all."""

    @property
    def total(self) -> int:
        """How many there are at least."""
        return (self.read or 0) + (self.written or 0) + self.more


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether *value* is a number of something, which each reader reads exactly."""
    return type(value) is int and 0 <= value < INEXACT


def tokens_taken(usage: object) -> TokenCount:
    """Return what an answer took that states this *usage*, whatever that is."""
    told = cast("Mapping[str, object]", usage if isinstance(usage, Mapping) else {})
    said = {
        what: next((told[name] for name in names if told.get(name) is not None), None)
        for what, names in _SPELLINGS.items()
    }
    counts = {what: one for what, one in said.items() if is_count(one)}
    read, written = counts.get("read"), counts.get("written")
    if _are_beside(counts, is_input=told.get(_INPUT) is not None):
        cached = counts.get("cache_read", 0) + counts.get("cache_write", 0)
        read = (read or 0) + cached
    more = max(0, counts.get("total", 0) - (read or 0) - (written or 0))
    odd = any(one is not None and not is_count(one) for one in said.values())
    whole = {"read", "written"} <= counts.keys()
    return TokenCount(read, written, more, is_known=whole and not odd)


def _are_beside(counts: Mapping[str, int], *, is_input: bool) -> bool:
    """Tell whether cached tokens are counted beside the input, and not within it.

    A prompt that is counted under that name contains them.
    """
    if "read" in counts and not is_input:
        return False
    return "cache_write" in counts or counts.get("cache_read", 0) > counts.get(
        "read", 0
    )
