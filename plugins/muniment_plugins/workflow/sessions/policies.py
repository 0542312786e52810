"""When and how a session is compacted: the policy, its keys and its defaults.

    {"enabled": true, "token_threshold": 48000, "keep_last": 12,
     "compact_strategy": "llm", "summarize_model": "openai:…",
     "hard_limit_tokens": 90000, "hard_limit_strategy": "truncate"}

Rules:

- A key that is not known is refused. ``auto_compact`` and ``compact_threshold`` are other
  names of ``enabled`` and ``token_threshold``, ``compact_keep_last`` of ``keep_last``;
  two names of one thing that say two things are refused.
- What a strategy needs and nobody gave is refused before anything is compacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment_plugins.workflow.documents.compaction_shape import AUTO_COMPACT, CALLBACKS

__all__ = ["CompactPolicy", "compact_policy"]

_NAMES = {
    "auto_compact": "enabled",
    "compact_threshold": "token_threshold",
    "compact_keep_last": "keep_last",
}
"""Other names → the name."""

Callback = Callable[..., object]


@dataclass(frozen=True, slots=True)
class CompactPolicy:
    """When a session is compacted, and how."""

    enabled: bool = False
    """Whether it is compacted by itself, where a node or a loop says something to it."""
    token_threshold: int = 48_000
    """Above so many tokens it is compacted by itself."""
    keep_last: int = 12
    """How many of the last messages stay; more, if else a result lost its call."""
    tool_output_max_chars: int = 16_000
    """Results of tools that stay are cut to so many characters."""
    compact_strategy: str = "observation_mask"
    hard_limit_tokens: int | None = None
    """What no session may exceed after a compaction."""
    hard_limit_strategy: str = "llm"
    """How it is compacted if it does."""
    summarize_model: str | None = None
    """Who writes summaries, for the strategy ``llm``: ``provider:name``."""
    summarize_prompt: str | None = None
    custom_compactor: Callback | str | None = None
    """Makes a summary of a list of messages, for the strategy ``custom``."""
    mask_callback: Callback | str | None = None
    """Makes the text that stands for a result of a tool that is masked."""
    compress_callback: Callback | str | None = None
    """Makes a result of a tool that stays, and is too long, shorter."""

    @property
    def strategies(self) -> tuple[str, ...]:
        """Those that it may come to, in their order."""
        if self.hard_limit_tokens is None:
            return (self.compact_strategy,)
        return self.compact_strategy, self.hard_limit_strategy

    @property
    def is_pure(self) -> bool:
        """Whether nobody has to be asked: no model, and no function."""
        asks = {"llm", "custom"} & {*self.strategies}
        return (
            not asks and self.mask_callback is None and self.compress_callback is None
        )


def compact_policy(written: object, at: At | None = None) -> CompactPolicy:
    """Return the policy that is *written*: a mapping, or one already.

    Raises:
        UsageError: a key is unknown, or says what cannot be.

    """
    if isinstance(written, CompactPolicy):
        return written
    at = at or At("compaction", "session")
    if written is not None and not isinstance(written, Mapping):
        raise at.wrong(
            f"a {type(written).__name__} is no policy",
            "value",
            'write an object: {"enabled": true, "token_threshold": …}',
        )
    said = dict(cast("Mapping[str, Any]", written or {}))
    functions = {name: said.pop(name) for name in CALLBACKS if callable(said.get(name))}
    AUTO_COMPACT.check(cast("JsonValue", said), at)
    for other, name in _NAMES.items():
        if other not in said:
            continue
        value = said.pop(other)
        if said.setdefault(name, value) != value:
            raise at.key(other).wrong(
                f"it is another name of {name}, which says {said[name]}",
                "value",
                "leave one of them out",
            )
    names = {one.name for one in fields(CompactPolicy)}
    made = CompactPolicy(
        **{n: v for n, v in {**said, **functions}.items() if n in names}
    )
    _require_complete(made, at)
    return made


def _require_complete(policy: CompactPolicy, at: At) -> None:
    if "custom" in policy.strategies and policy.custom_compactor is None:
        raise UsageError(
            "the strategy custom needs a custom_compactor",
            rule="session/strategy",
            place=at.path,
            remedy="name a function that makes a summary of messages",
        )
