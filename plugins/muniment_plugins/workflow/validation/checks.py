"""Everything that is checked of a graph before it runs, with codes that stay.

    report = workflow_validate(graph)
    report.valid, report.errors[0].code, report.errors[0].place
    (False, 'LABEL_DEAD', 'edges[2].branch')

Rules:

- Every mistake is found at once, but for mistakes of form, which hide others: the form is
  checked first, and its first mistake is the only finding.
- An error means that the graph cannot do what it says; a warning that it may surprise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment.documents.places import near
from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.policy import policy_of
from muniment_plugins.workflow.documents.graph import (
    GraphLike,
    WorkflowGraph,
    workflow_graph,
)
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.structure import structure_of
from muniment_plugins.workflow.documents.subgraphs import (
    body_node,
    child_graph,
    with_bodies,
)
from muniment_plugins.workflow.findings import (
    WorkflowFinding,
    errors_among,
)
from muniment_plugins.workflow.nodes.box import BOX
from muniment_plugins.workflow.nodes.kind import NodeKind, keys_of
from muniment_plugins.workflow.stages.permissions import permissions_of
from muniment_plugins.workflow.tools.schemas import require_local, schema_fault
from muniment_plugins.workflow.validation.callables import call_findings
from muniment_plugins.workflow.validation.ceilings import held_findings
from muniment_plugins.workflow.validation.edges import edge_findings
from muniment_plugins.workflow.validation.joins import join_findings
from muniment_plugins.workflow.validation.semantics import semantics_findings

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ValidationReport", "findings_of", "reachable_from", "workflow_validate"]

_OF_PATHS = ("max_visits", "branch_semantics")
"""Keys that are about the way on, which the body of a map does not have."""
Kinds = Mapping[str, NodeKind]
Ceiling = Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What is wrong with a graph."""

    findings: tuple[WorkflowFinding, ...]
    reachable_nodes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the graph can run: there are no errors."""
        return not self.errors

    @property
    def errors(self) -> tuple[WorkflowFinding, ...]:
        """What has to be mended."""
        return errors_among(self.findings)

    @property
    def warnings(self) -> tuple[WorkflowFinding, ...]:
        """What may surprise."""
        return tuple(one for one in self.findings if one.severity == "warning")

    def document(self) -> dict[str, JsonValue]:
        """Return the report as a JSON object."""
        return {
            "valid": self.valid,
            "errors": [one.document() for one in self.errors],
            "warnings": [one.document() for one in self.warnings],
            "reachable_nodes": [*self.reachable_nodes],
        }


def workflow_validate(
    graph: GraphLike,
    ceiling: Mapping[str, JsonValue] | None = None,
    *,
    kinds: Kinds = BOX,
) -> ValidationReport:
    """Return what is wrong with *graph*.

    Args:
        graph: a graph, or its document.
        ceiling: the capability policy that it is held to.
        kinds: the kinds of nodes that are known.

    """
    try:
        typed = workflow_graph(graph)
    except UsageError as error:
        place = error.place.partition(": ")[2]
        code = error.rule.rpartition("/")[2].replace("-", "_").upper()
        finding = WorkflowFinding(
            f"FORM_{code}", "error", place, error.message, error.remedy
        )
        return ValidationReport((finding,))
    held = None if ceiling is None else policy_of(ceiling, "ceiling").document()
    found = tuple(
        dict.fromkeys(
            [
                *findings_of(typed, kinds, held, held),
                *call_findings(typed, typed.functions),
            ]
        )
    )
    return ValidationReport(found, tuple(sorted(reachable_from(typed, typed.entry))))


def findings_of(
    graph: WorkflowGraph, kinds: Kinds, ceiling: Ceiling, host: Ceiling
) -> Iterator[WorkflowFinding]:
    """Yield what is wrong with *graph*, and with the graphs of its subagents.

    Args:
        graph: the graph.
        kinds: the kinds of nodes that are known.
        ceiling: what is left for the graph.
        host: the ceiling of the whole run.

    """
    if graph.entry not in graph.nodes:
        yield WorkflowFinding(
            "ENTRY_UNKNOWN",
            "error",
            "entry",
            f"no node is called {graph.entry!r:.80}",
            near(graph.entry, graph.nodes),
        )
        return
    for node in graph.nodes.values():
        yield from _of_node(node, graph, kinds)
        for one in with_bodies(node):
            yield from held_findings(graph, one, ceiling, host)
            yield from _of_child(one, graph, kinds, ceiling, host)
    yield from edge_findings(graph, kinds)
    yield from _of_structure(graph)
    reached = reachable_from(graph, graph.entry)
    for name, node in graph.nodes.items():
        if name not in reached:
            yield WorkflowFinding(
                "NODE_UNREACHABLE",
                "warning",
                node.at.path,
                "no path leads to it",
                "let an edge lead to it, or leave it out",
            )


def reachable_from(graph: WorkflowGraph, first: str) -> set[str]:
    """Return the nodes to which paths from *first* lead, itself included."""
    found, left = set[str](), [first]
    while left:
        name = left.pop()
        if name in found or name not in graph.nodes:
            continue
        found.add(name)
        left += [one.target for one in graph.out(name)]
    return found


def _of_node(
    node: WorkflowNode, graph: WorkflowGraph, kinds: Kinds
) -> Iterator[WorkflowFinding]:
    kind = kinds.get(node.kind)
    if kind is None:
        yield WorkflowFinding(
            "KIND_UNKNOWN",
            "error",
            node.at.key("kind").path,
            f"no kind of node is called {node.kind!r:.80}",
            near(node.kind, kinds),
        )
        return
    for key in node.document:
        if key not in keys_of(kind):
            yield WorkflowFinding(
                "KEY_INERT",
                "error",
                node.at.key(key).path,
                f"a node of the kind {node.kind} does not read it",
                near(key, sorted(keys_of(kind))),
            )
    yield from kind.findings(node, graph)
    yield from _of_contracts(node)
    yield from _of_context(node)
    yield from _of_schemas(node)
    yield from semantics_findings(node, kind)
    inner = body_node(node)
    if inner is not None:
        yield from _of_body(inner, graph, kinds)


def _of_child(
    node: WorkflowNode,
    graph: WorkflowGraph,
    kinds: Kinds,
    ceiling: Ceiling,
    host: Ceiling,
) -> Iterator[WorkflowFinding]:
    """Yield what is wrong with the graph that *node* runs."""
    child = child_graph(graph, node) if node.kind == "subagent" else None
    if child is None:
        return
    may = permissions_of(graph, node, ceiling).policy
    if may.recursion_limit == 0:
        yield WorkflowFinding(
            "CEILING_EXCEEDED",
            "error",
            node.at.path,
            "a nested run exceeds the host ceiling: no level is left",
            "raise the recursion_limit, or nest less",
        )
        return
    at = node.at.key("graph").path
    for one in findings_of(child, kinds, may.descended().document() or None, host):
        place = f"{at}.{one.place}" if one.place else at
        yield WorkflowFinding(one.code, one.severity, place, one.message, one.remedy)


def _of_body(
    node: WorkflowNode, graph: WorkflowGraph, kinds: Kinds
) -> Iterator[WorkflowFinding]:
    if node.kind in ("fork", "join", "condition"):
        yield WorkflowFinding(
            "BODY_KIND",
            "error",
            node.at.key("kind").path,
            f"the body of a map is no {node.kind}: no edges lead on from it",
            "let it be a stage, a verify, a map or a subagent",
        )
        return
    for key in _OF_PATHS:
        if key in node.document:
            yield WorkflowFinding(
                "KEY_INERT",
                "error",
                node.at.key(key).path,
                "each item is visited once, and no edge leads on from it",
                "leave it out",
            )
    yield from _of_node(node, graph, kinds)


def _of_contracts(node: WorkflowNode) -> Iterator[WorkflowFinding]:
    contract = node.input_contract
    most = contract.max_inputs
    if most is not None and contract.min_inputs > most:
        yield WorkflowFinding(
            "CONTRACT_COUNTS",
            "error",
            node.at.key("input_contract").path,
            f"it takes at least {contract.min_inputs} and at most {most}",
            "write a maximum that is not below the minimum",
        )


def _of_context(node: WorkflowNode) -> Iterator[WorkflowFinding]:
    """Yield why nothing could come into the context of *node*."""
    at, policy = node.at.key("context_policy"), node.context
    said = node.part("context_policy")
    shut = policy.include_kinds and policy.include_kinds <= policy.exclude_kinds
    if shut and "exclude_kinds" in said:
        yield WorkflowFinding(
            "CONTEXT_EMPTY",
            "error",
            at.key("exclude_kinds").path,
            "all the kinds that it includes are excluded",
            "leave one of them out",
        )
    if policy.reserve_tokens and policy.budget == 0:
        yield WorkflowFinding(
            "CONTEXT_EMPTY",
            "error",
            at.key("reserve_tokens").path,
            f"of {policy.max_tokens} tokens {policy.reserve_tokens} are reserved",
            "reserve fewer",
        )


def _of_schemas(node: WorkflowNode) -> Iterator[WorkflowFinding]:
    """Yield why a schema of a contract of *node* cannot be held.

    Raises:
        CannotTellError: it has one, and jsonschema is not installed.

    """
    for name in ("input_contract", "output_contract"):
        schema = node.part(name).get("schema")
        if schema is None:
            continue
        at = node.at.key(name).key("schema")
        try:
            require_local(schema, at)
        except UsageError as error:
            said, remedy = error.message, error.remedy
        else:
            fault = schema_fault(schema)
            if fault is None:
                continue
            said, remedy = fault.message, "write a schema of JSON Schema 2020-12"
        yield WorkflowFinding("CONTRACT_SCHEMA", "error", at.path, said, remedy)


def _of_structure(graph: WorkflowGraph) -> Iterable[WorkflowFinding]:
    structure = structure_of(graph)
    for region in structure.regions.values():
        if region.fault is not None:
            yield WorkflowFinding(
                "FORK_UNSTRUCTURED",
                "error",
                graph.nodes[region.fork].at.path,
                region.fault,
                "let all its branches meet in one join, or end",
            )
        elif region.join is not None:
            yield from _of_race(graph, region.join, region.branches)
    if all(one.fault is None for one in structure.regions.values()):
        yield from join_findings(graph, structure)


def _of_race(
    graph: WorkflowGraph, join: str, branches: Mapping[str, frozenset[str]]
) -> Iterator[WorkflowFinding]:
    """Yield what cannot be done in branches of which not all are awaited."""
    if not graph.nodes[join].join.is_race:
        return
    for name in sorted(frozenset[str]().union(*branches.values())):
        if graph.nodes[name].kind == "escalation":
            yield WorkflowFinding(
                "RACE_DECIDES",
                "error",
                graph.nodes[name].at.path,
                f"it is in a race, which ends at {join}: nobody can be asked there",
                'write the strategy "all", or ask people before or after',
            )
