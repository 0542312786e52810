"""What a race made that the record of another run answered: a fork begins after it.

    race.completed in "f.1"    {"a": {"arrived": true, "artifacts": [{…}], …}, "b": {}}

Rules:

- The branches of such a race, or the items, are not walked again: no event of this run says
  what they made, but the answer of the race does. So the artifacts of those that came to a
  good end are those of the race's event.
- Where the branches were walked their own events say it, and no answer is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from muniment_plugins.workflow.records.contents import Contents
from muniment_plugins.workflow.records.rows import Row, joined_path

__all__ = ["with_raced"]


def with_raced(skeleton: Row, contents: Contents) -> Row:
    """Return *skeleton* with what its races made elsewhere."""
    unwalked = [*_unwalked(skeleton)]
    if not unwalked:
        return skeleton
    rows = [
        *skeleton["artifacts"],
        *(row for race in unwalked for row in _rows(race, contents)),
    ]
    return {**skeleton, "artifacts": sorted(rows, key=lambda one: int(one["seq"]))}


def _unwalked(skeleton: Row) -> Iterator[Row]:
    """Yield the races below which nothing was stated."""
    races = [one for one in skeleton["races"].values() if one["answered"]]
    if not races:
        return
    stated = [*skeleton["stages"], *(one["scope"] for one in skeleton["artifacts"])]
    for race in races:
        if not any(scope.startswith(_below(race)) for scope in stated):
            yield race


def _below(race: Row) -> str:
    return joined_path(race["scope"], f"@race.{race['ordinal']}/")


def _rows(race: Row, contents: Contents) -> Iterator[Row]:
    """Yield what each path of a *race* made, as if it had been recorded there."""
    came: object = contents.of(race["value"])
    for name, end in cast("Row", came).items() if isinstance(came, dict) else ():
        said = cast("Row", end) if isinstance(end, dict) else {}
        made: object = said.get("artifacts")
        for row in cast("list[object]", made) if isinstance(made, list) else []:
            if isinstance(row, dict) and isinstance(cast("Row", row).get("id"), str):
                place = {name: race[name] for name in ("seq", "at", "ordinal")}
                yield {**place, "scope": f"{_below(race)}{name}", "row": row, "read": 1}
