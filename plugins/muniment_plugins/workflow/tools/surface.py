"""What is odd about the tools of a node: with the prompt, the policies, the ceiling.

    tool_findings(tools, ceiling={"side_effect_level": "read_only"}, place="nodes.act")
    WorkflowFinding("TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED", "error",
                    "nodes.act.tools.run", "run is process_exec, which exceeds the host
                    ceiling read_only", …)

Rules:

- Every tool of a registry is looked at, whichever way it is written.
- Errors are what a call could never do, or should never have stated: a tool above a
  ceiling, one that the ceiling does not list, one that makes artifacts which nothing
  reads, a schema that is none. Everything else is a warning.
- ``policy`` is the node's own; ``ceiling`` what it is intersected with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from muniment.documents.places import near
from muniment.errors import CannotTellError
from muniment_plugins.workflow.ceilings.annotations import (
    ToolAnnotations,
    contradiction,
    strictest,
)
from muniment_plugins.workflow.ceilings.approvals import (
    ApprovalLike,
    ToolApprovalPolicy,
    approvals_of,
)
from muniment_plugins.workflow.ceilings.levels import level_rank
from muniment_plugins.workflow.ceilings.names import matches_any
from muniment_plugins.workflow.ceilings.policy import (
    CapabilityPolicy,
    PolicyLike,
    policy_of,
)
from muniment_plugins.workflow.findings import (
    FindingSeverity,
    WorkflowFinding,
)
from muniment_plugins.workflow.tools.approval_patterns import approval_findings
from muniment_plugins.workflow.tools.prompts import prompt_references
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolDefinition,
    ToolRegistry,
    registry_of,
)
from muniment_plugins.workflow.tools.schemas import properties_of, schema_fault
from muniment_plugins.workflow.tools.unheld_paths import unheld_findings

__all__ = ["tool_findings"]


@dataclass(frozen=True, slots=True)
class _Surface:
    """What is looked at together."""

    tools: ToolRegistry
    policy: CapabilityPolicy
    ceiling: CapabilityPolicy
    approvals: ToolApprovalPolicy
    prompt: str
    host_tools: Collection[str]
    place: str

    def of(self, tool: str) -> str:
        """Return the place of a tool."""
        return f"{self.place}.tools.{tool}"


def tool_findings(  # noqa: PLR0913 - what a node has, by name
    tools: RegistryLike,
    *,
    policy: PolicyLike | None = None,
    ceiling: PolicyLike | None = None,
    approvals: ApprovalLike | None = None,
    prompt: str = "",
    host_tools: Collection[str] = (),
    place: str = "node",
) -> tuple[WorkflowFinding, ...]:
    """Return what is odd about *tools*, sorted by code and place.

    Args:
        tools: the registry of a node.
        policy: the capability policy of the node.
        ceiling: what the node is held to from outside.
        approvals: the approval policy of the node.
        prompt: what the node's model is told.
        host_tools: the tools that the host performs: those without a handler.
        place: the key path of the node.

    Raises:
        UsageError: one of the documents has a mistake.

    """
    seen = _Surface(
        registry_of(tools, f"{place}.tools"),
        policy_of(policy, f"{place}.capability_policy"),
        policy_of(ceiling, "ceiling"),
        approvals_of(approvals, f"{place}.approval_policy"),
        prompt,
        host_tools,
        place,
    )
    return tuple(sorted({one for check in _CHECKS for one in check(seen)}))


_Findings: TypeAlias = Iterator[WorkflowFinding]


def _found(
    code: str,
    place: str,
    message: str,
    remedy: str = "",
    severity: FindingSeverity = "warning",
) -> WorkflowFinding:
    return WorkflowFinding(f"TOOL_SURFACE_{code}", severity, place, message, remedy)


def _statements(seen: _Surface) -> _Findings:
    for name, tool in seen.tools.tools.items():
        at = seen.of(name)
        if tool.parameters is None:
            yield _found(
                "MISSING_SCHEMA",
                at,
                f"the parameters of {name} are not described",
                "write parameters, {} if it has none",
            )
        if not tool.label.document():
            yield _found(
                "MISSING_ANNOTATIONS",
                at,
                f"nothing is stated about {name}: it counts as network",
                "write policy",
            )
        elif tool.label.side_effect_level is None:
            yield _found(
                "MISSING_SIDE_EFFECT_LEVEL",
                at,
                f"no level is stated: {name} counts as {tool.label.level}",
                "write policy.side_effect_level",
            )
        if tool.handler is not None and name in seen.host_tools:
            yield _found(
                "SHADOWED_HOST_TOOL",
                at,
                f"{name} is a tool of the host, and {tool.handler} would stand for it",
                "leave the handler out, or rename the tool",
                "error",
            )
        if tool.handler is None and name not in seen.host_tools:
            yield _found(
                "MISSING_EXECUTOR",
                at,
                f"nothing performs {name} unless the host does",
                "give it a handler, or let the host name it",
            )


def _schemas(seen: _Surface) -> _Findings:
    for name, tool in seen.tools.tools.items():
        for member in ("parameters", "returns"):
            schema = getattr(tool, member)
            if schema is None:
                continue
            at = f"{seen.of(name)}.{member}"
            try:
                fault = schema_fault(schema)
            except CannotTellError as error:
                yield _found("UNCHECKED_SCHEMA", at, error.message, error.remedy)
                continue
            if fault is not None:
                where = f"{at}.{fault.place}" if fault.place else at
                remedy = "write JSON Schema"
                yield _found("INVALID_SCHEMA", where, fault.message, remedy, "error")


def _readers(seen: _Surface) -> _Findings:
    for name, tool in seen.tools.tools.items():
        label = tool.label
        for reader in sorted(label.result_readers - {*seen.tools.tools}):
            yield _found(
                "UNKNOWN_RESULT_READER",
                seen.of(name),
                f"there is no tool {reader} to read its results",
                near(reader, seen.tools.tools),
            )
        runs = label.mutation_class == "ambient_side_effect" or "execute" in label.kinds
        read = label.result_readers or label.inline_result
        if runs and label.emits_artifacts and not read:
            yield _found(
                "MISSING_RESULT_READER",
                seen.of(name),
                f"{name} makes artifacts, and no tool reads them",
                "name result_readers, or state inline_result",
                "error",
            )


def _ceilings(seen: _Surface) -> _Findings:
    for name, tool in seen.tools.tools.items():
        theirs = seen.ceiling.label_of(name)
        whole = strictest(tool.label, theirs).settled()
        yield from _above(seen, name, whole, seen.ceiling, "host ceiling")
        own = strictest(whole, seen.policy.label_of(name))
        yield from _above(seen, name, own, seen.policy, "policy of the node")
        if theirs.document() and strictest(tool.label, theirs) != tool.label:
            yield _found(
                "RELABELLED_TOOL",
                seen.of(name),
                f"the host ceiling states more about {name}, and that holds",
                "state the same",
            )


def _above(
    seen: _Surface,
    name: str,
    label: ToolAnnotations,
    limit: CapabilityPolicy,
    words: str,
) -> _Findings:
    most = limit.side_effect_level
    if most is not None and level_rank(label.level) > level_rank(most):
        yield _found(
            "SIDE_EFFECT_CEILING_EXCEEDED",
            seen.of(name),
            f"{name} is {label.level}, which exceeds the {words} {most}",
            "leave the tool out, or raise the level",
            "error",
        )
    if limit.tools is not None and not matches_any(limit.tools, name):
        yield _found(
            "TOOL_NOT_IN_CEILING",
            seen.of(name),
            f"{name} exceeds the {words}, which does not list it",
            "leave the tool out, or list it",
            "error",
        )
    for capability, operation in sorted(label.capabilities):
        if not limit.allows_operation(capability, operation):
            yield _found(
                "CAPABILITY_CEILING_EXCEEDED",
                seen.of(name),
                f"{name} needs {capability}.{operation}, which exceeds the {words}",
                "leave the tool out, or allow the operation",
                "error",
            )


def _constraints(seen: _Surface) -> _Findings:
    at = f"{seen.place}.capability_policy.tool_arg_constraints"
    for one in seen.policy.tool_arg_constraints:
        matched = [
            tool for tool in seen.tools.tools.values() if one.concerns(tool.name)
        ]
        if not matched:
            yield _found(
                "UNKNOWN_ARG_CONSTRAINT_TOOL",
                at,
                f"{one.tool} matches no tool",
                near(one.tool, seen.tools.tools),
            )
        for tool in matched:
            yield from _constrained(tool, one.arg_key, at)


def _constrained(tool: ToolDefinition, key: str, at: str) -> _Findings:
    named = properties_of(tool.parameters)
    if key in tool.label.arg_aliases:
        meant = ", ".join(sorted(tool.label.arg_aliases[key]))
        yield _found(
            "DEPRECATED_ARG_ALIAS",
            at,
            f"{key} is another name of {meant} in {tool.name}: nothing fits it",
            f"write {meant}",
        )
    elif key and named is not None and key.partition(".")[0] not in named:
        yield _found(
            "UNKNOWN_ARG_CONSTRAINT_KEY",
            at,
            f"{tool.name} has no parameter {key}",
            near(key, named),
        )


def _patterns(seen: _Surface) -> _Findings:
    place = f"{seen.place}.approval_policy"
    yield from approval_findings(seen.approvals, [*seen.tools.tools], place)


def _annotated(seen: _Surface) -> _Findings:
    for name in sorted({*seen.policy.tool_annotations} - {*seen.tools.tools}):
        yield _found(
            "UNKNOWN_ANNOTATED_TOOL",
            f"{seen.place}.capability_policy.tool_annotations.{name}",
            f"there is no tool {name} that this is stated about",
            near(name, seen.tools.tools),
        )


def _paths(seen: _Surface) -> _Findings:
    limits = (seen.ceiling, seen.policy)
    yield from unheld_findings(seen.tools, limits, seen.approvals, seen.of)


def _prompts(seen: _Surface) -> _Findings:
    at = f"{seen.place}.prompt"
    for one in prompt_references(seen.prompt):
        tool = seen.tools.tools.get(one.tool)
        line = f"line {one.line}"
        if tool is None:
            yield _found(
                "UNKNOWN_PROMPT_TOOL",
                at,
                f"{line} speaks of the tool {one.tool}, which is not there",
                near(one.tool, seen.tools.tools),
            )
            continue
        limits = [
            one for one in (seen.policy.tools, seen.ceiling.tools) if one is not None
        ]
        if not all(matches_any(patterns, tool.name) for patterns in limits):
            yield _found(
                "PROMPT_TOOL_NOT_IN_POLICY",
                at,
                f"{line} speaks of the tool {tool.name}, which no call may use",
                "leave it out, or allow the tool",
            )
        if tool.defer_loading:
            yield _found(
                "DEFERRED_TOOL_PROMPT_REFERENCE",
                at,
                f"{line} speaks of the tool {tool.name}, which is loaded later",
                "load it at once, or leave it out",
            )
        for alias in sorted({*one.arguments} & {*tool.label.arg_aliases}):
            meant = ", ".join(sorted(tool.label.arg_aliases[alias]))
            yield _found(
                "DEPRECATED_ARG_ALIAS",
                at,
                f"{line} gives {alias}, another name of {meant}",
                f"write {meant}",
            )


def _contradictions(seen: _Surface) -> _Findings:
    for policy, words in (
        (seen.policy, "capability_policy"),
        (seen.ceiling, "ceiling"),
    ):
        for name, label in policy.tool_annotations.items():
            how = contradiction(label)
            if how:
                at = "ceiling" if words == "ceiling" else f"{seen.place}.{words}"
                yield _found(
                    "CONTRADICTORY_ANNOTATIONS",
                    f"{at}.tool_annotations.{name}",
                    how,
                    "state only what is true of the tool",
                )


_CHECKS: tuple[Callable[[_Surface], _Findings], ...] = (
    _statements,
    _schemas,
    _readers,
    _ceilings,
    _constraints,
    _patterns,
    _annotated,
    _paths,
    _prompts,
    _contradictions,
)
