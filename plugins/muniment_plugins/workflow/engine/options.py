"""The options of a run of a graph.

    {"max_steps": 8, "executor": "threads", "ceiling": {"side_effect_level": "read_only"}}

Rules:

- What nothing reads is no option, and is refused; so is what another part of muniment
  does: the message says which.
- An option of a wrong type is refused with its place. Only ``null`` means that an option is
  not given: ``[]``, ``false``, ``0`` and ``""`` are no ceiling, and so they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.documents.reading import plain_document
from muniment.documents.shapes import ObjectShape, Text, Whole
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.approvals import (
    APPROVAL_POLICY,
    ToolApprovalPolicy,
)
from muniment_plugins.workflow.ceilings.policy import (
    CAPABILITY_POLICY,
    CapabilityPolicy,
)

if TYPE_CHECKING:
    from muniment.runs.executors import Executor

__all__ = [
    "ELSEWHERE",
    "OPTIONS",
    "WorkflowOptions",
    "named_executor",
    "options_of",
    "require_task",
]

OPTIONS = ObjectShape(
    optional={
        "max_steps": Whole(1),
        "executor": Text(),
        "ceiling": CAPABILITY_POLICY,
        "approval_policy": APPROVAL_POLICY,
        "cwd": Text(),
        "key": Text(r"\S{1,200}", "nightly/2026-11-26, without spaces"),
    }
)
"""What options there are."""
ELSEWHERE = {
    "persist_path": "every run is in the ledger; `muniment export` writes it to a file",
    "resume_path": "`muniment resume RUN`, or ledger.resume(run)",
    "resume_run": "`muniment resume RUN`, or ledger.resume(run)",
    "replay_path": "`muniment replay RUN`, or muniment.replay(ledger, run)",
    "replay_run": "`muniment replay RUN`, or muniment.replay(ledger, run)",
    "replay_mode": "`muniment replay RUN`, or muniment.replay(ledger, run)",
    "audit": "everything is recorded; `muniment events --run RUN` shows it",
    "mutation_scope": "write a ceiling: its side_effect_level says what may be changed",
}
"""Options of other runtimes → what does that here."""
_STEPS_PER_NODE = 4
Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """How a graph is run."""

    max_steps: int
    executor: str | None = None
    """The name of an executor; threads by default. A child says none: its parent's."""
    ceiling: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    approval_policy: Mapping[str, JsonValue] | None = None
    cwd: str = "."
    """Where commands run, and where paths begin."""
    key: str | None = None
    """With which it is started once."""

    def for_child(self, nodes: int, child_nodes: int) -> WorkflowOptions:
        """Return these, of a graph of so many *nodes*, as a child of *child_nodes* has them.

        Steps that are as many as a graph gets by itself are those of the child's size.
        """
        if self.max_steps != _STEPS_PER_NODE * nodes:
            return self
        return replace(self, max_steps=_STEPS_PER_NODE * child_nodes)

    def to_json(self) -> dict[str, JsonValue]:
        """Return them as the params of a run have them."""
        said: dict[str, JsonValue] = {"max_steps": self.max_steps, "cwd": self.cwd}
        if self.key is not None:
            said["key"] = self.key
        if self.executor is not None:
            said["executor"] = self.executor
        if self.ceiling:
            said["ceiling"] = dict(self.ceiling)
        if self.approval_policy is not None:
            said["approval_policy"] = dict(self.approval_policy)
        return said


def named_executor(
    written: Mapping[str, object] | None,
) -> tuple[Mapping[str, object], str | Executor | None]:
    """Return what is *written* with an executor by its name, and that executor as given.

    An object is used as it is; the record has its name.
    """
    said = _members(written)
    given = said.get("executor")
    if given is None or isinstance(given, str):
        return said, given
    name = getattr(given, "name", None)
    if isinstance(name, str) and callable(getattr(type(given), "host", None)):
        return {**said, "executor": name}, cast("Executor", given)
    return said, None  # which the shape of the options refuses


def require_task(task: object) -> None:
    """Refuse a *task* that is no text.

    Raises:
        UsageError: it is none.

    """
    if not isinstance(task, str):
        at = At("task", "workflow")
        raise at.wrong(f"it is a {type(task).__name__}, not a text", "type", "write it")


def options_of(written: Mapping[str, object] | None, nodes: int) -> WorkflowOptions:
    """Return the options that are *written* for a graph of so many *nodes*.

    Raises:
        UsageError: one of them is unknown, has a wrong type, or is done elsewhere.

    """
    at = At("options", "workflow")
    said = _plain(written, at)
    for name in said.keys() & ELSEWHERE.keys():
        raise at.key(name).wrong("it is no option here", "option", ELSEWHERE[name])
    OPTIONS.check(said, at)
    ceiling, approvals = said.get("ceiling"), said.get("approval_policy")
    if ceiling is not None:  # what a shape does not see: patterns, roots, constraints
        CapabilityPolicy.from_document(ceiling, "options: ceiling")
    if approvals is not None:
        ToolApprovalPolicy.from_document(approvals, "options: approval_policy")
    steps, folder = said.get("max_steps"), said.get("cwd")
    return WorkflowOptions(
        max_steps=_STEPS_PER_NODE * nodes if steps is None else cast("int", steps),
        executor=cast("str | None", said.get("executor")),
        ceiling=cast("Object", {} if ceiling is None else ceiling),
        approval_policy=cast("Object | None", approvals),
        cwd="." if folder is None else cast("str", folder),
        key=cast("str | None", said.get("key")),
    )


def _plain(written: object, at: At) -> dict[str, JsonValue]:
    """Return a copy of what is *written*, in which policies are documents."""
    said = {
        name: one.document()
        if isinstance(one, CapabilityPolicy | ToolApprovalPolicy)
        else dict(cast("Mapping[object, object]", one))
        if isinstance(one, Mapping)
        else one
        for name, one in _members(written).items()
    }
    return cast("dict[str, JsonValue]", plain_document(said, "workflow", at.file))


def _members(written: object) -> dict[str, object]:
    """Return the members of what is *written*, which may have keys of any type.

    Raises:
        UsageError: it is no object.

    """
    if written is None:
        return {}
    if isinstance(written, Mapping):
        return dict(cast("Mapping[str, object]", written))
    raise At("options", "workflow").wrong(
        f"a {type(written).__name__} is no set of options",
        "type",
        'write an object, such as {"max_steps": 8}',
    )
