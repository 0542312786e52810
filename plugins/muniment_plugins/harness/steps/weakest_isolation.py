"""How strongly the code behind a verdict was isolated: the weakest of its runs counts.

    levels_of(ledger, run)                     {"baseline": "os-strong", "half": "process"}
    weakest(["os-strong", "process"])          "process"

Rules:

- Every run of code states its level in ``execution.measured``, or in ``answer.taken``
  if it was reused from an earlier run. All of them count, of every replicate and of
  every tested property.
- An unknown level says nothing reliable: it ranks below all others.
- If no code ran, there is no level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from muniment_plugins.harness.experiment.failures import place_in

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["LEVELS", "held_by", "levels_of", "weakest"]

_SAYING = ("answer.taken", "execution.measured")

_HOLDING = ("environment", "layers", "level")

LEVELS = ("none", "process", "engine", "os-partial", "os-strong")
"""Weakest first, as the capsule names them."""


def weakest(levels: Iterable[str | None]) -> str | None:
    """Return the weakest of the levels that are not None."""
    return min(filter(None, levels), key=_rank, default=None)


def levels_of(ledger: Ledger, run: str) -> dict[str, str]:
    """Return condition → the weakest level at which its code ran in *run*."""
    found: dict[str, str] = {}
    for event in ledger.events(run=run):
        said = event.data.get("level") if event.type in _SAYING else None
        if said is None:
            continue
        condition, level = place_in(event.scope)[0], str(said)
        found[condition] = min(found.get(condition, level), level, key=_rank)
    return found


def held_by(runs: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the isolation of the weakest of *runs*, and how the others differ.

    Each of *runs* has ``level``, and ``layers`` and ``environment`` as JSON objects. What
    children see of a machine, such as the memory in use, may differ from one to the
    next: ``others`` has the number and the differing members of each run that differs.
    """
    first = min(runs, key=lambda run: _rank(str(run["level"])))
    held = {name: first[name] for name in _HOLDING}
    others: list[dict[str, object]] = []
    for number, run in enumerate(runs):
        if differing := _differing(held, {name: run[name] for name in _HOLDING}):
            others.append({"run": number, **differing})
    return {**held, "others": others} if others else held


def _differing(
    one: Mapping[str, object], other: Mapping[str, object]
) -> dict[str, object]:
    """Return the members of *other* that differ from *one*, within objects too."""
    found: dict[str, object] = {}
    for name in sorted({*one, *other}):
        mine, its = one.get(name), other.get(name)
        if mine == its:
            continue
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            found[name] = _differing(
                cast("Mapping[str, object]", mine), cast("Mapping[str, object]", its)
            )
        else:
            found[name] = its
    return found


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else -1
