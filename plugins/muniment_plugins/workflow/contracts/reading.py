"""What a verifier may read: its files are held to the node's policy like a tool's paths.

    reading_fault(policy, ["secret/s"])          'secret/s is in none of the workspace_roots'
    readable(policy, "link/s", folder)           raises, if the link leads out of the roots

Rules:

- Looking at a file is of the level ``read_only``: under ``none`` no path is asked for.
- A path is below one of the roots, where there are any. Links in it and in the roots are
  followed where the file is looked at, so the record has what was found, and a command
  moves none of them in between.
- A path that could be read as another one is no check at all (`contracts.verifier`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from muniment_plugins.workflow.ceilings.levels import SideEffectLevel, level_rank
from muniment_plugins.workflow.ceilings.paths import contains, normal_path
from muniment_plugins.workflow.ceilings.permission import led_inside
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy

__all__ = ["PathRefused", "readable", "reading_fault"]

_READING: SideEffectLevel = "read_only"
_OUTSIDE = "{!r:.60} is in none of the workspace_roots"


def reading_fault(policy: CapabilityPolicy, paths: Iterable[str]) -> str | None:
    """Return why *policy* does not let a verifier look at *paths*, by their text alone.

    A relative path is compared with relative roots only, and an absolute one with
    absolute roots: what is below what is known when the graph runs.
    """
    named = list(paths)
    level = policy.side_effect_level
    if named and level is not None and level_rank(level) < level_rank(_READING):
        return f"looking at {named[0]!r:.60} is {_READING}, which exceeds {level}"
    for one in named:
        found, roots = normal_path(one), policy.workspace_roots
        if roots is None:
            continue
        alike = [root.startswith("/") == one.startswith("/") for root in roots]
        if found is not None and not all(alike):
            continue
        if found is None or not any(contains(root, found) for root in roots):
            return _OUTSIDE.format(one)
    return None


class PathRefused(Exception):
    """A verifier may not look where links lead one of its paths."""


def readable(policy: CapabilityPolicy, path: str, folder: Path) -> Path:
    """Return the file that *path* is in *folder*, links followed; in the performer.

    Raises:
        PathRefused: *policy* does not let a verifier look at it.

    """
    led = led_inside(policy, path, str(folder))
    if led is None and policy.workspace_roots is not None:
        raise PathRefused(_OUTSIDE.format(path))
    return folder / path if led is None else Path(led)
