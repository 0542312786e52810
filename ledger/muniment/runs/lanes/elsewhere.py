"""What a function sees of its run where an executor calls it: who asks, and the key.

    told_lane()     {"run": "01JD…", "scope": "pay.1/@stage.2", "key": "9f86…", "seed": …}
    with lane_elsewhere(told):
        current_run().idempotency_key

Rules:

- The key is that of the effect which is performed, wherever that is: so the outside world
  can tell that an attempt is the same one.
- What is drawn there, numbers and ids, is what the owner of the run would draw.
- The run is recorded by its owner alone: everything else that a lane does is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from muniment.encoding.draws import as_float, as_uuid, drawn
from muniment.errors import RefusedError, UsageError
from muniment.runs.run import Run, current_run

__all__ = ["LaneElsewhere", "lane_elsewhere", "told_lane"]


def told_lane() -> dict[str, str] | None:
    """Return what goes along with a call; None where no effect is performed."""
    try:
        lane = current_run()
        key = lane.idempotency_key
    except UsageError:
        return None
    return {
        "run": lane.id,
        "scope": lane.scope_path,
        "key": key,
        "seed": lane._recording.seed,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - of a lane
    }


def lane_elsewhere(
    told: Mapping[str, object] | None,
) -> AbstractContextManager[object]:
    """Return the context of a function that is called here for the run that was *told*."""
    return nullcontext() if told is None else LaneElsewhere(told)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The effect that is performed, as far as it is known here."""

    idempotency_key: str
    recording: None = None


class LaneElsewhere(Run):
    """A lane of a run that another process records."""

    __slots__ = ("_draws", "_id", "_seed")

    def __init__(self, told: Mapping[str, object]) -> None:
        """Stand for the lane that was *told*."""
        self._id = str(told["run"])
        self._call = cast("Any", _Asked(str(told["key"])))
        self.scope_path = str(told["scope"])
        self._seed, self._draws = str(told["seed"]), dict[str, int]()

    def random(self) -> float:
        """Return the number that the owner of the run would draw."""
        return as_float(self._draw("random"))

    def uuid(self) -> UUID:
        """Return the UUID that the owner of the run would draw."""
        return as_uuid(self._draw("uuid"))

    def _draw(self, what: str) -> bytes:
        count = self._draws.get(what, 0)
        self._draws[what] = count + 1
        return drawn(self._seed, what, self.scope_path, count)

    @property
    def id(self) -> str:
        """The run's id, a ULID."""
        return self._id

    def _leave(self, error: BaseException | None) -> None:
        """Do nothing: the owner of the run sees which error comes back."""

    @property
    def _recording(self) -> Any:  # type: ignore[override]  # it has none here
        """Refuse what only the owner of the run does.

        Raises:
            RefusedError: always.

        """
        raise RefusedError(
            "a run is recorded by its own process, and an executor called this elsewhere",
            rule="run/process",
            place=f"run {self._id}",
            remedy="return what is to be recorded, or use the threads executor",
        )
