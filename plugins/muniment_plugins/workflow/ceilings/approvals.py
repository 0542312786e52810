"""Approval policies: which allowed calls go on, which wait for somebody, which do not.

    {"auto_approve": ["read_*"], "auto_deny": ["run"], "require_approval": ["edit"],
     "write_path_allowlist": ["src/**"], "default": "ask"}

Rules, in this order:

1. What ``auto_deny`` matches is denied, whatever else matches.
2. A call that does not only read, and gives paths, gives only paths that
   ``write_path_allowlist`` matches. One that gives no path is denied where there is an
   allowlist, whatever its level: nobody knows where it writes. An empty list allows no
   path. An entry without wildcards is that path and all that is below it; in one with
   wildcards ``*`` stays within a segment, ``**`` does not, and ``out/`` is ``out/**``.
   What is allowed by its text is held to the list once more where links are followed
   (`linked_refusal`), the folders that its entries begin with, too. A relative entry is
   below the base.
3. ``require_approval`` waits, whatever approves it. 4. ``auto_approve`` goes on.
5. Everything else follows ``default``. If that is absent it is ``allow`` for what only
   reads, by class and by level, and ``deny`` for everything above.

- An absent ``write_path_allowlist`` limits no path; the other lists say nothing when they
  are empty or absent.
- Two policies together are both asked, and the stricter answer counts: ``deny`` before
  ``ask`` before ``allow``. ``also`` holds the policies beside the first one.
- A policy approves nothing that a ceiling forbids: ceilings are asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.shapes import Choice, Items, ObjectShape, Shaped, Text
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.workflow.ceilings.annotations import ToolAnnotations
from muniment_plugins.workflow.ceilings.levels import level_rank
from muniment_plugins.workflow.ceilings.names import (
    TOOL_PATTERN,
    matches_any,
    normal_patterns,
)
from muniment_plugins.workflow.ceilings.paths import (
    contains,
    follow_links,
    normal_path,
    normal_path_pattern,
    path_fault,
    path_matches,
)
from muniment_plugins.workflow.ceilings.permission import CallFacts

__all__ = [
    "APPROVAL_POLICY",
    "Approval",
    "ApprovalAnswer",
    "ApprovalLike",
    "ApprovalReason",
    "ToolApprovalPolicy",
    "approval_of",
    "approvals_of",
    "holds_writes",
    "intersect_approvals",
    "linked_refusal",
]

Object = Mapping[str, JsonValue]
ApprovalAnswer: TypeAlias = Literal["deny", "ask", "allow"]
ApprovalReason: TypeAlias = Literal[
    "auto_denied",
    "write_path_missing",
    "write_path_refused",
    "auto_approved",
    "approval_required",
    "by_default",
]
_ANSWERS: tuple[ApprovalAnswer, ...] = ("deny", "ask", "allow")
_LISTS = ("auto_approve", "auto_deny", "require_approval")
_SIMPLE: dict[str, Shaped] = {
    **{name: Items(TOOL_PATTERN, unique=True) for name in _LISTS},
    "write_path_allowlist": Items(Text(), unique=True),
    "default": Choice(_ANSWERS),
}
APPROVAL_POLICY = ObjectShape({}, {**_SIMPLE, "also": Items(ObjectShape({}, _SIMPLE))})
"""The shape of an approval policy."""


@dataclass(frozen=True, slots=True)
class ToolApprovalPolicy:
    """Which calls go on, wait, or are denied."""

    auto_approve: tuple[str, ...] = ()
    auto_deny: tuple[str, ...] = ()
    require_approval: tuple[str, ...] = ()
    write_path_allowlist: tuple[str, ...] | None = None
    """Patterns of paths; None limits no path."""
    default: ApprovalAnswer | None = None
    also: tuple[ToolApprovalPolicy, ...] = ()
    """Policies that are asked as well."""

    @classmethod
    def from_document(
        cls, value: object, place: str = "approval_policy"
    ) -> ToolApprovalPolicy:
        """Return the policy in *value*, which messages call *place*.

        Raises:
            UsageError: it has a mistake; one line, with the key path.

        """
        at = At(place, "workflow")
        APPROVAL_POLICY.check(cast("JsonValue", value), at)
        said = cast("Object", value)
        rows = cast("list[Object]", said.get("also") or [])
        there = at.key("also")
        return _together(
            [_simple(said, at)]
            + [_simple(row, there.item(number)) for number, row in enumerate(rows)]
        )

    def document(self) -> dict[str, JsonValue]:
        """Return the policy as a JSON object in normal form."""
        made: dict[str, JsonValue] = {
            "auto_approve": [*self.auto_approve],
            "auto_deny": [*self.auto_deny],
            "require_approval": [*self.require_approval],
            "default": self.default,
            "also": [one.document() for one in self.also],
        }
        made = {name: one for name, one in made.items() if one not in (None, [])}
        if self.write_path_allowlist is not None:
            made["write_path_allowlist"] = [*self.write_path_allowlist]
        return made

    @property
    def digest(self) -> str:
        """The hash of the canonical document."""
        return sha256_tag(canonical(self.document()))


@dataclass(frozen=True, slots=True)
class Approval:
    """What the policies say about a call."""

    answer: ApprovalAnswer
    reason: ApprovalReason
    place: str
    """The member that decides, or the argument."""


ApprovalLike: TypeAlias = ToolApprovalPolicy | Mapping[str, object]
"""An approval policy, or its document."""


def approvals_of(
    value: ApprovalLike | None, place: str = "approval_policy"
) -> ToolApprovalPolicy:
    """Return the policy that *value* is or says; None is the empty one.

    Raises:
        UsageError: it has a mistake.

    """
    if isinstance(value, ToolApprovalPolicy):
        return value
    return ToolApprovalPolicy.from_document({} if value is None else value, place)


def intersect_approvals(
    one: ApprovalLike | None, other: ApprovalLike | None
) -> ToolApprovalPolicy:
    """Return the policy whose answer is the stricter one of both.

    Its answer is exactly that, for every call; the order of the two, and of more, makes
    no difference. None is no policy, and adds none; two of them are the empty policy.

    Raises:
        UsageError: a document has a mistake.

    """
    given = [approvals_of(policy) for policy in (one, other) if policy is not None]
    return _together([single for policy in given for single in _singles(policy)])


def _singles(policy: ToolApprovalPolicy) -> list[ToolApprovalPolicy]:
    return [replace(policy, also=()), *policy.also]


def _together(singles: list[ToolApprovalPolicy]) -> ToolApprovalPolicy:
    by_text = {canonical(one.document()): one for one in singles}
    found = [by_text[text] for text in sorted(by_text)]
    return replace(found[0], also=tuple(found[1:])) if found else ToolApprovalPolicy()


def _simple(said: Object, at: At) -> ToolApprovalPolicy:
    def listed(name: str) -> tuple[str, ...]:
        return normal_patterns(cast("list[str]", said.get(name) or []), at.key(name))

    paths = cast("list[str] | None", said.get("write_path_allowlist"))
    there = at.key("write_path_allowlist")
    return ToolApprovalPolicy(
        auto_approve=listed("auto_approve"),
        auto_deny=listed("auto_deny"),
        require_approval=listed("require_approval"),
        write_path_allowlist=None if paths is None else _path_patterns(paths, there),
        default=cast("ApprovalAnswer | None", said.get("default")),
    )


def _path_patterns(paths: list[str], at: At) -> tuple[str, ...]:
    found = {normal_path_pattern(one, at.item(n)) for n, one in enumerate(paths)}
    return tuple(sorted(found))


def approval_of(policy: ToolApprovalPolicy, facts: CallFacts) -> Approval:
    """Return what *policy* says about a call; the label of the call is the whole one.

    Args:
        policy: the policy, with those beside it.
        facts: the call, whose label is the strictest that anybody stated.

    """
    answers = [_single_answer(one, facts) for one in _singles(policy)]
    return min(answers, key=lambda one: _ANSWERS.index(one.answer))


def _single_answer(policy: ToolApprovalPolicy, facts: CallFacts) -> Approval:
    if matches_any(policy.auto_deny, facts.tool):
        return Approval("deny", "auto_denied", "auto_deny")
    wrong = _wrong_write(policy, facts, partial(normal_path, base=facts.base))
    if wrong is not None:
        return wrong
    if matches_any(policy.require_approval, facts.tool):
        return Approval("ask", "approval_required", "require_approval")
    if matches_any(policy.auto_approve, facts.tool):
        return Approval("allow", "auto_approved", "auto_approve")
    answer = policy.default or ("allow" if _only_reads(facts.label) else "deny")
    return Approval(answer, "by_default", "default")


def _only_reads(label: ToolAnnotations) -> bool:
    low = level_rank(label.level) <= level_rank("read_only")
    return low and label.mutation_class == "read_only"


def linked_refusal(policy: ToolApprovalPolicy, facts: CallFacts) -> Approval | None:
    """Return why *policy* does not allow to write where links lead now; None if it does.

    It reads the file system, so its answer belongs into an effect.
    """
    led = partial(follow_links, base=facts.base)
    found = (_wrong_write(one, facts, led) for one in _singles(policy))
    return next((one for one in found if one is not None), None)


def holds_writes(policy: ToolApprovalPolicy, label: ToolAnnotations) -> bool:
    """Tell whether an allowlist of *policy* holds the paths of a tool with that label."""
    lists = any(one.write_path_allowlist is not None for one in _singles(policy))
    return lists and label.mutation_class != "read_only"


_Place: TypeAlias = Callable[[str], str | None]
"""Gives a path in one spelling; None if it cannot be told."""


def _wrong_write(
    policy: ToolApprovalPolicy, facts: CallFacts, place: _Place
) -> Approval | None:
    allowed, kind = policy.write_path_allowlist, facts.label.mutation_class
    if allowed is None or kind == "read_only":
        return None
    found = list(facts.paths(facts.label))
    if not found:
        return Approval("deny", "write_path_missing", "write_path_allowlist")
    for name, value in found:
        if not isinstance(value, str) or not _may_write(allowed, value, place):
            return Approval("deny", "write_path_refused", name)
    return None


def _may_write(allowed: tuple[str, ...], value: str, place: _Place) -> bool:
    path = None if path_fault(value) else place(value)
    return path is not None and any(_allows(one, path, place) for one in allowed)


def _allows(entry: str, path: str, place: _Place) -> bool:
    """Tell whether an *entry* of an allowlist allows to write to *path*."""
    folder, pattern = _parts(entry)
    top = place(folder)
    if top is None or not contains(top, path):
        return False
    if not pattern:
        return True
    if path == place("."):  # wildcards allow what is in a base, not all of it
        return False
    below = path if top == "." else path.removeprefix(top).removeprefix("/")
    return bool(below) and path_matches(pattern, below)


def _parts(entry: str) -> tuple[str, str]:
    """Return the folder that an entry begins with, and the pattern of what is below it."""
    names = entry.split("/")
    wild = (n for n, one in enumerate(names) if {"*", "?"} & {*one})
    first = next(wild, len(names))
    folder = "/".join(names[:first]) or ("/" if entry.startswith("/") else ".")
    return folder, "/".join(names[first:])
