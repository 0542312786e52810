"""Intersections: what a ceiling leaves of what is requested, and what it takes away.

    found = intersect(ceiling, requested)
    found.result      what may be done: nothing that either side forbids
    found.narrowed    what the request left open, or asked for too widely
    found.refused     what it named and the ceiling does not have
    found.require()   the result, or an error that names the first refusal

Rules:

- A call that the result allows is allowed by both sides. The converse holds too where both
  sides state the same about the tool; where their labels differ it need not: the
  strictest of both labels is held against the lowest of both levels, and an alias or a
  path parameter that one side knows is held to the constraints and roots of the other.
- The result does not depend on order or grouping, and a policy with itself is itself. The
  rows are about the second side, so that they do depend on who asks whom.
- A row is ``{"member", "what", "why"}``; ``why`` is one of `WHYS`, and stable.
- The lists of roots of both sides are kept beside the roots that are left, since only
  where a call is made it is known whether a root is a link: ``also_roots``.
- Roots are comparable when both sides are absolute or both relative. Anything else needs
  ``base``.
- A request does not relabel a tool: what the ceiling states stays, see `strictest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import RefusedError, UsageError
from muniment_plugins.workflow.ceilings.annotations import strictest
from muniment_plugins.workflow.ceilings.levels import lowest_level
from muniment_plugins.workflow.ceilings.names import meet
from muniment_plugins.workflow.ceilings.paths import contains
from muniment_plugins.workflow.ceilings.policy import (
    CapabilityPolicy,
    PolicyLike,
    all_or_some,
    policy_of,
)

__all__ = ["WHYS", "Intersection", "PolicyRow", "Why", "for_child", "intersect"]

Why: TypeAlias = Literal[
    "not_in_ceiling",
    "above_ceiling",
    "outside_roots",
    "cut_to_ceiling",
    "ceiling_applies",
    "constraint_of_ceiling",
    "label_of_ceiling",
]
WHYS: tuple[Why, ...] = get_args(Why)
"""Why something was refused (the first three) or narrowed."""
_REFUSALS = ("not_in_ceiling", "above_ceiling", "outside_roots")


@dataclass(frozen=True, slots=True, order=True)
class PolicyRow:
    """One thing that a request does not get as it asked for it."""

    member: str
    what: str
    """The tool, ``capability.operation``, root, level or number; the member itself where
    the request left it open."""
    why: Why

    def document(self) -> dict[str, JsonValue]:
        """Return the row as an event states it."""
        return {"member": self.member, "what": self.what, "why": self.why}


@dataclass(frozen=True, slots=True)
class Intersection:
    """What a ceiling leaves of a request."""

    result: CapabilityPolicy
    narrowed: tuple[PolicyRow, ...]
    refused: tuple[PolicyRow, ...]

    def require(self, *, strict: bool = False) -> CapabilityPolicy:
        """Return the result if nothing was refused, and, if *strict*, nothing narrowed.

        Raises:
            RefusedError: something was; the message names the first row of it.

        """
        rows = (*self.refused, *(self.narrowed if strict else ()))
        if rows:
            first, more = rows[0], len(rows) - 1
            also = f", and {more} more" if more else ""
            raise RefusedError(
                f"{first.what} exceeds the host ceiling: {first.why}{also}",
                rule="workflow/ceiling",
                place=first.member,
                remedy="request less, or raise the ceiling",
            )
        return self.result

    def document(self) -> dict[str, JsonValue]:
        """Return the result and the rows as an event states them."""
        return {
            "result": self.result.document(),
            "narrowed": [one.document() for one in self.narrowed],
            "refused": [one.document() for one in self.refused],
        }


def intersect(
    ceiling: PolicyLike | None, requested: PolicyLike | None, base: str | None = None
) -> Intersection:
    """Return what *ceiling* leaves of *requested*.

    Args:
        ceiling: what may be done at most; None limits nothing.
        requested: what is asked for; None asks for all that the ceiling has.
        base: the absolute folder that relative roots begin at.

    Raises:
        UsageError: a document has a mistake, or roots cannot be compared.
        RefusedError: their patterns are too many to be compared.

    """
    upper = policy_of(ceiling, "ceiling", base)
    lower = policy_of(requested, "requested", base)
    _require_comparable(upper, lower)
    limits = [
        one for one in (upper.recursion_limit, lower.recursion_limit) if one is not None
    ]
    result = CapabilityPolicy(
        tools=_both(upper.tools, lower.tools, meet),
        capabilities=_operations(upper, lower),
        side_effect_level=lowest_level(
            [upper.side_effect_level, lower.side_effect_level]
        ),
        recursion_limit=min(limits, default=None),
        tool_arg_constraints=tuple(
            sorted({*upper.tool_arg_constraints, *lower.tool_arg_constraints})
        ),
        tool_annotations={
            name: strictest(upper.label_of(name), lower.label_of(name))
            for name in sorted({*upper.tool_annotations, *lower.tool_annotations})
        },
    ).with_roots([*upper.root_lists, *lower.root_lists])
    rows = sorted({*_rows(upper, lower, result)})
    return Intersection(
        result,
        tuple(one for one in rows if one.why not in _REFUSALS),
        tuple(one for one in rows if one.why in _REFUSALS),
    )


def for_child(
    parent: PolicyLike | None, requested: PolicyLike | None, base: str | None = None
) -> Intersection:
    """Return what a nested run may do of what it requests.

    Its ceiling is the effective policy of its parent, one level further down, and never
    anything else.

    Raises:
        UsageError: a document has a mistake, or roots cannot be compared.
        RefusedError: the parent has no level of nested runs left.

    """
    return intersect(policy_of(parent, "parent", base).descended(), requested, base)


def _both(
    one: tuple[str, ...] | None, other: tuple[str, ...] | None, met: _Meeting
) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return met(one, other)


class _Meeting(Protocol):
    def __call__(self, one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]: ...


def _operations(
    upper: CapabilityPolicy, lower: CapabilityPolicy
) -> frozenset[tuple[str, str]] | None:
    if upper.capabilities is None or lower.capabilities is None:
        return lower.capabilities if upper.capabilities is None else upper.capabilities
    named = upper.capabilities | lower.capabilities
    return all_or_some(
        frozenset(
            one
            for one in named
            if upper.allows_operation(*one) and lower.allows_operation(*one)
        )
    )


def _require_comparable(upper: CapabilityPolicy, lower: CapabilityPolicy) -> None:
    kinds = [
        {root.startswith("/") for root in one.workspace_roots or ()}
        for one in (upper, lower)
    ]
    if all(kinds) and (kinds[0] != kinds[1] or len(kinds[0]) > 1):
        raise UsageError(
            "relative and absolute roots cannot be compared",
            rule="workflow/base",
            place="workspace_roots",
            remedy="state the base",
        )


def _rows(
    upper: CapabilityPolicy, lower: CapabilityPolicy, result: CapabilityPolicy
) -> Iterator[PolicyRow]:
    yield from _open(upper, lower)
    yield from _rows_of_tools(lower, result)
    yield from _rows_of_operations(upper, lower, result)
    yield from _rows_of_roots(lower, result)
    level, most = lower.side_effect_level, result.side_effect_level
    if level is not None and level != most:
        yield PolicyRow("side_effect_level", level, "above_ceiling")
    limit = lower.recursion_limit
    if limit is not None and limit != result.recursion_limit:
        yield PolicyRow("recursion_limit", str(limit), "cut_to_ceiling")
    for one in upper.tool_arg_constraints:
        if one not in lower.tool_arg_constraints:
            text = canonical(one.document()).decode()
            yield PolicyRow("tool_arg_constraints", text, "constraint_of_ceiling")
    for name in upper.tool_annotations:
        if lower.label_of(name) != result.label_of(name):
            yield PolicyRow("tool_annotations", name, "label_of_ceiling")


_LIMITS = (
    "tools",
    "capabilities",
    "workspace_roots",
    "side_effect_level",
    "recursion_limit",
)


def _open(upper: CapabilityPolicy, lower: CapabilityPolicy) -> Iterator[PolicyRow]:
    for member in _LIMITS:
        if getattr(lower, member) is None and getattr(upper, member) is not None:
            yield PolicyRow(member, member, "ceiling_applies")


def _rows_of_tools(
    lower: CapabilityPolicy, result: CapabilityPolicy
) -> Iterator[PolicyRow]:
    left = result.tools or ()
    for one in lower.tools or ():
        if one not in left:
            rest = meet([one], left)
            yield PolicyRow(
                "tools", one, "cut_to_ceiling" if rest else "not_in_ceiling"
            )


def _rows_of_operations(
    upper: CapabilityPolicy, lower: CapabilityPolicy, result: CapabilityPolicy
) -> Iterator[PolicyRow]:
    for capability, operation in lower.capabilities or ():
        if not upper.allows_operation(capability, operation):
            left = {name for name, _ in result.capabilities or ()}
            partly = operation == "*" and capability in left
            why: Why = "cut_to_ceiling" if partly else "not_in_ceiling"
            yield PolicyRow("capabilities", f"{capability}.{operation}", why)


def _rows_of_roots(
    lower: CapabilityPolicy, result: CapabilityPolicy
) -> Iterator[PolicyRow]:
    left = result.workspace_roots or ()
    for one in lower.workspace_roots or ():
        if not any(contains(root, one) for root in left):
            partly = any(contains(one, root) for root in left)
            yield PolicyRow(
                "workspace_roots", one, "cut_to_ceiling" if partly else "outside_roots"
            )
