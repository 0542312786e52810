"""How places in runs below are called, and what was not compared.

    h.1/a.1      the stage ``a.1`` of the run that was called in ``h.1``
    h.1#2/a.1    the same of the second run that was called there

Rules:

- A place has no id of a run: two runs that did the same have the same places.
- What is counted as not compared is told beside the verdict, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from muniment_plugins.evals.checks.rows import Held
from muniment_plugins.evals.views.rows import Row, listed

__all__ = ["below", "uncompared", "within"]


def within(call: str, stage: str) -> str:
    """Return how a *stage* of a run is named that was called in *call*."""
    return f"{call}/{stage}"


def below(path: str, row: Held) -> Held:
    """Return *row*, which is about a run that was called in *path*."""
    if row.stage is None:
        return replace(row, says=f"{path}: {row.says}", stage=path)
    return replace(row, says=f"{path}/{row.says}", stage=f"{path}/{row.stage}")


def uncompared(view: Mapping[str, Any], fixture: Mapping[str, Any] | None) -> Row:
    """Return how much of the run in *view* was not compared, by what it is.

    Requests of some kinds never are; of the rest it is what the *fixture* does not have.
    """
    found: dict[str, int] = {}
    for name, count in (*_kinds(view), *_lacking(view, fixture)):
        if count:
            found[name] = found.get(name, 0) + count
    return found


def _kinds(view: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield from view["uncompared"].items()
    for one in listed(view, "below"):
        yield from _kinds(one["view"])


def _lacking(
    view: Mapping[str, Any], fixture: Mapping[str, Any] | None
) -> Iterator[tuple[str, int]]:
    if fixture is None:
        return
    stages = {one["id"]: one for one in view["stages"]}
    held: Iterable[Row] = fixture["stage_assertions"]
    without = [stages.get(one.get("id", "")) for one in held if _lacks_effects(one)]
    yield "effects", sum(len(one.get("effects", [])) for one in without if one)
    if fixture["complete"] and "options" not in fixture:
        yield "options", 1
    if "runs_below" not in fixture:
        yield "runs below", len(listed(view, "below"))
        return
    known = {one["call"]: one["view"] for one in listed(view, "below")}
    for one in fixture["runs_below"]:
        if one["call"] in known:
            yield from _lacking(known[one["call"]], one)


def _lacks_effects(said: Row) -> bool:
    return said.get("expected_effects") is None
