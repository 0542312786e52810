"""The lanes of a flow's functions, in which they cannot speak for the flow.

    run.record("note.added", …)                 as in every program
    run.record("verification.arbitrated", …)    refused: flow/statement

Rule: what the flow states in the scope of a step, its agent would state in the same one.
So a function of a step gets this lane, also by `current_run`, and in scopes below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muniment.formats.statement import SubjectLike
from muniment.runs.run import Handle, Run
from muniment_plugins.governance.authority import OWN_TYPES
from muniment_plugins.governance.flows.failed import FlowFailed

__all__ = ["FunctionLane"]


class FunctionLane(Run):
    """One scope of a run, for a function that a flow calls."""

    __slots__ = ()

    @classmethod
    def of(cls, lane: Run) -> FunctionLane:
        """Return the lane of a function in the scope of *lane*."""
        return cls(lane._recording, lane.scope_path, lane._call)  # noqa: SLF001 - of its base

    def scope(self, name: str) -> FunctionLane:
        """Return the lane *name* below this one."""
        return FunctionLane.of(super().scope(name))

    def record(
        self,
        type: str,  # noqa: A002 - as `Run.record` has it
        data: Mapping[str, object],
        *,
        subject: Iterable[SubjectLike] = (),
        series: Iterable[str] = (),
        held: bool = False,
    ) -> Handle:
        """State a fact of the function's own.

        Raises:
            FlowFailed: the flow states such facts, and no function of it.

        """
        if type in OWN_TYPES:
            raise FlowFailed(
                f"a function of a flow stated {type}, which the flow itself states",
                rule="flow/statement",
                place=self.scope_path or "flow",
                remedy="return what the step made; record facts of the function's own "
                "under a type of your own",
            )
        return super().record(type, data, subject=subject, series=series, held=held)
