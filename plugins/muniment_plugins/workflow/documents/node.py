"""A node of a graph, and what its policies say.

Rule: what a document does not say has the value that the attribute names as default; the
document itself is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.context.context_policy import (
    ContextPolicy,
    context_policy,
)
from muniment_plugins.workflow.documents.words import SEMANTICS, JoinStrategy

__all__ = [
    "MOST",
    "JoinPolicy",
    "MapPolicy",
    "RetryPolicy",
    "StageContract",
    "WorkflowNode",
]

Object = Mapping[str, JsonValue]

MOST = 100
"""How many artifacts a stage is given where no policy says: a long run does not pay at each
stage for all that it ever made."""
_TAKES_ALL = frozenset(
    {"map", "reduce", "verify", "condition", "subagent", "escalation"}
)
_TAKES_EACH = frozenset({"map", "reduce", "subagent"})
"""Kinds to which two that are equal are two, whoever does the work."""
_NONE: Object = {}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often the work of a node is tried, and how long it waits in between."""

    max_attempts: int = 1
    backoff_ms: float = 0
    backoff_multiplier: float = 2

    def wait_after(self, attempt: int) -> float:
        """Return the seconds between *attempt*, counted from 1, and the next one."""
        return self.backoff_ms / 1000 * self.backoff_multiplier ** (attempt - 1)


@dataclass(frozen=True, slots=True)
class StageContract:
    """What a node takes or makes: kinds, counts, and the schema of its data."""

    input_kinds: tuple[str, ...] = ()
    output_kinds: tuple[str, ...] = ()
    min_inputs: int = 0
    max_inputs: int | None = None
    schema: Object | None = None
    """A JSON Schema for the ``data`` of each artifact."""


@dataclass(frozen=True, slots=True)
class JoinPolicy:
    """When a join, or a map, goes on."""

    strategy: JoinStrategy = "all"
    min_completed: int | None = None
    requires_all: bool = False
    """Whether it was said that all are needed, and not left to what a node does else."""

    def needed(self, count: int) -> int:
        """Return how many of *count* branches have to succeed."""
        if self.strategy == "all":
            return count if self.min_completed is None else self.min_completed
        return 1 if self.strategy == "first" else self.min_completed or count

    @property
    def is_race(self) -> bool:
        """Whether it goes on before all branches ended."""
        return self.strategy != "all"


@dataclass(frozen=True, slots=True)
class MapPolicy:
    """What a map works on, and how much of it at once."""

    items: tuple[JsonValue, ...] = ()
    item_artifact_kind: str | None = None
    output_kind: str | None = None
    max_items: int | None = None
    max_concurrent: int | None = None


@dataclass(frozen=True)
class WorkflowNode:
    """A node."""

    name: str
    document: Object = field(repr=False)
    at: At = field(repr=False, compare=False)
    """Where it stands in its document."""
    outer: WorkflowNode | None = field(default=None, repr=False, compare=False)
    """The map whose body it is."""

    @cached_property
    def kind(self) -> str:
        """What it does: ``stage``, ``verify``, …."""
        return cast("str", self.document["kind"])

    @cached_property
    def mode(self) -> str | None:
        """Who does its work: ``function``, ``llm``, ``agent``; None if nobody is named."""
        mode = self.document.get("mode")
        if mode is None and self.handler is not None:
            return "function"
        return cast("str | None", mode)

    @cached_property
    def handler(self) -> str | None:
        """The import path of the function that does its work."""
        return cast("str | None", self.document.get("handler"))

    @cached_property
    def timeout_s(self) -> float | None:
        """The seconds that one attempt may take."""
        return cast("float | None", self.document.get("timeout_s"))

    @cached_property
    def max_visits(self) -> int | None:
        """How often one path may come to it."""
        return cast("int | None", self.document.get("max_visits"))

    @property
    def tool_servers(self) -> tuple[str, ...]:
        """The import paths of functions that connect to servers of tools."""
        return _texts(self.document, "tool_servers")

    @property
    def metadata(self) -> Object:
        """What its users say of it."""
        return self.part("metadata")

    def part(self, key: str) -> Object:
        """Return the object under *key*; empty if there is none."""
        return cast("Object", self.document.get(key, _NONE))

    @cached_property
    def retry(self) -> RetryPolicy:
        """How often it is tried; once by default."""
        return RetryPolicy(**cast("dict[str, int]", dict(self.part("retry_policy"))))

    @cached_property
    def input_contract(self) -> StageContract:
        """What it takes."""
        return _contract(self.part("input_contract"))

    @cached_property
    def output_contract(self) -> StageContract:
        """What it makes."""
        return _contract(self.part("output_contract"))

    @cached_property
    def join(self) -> JoinPolicy:
        """When it goes on; when all succeeded by default."""
        said = self.part("join_policy")
        strategy = cast("JoinStrategy", said.get("strategy", "all"))
        least = cast("int | None", said.get("min_completed"))
        return JoinPolicy(strategy, least, bool(said.get("require_all_inputs")))

    @cached_property
    def map(self) -> MapPolicy:
        """What it works on, if it is a map."""
        said = dict(self.part("map_policy"))
        items = tuple(cast("list[JsonValue]", said.pop("items", [])))
        return MapPolicy(items, **cast("dict[str, str]", said))  # type: ignore[arg-type]  # by its shape

    @cached_property
    def context(self) -> ContextPolicy:
        """What comes into its context.

        The kinds that its contract takes, unless the policy names others. What works on
        artifacts one by one, or judges them, has all of them; a stage at most `MOST`,
        and a prompt each content once, unless the policy says it.
        """
        at = self.at.key("context_policy")
        policy = context_policy(self.document.get("context_policy"), at)
        kinds = self.input_contract.input_kinds
        if kinds and not policy.include_kinds:
            policy = replace(policy, include_kinds=frozenset(kinds))
        if policy.max_artifacts is None and self.kind not in _TAKES_ALL:
            policy = replace(policy, max_artifacts=MOST)
        if policy.keep_duplicates is None:
            shown = self.mode in ("llm", "agent") and self.kind not in _TAKES_EACH
            policy = replace(policy, keep_duplicates=not shown)
        return policy

    @cached_property
    def output_kind(self) -> str:
        """The kind of what it makes, unless its work says another."""
        own = self.part("map_policy" if self.kind == "map" else "reduce_policy")
        kinds = self.output_contract.output_kinds
        if self.kind in ("map", "reduce") and own.get("output_kind") is not None:
            return cast("str", own["output_kind"])
        if kinds:
            return kinds[0]
        known = {
            "reduce": "summary",
            "verify": "verification_result",
            "escalation": "plan",
        }
        return known.get(self.kind, "artifact")

    def names_of(self, branch: str) -> tuple[str, ...]:
        """Return what this node calls *branch*: its own name for it, then the usual one."""
        own = self.part("branch_semantics")
        known = SEMANTICS.get(self.kind, {})
        given = [
            cast("str", label)
            for member, label in own.items()
            if known.get(member) == branch
        ]
        return (*given, branch)


def _contract(said: Object) -> StageContract:
    return StageContract(
        input_kinds=_texts(said, "input_kinds"),
        output_kinds=_texts(said, "output_kinds"),
        min_inputs=cast("int", said.get("min_inputs", 0)),
        max_inputs=cast("int | None", said.get("max_inputs")),
        schema=cast("Object | None", said.get("schema")),
    )


def _texts(said: Object, key: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", said.get(key, [])))
