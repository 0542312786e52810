"""The failures that end a run though its program swallowed them, and those above it.

Rule: such a failure ends the run in which it happened, and each run that called it, at
once: whether or not a caller sees the failure of its call, and whatever it makes of it.
"""

from __future__ import annotations

from typing import Self

from muniment.errors import EffectFailed

__all__ = ["Fatal"]


class Fatal(list[EffectFailed]):
    """The fatal failures of effects of one run, in their order."""

    def __init__(self, above: Self | None = None) -> None:
        super().__init__()
        self.above = above
        """Those of the run that called it."""
        self.below: list[EffectFailed] = []
        """Those of the runs that it called, without their places there."""

    @property
    def is_struck(self) -> bool:
        """Whether the run, or one that it called, has such a failure."""
        return bool(self or self.below)

    def strike(self, failure: EffectFailed) -> None:
        """Let the run, and those above it, end by *failure*."""
        failure.halts = True
        self.append(failure)
        above = self.above
        while above is not None:
            told = failure.kind, failure.error_type, failure.message, failure.data
            above.below.append(EffectFailed(*told))
            above = above.above

    def inside(self, scope: str) -> EffectFailed | None:
        """Return the first failure of an effect that was asked for below *scope*."""
        for one in self:
            if one.effect is not None and f"{one.effect[0]}/".startswith(f"{scope}/"):
                return one
        return None

    def raise_first(self) -> None:
        """Raise the first failure, if there is one."""
        for failure in (*self, *self.below):
            raise failure
