"""Under which policy runs start here.

    with governed(ledger, policy):
        ledger.execute(program)          run.started  {"labels": {"policy": "sha256:…"}}

Rules:

- What starts in the context is governed, and so are the runs that it calls: by this
  plugin, whatever starts it. A run that is resumed is governed by what its record says.
- The label names the policy by its digest, in the event that starts the run. So a run
  that was cut off before anything else of it was written cannot go on without its policy.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from muniment.errors import CannotTellError
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.documents.signed_policy import refuse_forged

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "LABEL",
    "MEMORY",
    "PLUGIN",
    "Governing",
    "LimitsInForce",
    "governed",
    "governing",
    "limit_in_force",
    "require_plugin",
]

PLUGIN = "governance"
LABEL = "policy"
"""The label of governed runs: the digest of their policy."""


MEMORY = "governance"
"""Under which name the memory of a run has what governs it."""


@runtime_checkable
class LimitsInForce(Protocol):
    """Knows the limits of a run as they are now, amendments included."""

    def limit_of(self, account: str, name: str) -> int | None:
        """Return the limit *name* of an *account*; None if it has none."""
        ...


@dataclass(frozen=True, slots=True)
class Governing:
    """The documents that runs here are held to."""

    policy: GovernancePolicy
    flow: FlowManifest | None = None


_GOVERNING: ContextVar[Governing | None] = ContextVar(
    "muniment_governing", default=None
)


@contextmanager
def governed(
    ledger: Ledger, policy: GovernancePolicy, flow: FlowManifest | None = None
) -> Generator[None]:
    """Let the runs of *ledger* that start in this context be governed by *policy*.

    The budgets of *flow*, which they belong to, count beside those of the policy.

    Raises:
        CannotTellError: the plugin may not load, so that nothing would govern them.
        RefusedError: the policy is signed, and by no approver of the ledger.

    """
    require_plugin(ledger)
    if policy.envelope is not None:
        refuse_forged(ledger, policy.document, policy.envelope, policy.place)
    token = _GOVERNING.set(Governing(policy, flow))
    try:
        yield
    finally:
        _GOVERNING.reset(token)


def require_plugin(ledger: Ledger) -> None:
    """Refuse what needs this plugin where it is not active.

    Raises:
        CannotTellError: it is not.

    """
    if PLUGIN not in ledger.plugins.versions:
        raise CannotTellError(
            "the plugin that governs runs may not load",
            rule="policy/plugin",
            place=f"plugin {PLUGIN}",
            remedy="allow it in MUNIMENT_PLUGINS",
        )


def governing() -> Governing | None:
    """Return what governs the runs that start here, if anything does."""
    return _GOVERNING.get()


def limit_in_force(memory: Mapping[str, object], account: str, name: str) -> int | None:
    """Return a limit as it is now for the run with this *memory*; None if it has none."""
    found = memory.get(MEMORY)
    return found.limit_of(account, name) if isinstance(found, LimitsInForce) else None
