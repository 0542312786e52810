"""Intersections of random policies allow nothing that either side forbids."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.documents.places import At
from muniment_plugins.workflow.ceilings.annotations import read_annotations
from muniment_plugins.workflow.ceilings.approvals import (
    ToolApprovalPolicy,
    approval_of,
    intersect_approvals,
)
from muniment_plugins.workflow.ceilings.intersection import (
    WHYS,
    Intersection,
    intersect,
)
from muniment_plugins.workflow.ceilings.levels import SIDE_EFFECT_LEVELS, TOOL_KINDS
from muniment_plugins.workflow.ceilings.permission import (
    CallFacts,
    allows,
    label_under,
)
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy

TOOLS = ("read", "read_file", "edit", "run", "Run", "a", "ab", "aba")
PATTERNS = (*TOOLS, "*", "re*", "*_file", "a*", "*a", "?", "r?n", "re*&*file", "e*")
OPERATIONS = ("read_text", "write_text", "exec")
ROOTS = ("src", "src/a", ".//lib", "lib/", ".", "./src//b", "other")
PATHS = (
    *ROOTS,
    "src/../lib",
    "src/a/b.py",
    "srcs",
    "../x",
    "/etc/passwd",
    "/repo/src/a",
    "~/x",
    "",
)
KEYS = ("path", "file", "command", "in.path")
TEXTS = ("git status", "git", "ls", "src/a", "a/../b", "x\ny")


def some(values: tuple[str, ...], most: int = 3) -> st.SearchStrategy[list[str]]:
    """Draw a few of *values*, each once."""
    return st.lists(st.sampled_from(values), max_size=most, unique=True)


def members(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw an object that has some of the members."""
    return st.fixed_dictionaries({}, optional=optional)


LEVELS = st.sampled_from(SIDE_EFFECT_LEVELS)
LABELS = members(
    kind=st.sampled_from(TOOL_KINDS),
    side_effect_level=LEVELS,
    mutation_classification=st.sampled_from(
        ("read_only", "apply_workspace", "destructive", "ambient_side_effect")
    ),
    path_params=some(KEYS, 2),
    arg_aliases=st.dictionaries(
        st.sampled_from(("file", "cmd")), st.sampled_from(("path", "command"))
    ),
    required=some(KEYS, 1),
    capabilities=st.dictionaries(
        st.sampled_from(("workspace", "process")), some(OPERATIONS, 2), max_size=1
    ),
    emits_artifacts=st.booleans(),
    result_readers=some(TOOLS, 1),
    inline_result=st.booleans(),
)
CONSTRAINTS = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.sampled_from(PATTERNS),
            "arg_patterns": some(("git*", "ls", "src/*", "*", "?*"), 2),
        },
        optional={"arg_key": st.sampled_from(KEYS)},
    ),
    max_size=2,
)
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "tools": some(PATTERNS),
    "capabilities": st.dictionaries(
        st.sampled_from(("workspace", "process")),
        some((*OPERATIONS, "*")),
        max_size=2,
    ),
    "workspace_roots": some(ROOTS),
    "side_effect_level": LEVELS,
    "recursion_limit": st.integers(0, 2),
    "tool_arg_constraints": CONSTRAINTS,
}
POLICIES = members(
    **MEMBERS, tool_annotations=st.dictionaries(st.sampled_from(TOOLS), LABELS)
).map(CapabilityPolicy.from_document)
UNLABELLED = members(**MEMBERS).map(CapabilityPolicy.from_document)
VALUES = (
    st.sampled_from((*PATHS, *TEXTS))
    | st.none()
    | st.integers(0, 3)
    | st.lists(st.sampled_from((*PATHS, *TEXTS)), max_size=2)
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(("path", "file", "command", "cmd", "in")),
    VALUES | st.dictionaries(st.just("path"), VALUES),
    max_size=3,
)
CALLS = st.builds(
    CallFacts,
    tool=st.sampled_from(TOOLS),
    arguments=ARGUMENTS,
    label=LABELS.map(lambda one: read_annotations(one, At("label", "workflow"))),
    base=st.sampled_from((None, "/repo")),
    depth=st.integers(0, 3),
)


@settings(max_examples=1500, deadline=None)
@given(POLICIES, POLICIES, CALLS)
def test_nothing_that_either_side_forbids(
    ceiling: CapabilityPolicy, requested: CapabilityPolicy, call: CallFacts
) -> None:
    """What the result allows, both sides allow (B10).

    The converse may fail where labels differ: the strictest of both is held against the
    lowest level, and a parameter that one side knows against the roots of the other.
    """
    result = intersect(ceiling, requested).result
    both = allows(ceiling, call) and allows(requested, call)

    assert both or not allows(result, call)
    if ceiling.label_of(call.tool) == requested.label_of(call.tool):
        assert allows(result, call) == both


@settings(max_examples=1500, deadline=None)
@given(UNLABELLED, UNLABELLED, CALLS)
def test_exactly_what_both_sides_allow(
    ceiling: CapabilityPolicy, requested: CapabilityPolicy, call: CallFacts
) -> None:
    """Without labels in the policies a call is allowed by the result iff by both."""
    result = intersect(ceiling, requested).result

    assert allows(result, call) == (allows(ceiling, call) and allows(requested, call))


@settings(max_examples=400, deadline=None)
@given(POLICIES, POLICIES, POLICIES)
def test_order_and_grouping_do_not_matter(
    one: CapabilityPolicy, two: CapabilityPolicy, three: CapabilityPolicy
) -> None:
    """Intersection is associative, commutative and idempotent, in its digests too."""
    left = intersect(intersect(one, two).result, three).result
    right = intersect(one, intersect(two, three).result).result

    assert left == right
    assert left.digest == right.digest
    assert intersect(one, two).result == intersect(two, one).result
    assert intersect(one, one) == Intersection(one, (), ())
    assert intersect(left, one).result == left


@settings(max_examples=400, deadline=None)
@given(POLICIES, POLICIES)
def test_every_loss_is_a_row(
    ceiling: CapabilityPolicy, requested: CapabilityPolicy
) -> None:
    """A result that is not what was requested says where, and only then.

    That the roots of both sides are kept beside those that are left takes nothing away.
    """
    found = intersect(ceiling, requested)
    rows = [*found.narrowed, *found.refused]

    changed = {
        name
        for name in CapabilityPolicy.__dataclass_fields__
        if getattr(found.result, name) != getattr(requested, name)
    } - {"also_roots"}
    told = {one.member for one in rows}
    assert changed == told
    assert all(one.why in WHYS for one in rows)
    assert len({*rows}) == len(rows)
    assert intersect(ceiling, found.result).result == found.result


@given(POLICIES)
def test_normal_form(policy: CapabilityPolicy) -> None:
    """A policy is read back from its document as it was, and so is its digest."""
    again = CapabilityPolicy.from_document(policy.document())

    assert again == policy
    assert again.digest == policy.digest


@given(POLICIES, st.sampled_from(TOOLS))
def test_nothing_limits_nothing(policy: CapabilityPolicy, tool: str) -> None:
    """The empty policy is the neutral one, and allows every call with a plain path."""
    empty = CapabilityPolicy()

    assert intersect(empty, policy).result == policy
    assert intersect(policy, empty).result == policy
    assert allows(empty, CallFacts(tool, {"path": "x"}, depth=99))


APPROVALS = members(
    auto_approve=some(PATTERNS),
    auto_deny=some(PATTERNS, 1),
    require_approval=some(PATTERNS),
    write_path_allowlist=some(("src/**", "src/*", "**", "/repo/src/**", "lib/"), 2),
    default=st.sampled_from(("deny", "ask", "allow")),
).map(ToolApprovalPolicy.from_document)
STRICTNESS = ("deny", "ask", "allow")


@settings(max_examples=1000, deadline=None)
@given(APPROVALS, APPROVALS, CALLS)
def test_the_stricter_approval_counts(
    one: ToolApprovalPolicy, two: ToolApprovalPolicy, call: CallFacts
) -> None:
    """Two approval policies answer as the stricter of them does, exactly."""
    both = approval_of(intersect_approvals(one, two), call)
    answers = [approval_of(policy, call).answer for policy in (one, two)]

    assert both.answer == min(answers, key=STRICTNESS.index)


@given(APPROVALS, APPROVALS, APPROVALS)
def test_approvals_have_no_order(
    one: ToolApprovalPolicy, two: ToolApprovalPolicy, three: ToolApprovalPolicy
) -> None:
    """Their intersection is associative, commutative, idempotent, and reads back."""
    left = intersect_approvals(intersect_approvals(one, two), three)

    assert left == intersect_approvals(one, intersect_approvals(two, three))
    assert intersect_approvals(one, two) == intersect_approvals(two, one)
    assert intersect_approvals(one, one) == one
    assert intersect_approvals(None, one) == one
    assert ToolApprovalPolicy.from_document(left.document()) == left


@settings(max_examples=800, deadline=None)
@given(POLICIES, CALLS)
def test_a_policy_never_lowers_a_label(
    policy: CapabilityPolicy, call: CallFacts
) -> None:
    """What a policy states about a tool makes it stricter, never milder."""
    before, after = call.label.settled(), label_under(policy, call)

    assert SIDE_EFFECT_LEVELS.index(after.level) >= SIDE_EFFECT_LEVELS.index(
        before.level
    )
    assert after.path_params >= before.path_params
    assert after.capabilities >= before.capabilities
