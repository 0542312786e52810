"""By which edition of its rules a flow runs, which its pins say.

    "pins": {"edition": 2, …}

Rules:

- A flow runs, resumes and replays by the edition that its start has recorded, so what an
  earlier muniment recorded keeps its meaning. Pins that name none are of the first.
- Since the second edition steps, artifacts and evidence of a part count in the flows above
  it; evidence less certain than is tolerated has people asked, whether or not its step
  reasons; a claim has to state its confidence; and folders without files count in the
  digest of data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from muniment.encoding.canonical import JsonValue

__all__ = ["EDITION", "edition_of", "of_edition"]

Rows: TypeAlias = "Mapping[str, Mapping[str, JsonValue]]"

EDITION = 2
"""That of flows which start now."""
_FIRST = 1


def edition_of(pins: Mapping[str, JsonValue]) -> int:
    """Return the edition by which a flow with these *pins* runs."""
    found = pins.get("edition", _FIRST)
    return found if type(found) is int else _FIRST


def of_edition(pins: Mapping[str, JsonValue], edition: int) -> dict[str, JsonValue]:
    """Return *pins* of this muniment as those of another edition are written."""
    made = {name: one for name, one in pins.items() if name != "edition"}
    children = {
        agent: {**one, "pins": of_edition(inner, edition)}
        for agent, one in cast("Rows", pins.get("children", {})).items()
        if isinstance(inner := one["pins"], dict)
    }
    made["children"] = cast("JsonValue", children)
    return made if edition == _FIRST else {"edition": edition, **made}
