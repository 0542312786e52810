"""The kinds of nodes that are known: the nine in the box, and those that plugins add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from muniment.errors import UsageError
from muniment_plugins.workflow.nodes.condition import ConditionKind
from muniment_plugins.workflow.nodes.escalation import EscalationKind
from muniment_plugins.workflow.nodes.gates import ForkKind, JoinKind
from muniment_plugins.workflow.nodes.kind import NodeKind
from muniment_plugins.workflow.nodes.map import MapKind
from muniment_plugins.workflow.nodes.reduce import ReduceKind
from muniment_plugins.workflow.nodes.stage import StageKind
from muniment_plugins.workflow.nodes.subagent import SubagentKind
from muniment_plugins.workflow.nodes.verify import VerifyKind

if TYPE_CHECKING:
    from muniment.plugins import Plugins

__all__ = ["BOX", "kinds_of"]

BOX: Mapping[str, NodeKind] = {
    one.name: one
    for one in (
        StageKind(),
        VerifyKind(),
        ConditionKind(),
        ForkKind(),
        JoinKind(),
        MapKind(),
        ReduceKind(),
        SubagentKind(),
        EscalationKind(),
    )
}


def kinds_of(plugins: Plugins | None) -> Mapping[str, NodeKind]:
    """Return the kinds in the box, and those that *plugins* add.

    Raises:
        UsageError: two plugins add one name, or one has a name of the box.

    """
    found: dict[str, NodeKind] = dict(BOX)
    for plugin, answer in () if plugins is None else plugins.ask("node_kinds"):
        for one in cast("list[NodeKind]", list(answer or ())):  # type: ignore[call-overload]
            if one.name in found:
                raise UsageError(
                    f"the plugin {plugin} adds the kind {one.name!r}, which is there",
                    rule="workflow/kind",
                    place="node_kinds",
                    remedy="let MUNIMENT_PLUGINS leave one of them out",
                )
            found[one.name] = one
    return found
