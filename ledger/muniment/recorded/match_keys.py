"""By what a recorded effect is found again, and where what it did is recorded.

match key   "tool 9f86…"          kind and hash of the request
scope       "map/3/@tool.7"       of what its performer records
"""

from __future__ import annotations

import hashlib

from muniment.recorded.compare import EFFECT_SCOPE, is_of_plugin

__all__ = ["effect_scope", "match_key", "nth_key"]


def effect_scope(scope: str, kind: str, ordinal: int) -> str:
    """Return the scope in which the performer of that effect records."""
    segment = f"{EFFECT_SCOPE}{kind}.{ordinal}"
    return f"{scope}/{segment}" if scope else segment


def match_key(kind: str, content: bytes) -> str:
    """Return the key for finding a request: kind and hash, in memory only."""
    return f"{kind} {hashlib.sha256(content).hexdigest()}"


def nth_key(
    run_id: str,
    place: tuple[str, int],
    key: str,
    occurrences: dict[tuple[str, str], int],
    *,
    shared: bool = False,
) -> str:
    """Count one more effect with this match key at that *place*; return its key.

    The key is unique, unless all effects with this match key in one scope have a *shared*
    one: that of the first. In the lane of a plugin the ordinal counts: a resume asks no
    hook about what came before it.
    """
    scope, ordinal = place
    nth = 0 if shared else occurrences.get((scope, key), 0)
    occurrences[scope, key] = nth + 1
    if is_of_plugin(scope):
        nth = ordinal
    text = f"{run_id}\0{scope}\0{key}\0{nth}"
    return hashlib.sha256(text.encode()).hexdigest()
