"""Runs that break what the specification says of runs, signed by the writer's own key."""

from __future__ import annotations

from collections.abc import Callable

from forge import RUN, Forge

__all__ = ["effect", "in_run", "superseding"]


def effect(*verbs: str) -> Callable[[Forge], None]:
    """Return what writes an effect as these events, in this order, at one place."""

    def breaks(forge: Forge) -> None:
        forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
        for verb in verbs:
            forge.append(f"llm.{verb}", {}, run=RUN, ordinal=1)

    return breaks


def in_run(*kinds: str, scope: str = "") -> Callable[[Forge], None]:
    """Return what writes these events in a run, in this scope of it."""

    def breaks(forge: Forge) -> None:
        for kind in kinds:
            data = {"generation": 1, "name": "x", "reason": "x", "seed": "0"}
            forge.append(kind, data, run=RUN, scope=scope)

    return breaks


def superseding(*verbs: str) -> Callable[[Forge], None]:
    """Return what resumes a run by an effect that came to this."""

    def breaks(forge: Forge) -> None:
        effect(*verbs)(forge)
        forge.append("run.interrupted", {"reason": "x"}, run=RUN)
        resumed = {"generation": 1, "supersedes": [["", 1]]}
        forge.append("run.resumed", resumed, run=RUN)

    return breaks
