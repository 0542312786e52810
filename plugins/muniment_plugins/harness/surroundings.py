"""Where a step stands: in a lane of a run, or in the open, called by hand.

Rule: the step is the same in both. By hand nothing is recorded, effects are performed
at once, and the installed plugins answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from muniment.errors import RefusedError, UsageError
from muniment.imports import refuse_importing
from muniment.lanes import current_run
from muniment.plugins import Plugins
from muniment.value_types import ValueTypes

__all__ = ["ByHand", "Surroundings", "here"]


class Surroundings(Protocol):
    """What a step needs of the run that it is part of."""

    @property
    def values(self) -> ValueTypes:
        """The classes whose instances are values."""
        ...

    def record(self, kind: str, data: Mapping[str, object]) -> object:
        """State a fact."""
        ...

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Do what cannot be computed, or answer it from the record."""
        ...

    def hook(self, name: str, **arguments: object) -> object:
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

    def record(self, kind: str, data: Mapping[str, object]) -> None:
        """State nothing: there is no record."""

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Perform at once.

        Raises:
            RefusedError: a file does it while it is imported for a replay or resume.

        """
        refuse_importing()
        del kind
        return perform(request)

    def hook(self, name: str, **arguments: object) -> object:
        """Ask the installed plugins."""
        return Plugins().first(name, run=self, **arguments)

    def random(self) -> float:
        """Return the next number of a fixed sequence."""
        return self._random.random()


def here() -> Surroundings:
    """Return the lane that the calling code runs in, or the open.

    A file that is imported for a replay is in no run, whoever imports it.
    """
    try:
        return current_run()
    except (RefusedError, UsageError):
        return ByHand()
