"""The shape of ``auto_compact``: when and how the session of a node is compacted."""

from __future__ import annotations

from muniment.documents.shapes import Choice, Flag, ObjectShape, Text, Whole

__all__ = ["AUTO_COMPACT", "CALLBACKS", "STRATEGIES"]

STRATEGIES = ("observation_mask", "truncate", "llm", "custom")
CALLBACKS = ("custom_compactor", "mask_callback", "compress_callback")
"""The keys that name functions."""
_PATH = Text(r"[A-Za-z_][\w.]*:[A-Za-z_<][\w.<>]*", "module:function")

AUTO_COMPACT = ObjectShape(
    optional={
        "enabled": Flag(),
        "auto_compact": Flag(),
        "token_threshold": Whole(1),
        "compact_threshold": Whole(1),
        "keep_last": Whole(1),
        "compact_keep_last": Whole(1),
        "tool_output_max_chars": Whole(1),
        "compact_strategy": Choice(STRATEGIES),
        "hard_limit_tokens": Whole(1),
        "hard_limit_strategy": Choice(STRATEGIES),
        "summarize_model": Text(),
        "summarize_prompt": Text(),
        "custom_compactor": _PATH,
        "mask_callback": _PATH,
        "compress_callback": _PATH,
    }
)
"""The keys of a policy; in Python, callbacks may be functions."""
