"""What a difference is about: by the type of its event, or its place in the start.

    about_of(entry)                           "evidence"
    about_start("params.pins.dataset", None)  "dataset"

Rules: a fingerprint may say which of its members its level of determinism compares; what
else it says is about the surroundings.
"""

from __future__ import annotations

from muniment.replays.account import AccountEntry

__all__ = [
    "FINGERPRINT",
    "FREE",
    "LOOSE",
    "about_of",
    "about_start",
    "fixed_members",
    "root_of",
]

FINGERPRINT = "environment.fingerprinted"
LOOSE = "surroundings"
"""What a fingerprint says, and its level of determinism does not compare."""
_ABOUT = {
    "artifact.produced": "artifact",
    "claim.stated": "claim",
    "dataset.checked": "dataset",
    "dataset.pinned": "dataset",
    "evidence.collected": "evidence",
    "flow.planned": "plan",
    "metrics.measured": "metric",
    "plugin.refused": "refusal",
    "reasoning.recorded": "claim",
    "retrieval.requested": "evidence",
    "verification.arbitrated": "arbitration",
    "verification.judged": "verification",
    FINGERPRINT: "environment",
}
"""Type of an event → what a difference in it is about; of others, an event or effect."""
_PINNED = "params.pins.environment."
_PARAMS = {
    "params.pins.environment": "environment",
    "params.pins.folder": LOOSE,
    "params.pins.dataset": "dataset",
    "params.pins": "plan",
    "params.flow": "plan",
    "params.policy": "policy",
}
"""Path of a flow's parameters → what a difference there is about."""
FREE = frozenset({"artifact", "evidence"})
"""What is no part of the structure of a scope."""


def about_of(entry: AccountEntry) -> str:
    """Return what a difference in *entry* is about."""
    return _ABOUT.get(entry.type, "effect" if entry.kind else "event")


def about_start(path: str, fixed: frozenset[str] | None) -> str:
    """Return what a difference at *path* is about; *fixed* are members that must stay."""
    if fixed is not None and path.startswith(_PINNED):
        member = root_of(path.removeprefix(_PINNED))
        return "environment" if member in fixed else LOOSE
    for prefix, about in _PARAMS.items():
        if path == prefix or path.startswith((f"{prefix}.", f"{prefix}[")):
            return about
    return root_of(path)


def fixed_members(entry: AccountEntry) -> frozenset[str] | None:
    """Return the members of a fingerprint that must not differ, if it says which."""
    named = entry.data.get("compared")
    if entry.type != FINGERPRINT or not isinstance(named, list):
        return None
    return frozenset(["compared", "level", *map(str, named)])


def root_of(path: str) -> str:
    """Return the first member of *path*."""
    return path.partition(".")[0].partition("[")[0]
