"""Context policies: which artifacts a prompt may have, in which order, and how many.

    {"include_kinds": ["resource", "plan"], "max_tokens": 1200, "prefer_recent": true}

Rules:

- Kinds may be aliases. Lists of kinds, stages and ids are sets; an empty one is none.
- ``exclude_kinds`` is stronger than ``include_kinds``.
- The budget is ``max_tokens`` less ``reserve_tokens``, at least 0. It counts bodies; what
  the elements around them take is for the reserve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from muniment.documents.places import At
from muniment.documents.shapes import (
    Choice,
    Flag,
    Items,
    ObjectShape,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact_shape import ID, KIND
from muniment_plugins.workflow.artifacts.kinds import kind_named
from muniment_plugins.workflow.artifacts.plain_json import plain_object

__all__ = ["CONTEXT_POLICY", "ContextPolicy", "RenderForm", "context_policy"]

RenderForm: TypeAlias = Literal["xml", "json"]

_KINDS = ("include_kinds", "exclude_kinds", "prioritize_kinds")
CONTEXT_POLICY = ObjectShape(
    {},
    {
        "max_artifacts": Whole(),
        "max_tokens": Whole(),
        "reserve_tokens": Whole(),
        **{name: Items(KIND) for name in _KINDS},
        "pinned_ids": Items(ID),
        "include_stages": Items(Text()),
        "prefer_recent": Flag(),
        "prefer_fresh": Flag(),
        "keep_duplicates": Flag(),
        "render": Choice(get_args(RenderForm)),
    },
)
"""The keys of a context policy."""


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """What may come into a prompt."""

    max_artifacts: int | None = None
    max_tokens: int | None = None
    reserve_tokens: int = 0
    include_kinds: frozenset[str] = frozenset()
    """Empty: all."""
    exclude_kinds: frozenset[str] = frozenset()
    prioritize_kinds: frozenset[str] = frozenset()
    pinned_ids: frozenset[str] = frozenset()
    include_stages: frozenset[str] = frozenset()
    """Empty: all, and those of no stage."""
    prefer_recent: bool = False
    prefer_fresh: bool = False
    keep_duplicates: bool | None = None
    """Whether equal artifacts all come in; None if that is as the kind of node has it."""
    render: RenderForm = "xml"

    @property
    def budget(self) -> int | None:
        """How many tokens the bodies may have; None if there is no limit."""
        if self.max_tokens is None:
            return None
        return max(0, self.max_tokens - self.reserve_tokens)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the normal form: without defaults, sets as sorted lists."""
        found: dict[str, JsonValue] = {}
        for name in CONTEXT_POLICY.optional:
            value: object = getattr(self, name)
            if value != getattr(_DEFAULT, name):
                found[name] = _written(value)
        return found


_DEFAULT = ContextPolicy()


def context_policy(raw: object = None, at: At | None = None) -> ContextPolicy:
    """Return the policy that *raw* describes; without any, everything comes in.

    Raises:
        UsageError: a key is unknown, mistyped, or would have no effect.

    """
    if isinstance(raw, ContextPolicy):
        return raw
    there = at or At("context_policy", "workflow")
    said = plain_object({} if raw is None else raw, there)
    CONTEXT_POLICY.check(said, there)
    if said.get("reserve_tokens") and "max_tokens" not in said:
        raise there.key("reserve_tokens").wrong(
            "there is nothing to reserve them of", "budget", "write max_tokens, too"
        )
    sets = {
        name: frozenset(
            kind_named(one) if name in _KINDS else one
            for one in cast("list[str]", value)
        )
        for name, value in said.items()
        if isinstance(value, list)
    }
    return ContextPolicy(**{**said, **sets})  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - the shape was checked


def _written(value: object) -> JsonValue:
    if isinstance(value, frozenset):
        return [*sorted(cast("frozenset[str]", value))]
    return cast("JsonValue", value)
