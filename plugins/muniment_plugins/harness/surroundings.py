"""The surroundings of a step: a lane of a run, or none if it is called by hand.

Rule: the step behaves the same in both. By hand nothing is recorded, effects are
performed at once, and the installed plugins answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from muniment.encoding.registry import ValueTypes
from muniment.errors import RefusedError, UsageError
from muniment.plugins import Plugins
from muniment.programs.import_guard import refuse_importing
from muniment.runs.run import current_run
from muniment.runs.waits.stand_ins import AnswerableRequest

__all__ = ["ByHand", "Surroundings", "here"]


class Surroundings(Protocol):
    """What a step needs from its run."""

    @property
    def values(self) -> ValueTypes:
        """The classes whose instances are values."""
        ...

    def record(self, name: str, data: Mapping[str, object], /) -> object:
        """State a fact of the type called *name*."""
        ...

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Perform an effect, or answer it from the record."""
        ...

    def hook(self, name: str, /, **arguments: object) -> object:
        """Ask the plugins."""
        ...

    def random(self) -> float:
        """Return a number from [0, 1), equal in a replay."""
        ...


class ByHand:
    """The surroundings of a step that no run calls."""

    def __init__(self) -> None:
        self.values = ValueTypes()
        self._random = random.Random(0)  # noqa: S311 - permutations, no secrets

    def record(self, name: str, data: Mapping[str, object], /) -> None:
        """State nothing: there is no record."""

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Perform at once.

        Raises:
            RefusedError: a file calls this while it is imported for a replay or resume.

        """
        refuse_importing()
        del kind
        return perform(
            request.request if isinstance(request, AnswerableRequest) else request
        )

    def hook(self, name: str, /, **arguments: object) -> object:
        """Ask the installed plugins."""
        return Plugins().first(name, run=self, **arguments)

    def random(self) -> float:
        """Return the next number of a fixed sequence."""
        return self._random.random()


def here() -> Surroundings:
    """Return the lane in which the calling code runs, or `ByHand`.

    A file that is imported for a replay is in no run, whoever imports it.
    """
    try:
        return current_run()
    except (RefusedError, UsageError):
        return ByHand()
