"""Whether a policy allows a call: one question for each member, the first no counts.

    allows(policy, CallFacts("edit", {"path": "../x"}, label, base="/srv"))   False

Rules:

- The level is the highest of what the tool and the policy state about it; a tool about
  which nothing is stated is ``network``. Needed operations, path parameters and required
  arguments are those of both.
- A path argument is held against the roots after normalisation. One that is not given is
  the default that its schema states. **A tool that has path parameters and gets no path is
  refused under roots**: where it works then, nobody knows. A path that could be read as
  another one is refused, roots or not. Roots confine paths that are arguments, not what a
  command does: that takes a capsule.
- ``depth`` is how many further levels of nested runs the call needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.annotations import (
    ToolAnnotations,
    meanings,
    strictest,
)
from muniment_plugins.workflow.ceilings.constraints import values_at
from muniment_plugins.workflow.ceilings.levels import level_rank
from muniment_plugins.workflow.ceilings.names import matches_any
from muniment_plugins.workflow.ceilings.paths import (
    contains,
    follow_links,
    normal_path,
    path_fault,
)
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy

__all__ = [
    "CallDenial",
    "CallFacts",
    "DenialCode",
    "allows",
    "denial",
    "label_under",
    "led_inside",
    "linked_denial",
    "path_names",
]

DenialCode: TypeAlias = Literal[
    "tool_not_allowed",
    "level_exceeded",
    "capability_not_allowed",
    "depth_exceeded",
    "argument_missing",
    "argument_refused",
    "path_invalid",
    "path_outside_roots",
]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known about a call before it is made."""

    tool: str
    arguments: Mapping[str, JsonValue]
    """As they are given."""
    label: ToolAnnotations = field(default_factory=ToolAnnotations)
    """What the tool states about itself."""
    base: str | None = None
    """The absolute folder that relative paths begin at."""
    depth: int = 0
    filled: Mapping[str, JsonValue] | None = None
    """The arguments with defaults for paths that are not given; None if there are none."""

    def paths(self, label: ToolAnnotations) -> Iterator[tuple[str, JsonValue]]:
        """Yield the path arguments with their names, those by an alias too."""
        given = self.arguments if self.filled is None else self.filled
        for name in path_names(label):
            for value in values_at(given, name).values:
                for one in value if isinstance(value, list) else [value]:
                    yield name, one


@dataclass(frozen=True, slots=True)
class CallDenial:
    """Why a call is not allowed."""

    code: DenialCode
    place: str
    """The member of the policy, then what it is about: ``workspace_roots: path``."""
    message: str


def allows(policy: CapabilityPolicy, facts: CallFacts) -> bool:
    """Tell whether *policy* allows the call."""
    return denial(policy, facts) is None


def label_under(policy: CapabilityPolicy, facts: CallFacts) -> ToolAnnotations:
    """Return what a call is taken for under *policy*.

    What the tool leaves open is the worst before the policy adds to it: else a requester
    would lower it by stating something harmless.
    """
    return strictest(facts.label.settled(), policy.label_of(facts.tool))


def denial(policy: CapabilityPolicy, facts: CallFacts) -> CallDenial | None:
    """Return why *policy* does not allow the call; None if it does."""
    label = label_under(policy, facts)
    for question in _QUESTIONS:
        found = question(policy, facts, label)
        if found is not None:
            return found
    return None


def linked_denial(policy: CapabilityPolicy, facts: CallFacts) -> CallDenial | None:
    """Return why *policy* does not allow where links lead now; None if it does.

    It reads the file system, so its answer belongs into an effect. What is relative leads
    nowhere without a base, and is not allowed.
    """
    if policy.workspace_roots is None:
        return None
    for name, value in facts.paths(label_under(policy, facts)):
        if led_inside(policy, str(value), facts.base) is None:
            message = f"{value!r:.60} leads over a link out of the roots"
            return CallDenial("path_outside_roots", f"workspace_roots: {name}", message)
    return None


def led_inside(policy: CapabilityPolicy, path: str, base: str | None) -> str | None:
    """Return the file that is opened for *path* in *base*; None if it is in no root.

    It reads the file system.
    """
    led = partial(follow_links, base=base)
    if path_fault(path) or not _is_inside(policy, path, led):
        return None
    return led(path)


_Answer: TypeAlias = CallDenial | None


def _tool(policy: CapabilityPolicy, facts: CallFacts, _: ToolAnnotations) -> _Answer:
    if policy.tools is None or matches_any(policy.tools, facts.tool):
        return None
    message = f"the policy does not allow the tool {facts.tool}"
    return CallDenial("tool_not_allowed", "tools", message)


def _level(
    policy: CapabilityPolicy, facts: CallFacts, label: ToolAnnotations
) -> _Answer:
    most = policy.side_effect_level
    if most is None or level_rank(label.level) <= level_rank(most):
        return None
    message = f"{facts.tool} is {label.level}, above {most}"
    return CallDenial("level_exceeded", "side_effect_level", message)


def _operations(
    policy: CapabilityPolicy, facts: CallFacts, label: ToolAnnotations
) -> _Answer:
    for capability, operation in sorted(label.capabilities):
        if not policy.allows_operation(capability, operation):
            name = f"{capability}.{operation}"
            message = f"{facts.tool} needs {name}"
            return CallDenial(
                "capability_not_allowed", f"capabilities: {name}", message
            )
    return None


def _depth(policy: CapabilityPolicy, facts: CallFacts, _: ToolAnnotations) -> _Answer:
    left = policy.recursion_limit
    if left is None or facts.depth <= left:
        return None
    message = f"{facts.depth} levels of nested runs are needed, {left} are left"
    return CallDenial("depth_exceeded", "recursion_limit", message)


def _arguments(
    policy: CapabilityPolicy, facts: CallFacts, label: ToolAnnotations
) -> _Answer:
    for name in sorted(label.required):
        if not values_at(facts.arguments, name).complete:
            return CallDenial("argument_missing", name, f"{name} is not there")
    for one in policy.tool_arg_constraints:
        if one.concerns(facts.tool):
            fault = one.fault(facts.arguments, label.arg_aliases)
            if fault:
                place = f"tool_arg_constraints: {one.arg_key or one.tool}"
                return CallDenial("argument_refused", place, fault)
    return None


def path_names(label: ToolAnnotations) -> list[str]:
    """Return the names of the arguments that are paths, and their aliases."""
    aliases, meant = label.arg_aliases, label.path_params
    return sorted({*meant, *(one for one in aliases if meanings(aliases, one) & meant)})


def _paths(
    policy: CapabilityPolicy, facts: CallFacts, label: ToolAnnotations
) -> _Answer:
    found = list(facts.paths(label))
    for name, value in found:
        fault = path_fault(value) if isinstance(value, str) else "it is no text"
        if fault:
            return CallDenial("path_invalid", name, f"{value!r:.60}: {fault}")
    if policy.workspace_roots is None or not label.path_params:
        return None
    if not found:
        names = " or ".join(sorted(label.path_params))
        message = f"{facts.tool} gets no path, and where it works then, nobody knows"
        return CallDenial("argument_missing", names, f"{message}: give {names}")
    told = partial(normal_path, base=facts.base)
    for name, value in found:
        if not _is_inside(policy, str(value), told):
            message = f"{value!r:.60} is in none of the roots"
            return CallDenial("path_outside_roots", f"workspace_roots: {name}", message)
    return None


def _is_inside(
    policy: CapabilityPolicy, value: str, place: Callable[[str], str | None]
) -> bool:
    """Tell whether the *place* of a path is in one root of each list, by theirs."""
    path = place(value)
    if path is None:
        return False
    for roots in policy.root_lists:
        found = [one for one in map(place, roots) if one is not None]
        if not any(contains(one, path) for one in found):
            return False
    return True


_Question: TypeAlias = Callable[[CapabilityPolicy, CallFacts, ToolAnnotations], _Answer]
_QUESTIONS: tuple[_Question, ...] = (
    _tool,
    _level,
    _operations,
    _depth,
    _arguments,
    _paths,
)
