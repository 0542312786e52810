"""Which flows a flow consists of, before anything of them is imported or run.

    tree = tree_of(load_flow("flow.json"))
    [one.flow_id for one in tree.walk()]        ['flow', 'the-flow-of-a-part', …]

Rule: what is refused of a flow as it starts is refused of each flow that is a part of it,
however deep: so it is asked of `FlowTree.walk`, and not of the flow at the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from muniment.documents.places import At
from muniment_plugins.governance.documents.manifest import FlowManifest, load_flow

__all__ = ["FlowTree", "tree_of"]


@dataclass(frozen=True, slots=True)
class FlowTree:
    """A flow, and those that run in place of its agents."""

    flow: FlowManifest
    parts: Mapping[str, FlowTree]
    """Agent → the flow that is run in its place."""

    def walk(self) -> Iterator[FlowManifest]:
        """Yield the flow, then those that are parts of it, at any depth."""
        yield self.flow
        for part in self.parts.values():
            yield from part.walk()


def tree_of(flow: FlowManifest, above: tuple[Path, ...] = ()) -> FlowTree:
    """Read the manifests of all flows that *flow* consists of.

    Raises:
        UsageError: one cannot be read, has a mistake or another tenant, or runs itself.

    """
    seen = (*above, Path(flow.place).resolve())
    parts = {
        agent: _part(flow, agent, one.flow, seen)
        for agent, one in flow.parts.items()
        if one.flow is not None
    }
    return FlowTree(flow, parts)


def _part(
    flow: FlowManifest, agent: str, name: str, seen: tuple[Path, ...]
) -> FlowTree:
    file = flow.folder / name
    at = At(flow.place, "flow").key("parts").key(agent).key("flow")
    if file.resolve() in seen:
        raise at.wrong(f"{name} runs itself", "cycle", "leave it out")
    child = load_flow(file)
    if child.tenant_id != flow.tenant_id:
        raise at.wrong(
            f"{name} is of the tenant {child.tenant_id!r:.80}",
            "tenant",
            f"a flow runs flows of its own tenant, {flow.tenant_id}",
        )
    return tree_of(child, seen)
