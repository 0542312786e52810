"""JSON that somebody gives: what readers of JSON take differently is refused.

Rules: no member twice in an object, of which one would be lost; no number that JSON lacks.
"""

from __future__ import annotations

import json
import math

__all__ = ["exact_json", "once"]


def exact_json(text: str) -> object:
    """Return the value of *text*.

    Raises:
        ValueError: it is not JSON, or means different things to different readers.

    """
    return json.loads(
        text, object_pairs_hook=once, parse_float=_float, parse_constant=_float
    )


def once(members: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of *members*.

    Raises:
        ValueError: two have one name.

    """
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("an object has two members of one name")
    return value


def _float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no number that JSON can hold")
    return value
