"""A metamorphic property: what must hold between two executions of one program.

    {"name": "perm", "transform": "permute_rows", "metric": "total"}
    {"name": "twice", "transform": "scale", "arguments": {"factor": 2},
     "relation": "equivariant", "metric": "total", "rtol": 1e-9}

Rules:

- A property has a name and a transform, and only known members.
- Metrics agree if they differ by at most ``tolerance``, or ``rtol`` of the larger one.
- NaN agrees with nothing, except with NaN if ``equal_nan`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self, cast

from muniment_plugins.harness.frozen import freeze_members
from muniment_plugins.harness.requirements import (
    is_amount,
    refuse,
    refuse_unknown,
    require_mapping,
    require_one_of,
    require_text,
)

__all__ = ["DIRECTIONS", "RELATIONS", "Property"]

RELATIONS = ("equivariant", "invariant", "monotone")
DIRECTIONS = ("decreasing", "increasing")
_KNOWN = (
    *("arguments", "direction", "equal_nan", "metric", "name"),
    *("relation", "rtol", "tolerance", "transform"),
)


@dataclass(frozen=True, slots=True)
class Property:
    """A relation between the metrics before and after a transformation.

    ``relation`` and ``direction`` are the transform's own if they are None.
    """

    name: str
    transform: str
    metric: str | None = None
    tolerance: float | None = None
    rtol: float | None = None
    equal_nan: bool = False
    relation: str | None = None
    direction: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def of(cls, value: object, place: str) -> Self:
        """Return the property that *value* describes, or refuse it at *place*."""
        require_mapping(value, place)
        members = dict(cast("Mapping[str, object]", value))
        refuse_unknown(members, _KNOWN, place)
        require_text(members.get("name"), f"{place}.name")
        require_text(members.get("transform"), f"{place}.transform")
        given = {name: one for name, one in members.items() if one is not None}
        _check(given, place)
        if "arguments" in given:
            arguments = cast("Mapping[str, object]", given["arguments"])
            given["arguments"] = freeze_members(arguments)
        return cls(**given)  # type: ignore[arg-type] # each was checked above


def _check(given: Mapping[str, object], place: str) -> None:
    if "metric" in given:
        require_text(given["metric"], f"{place}.metric")
    for name in ("tolerance", "rtol"):
        if not is_amount(given.get(name, 0)):
            refuse(
                f"{given[name]!r} is not a tolerance", f"{place}.{name}", "give >= 0"
            )
    if type(given.get("equal_nan", False)) is not bool:
        refuse("it is neither True nor False", f"{place}.equal_nan", "give one of them")
    require_one_of(given.get("relation", "invariant"), RELATIONS, f"{place}.relation")
    require_one_of(
        given.get("direction", "increasing"), DIRECTIONS, f"{place}.direction"
    )
    require_mapping(given.get("arguments", {}), f"{place}.arguments")
    if "direction" in given and given.get("relation", "monotone") != "monotone":
        refuse("only what is monotone has one", f"{place}.direction", "leave it out")
