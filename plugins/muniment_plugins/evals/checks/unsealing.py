"""What a fixture only calls private, as it is in the run that the fixture was made of.

Rule: what is private on one side alone is not compared: nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.sealed import PRIVATE, hides_otherwise

__all__ = ["NOT_HERE", "is_shut", "known_as", "unsealed"]

NOT_HERE = (
    "it is private, and the run that the fixture was made of is not here, or not whole"
)


def is_shut(wanted: list[Any], got: list[Any]) -> bool:
    """Tell whether what is private on a side cannot be compared with the other one."""
    return PRIVATE in wanted or hides_otherwise(wanted, got)


def unsealed(said: Mapping[str, Any], known: Mapping[str, Any]) -> Row:
    """Return the digests *said*, with those *known* for what is only called private."""
    return {what: known_as(one, known.get(what)) for what, one in said.items()}


def known_as(said: object, known: object) -> Any:
    """Return *said*, with what is *known* in place of what is only called private."""
    mine, its = _items(said), _items(known)
    if mine is not None and its is not None and len(mine) == len(its):
        return [known_as(*both) for both in zip(mine, its, strict=True)]
    return known if said == PRIVATE and known is not None else said


def _items(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None
