"""Answers that are not whole, by what the provider says of them.

Rule: nobody relies on half an answer: no loop, node, verifier, judge or summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

__all__ = ["CUT", "cut_short"]

CUT: Mapping[str, str] = MappingProxyType(
    {
        "length": "cut_off",
        "content_filter": "filtered",
        "pause_turn": "unfinished",
        "incomplete": "unfinished",
    }
)
"""How a provider says that an answer is not whole → why whoever asked ends. A reason that is
not here, or is not given, cuts nothing short."""


def cut_short(answer: object) -> str | None:
    """Return why an *answer* is not whole, by what the provider says of it; None if it is.

    What such an answer calls may lack a part, too.
    """
    said = cast("Mapping[str, object]", answer if isinstance(answer, Mapping) else {})
    if isinstance(said.get("refusal"), str):
        return CUT["content_filter"]
    return CUT.get(str(said.get("finish_reason")))
