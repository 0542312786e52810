"""The check at the call: allowed, denied, or somebody must approve it.

    gate = ToolGate(tools, policy=effective, approvals={"auto_approve": ["edit"]},
                    base="/srv")
    gate.check("edit", {"path": "../../etc/passwd", "text": "x"})
    ToolAnswer("denied", "path_outside_roots", "workspace_roots: path", …)

Rules:

- Nothing is performed, read or remembered by `ToolGate.check`: the same call has the same
  answer. Its arguments have the names that the tool declares, other names
  (``arg_aliases``) are gone.
- **A call is made with the arguments of `ToolGate.opened`**, which follows links, right
  before it is made. There paths that roots or an allowlist hold are absolute, and lead over
  no link: what was judged is what the tool opens, wherever its process is. So are all paths
  where the process is not in the base.
- The order is: the tool is known; its arguments fit its schema; the capability policy;
  the approval policies. A policy that nobody gave limits nothing; approvals that nobody gave
  deny whatever does more than read.
- A name that differs from a known argument only in case, separators or compatible
  characters is refused: a tool may take it for the other one.
- A tool is taken for the strictest of what it, the host and the policy state. What the
  tool and the host leave open is the worst, and no policy lowers it.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from muniment.documents.places import near
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import ValueRefused
from muniment_plugins.workflow.ceilings.annotations import (
    ToolAnnotations,
    meanings,
    strictest,
)
from muniment_plugins.workflow.ceilings.approvals import (
    ApprovalLike,
    ApprovalReason,
    ToolApprovalPolicy,
    approval_of,
    approvals_of,
    holds_writes,
    linked_refusal,
)
from muniment_plugins.workflow.ceilings.constraints import changed_at
from muniment_plugins.workflow.ceilings.levels import SideEffectLevel
from muniment_plugins.workflow.ceilings.paths import (
    absolute_base,
    follow_links,
    path_fault,
)
from muniment_plugins.workflow.ceilings.permission import (
    CallFacts,
    DenialCode,
    denial,
    label_under,
    linked_denial,
    path_names,
)
from muniment_plugins.workflow.ceilings.policy import (
    CapabilityPolicy,
    PolicyLike,
    policy_of,
)
from muniment_plugins.workflow.tools.defaults import defaults_of, with_defaults
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolDefinition,
    ToolHandler,
    ToolRegistry,
    registry_of,
)
from muniment_plugins.workflow.tools.schemas import argument_fault, properties_of

__all__ = ["GateCode", "GateOutcome", "ToolAnswer", "ToolGate", "check_call"]

_LONGEST = 200
"""Characters of a place: a model may have made up the name."""

GateOutcome: TypeAlias = Literal["allowed", "denied", "needs_approval"]
GateCode: TypeAlias = (
    DenialCode
    | ApprovalReason
    | Literal["unknown_tool", "argument_ambiguous", "argument_invalid"]
)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What the gate says about a call."""

    outcome: GateOutcome
    code: GateCode
    place: str
    """The argument or the member of a policy that decides."""
    message: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the tool is called with; empty if the call is denied."""

    def document(self) -> dict[str, JsonValue]:
        """Return the answer as an event states it.

        Without the arguments, and without the message, which may quote them.
        """
        return {"outcome": self.outcome, "code": self.code, "place": self.place}


@dataclass(frozen=True, slots=True)
class ToolGate:
    """What calls of some tools are held to."""

    tools: ToolRegistry
    policy: CapabilityPolicy
    approvals: ToolApprovalPolicy
    base: str | None
    host: Mapping[str, ToolAnnotations]

    def __init__(
        self,
        tools: RegistryLike,
        *,
        policy: PolicyLike | None = None,
        approvals: ApprovalLike | None = None,
        base: str | None = None,
        host: PolicyLike | None = None,
    ) -> None:
        """Keep what calls are held to.

        Args:
            tools: the tools that a node has.
            policy: the effective policy, as `intersect` returns it.
            approvals: the approval policies, as `intersect_approvals` returns them.
            base: the absolute folder that relative paths begin at; links in it are
                followed now.
            host: the host's own ceiling, whose annotations describe tools that say
                nothing about themselves.

        Raises:
            UsageError: one of them has a mistake.

        """
        start = None if base is None else _followed(base)
        put = object.__setattr__
        put(self, "tools", registry_of(tools))
        put(self, "policy", policy_of(policy, base=start))
        put(self, "approvals", approvals_of(approvals))
        put(self, "base", start)
        put(self, "host", policy_of(host, "host").tool_annotations)

    def check(
        self, name: object, arguments: object = None, *, depth: int = 0
    ) -> ToolAnswer:
        """Say whether the tool *name* may be called with *arguments*.

        Args:
            name: as a model gave it.
            arguments: an object; None is an empty one.
            depth: how many further levels of nested runs the call needs.

        Raises:
            CannotTellError: jsonschema is not installed, and the tool has a schema.

        """
        tool = self.tools.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = near(str(name), self.tools.tools)
            return _denied("unknown_tool", "tools", f"no tool {name!r:.60}; {known}")
        stated = self._stated(tool)
        given = _given(arguments, stated)
        if isinstance(given, ToolAnswer):
            return given
        wrong = _misfit(tool, given) or _disguised(given, self._known(tool, stated))
        if wrong is not None:
            return wrong
        return self._held(self._facts(tool, given, depth))

    def opened(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        function: ToolHandler | None = None,
    ) -> ToolAnswer:
        """Say whether an allowed call stays where it may, wherever links lead now.

        Args:
            name: the tool.
            arguments: those of the answer that allowed it.
            function: what is called with them: its own defaults are held, too.

        Returns:
            The answer, whose arguments are those to call the tool with.

        """
        tool = self.tools.tools[name]
        facts = self._facts(tool, {**self._unsaid(tool, function), **arguments})
        label = label_under(self.policy, facts)
        if not self.holds_paths(name) and not self._is_elsewhere(label):
            return ToolAnswer("allowed", "by_default", "", "", arguments)
        no = linked_denial(self.policy, facts)
        if no is not None:
            return _denied(no.code, no.place, no.message)
        wrong = linked_refusal(self.approvals, replace(facts, label=label))
        if wrong is not None:
            message = f"the approval policy denies {name}: {wrong.reason}, by a link"
            return _denied(wrong.reason, wrong.place, message)
        made = facts.filled or facts.arguments
        for one in path_names(label):
            made = changed_at(made, one, self._led)
        return ToolAnswer("allowed", "by_default", "", "", made)

    def holds_paths(self, name: str) -> bool:
        """Tell whether where links lead decides about calls of the tool *name*."""
        label = label_under(self.policy, self._facts(self.tools.tools[name], {}))
        held = bool(self.policy.root_lists) or holds_writes(self.approvals, label)
        return held and bool(label.path_params)

    @property
    def takes_paths(self) -> bool:
        """Whether a tool has arguments that are paths."""
        return any(
            label_under(self.policy, self._facts(one, {})).path_params
            for one in self.tools.tools.values()
        )

    def _is_elsewhere(self, label: ToolAnnotations) -> bool:
        """Tell whether a relative path would not begin at the base."""
        if self.base is None or not label.path_params:
            return False
        try:
            return os.path.realpath(os.getcwd()) != os.path.realpath(self.base)  # noqa: PTH109 - without links, as the system says it
        except OSError:  # the folder of the process is gone
            return True

    def _led(self, path: str) -> str:
        led = None if path_fault(path) else follow_links(path, self.base)
        return path if led is None else led

    def _facts(
        self, tool: ToolDefinition, arguments: Mapping[str, JsonValue], depth: int = 0
    ) -> CallFacts:
        facts = CallFacts(tool.name, arguments, self._stated(tool), self.base, depth)
        names = path_names(label_under(self.policy, facts))
        filled = with_defaults(tool.parameters, arguments, names)
        return facts if filled == arguments else replace(facts, filled=filled)

    def _unsaid(
        self, tool: ToolDefinition, function: ToolHandler | None
    ) -> dict[str, JsonValue]:
        """Return the paths that *function* takes by itself where nothing is given."""
        names = path_names(label_under(self.policy, self._facts(tool, {})))
        own = defaults_of(function)
        return {name: own[name] for name in names if name in own}

    def _stated(self, tool: ToolDefinition) -> ToolAnnotations:
        return strictest(tool.label, self.host.get(tool.name, ToolAnnotations()))

    @property
    def limits(self) -> tuple[CapabilityPolicy, CapabilityPolicy]:
        """The policy, and what the host states about tools."""
        return self.policy, CapabilityPolicy(tool_annotations=self.host)

    def level_of(self, name: str) -> SideEffectLevel:
        """Return what a call of the tool *name* is taken for."""
        stated = self._stated(self.tools.tools[name]).settled()
        return strictest(stated, self.policy.label_of(name)).level

    def _known(self, tool: ToolDefinition, stated: ToolAnnotations) -> Iterator[str]:
        """Yield the names of arguments that somebody holds to something."""
        label = strictest(stated, self.policy.label_of(tool.name))
        yield from properties_of(tool.parameters) or ()
        for name in (*label.path_params, *label.required, *label.arg_aliases):
            yield from (name, name.partition(".")[0])
        for one in self.policy.tool_arg_constraints:
            if one.arg_key and one.concerns(tool.name):
                yield from (one.arg_key, one.arg_key.partition(".")[0])

    def _held(self, facts: CallFacts) -> ToolAnswer:
        no = denial(self.policy, facts)
        if no is not None:
            return _denied(no.code, no.place, no.message)
        whole = replace(facts, label=label_under(self.policy, facts))
        found = approval_of(self.approvals, whole)
        if found.answer == "deny":
            message = f"the approval policy denies {facts.tool}: {found.reason}"
            return _denied(found.reason, found.place, message)
        asked = found.answer == "ask"
        return ToolAnswer(
            "needs_approval" if asked else "allowed",
            found.reason,
            found.place,
            f"somebody must approve {facts.tool}" if asked else "",
            facts.arguments,
        )


def check_call(
    policy: PolicyLike | None,
    approvals: ApprovalLike | None,
    tool: ToolDefinition | Mapping[str, object],
    arguments: object = None,
    *,
    base: str | None = None,
    depth: int = 0,
) -> ToolAnswer:
    """Say whether one tool may be called with *arguments*, as `ToolGate.check` does.

    Raises:
        UsageError: one of the documents has a mistake.
        CannotTellError: jsonschema is not installed, and the tool has a schema.

    """
    document = tool.document() if isinstance(tool, ToolDefinition) else tool
    tools = registry_of([dict(document)])
    gate = ToolGate(tools, policy=policy, approvals=approvals, base=base)
    return gate.check(next(iter(tools.tools)), arguments, depth=depth)


def _followed(base: str) -> str:
    return absolute_base(os.path.realpath(absolute_base(base)))


def _denied(code: GateCode, place: str, message: str) -> ToolAnswer:
    return ToolAnswer("denied", code, place[:_LONGEST], message)


def _given(
    arguments: object, label: ToolAnnotations
) -> dict[str, JsonValue] | ToolAnswer:
    """Return the arguments by the names that the tool declares."""
    found = cast("JsonValue", {} if arguments is None else arguments)
    try:
        canonical(found)
    except ValueRefused as error:
        return _denied("argument_invalid", error.place, error.message)
    if not isinstance(found, dict):
        return _denied("argument_invalid", "", "the arguments are no object")
    made: dict[str, JsonValue] = {}
    for name, value in found.items():
        meant = _own_names(name, label)
        if len(meant) != 1:
            several = ", ".join(meant) or "itself"
            return _denied("argument_ambiguous", name, f"it stands for {several}")
        if meant[0] in made:
            return _denied("argument_ambiguous", name, f"{meant[0]} is given twice")
        made[meant[0]] = value
    return made


def _own_names(name: str, label: ToolAnnotations) -> list[str]:
    """Return the arguments that *name* stands for, which are no aliases themselves."""
    if name not in label.arg_aliases:
        return [name]
    meant = meanings(label.arg_aliases, name)
    return sorted(meant - {*label.arg_aliases})


def _disguised(
    arguments: Mapping[str, JsonValue], known: Iterable[str]
) -> ToolAnswer | None:
    """Refuse names that differ from known ones only as people and hosts overlook it."""
    names = {*known}
    looks = {_look(name): name for name in sorted(names)}
    for name in arguments:
        meant = looks.get(_look(name))
        if name not in names and meant is not None:
            return _denied("argument_ambiguous", name, f"it looks like {meant}")
    return None


def _look(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(one for one in plain if one.isalnum())


def _misfit(tool: ToolDefinition, arguments: dict[str, JsonValue]) -> ToolAnswer | None:
    if tool.parameters is None:
        return None
    fault = argument_fault(tool.parameters, arguments)
    if fault is None:
        return None
    return _denied("argument_invalid", fault.place, fault.message)
