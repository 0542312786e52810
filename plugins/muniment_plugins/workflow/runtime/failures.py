"""What ends a path, or the whole run, before its last node.

Rules:

- `WorkflowFailed` is caught where branches meet, so that one failed branch need not take
  the others with it; where no edge takes a failure, it ends the run.
- It is raised *from* the failure of the effect, if one failed: a resume then performs that
  effect again.
- A failure that halts the run, such as that of a budget, is stated as the end of its node;
  then it ends the run: it is not tried again, and no edge takes it.
- What the kernel says about the run itself (`SAID_OF_THE_RUN`) is no end of a node: it
  always ends the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.errors import (
    CannotTellError,
    EffectFailed,
    EffectInDoubt,
    MunimentError,
    RunFenced,
    StoreError,
    WrongError,
)

if TYPE_CHECKING:
    from muniment_plugins.workflow.documents.node import WorkflowNode
    from muniment_plugins.workflow.runtime.outcomes import NodeOutcome

__all__ = [
    "SAID_OF_THE_RUN",
    "AgentStopped",
    "GoesOnAsNew",
    "PathStopped",
    "StageFailed",
    "WorkflowFailed",
    "failure_of",
    "halts",
    "said_by",
]

SAID_OF_THE_RUN = (
    CannotTellError,
    WrongError,
    RunFenced,
    EffectInDoubt,
    StoreError,
)
"""Errors that are about the run, and not about what a node did: where a function is not to be
found, nobody can tell what the node would have done."""


class WorkflowFailed(MunimentError):
    """A node, and with it a path, did not come to a good end."""

    exit_code = 1


class AgentStopped(WorkflowFailed):
    """What a model was asked, once or in a loop, came to no good end; *reason* says which."""

    reason: str = "failed"


class StageFailed(Exception):
    """Raise it in a handler whose work came to a bad end: the branch is ``failed``.

    Whatever else a handler raises is an error of its own, and the branch is ``error``.
    """


class PathStopped(Exception):
    """No error: what this path would find is no longer needed."""


class GoesOnAsNew(PathStopped):
    """No error: the workflow goes on in a run of its own, from its first node."""

    def __init__(self, task: str | None = None) -> None:
        super().__init__()
        self.task = task
        """What that run is to do; None for what this one was to do."""


PRIVATE_FAILURE = "what it says is private; `muniment runs show RUN --private` has it"


def said_by(error: BaseException) -> tuple[str, str, str]:
    """Return the rule, the type and the message of what a node raised."""
    if isinstance(error, EffectFailed):
        return "effect/failed", error.error_type, error.message
    if isinstance(error, MunimentError):
        where = f"{error.place}: " if error.place else ""
        return error.rule, type(error).__name__, f"{where}{error.message}"
    return "workflow/raised", type(error).__name__, f"{type(error).__name__}: {error}"


def _why(error: BaseException) -> str:
    """Return what an *error* says, without the remedies of what it was raised from."""
    if isinstance(error, WorkflowFailed):
        return f"{error.place}: {error.message}"
    return said_by(error)[2]


def halts(error: BaseException | None) -> bool:
    """Tell whether the run ends by *error*, whatever its graph says."""
    return isinstance(error, EffectFailed) and error.halts


def failure_of(node: WorkflowNode, outcome: NodeOutcome) -> WorkflowFailed:
    """Return the error of a *node* whose failure no edge takes."""
    private = node.document.get("output_visibility") == "private"
    why = ""
    if outcome.cause is not None:
        why = f": {PRIVATE_FAILURE if private else _why(outcome.cause)}"
    error = WorkflowFailed(
        f"it ended in {outcome.branch}, which no edge takes{why}",
        rule="workflow/failed",
        place=node.name,
        remedy=f'let an edge with the branch "{outcome.branch}" lead on, if it may fail',
    )
    error.__cause__ = outcome.cause
    error.is_discreet = private
    return error
