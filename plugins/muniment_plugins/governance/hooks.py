"""The hooks of governance that other plugins may implement.

A plugin that does so marks its functions with ``hookimpl(optionalhook=True)``, so that it
loads where governance is not active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GovernanceHooks"]


class GovernanceHooks:
    """What plugins may offer to flows and policies, by name."""

    @hookspec
    def flow_parts(self) -> Mapping[str, Callable[..., object]]:  # type: ignore[empty-body]
        """Return names → functions: agents, retrievers and reasoners of flows.

        An agent for which a manifest has no part is looked up here by its id.
        """

    @hookspec
    def verification_engines(self) -> Mapping[str, Callable[..., object]]:  # type: ignore[empty-body]
        """Return names → engines, which a policy lists in ``engines``.

        An engine gets what is judged, as a mapping, and returns its violations.
        """
