"""The words of graphs: node kinds, the branches they end in, and other names for these.

    stage: success, failed, error          an edge "retry" is taken on success, too
    verify: passed, failed, error

Rules:

- A *branch* is the label of how a node ended. An edge with that label takes it; one with
  ``*`` takes any; one without a label takes those that mean success.
- ``error`` is the end of a node that raised, broke a contract, or was refused.
- A node can call its branches something else, by ``branch_semantics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = [
    "ANY",
    "BRANCHES",
    "ERROR",
    "FAILED",
    "HANDLER_LEVEL",
    "JOIN_STRATEGIES",
    "MODES",
    "NODE_KINDS",
    "SEMANTICS",
    "SYNONYMS",
    "TARGET_PATHS",
    "UNDECLARED",
    "VISIBILITIES",
    "Branches",
    "JoinStrategy",
]

ANY = "*"
"""The label of an edge that takes every branch."""
FAILED = "failed"
ERROR = "error"

JoinStrategy: TypeAlias = Literal["all", "first", "quorum"]
JOIN_STRATEGIES: tuple[str, ...] = get_args(JoinStrategy)
MODES = ("function", "llm", "agent")
"""Who does the work of a node: a function, one call of a model, or a loop of calls."""

HANDLER_LEVEL = "workflow_handler_level"
"""Metadata of a node whose level was set by somebody who knows nothing of its handler:
the level that is declared for the handler, or `UNDECLARED`."""
UNDECLARED = "undeclared"
TARGET_PATHS = "workflow_target_paths"
"""Metadata of a node: paths that its tools write to at most, whatever is approved."""

VISIBILITIES = ("public", "public_only", "private")
"""What others see of what a node says: all but private parts, or nothing."""


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches that a kind of node can end in, apart from ``error``."""

    success: tuple[str, ...]
    """Those that mean success: edges without a label take them."""
    failure: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every branch, ``error`` last."""
        return (*self.success, *self.failure, ERROR)


BRANCHES: Mapping[str, Branches] = {
    "stage": Branches(("success",), (FAILED,)),
    "verify": Branches(("passed",), (FAILED,)),
    "condition": Branches(("true", "false")),
    "fork": Branches(("fork",)),
    "join": Branches(("join",), (FAILED,)),
    "map": Branches(("mapped",), (FAILED,)),
    "reduce": Branches(("reduced",)),
    "subagent": Branches(("success",), (FAILED,)),
    "escalation": Branches(("approved",), ("denied",)),
}
"""Kind → its branches."""
NODE_KINDS = tuple(BRANCHES)

SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "stage": {"retry": "success"},
    "subagent": {"retry": "success"},
    "escalation": {"escalated": "approved"},
}
"""Kind → label of an edge → the branch that it means, too."""

SEMANTICS: Mapping[str, Mapping[str, str]] = {
    "stage": {"success": "success", "failure": FAILED, "loop_continue": "success"},
    "subagent": {"success": "success", "failure": FAILED, "loop_continue": "success"},
    "verify": {
        "verify_pass": "passed",
        "verify_fail": FAILED,
        "loop_exit": "passed",
        "loop_continue": FAILED,
    },
    "condition": {
        "condition_true": "true",
        "condition_false": "false",
        "loop_continue": "true",
        "loop_exit": "false",
    },
    "join": {"success": "join", "failure": FAILED},
    "map": {"success": "mapped", "failure": FAILED},
    "reduce": {"success": "reduced"},
    "escalation": {
        "escalation": "approved",
        "success": "approved",
        "failure": "denied",
    },
}
"""Kind → member of ``branch_semantics`` → the branch that gets its name."""
