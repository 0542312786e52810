"""The thirteen helpers make what the table says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from made_artifacts import made, stamps
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.hosting import host_artifacts as host
from muniment_plugins.workflow.artifacts.hosting import host_reviews as reviews
from muniment_plugins.workflow.artifacts.kinds import priority_of

(TARGET,) = made({"id": "t", "kind": "diff", "title": "Fix", "lineage": ["g"]})
TWO = {"target_artifact_id": "t", "target_kind": "diff"}
LINEAGE = ["g", "t"]
PATCH = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
CHECKS = [{"name": "unit", "ok": True}]

Helper = Callable[..., Artifact]
# helper, arguments, kind, title, text, data, metadata, lineage
TABLE: list[
    tuple[Helper, list[object], str, str, str | None, object, object, object]
] = [
    (
        host.artifact_workspace_file,
        ["src/a.py", "x = 1\n"],
        "workspace_file",
        "src/a.py",
        "x = 1\n",
        {"path": "src/a.py", "content": "x = 1\n"},
        {"path": "src/a.py"},
        [],
    ),
    (
        host.artifact_workspace_snapshot,
        [["a", "b"], "two files"],
        "workspace_snapshot",
        "workspace snapshot",
        "two files",
        {"paths": ["a", "b"]},
        {"paths": ["a", "b"]},
        [],
    ),
    (
        host.artifact_workspace_snapshot,
        [["a"]],
        "workspace_snapshot",
        "workspace snapshot",
        None,
        {"paths": ["a"]},
        {"paths": ["a"]},
        [],
    ),
    (
        host.artifact_editor_selection,
        ["a.py", "x"],
        "editor_selection",
        "selection a.py",
        "x",
        {"path": "a.py", "text": "x"},
        {"path": "a.py"},
        [],
    ),
    (
        host.artifact_verification_result,
        ["Types", "all good"],
        "verification_result",
        "Types",
        "all good",
        {"title": "Types", "text": "all good"},
        {},
        [],
    ),
    (
        host.artifact_test_result,
        ["Unit", "3 passed"],
        "test_result",
        "Unit",
        "3 passed",
        {"title": "Unit", "text": "3 passed"},
        {},
        [],
    ),
    (
        host.artifact_command_result,
        ["ls", ""],
        "command_result",
        "ls",
        "",
        {"command": "ls", "output": ""},
        {"command": "ls"},
        [],
    ),
    (
        host.artifact_command_result,
        ["ls", {"stdout": "a", "exit_status": 0}],
        "command_result",
        "ls",
        '{"exit_status":0,"stdout":"a"}',
        {"command": "ls", "output": {"stdout": "a", "exit_status": 0}},
        {"command": "ls"},
        [],
    ),
    (
        host.artifact_diff,
        ["a", "x\n", "y\n"],
        "diff",
        "diff a",
        PATCH,
        {"path": "a", "before": "x\n", "after": "y\n"},
        {"path": "a"},
        [],
    ),
    (
        host.artifact_git_diff,
        [PATCH],
        "git_diff",
        "git diff",
        PATCH,
        {"diff": PATCH},
        {},
        [],
    ),
    (
        reviews.artifact_diff_review,
        [TARGET, "fine"],
        "diff_review",
        "review Fix",
        "fine",
        TWO,
        TWO,
        LINEAGE,
    ),
    (
        reviews.artifact_diff_review,
        [TARGET.to_json()],
        "diff_review",
        "review Fix",
        None,
        TWO,
        TWO,
        LINEAGE,
    ),
    (
        reviews.artifact_review_decision,
        [TARGET, "approved"],
        "review_decision",
        "approved Fix",
        "approved",
        {**TWO, "decision": "approved"},
        {**TWO, "decision": "approved"},
        LINEAGE,
    ),
    (
        reviews.artifact_patch_proposal,
        [TARGET, PATCH],
        "patch_proposal",
        "patch for Fix",
        PATCH,
        {**TWO, "patch": PATCH},
        TWO,
        LINEAGE,
    ),
    (
        host.artifact_verification_bundle,
        ["All", CHECKS],
        "verification_bundle",
        "All",
        '[{"name":"unit","ok":true}]',
        {"title": "All", "checks": CHECKS},
        {},
        [],
    ),
    (
        reviews.artifact_apply_intent,
        [TARGET, "apply"],
        "apply_intent",
        "apply Fix",
        "apply",
        {**TWO, "intent": "apply"},
        TWO,
        LINEAGE,
    ),
]
HELPERS = [*dict.fromkeys(row[0] for row in TABLE)]


def named(helper: object) -> str:
    """Return what pytest calls a row."""
    return getattr(helper, "__name__", "")


def test_there_are_thirteen() -> None:
    """No helper is missing in the table."""
    offered = {*host.__all__, *reviews.__all__} - {"artifact_handoff"}
    assert {one.__name__ for one in HELPERS} == offered
    assert len(offered) == 13


@pytest.mark.parametrize("row", TABLE, ids=lambda row: named(row[0]))
def test_the_table(
    row: tuple[Helper, list[object], str, str, str | None, object, object, object],
) -> None:
    """Kind, title, text, data, metadata, lineage, weight and tokens are as they should."""
    helper, arguments, kind, title, text, data, metadata, lineage = row
    one = helper(*arguments, stamps=stamps())
    assert (one.id, one.kind, one.title, one.text) == ("a0", kind, title, text)
    assert (one.data, one.metadata, [*one.lineage]) == (data, metadata, lineage)
    assert one.priority == priority_of(kind)
    assert one.estimated_tokens == -(-len(one.body.encode()) // 4)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: named(row[0]))
def test_extra(
    row: tuple[Helper, list[object], str, str, str | None, object, object, object],
) -> None:
    """What is added takes the place of what was built; objects and lists are joined."""
    helper, arguments, _, _, _, data, metadata, lineage = row
    assert isinstance(data, dict)
    assert isinstance(metadata, dict)
    assert isinstance(lineage, list)
    extra = {
        "id": "mine",
        "created_at": "2021-01-01T00:00:00.000000Z",
        "title": "T",
        "text": "other",
        "source": "editor",
        "stage": "act",
        "freshness": "live",
        "priority": 1,
        "relevance": 0.5,
        "estimated_tokens": 12,
    }
    joined = {"lineage": ["z"], "metadata": {"m": 1}, "data": {"d": 2, "path": "p"}}
    one = helper(*arguments, extra={**extra, **joined}).to_json()
    assert one == {
        **extra,
        "kind": row[2],
        "data": {**data, "d": 2, "path": "p"},
        "metadata": {**metadata, "m": 1},
        "lineage": [*lineage, "z"],
    }


WRONG: list[tuple[Helper, list[object], str]] = [
    (host.artifact_workspace_file, ["", "x"], "path: missing path"),
    (host.artifact_workspace_file, [" ", "x"], "path: missing path"),
    (host.artifact_workspace_file, [None, "x"], "path: missing path"),
    (host.artifact_workspace_file, ["a", None], "content: missing content"),
    (host.artifact_workspace_file, ["a", 5], "content: it is a number"),
    (host.artifact_workspace_snapshot, ["a"], "paths: it is a text, not a list"),
    (host.artifact_workspace_snapshot, [[""]], r"paths\[0\]: the text is empty"),
    (host.artifact_workspace_snapshot, [["a"], 5], "summary: it is a number"),
    (host.artifact_editor_selection, ["a", ""], "text: missing text"),
    (host.artifact_editor_selection, ["", "a"], "path: missing path"),
    (host.artifact_verification_result, ["", "a"], "title: missing title"),
    (host.artifact_verification_result, ["a", ""], "text: missing text"),
    (host.artifact_test_result, ["a", ""], "text: missing text"),
    (host.artifact_command_result, ["", "a"], "command: missing command"),
    (host.artifact_command_result, ["a", None], "output: missing output"),
    (host.artifact_command_result, ["a", {1}], "output: a set is no value"),
    (host.artifact_diff, ["", "a", "b"], "path: missing path"),
    (host.artifact_diff, ["a", None, "b"], "before: missing before"),
    (host.artifact_git_diff, [""], "diff: missing diff"),
    (host.artifact_verification_bundle, ["", []], "title: missing title"),
    (host.artifact_verification_bundle, ["a", None], "checks: missing checks"),
    (reviews.artifact_diff_review, [None], "target: it is a NoneType"),
    (reviews.artifact_diff_review, [{"kind": "diff"}], "target.id: it is missing"),
    (reviews.artifact_review_decision, [TARGET, ""], "decision: missing decision"),
    (reviews.artifact_patch_proposal, [TARGET, ""], "patch: missing patch"),
    (reviews.artifact_apply_intent, [TARGET, ""], "intent: missing intent"),
    (
        reviews.artifact_apply_intent,
        [TARGET, "a", {"id": "t"}],
        "t is made from itself",
    ),
    (host.artifact_git_diff, ["a", {"data": []}], "extra.data: it is a list"),
    (host.artifact_git_diff, ["a", {"kind": "diff"}], "extra.kind: nothing reads"),
    (
        host.artifact_git_diff,
        ["a", {"titel": "b"}],
        "extra.titel: .*did you mean title",
    ),
]


@pytest.mark.parametrize(("helper", "arguments", "message"), WRONG)
def test_mistakes(helper: Helper, arguments: list[object], message: str) -> None:
    """What is missing or mistyped is refused under the helper's own name."""
    with pytest.raises(UsageError, match=message) as refused:
        helper(*arguments)
    assert refused.value.place.startswith(helper.__name__)


def test_titles_without_titles() -> None:
    """What has no title is called by its id."""
    (bare,) = made({"kind": "diff"})
    assert reviews.artifact_apply_intent(bare, "apply").title == "apply a0"
