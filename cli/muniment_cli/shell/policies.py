"""The option ``--policy``, and running under the policy that it names.

Rules: the file is read before anything is opened or started, so a mistake in it costs
nothing; where the plugin that governs runs may not load, nothing is run without it; two
policies are refused, since a run has one.
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

__all__ = [
    "ceiling_option",
    "judging_policy_option",
    "policy_option",
    "read_policy",
    "under",
]

F = TypeVar("F", bound=Callable[..., object])


def policy_option(function: F) -> F:
    """Add ``--policy`` to a command."""
    return _option(
        "Hold the run to this policy: budgets, and what happens beyond them.",
        required=False,
    )(function)


def ceiling_option(function: F) -> F:
    """Add ``--ceiling`` to a command that takes a graph."""
    return click.option(
        "--ceiling",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Hold the graph to this capability policy: JSON, YAML or TOML.",
    )(function)


def judging_policy_option(function: F) -> F:
    """Add ``--policy`` to a command that judges by it, and needs one."""
    return _option("Judge by this policy.", required=True)(function)


def _option(text: str, *, required: bool) -> Callable[[F], F]:
    return click.option(
        "--policy",
        required=required,
        multiple=True,  # to be refused: else the last one would win, silently
        callback=_one,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=text,
    )


def _one(
    context: click.Context, option: click.Parameter, given: tuple[Path, ...]
) -> Path | None:
    """Return the policy that is given, if one is."""
    del context, option
    if len(given) > 1:
        raise click.UsageError("--policy is given twice")
    return given[0] if given else None


def read_policy(path: Path | None, *, judges: bool = False) -> GovernancePolicy | None:
    """Return the policy in the file *path*, if one is named.

    The functions that it names as fallbacks are found, so their modules are imported;
    not so if it only *judges* what was recorded.

    Raises:
        UsageError: it cannot be read, has a mistake, or a function is not there.
        CannotTellError: importing a function fails.

    """
    if path is None:
        return None
    from muniment_plugins.governance.documents.policy import load_policy
    from muniment_plugins.governance.flows.existence import require_functions

    policy = load_policy(path)
    if not judges:
        require_functions(policy, None)
    return policy


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
