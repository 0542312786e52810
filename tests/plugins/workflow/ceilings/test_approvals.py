"""Approval policies: deny, write path, approve, require, default, in this order."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.documents.places import At
from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.annotations import read_annotations
from muniment_plugins.workflow.ceilings.approvals import (
    approval_of,
    approvals_of,
    intersect_approvals,
)
from muniment_plugins.workflow.ceilings.permission import CallFacts

Document = dict[str, Any]
WRITES = {"kind": "edit", "path_params": ["path"]}
READS = {"kind": "read", "path_params": ["path"]}


def answer(
    policy: Document, tool: str, label: Document, arguments: Document | None = None
) -> tuple[str, str]:
    """Return what *policy* says about a call, and why."""
    found = approval_of(
        approvals_of(policy),
        CallFacts(
            tool,
            arguments or {},
            read_annotations(label, At("label", "workflow")),
            base="/repo",
        ),
    )
    return found.answer, found.reason


def test_auto_deny_takes_precedence_over_auto_approve() -> None:
    """What is denied is denied, whatever else matches."""
    policy = {
        "auto_approve": ["*"],
        "auto_deny": ["run"],
        "require_approval": ["run"],
        "default": "allow",
    }

    assert answer(policy, "run", READS) == ("deny", "auto_denied")
    assert answer(policy, "read", READS) == ("allow", "auto_approved")


def test_require_before_approve() -> None:
    """What people must approve waits for them, whatever else approves it."""
    policy = {"auto_approve": ["*"], "require_approval": ["edit", "mo*"]}

    assert answer(policy, "edit", WRITES) == ("ask", "approval_required")
    assert answer(policy, "move", WRITES) == ("ask", "approval_required")
    assert answer(policy, "make", WRITES) == ("allow", "auto_approved")


def test_unmatched_tool_follows_the_default() -> None:
    """Out of the box what only reads goes on, and everything above is denied."""
    assert answer({}, "read", READS) == ("allow", "by_default")
    assert answer({}, "think", {"side_effect_level": "none"}) == ("allow", "by_default")
    assert answer({}, "edit", WRITES) == ("deny", "by_default")
    assert answer({}, "unknown", {}) == ("deny", "by_default")
    odd = {"kind": "other", "side_effect_level": "read_only"}
    assert answer({}, "odd", odd) == ("deny", "by_default")
    for word in ("deny", "ask", "allow"):
        assert answer({"default": word}, "edit", WRITES) == (word, "by_default")
        assert answer({"default": word}, "read", READS) == (word, "by_default")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", "allow"),
        ("/repo/src/a.py", "allow"),
        ("./src//a.py", "allow"),
        ("src/../lib/a.py", "deny"),
        ("../src/a.py", "deny"),
        ("/src/a.py", "deny"),
        ("~/src/a.py", "deny"),
        ("", "deny"),
        (["src/a", "lib/b"], "deny"),
        (["src/a", "src/b"], "allow"),
        (7, "deny"),
    ],
)
def test_write_path_allowlist_of_writes(path: object, expected: str) -> None:
    """Each path of a call that writes must be allowed, after normalisation."""
    policy = {"write_path_allowlist": ["src/**"], "default": "allow"}

    assert answer(policy, "edit", WRITES, {"path": path})[0] == expected


def test_write_path_allowlist_is_before_approval() -> None:
    """Approving a tool does not approve the paths that it writes."""
    policy = {"write_path_allowlist": ["src/**"], "auto_approve": ["edit"]}

    assert answer(policy, "edit", WRITES, {"path": "x"}) == (
        "deny",
        "write_path_refused",
    )


def test_write_path_allowlist_skips_read_only_tools() -> None:
    """What only reads is not held to where may be written."""
    policy: Document = {"write_path_allowlist": []}

    assert answer(policy, "read", READS, {"path": "x"}) == ("allow", "by_default")


def test_write_path_allowlist_needs_a_path() -> None:
    """A tool that writes nobody knows where is denied; an empty list allows no path."""
    nowhere = {"write_path_allowlist": ["**"], "default": "allow"}
    closed = {"write_path_allowlist": [], "default": "allow"}

    assert answer(nowhere, "edit", WRITES, {}) == ("deny", "write_path_missing")
    assert answer(nowhere, "save", {"kind": "edit"}, {"path": "x"}) == (
        "deny",
        "write_path_missing",
    )
    assert answer(closed, "edit", WRITES, {"path": "x"})[0] == "deny"
    assert answer(nowhere, "run", {"kind": "execute"}) == (
        "deny",
        "write_path_missing",
    )


LEVELS = ("none", "read_only", "workspace_write", "process_exec", "network")
LISTS: list[Document] = [
    {"write_path_allowlist": paths, **more}
    for paths in ([], ["src"], ["src/**"], ["**"])
    for more in ({}, {"auto_approve": ["*"]}, {"default": "allow"}, {"default": "ask"})
]


@pytest.mark.parametrize("policy", LISTS)
@pytest.mark.parametrize("given", [{}, {"path": "src/a"}, {"path": "x"}])
@pytest.mark.parametrize("more", [{}, {"path_params": ["path"]}])
def test_a_higher_level_is_never_held_to_less(
    policy: Document, given: Document, more: Document
) -> None:
    """Of two tools the one that may do more gets no answer that lets it do more."""
    strict = ("deny", "ask", "allow")
    answers = [
        strict.index(answer(policy, "t", {"side_effect_level": one, **more}, given)[0])
        for one in LEVELS
    ]
    assert answers == sorted(answers, reverse=True)


@pytest.mark.parametrize(
    ("entry", "allowed", "denied"),
    [
        ("out", ["out", "out/a", "out/a/b", "./out/a"], ["outer/a", "x/out", "."]),
        ("out/", ["out/a", "out/a/b"], ["out", "outer"]),
        ("out/*", ["out/a"], ["out/a/b", "out", "outer/a"]),
        ("out/**", ["out/a", "out/a/b"], ["out", "outer/a"]),
        ("a.txt", ["a.txt"], ["b.txt", "a.txt.bak"]),
        (".", [".", "a", "a/b"], ["/etc/x", "../x"]),
        ("/etc", ["/etc/x"], ["/etcetera", "etc/x"]),
    ],
)
def test_an_entry_means_what_it_looks_like(
    entry: str, allowed: list[str], denied: list[str]
) -> None:
    """A folder is all that is below it; wildcards are what the table says."""
    policy = {"write_path_allowlist": [entry], "default": "allow"}

    for path in allowed:
        assert answer(policy, "edit", WRITES, {"path": path})[0] == "allow", path
    for path in denied:
        assert answer(policy, "edit", WRITES, {"path": path})[0] == "deny", path


def test_intersect_denies_and_asks_of_both() -> None:
    """Both policies are asked; what one approves and the other denies is denied."""
    both = intersect_approvals(
        {"auto_approve": ["*"]}, {"require_approval": ["edit"], "auto_deny": ["run"]}
    ).document()

    assert answer(both, "edit", WRITES)[0] == "ask"
    assert answer(both, "run", WRITES)[0] == "deny"
    assert answer(both, "move", WRITES)[0] == "deny"
    assert answer(both, "read", READS)[0] == "allow"


def test_intersect_write_paths_of_both() -> None:
    """A path must be allowed by both lists."""
    both = intersect_approvals(
        {"write_path_allowlist": ["src/**"], "default": "allow"},
        {"write_path_allowlist": ["**/*.py"], "default": "allow"},
    ).document()

    assert answer(both, "edit", WRITES, {"path": "src/a.py"})[0] == "allow"
    assert answer(both, "edit", WRITES, {"path": "src/a.md"})[0] == "deny"
    assert answer(both, "edit", WRITES, {"path": "lib/a.py"})[0] == "deny"


def test_intersect_with_nothing() -> None:
    """No policy adds none; the empty policy denies what the default does."""
    approving = approvals_of({"auto_approve": ["edit"]})

    assert intersect_approvals(None, approving) == approving
    assert intersect_approvals(None, None) == approvals_of(None)
    both = intersect_approvals({}, approving).document()
    assert answer(both, "edit", WRITES)[0] == "deny"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"auto_aprove": []}, "did you mean auto_approve"),
        ({"default": "maybe"}, "means nothing here"),
        ({"write_path_allowlist": ["../x"]}, "upwards"),
        ({"auto_deny": ["[r]un"]}, "form"),
    ],
)
def test_mistakes(document: Document, message: str) -> None:
    """A mistake is one line with its place."""
    with pytest.raises(UsageError, match=message):
        approvals_of(document)
