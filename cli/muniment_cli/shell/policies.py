"""The option ``--policy``, and running under the policy that it names.

Rules: the file is read before anything is opened or started, so a mistake in it costs
nothing; where the plugin that governs runs may not load, nothing is run without it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment_plugins.governance.documents.policy import GovernancePolicy

__all__ = ["policy_option", "read_policy", "under"]

F = TypeVar("F", bound=Callable[..., object])


def policy_option(function: F) -> F:
    """Add ``--policy`` to a command."""
    return click.option(
        "--policy",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Hold the run to this policy: budgets, and what happens beyond them.",
    )(function)


def read_policy(path: Path | None) -> GovernancePolicy | None:
    """Return the policy in the file *path*, if one is named.

    Raises:
        UsageError: it cannot be read, or has a mistake.

    """
    if path is None:
        return None
    from muniment_plugins.governance.documents.policy import load_policy

    return load_policy(path)


def under(
    ledger: Ledger, policy: GovernancePolicy | None
) -> AbstractContextManager[object]:
    """Return the context in which runs of *ledger* are held to *policy*.

    Raises:
        CannotTellError: the plugin that governs runs may not load.

    """
    if policy is None:
        return nullcontext()
    from muniment_plugins.governance.governed import governed

    return governed(ledger, policy)
