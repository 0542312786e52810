"""The order of what branches and items made at once.

Rule: what one path made comes in the order of its events; branches come in the order of the
edges of their fork, items in theirs, whoever was first. So two runs of which neither had a
result list the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment_plugins.workflow.records.rows import Row, above

__all__ = ["in_branch_order"]


def in_branch_order(skeleton: Row) -> list[Row]:
    """Return the artifacts of *skeleton* in that order."""
    rows: list[Row] = skeleton["artifacts"]
    first: dict[str, int] = {}
    for row in rows:
        for scope in above(row["scope"]):
            first.setdefault(scope, row["seq"])
    edges = _edges(skeleton)

    def rank(row: Row) -> list[tuple[int, int]]:
        scopes = [*above(row["scope"])][-2::-1]  # without that of the run, from outside
        return [_rank(skeleton, edges, first, one) for one in scopes]

    return sorted(rows, key=rank)


def _rank(
    skeleton: Row, edges: dict[tuple[str, str], int], first: dict[str, int], scope: str
) -> tuple[int, int]:
    """Return the place of *scope* among those beside it."""
    around, _, name = scope.rpartition("/")
    owner, _, last = around.rpartition("/")
    if last.startswith("@"):  # a race
        around = owner
    stage = skeleton["stages"].get(around)
    if stage is not None and stage["kind"] == "map" and name.isdecimal():
        return int(name), 0
    return edges.get((around, name), 0), first[scope]


def _edges(skeleton: Row) -> dict[tuple[str, str], int]:
    """Return the place of each branch among those of its fork, by scope and name."""
    return {key: place for place, key in enumerate(_taken_by_forks(skeleton))}


def _taken_by_forks(skeleton: Row) -> Iterator[tuple[str, str]]:
    for one in skeleton["transitions"]:
        stage = skeleton["stages"].get(one["scope"])
        if stage is not None and stage["kind"] == "fork":
            yield one["scope"], one["target"]
