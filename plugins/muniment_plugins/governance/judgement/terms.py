"""The terms of a judgement: how strict it is, and what may differ.

    Terms("bounded", "statistically_bounded", min_claim_overlap=0.8)

Rules:

- The *mode* says what is done about differences: ``strict`` rejects any, ``bounded``
  those that are not acceptable, and ``observational`` none.
- The *acceptability* says which differences are acceptable. Each accepts what the one
  before it accepts: ``exact_match`` none, ``invariant_preserving`` other contents in an
  equal structure, ``statistically_bounded`` whatever stays within the envelope.
- The *envelope* counts under ``statistically_bounded`` alone: the least share of claims
  that are found again, the most contradictions that are new, and by how much each metric
  may differ. A metric that it does not name has to be equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment.replays.report import Mode
from muniment_plugins.governance.documents.words import (
    ACCEPTABILITIES,
    REPLAY_MODES,
    Acceptability,
)

__all__ = ["Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """Mode, acceptability and envelope of a judgement."""

    mode: Mode = "strict"
    acceptability: Acceptability = "exact_match"
    min_claim_overlap: float = 1.0
    max_contradiction_delta: int = 0
    metric_tolerances: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        _require_one_of(self.mode, REPLAY_MODES, "mode of replay", "judgement/mode")
        _require_one_of(
            self.acceptability,
            ACCEPTABILITIES,
            "acceptability",
            "judgement/acceptability",
        )
        if not 0 <= self.min_claim_overlap <= 1:
            raise _outside("min_claim_overlap", self.min_claim_overlap, "from 0 to 1")
        if self.max_contradiction_delta < 0:
            raise _outside(
                "max_contradiction_delta", self.max_contradiction_delta, "0 or more"
            )
        for name, value in self.metric_tolerances.items():
            if not (math.isfinite(value) and value >= 0):
                raise _outside(f"metric_tolerances.{name}", value, "0 or more")

    @property
    def envelope(self) -> dict[str, JsonValue]:
        """The envelope as plain JSON, by the names that manifests have for it."""
        return {
            "min_claim_overlap": self.min_claim_overlap,
            "max_contradiction_delta": self.max_contradiction_delta,
            "metric_tolerances": dict(self.metric_tolerances),
        }

    def to_json(self) -> dict[str, JsonValue]:
        """Return the terms as plain JSON."""
        return {
            "mode": self.mode,
            "acceptability": self.acceptability,
            "envelope": self.envelope,
        }


def _require_one_of(word: str, known: tuple[str, ...], what: str, rule: str) -> None:
    if word not in known:
        raise UsageError(
            f"{word!r:.80} is no {what}", rule=rule, remedy=f"use {', '.join(known)}"
        )


def _outside(name: str, value: float, allowed: str) -> UsageError:
    return UsageError(
        f"{name} is {value!r:.40}",
        rule="judgement/envelope",
        place=name,
        remedy=f"give a number, {allowed}",
    )
