"""Paths at once: the branches of a fork, the items of a map.

    race.requested  {"branches": ["a", "b"], "strategy": "first", "needed": 1}
    race.completed  {"a": {"arrived": true, "artifacts": [{…}], …}, "b": {}}

Rules:

- Each path has a scope of its own. Waiting for all, a failed path does not end the others,
  nor does one that waits for people: the run pauses once all of them have come to an end.
- Who is first is an outcome of the world, so a race is one effect: its replay is answered
  with what the race came to, and a resume runs it again. A race that too few paths won has
  failed, with what it came to: so a resume of a run that failed by it runs it again, too.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed
from muniment.programs.awaiting import driven
from muniment.runs.run import Run
from muniment_plugins.workflow.documents.node import JoinPolicy
from muniment_plugins.workflow.runtime.artifact_rows import (
    are_rows,
    read_rows,
    row_of,
    time_of,
)
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.runtime.lanes import (
    CancelledPath,
    Ended,
    FailedPath,
    FinishedPath,
    Lanes,
    Stop,
    arrived,
)
from muniment_plugins.workflow.runtime.paths import GraphPath

__all__ = ["Branching", "PathWork", "RaceLost", "at_once", "race_fault"]

PathWork: TypeAlias = Callable[[GraphPath, str], Coroutine[Any, Any, bool]]
"""Follows a path of a name; tells whether it arrived where the paths meet."""


@dataclass(frozen=True, slots=True)
class Branching:
    """Paths that ran at once, by name, and how each of them ended."""

    paths: Mapping[str, GraphPath]
    ended: Mapping[str, Ended]

    def names(self, *classes: type[Ended]) -> list[str]:
        """Return the names of the paths that ended like that, in order."""
        return [name for name, end in self.ended.items() if isinstance(end, classes)]

    def errors(self) -> list[WorkflowFailed]:
        """Return the failures of the paths that failed, in order."""
        return [one.error for one in self.ended.values() if isinstance(one, FailedPath)]

    def failure(self) -> WorkflowFailed | None:
        """Return the failure of the paths that failed: the first one's words, from all.

        So a resume performs again what failed in each of them.
        """
        errors = self.errors()
        if len({id(one.__cause__) for one in errors}) <= 1:  # one path, or a lost race
            return next(iter(errors), None)
        first, *others = errors
        failed = WorkflowFailed(
            f"{first.message} (and {len(others)} beside it failed)",
            rule=first.rule,
            place=first.place,
            remedy=first.remedy,
        )
        failed.__cause__ = ExceptionGroup("at once", errors)
        return failed


class RaceLost(Exception):
    """Too few paths of a race came to a good end."""

    def __init__(self, won: int, needed: int, rows: dict[str, JsonValue]) -> None:
        """Keep the *rows* of what the race came to, as the ``data`` of its failure."""
        super().__init__(f"{won} of the {needed} that it needs came to a good end")
        self.data = rows


async def at_once(  # noqa: PLR0913 - a fork and a map differ in all of them
    lanes: Lanes,
    path: GraphPath,
    lane: Run,
    names: Sequence[str],
    policy: JoinPolicy,
    work: PathWork,
    *,
    limit: int | None = None,
) -> Branching:
    """Do *work* for each of *names*, *limit* of them at once, on paths below *lane*.

    Raises:
        PathStopped: what they would find is no longer needed.

    """
    stop, races = Stop(path.stop), policy.is_race
    paths = {one: path.branch(lane.scope(one), stop, in_race=races) for one in names}
    needed = policy.needed(len(names)) if races else len(names) + 1
    width = 1 if races else lanes.width(len(names), limit)

    async def run() -> Branching:
        jobs = [partial(work, paths[one], one) for one in names]
        with _waiting(lane, names, width):
            ended = await lanes.each(jobs, limit, needed, stop)
        return Branching(paths, dict(zip(names, ended, strict=True)))

    if not races:
        came = await run()
        path.stop.check()
        return came

    async def raced() -> object:
        came = await run()
        rows, won = _written(came), sum(map(arrived, came.ended.values()))
        if won < needed and (errors := came.errors()):
            # From all of them: so a resume performs again what failed in each path.
            raise RaceLost(won, needed, rows) from ExceptionGroup("in a race", errors)
        return rows

    request = {"branches": [*names], "strategy": policy.strategy, "needed": needed}
    lost = None
    try:
        if lanes.is_async:
            rows = await lane.aeffect("race", request, lambda _: raced())
        else:
            rows = lane.effect("race", request, lambda _: driven(raced()))
    except EffectFailed as error:
        path.stop.check()
        if error.error_type != RaceLost.__name__:
            raise
        rows, lost = error.data, error
    path.stop.check()
    return _read(cast("Mapping[str, JsonValue]", rows), paths, lost)


def _waiting(
    lane: Run, names: Sequence[str], width: int
) -> AbstractContextManager[object]:
    """Let the paths *names* wait each for itself, if more than one of them runs at a time.

    What runs one after the other waits in turn; within a race nobody can be asked.
    """
    return lane.at_once(names) if width > 1 else nullcontext()


def _written(came: Branching) -> dict[str, JsonValue]:
    """Return what a race came to, as a value that a record can have."""
    rows: dict[str, JsonValue] = {}
    for name, end in came.ended.items():
        path = came.paths[name]
        if isinstance(end, FinishedPath):
            rows[name] = {
                "arrived": bool(end.value),
                "steps": path.steps,
                "unverified": cast("JsonValue", path.unverified),
                "artifacts": [row_of(one) for one in path.made],
            }
        elif isinstance(end, FailedPath):
            error = end.error
            said: list[JsonValue] = [
                error.message,
                error.rule,
                error.place,
                error.remedy,
            ]
            rows[name] = {"failed": said}
        else:
            rows[name] = {}
    return rows


def _read(
    rows: Mapping[str, JsonValue],
    paths: Mapping[str, GraphPath],
    lost: EffectFailed | None,
) -> Branching:
    """Return what a race came to, from its record; whatever failed, by what was *lost*."""
    ended: dict[str, Ended] = {}
    for name, path in paths.items():
        said = cast("Mapping[str, JsonValue]", rows[name])
        if "failed" in said:
            message, rule, place, remedy = cast("list[str]", said["failed"])
            error = WorkflowFailed(message, rule=rule, place=place, remedy=remedy)
            error.__cause__ = lost
            ended[name] = FailedPath(error)
        elif "arrived" in said:
            ended[name] = FinishedPath(said["arrived"])
            _restore(path, said)
        else:
            ended[name] = CancelledPath()
    return Branching(paths, ended)


def _restore(path: GraphPath, said: Mapping[str, JsonValue]) -> None:
    """Let *path* have what its record says; it has that already if it ran here."""
    if not path.made:
        path.add(read_rows(said["artifacts"], time_of(path.began, path.steps)))
    path.steps = cast("int", said["steps"])
    path.unverified = dict(cast("Mapping[str, str]", said["unverified"]))


_FORM = (
    "it has each branch of the race, {} for one that was not needed, one that came to its "
    "end with arrived, steps, unverified and artifacts, or one that failed with four texts"
)


def race_fault(request: object, value: object) -> str | None:
    """Say what is wrong with *value* as what a race came to."""
    asked = cast("Mapping[str, list[str]]", request)
    if not isinstance(value, Mapping) or {*value} != {*asked["branches"]}:
        return _FORM
    rows = cast("Mapping[str, object]", value).values()
    return None if all(map(_is_row, rows)) else _FORM


def _is_row(row: object) -> bool:
    """Tell whether *row* says how a path ended, as `_read` reads it."""
    said = cast("Mapping[str, object]", row if isinstance(row, Mapping) else {"": 0})
    if not said:
        return True
    if {*said} == {"failed"}:
        words = said["failed"]
        known = cast("list[object]", words if isinstance(words, list) else [])
        return [*map(type, known)] == [str] * 4
    if {*said} != {"arrived", "steps", "unverified", "artifacts"}:
        return False
    unverified, steps = said["unverified"], said["steps"]
    return (
        isinstance(said["arrived"], bool)
        and type(steps) is int
        and steps >= 0
        and isinstance(unverified, Mapping)
        and all(
            isinstance(one, str)
            for one in cast("Mapping[str, object]", unverified).values()
        )
        and are_rows(said["artifacts"])
    )
