"""What the harness refuses, and how an experiment that did not get through ends.

    RefusedError
    └── HarnessRefused            claim, spec, property, metric or order of steps
        └── BoundedExecutionError code that leaves its bounds, or breaks inside them
    MunimentError
    └── ExperimentFailed          replicates failed, or a hypothesis was not judged

Rules: steps called by hand raise these; an experiment records them as facts, goes on
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
    "message_of",
    "telling",
]

_TIMEOUTS = ("capsule/cpu", "capsule/wall")
_KINDS = 10
"""How many kinds of failures an error says."""


class HarnessRefused(RefusedError):
    """Something is asked that could only seem to work."""


class BoundedExecutionError(HarnessRefused):
    """Code says, or does, something that its bounds do not allow.

    ``line`` and ``column`` count from 1; both are 0 where no place can be named.
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
        """Keep the position beside what every error keeps."""
        place = f"program:{line}:{column}" if line else "program"
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.line = line
        self.column = column

    @classmethod
    def of(cls, error: Mapping[str, object]) -> Self:
        """Return the exception for an *error* as the capsule describes it."""
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
    """Return what an *error* of the capsule says, in the words that users look up."""
    kind, message = str(error.get("type", "")), str(error["message"])
    if error["rule"] in _TIMEOUTS:
        kind = "Execution timeout"
    plain = kind in ("", BoundedExecutionError.__name__)
    return message if plain else f"{kind}: {message}"


class ExperimentFailed(MunimentError):
    """An experiment came to its end, and not everything in it did."""

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
        """Keep what failed, kind by kind, beside what every error keeps."""
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.kinds = kinds

    def __str__(self) -> str:
        """One line, and one for each of the first kinds of failures."""
        lines = [super().__str__(), *self.kinds[:_KINDS]]
        left = len(self.kinds) - _KINDS
        kinds = "1 more kind" if left == 1 else f"{left} more kinds"
        more = [f"and {kinds}; result.errors has all"] if left > 0 else []
        return "\n  ".join([*lines, *more])
