"""Governance: flows, policies and budgets, verification, and verdicts about replays.

    muniment run flow.json --policy policy.json

What happens is recorded as facts, so that a run can be replayed, and its policy read, by
whoever has the ledger alone. The plugin manager loads this module: it offers the hooks
and knows the other modules by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment_plugins.governance.documents.manifest import FlowManifest, load_flow
    from muniment_plugins.governance.documents.policy import (
        GovernancePolicy,
        load_policy,
    )

__all__ = [
    "FlowManifest",
    "GovernancePolicy",
    "effect_kinds",
    "event_types",
    "hookspecs",
    "load_flow",
    "load_policy",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "FlowManifest": ".documents.manifest",
        "GovernancePolicy": ".documents.policy",
        "load_flow": ".documents.manifest",
        "load_policy": ".documents.policy",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of policies, flows and verdicts to the vocabulary."""
    from muniment_plugins.governance.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add retrieval."""
    from muniment_plugins.governance.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS


@hookimpl
def hookspecs() -> Iterable[ModuleType | type]:
    """Declare the hooks by which other plugins offer agents and engines."""
    from muniment_plugins.governance.hooks import GovernanceHooks  # noqa: PLC0415 - lazy

    return (GovernanceHooks,)
