"""What hosts and editors hand over: artifacts of known kinds, from plain arguments.

    artifact_workspace_file("src/parser.rs", "fn main() {}")
    artifact_diff("src/parser.rs", before, after, {"stage": "repair"})

Rules:

- What names or makes up the artifact is not empty: path, text, command, title. The
  content of a file, an output, and both sides of a diff may be.
- ``extra`` has the fields of an artifact but its kind. ``data`` and ``metadata`` go over
  what is built here, member by member; ``lineage`` comes after it; every other field
  takes the place of the one that is built here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.handoffs import handoff_data
from muniment_plugins.workflow.artifacts.hosting.building import Building
from muniment_plugins.workflow.artifacts.hosting.unified_diff import unified_diff
from muniment_plugins.workflow.artifacts.kinds import HANDOFF
from muniment_plugins.workflow.artifacts.stamps import Stamps

__all__ = [
    "artifact_command_result",
    "artifact_diff",
    "artifact_editor_selection",
    "artifact_git_diff",
    "artifact_handoff",
    "artifact_test_result",
    "artifact_verification_bundle",
    "artifact_verification_result",
    "artifact_workspace_file",
    "artifact_workspace_snapshot",
]

Extra: TypeAlias = Mapping[str, object] | None
Object = dict[str, JsonValue]


def artifact_workspace_file(
    path: str, content: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return the file *path* with its *content*, which may be empty.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("workspace_file", extra, stamps)
    made.words(path=path)
    made.texts(content=content)
    return made.done(path, content, metadata={"path": path})


def artifact_workspace_snapshot(
    paths: list[str],
    summary: str | None = None,
    extra: Extra = None,
    *,
    stamps: Stamps | None = None,
) -> Artifact:
    """Return that the workspace has *paths*, and what is worth saying about them.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("workspace_snapshot", extra, stamps)
    known = made.list_of_texts("paths", paths)
    return made.done("workspace snapshot", summary, metadata={"paths": known})


def artifact_editor_selection(
    path: str, text: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return the *text* that is selected in the file *path*.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("editor_selection", extra, stamps)
    made.words(path=path, text=text)
    return made.done(f"selection {path}", text, metadata={"path": path})


def artifact_verification_result(
    title: str, text: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return what a verification found.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("verification_result", extra, stamps)
    made.words(title=title, text=text)
    return made.done(title, text)


def artifact_test_result(
    title: str, text: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return what came of tests.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("test_result", extra, stamps)
    made.words(title=title, text=text)
    return made.done(title, text)


def artifact_command_result(
    command: str, output: object, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return what *command* put out: a text, or any JSON value.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("command_result", extra, stamps)
    made.words(command=command)
    text = made.value("output", output)
    return made.done(command, text, metadata={"command": command})


def artifact_diff(
    path: str,
    before: str,
    after: str,
    extra: Extra = None,
    *,
    stamps: Stamps | None = None,
) -> Artifact:
    """Return the unified diff of the file *path*, *before* and *after* a change.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("diff", extra, stamps)
    made.words(path=path)
    made.texts(before=before, after=after)
    text = unified_diff(path, before, after)
    return made.done(f"diff {path}", text, metadata={"path": path})


def artifact_git_diff(
    diff_text: str, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return what ``git diff`` printed.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("git_diff", extra, stamps)
    made.words(diff=diff_text)
    return made.done("git diff", diff_text)


def artifact_verification_bundle(
    title: str, checks: object, extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return *checks*, any JSON value, as one artifact.

    Raises:
        UsageError: an argument is missing, or not what it should be.

    """
    made = Building("verification_bundle", extra, stamps)
    made.words(title=title)
    return made.done(title, made.value("checks", checks, as_json=True))


def artifact_handoff(
    raw: Mapping[str, object], extra: Extra = None, *, stamps: Stamps | None = None
) -> Artifact:
    """Return the handoff *raw* (see `handoff_data`), with its task as the text.

    Raises:
        UsageError: it lacks who, to whom, what or why; or a value is not what it should be.

    """
    made = Building(HANDOFF, extra, stamps)
    made.data = handoff_data(raw, At("artifact_handoff", "workflow"))
    target = cast("dict[str, str]", made.data["target_persona_or_human"])
    name = target.get("label") or target.get("id") or target["kind"]
    return made.done(f"handoff to {name}", cast("str", made.data["task"]))
