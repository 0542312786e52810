"""The errors of the harness: its refusals, and how a failed experiment ends.

    RefusedError
    └── HarnessRefused            claim, spec, property, metric or order of steps
        ├── ModelRefused          a model that refuses to answer
        └── BoundedExecutionError code that leaves its bounds, or breaks inside them
    MunimentError
    └── ExperimentFailed          replicates failed, or a hypothesis was not judged

Rules: steps called by hand raise these; an experiment records them as facts, continues
with its other replicates, and keeps them in its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self, cast

from muniment.errors import MunimentError, RefusedError

__all__ = [
    "BoundedExecutionError",
    "ExperimentFailed",
    "HarnessRefused",
    "ModelRefused",
    "message_of",
    "telling",
]

_TIMEOUTS = ("capsule/cpu", "capsule/wall")
_KINDS = 10
"""How many distinct failures an error lists."""


class HarnessRefused(RefusedError):
    """The request could only seem to work."""


class ModelRefused(HarnessRefused):
    """A model answered that it refuses; ``text`` is what it said beside that."""

    text = ""


class BoundedExecutionError(HarnessRefused):
    """Code contains, or does, something that its bounds do not allow.

    ``line`` and ``column`` count from 1; both are 0 if the place is unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        remedy: str = "",
        line: int = 0,
        column: int = 0,
    ) -> None:
        """Keep the position in addition to what every error keeps."""
        place = f"program:{line}:{column}" if line else "program"
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.line = line
        self.column = column

    @classmethod
    def of(cls, error: Mapping[str, object]) -> Self:
        """Return the exception for an *error* that the capsule described."""
        return cls(
            message_of(error),
            rule=str(error["rule"]),
            remedy=str(error.get("remedy", "")),
            line=cast("int", error.get("line", 0)),
            column=cast("int", error.get("column", 0)),
        )


def telling(perform: Callable[[object], object]) -> Callable[[object], object]:
    """Return *perform*, whose errors leave rule and remedy in the failed effect."""

    def told(request: object) -> object:
        try:
            return perform(request)
        except MunimentError as error:
            if error.remedy and getattr(error, "data", None) is None:
                about = {"rule": error.rule, "remedy": error.remedy}
                error.data = about  # type: ignore[attr-defined] # as a foreign error's
            raise

    return told


def message_of(error: Mapping[str, object]) -> str:
    """Return the message of a capsule *error*, in words that users search for."""
    kind, message = str(error.get("type", "")), str(error["message"])
    if error["rule"] in _TIMEOUTS:
        kind = "Execution timeout"
    plain = kind in ("", BoundedExecutionError.__name__)
    return message if plain else f"{kind}: {message}"


class ExperimentFailed(MunimentError):
    """An experiment ended, and something in it failed."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        place: str = "",
        remedy: str = "",
        kinds: tuple[str, ...] = (),
    ) -> None:
        """Keep the distinct failures in addition to what every error keeps."""
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.kinds = kinds

    def __str__(self) -> str:
        """One line, and one for each of the first distinct failures."""
        lines = [super().__str__(), *self.kinds[:_KINDS]]
        left = len(self.kinds) - _KINDS
        kinds = "1 more kind" if left == 1 else f"{left} more kinds"
        more = [f"and {kinds}; result.errors has all"] if left > 0 else []
        return "\n  ".join([*lines, *more])
