"""Which keys of a path name a stage: its node, or its id, which has dots of its own.

Rule: what is behind is a field of a stage, or nothing; the fewest keys are taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from muniment_plugins.workflow.records.fields import FIELDS

__all__ = ["named_by"]

_FIELDS = frozenset(one.name for one in FIELDS["stage"])


def named_by(keys: Sequence[str], known: Collection[str] = ()) -> int:
    """Return how many of *keys* name a stage, of which the ids *known* are there."""
    for count in range(len(keys), 0, -1):
        if ".".join(keys[:count]) in known:
            return count
    for count in range(1, len(keys) + 1):
        behind = keys[count : count + 1]
        if (count == 1 or keys[count - 1].isdecimal()) and (
            not behind or behind[0] in _FIELDS
        ):
            return count
    return 1
