"""The determinism profile of a run: where uncertainty came from, and how much.

    {"level": "bounded", "entropy_magnitude": "high", "entropy_sources": ["external_oracle"],
     "classes": ["external", "structural"], "confidence_decay": 0.5, …}

Rules:

- It follows from the events: what was performed, by the entropy that its kind declares.
  What a record or a fallback answered brought no uncertainty of its own.
- *Severity* is that of a source, *magnitude* that of a kind.
- Confidence decays by the level of determinism (0, 0.2, 0.5, 1), by 0.2 more if a
  magnitude is high, and by 0.1 if there is any source at all; 1 is the most.
- Each event has one *causality tag*: who or what brought it about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from muniment import EffectKind, Event
from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import Magnitude, Source
from muniment_plugins.governance.budgets.spending import UNCOUNTED, performed
from muniment_plugins.governance.documents.words import (
    LEVELS,
    MAGNITUDES,
    Level,
    rank,
)

__all__ = [
    "CausalityTag",
    "DeterminismProfile",
    "SourceProfile",
    "causality",
    "profile_of",
]

CausalityTag: TypeAlias = Literal["agent", "tool", "dataset", "environment", "human"]
Severity: TypeAlias = Literal["low", "medium", "high", "critical"]
DeterminismClass: TypeAlias = Literal[
    "structural", "environmental", "stochastic", "human", "external"
]

_SEVERITIES: Mapping[Source, Severity] = {
    "seeded_rng": "low",
    "data": "medium",
    "external_oracle": "high",
    "human_input": "critical",
}
_CLASSES: Mapping[Source, DeterminismClass] = {
    "seeded_rng": "stochastic",
    "data": "environmental",
    "external_oracle": "external",
    "human_input": "human",
}
_DECAY = (0.0, 0.2, 0.5, 1.0)
_TAGS: Mapping[str, CausalityTag] = {
    "agent": "agent",
    "artifact": "agent",
    "claim": "agent",
    "command": "tool",
    "data": "dataset",
    "dataset": "dataset",
    "dataset_check": "dataset",
    "decision": "human",
    "evidence": "dataset",
    "execution": "tool",
    "flow": "agent",
    "http": "tool",
    "human": "human",
    "llm": "agent",
    "reasoning": "agent",
    "retrieval": "dataset",
    "tool": "tool",
    "verification": "agent",
}
"""The first word of a type → its tag; all others are of the environment."""
_OF_SOURCE: Mapping[Source, CausalityTag] = {
    "seeded_rng": "tool",
    "data": "dataset",
    "external_oracle": "tool",
    "human_input": "human",
}


@dataclass(frozen=True, slots=True)
class SourceProfile:
    """What came from one source."""

    source: Source
    severity: Severity
    observed_magnitude: Magnitude
    """The greatest."""
    effects: int
    budget_slice: JsonValue
    """What the policy or the flow allows of it; None if nothing is said."""

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON."""
        return {
            "source": self.source,
            "severity": self.severity,
            "observed_magnitude": self.observed_magnitude,
            "effects": self.effects,
            "budget_slice": self.budget_slice,
        }


@dataclass(frozen=True, slots=True)
class DeterminismProfile:
    """Where the uncertainty of a run came from."""

    level: Level
    replay_acceptability: str
    source_profiles: tuple[SourceProfile, ...]
    classes: tuple[DeterminismClass, ...]

    @property
    def entropy_magnitude(self) -> Magnitude | None:
        """The greatest magnitude that was observed."""
        found: list[Magnitude] = [
            one.observed_magnitude for one in self.source_profiles
        ]
        return greatest(found) if found else None

    @property
    def confidence_decay(self) -> float:
        """How much less a repetition can be trusted to be the same, from 0 to 1."""
        decay = _DECAY[rank(self.level, LEVELS)]
        decay += 0.2 if self.entropy_magnitude == "high" else 0.0
        decay += 0.1 if self.source_profiles else 0.0
        return round(min(decay, 1.0), 3)

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as plain JSON."""
        return {
            "level": self.level,
            "entropy_magnitude": self.entropy_magnitude,
            "entropy_sources": [one.source for one in self.source_profiles],
            "source_profiles": [one.to_json() for one in self.source_profiles],
            "classes": list(self.classes),
            "replay_acceptability": self.replay_acceptability,
            "confidence_decay": self.confidence_decay,
        }


def profile_of(
    events: Iterable[Event],
    kinds: Mapping[str, EffectKind],
    level: Level = "unconstrained",
    acceptability: str = "exact_match",
    slices: Mapping[str, JsonValue] | None = None,
) -> DeterminismProfile:
    """Return the profile of the run with these *events*.

    *kinds* are the declared effect kinds, *slices* what the budgets say of each source.
    """
    told = list(events)
    found: dict[Source, list[Magnitude]] = {}
    for _, name in performed(told):
        kind = kinds.get(name) or EffectKind(name, "external_oracle", "high")
        if name not in UNCOUNTED:
            found.setdefault(kind.source, []).append(kind.magnitude)
    profiles = [
        SourceProfile(
            source,
            _SEVERITIES[source],
            greatest(magnitudes),
            len(magnitudes),
            (slices or {}).get(source),
        )
        for source, magnitudes in sorted(found.items())
    ]
    classes: set[DeterminismClass] = {"structural"}
    classes |= {_CLASSES[source] for source in found}
    tags = {causality(one.type, kinds) for one in told}
    classes |= {"human"} if "human" in tags else set()
    if any(one.type.startswith(("environment.", "dataset.")) for one in told):
        classes.add("environmental")
    return DeterminismProfile(
        level, acceptability, tuple(profiles), tuple(sorted(classes))
    )


def greatest(magnitudes: Iterable[Magnitude]) -> Magnitude:
    """Return the greatest of *magnitudes*, of which there is one at least."""
    return max(magnitudes, key=MAGNITUDES.index)


def causality(type_: str, kinds: Mapping[str, EffectKind]) -> CausalityTag:
    """Return who or what brought an event of this type about."""
    first, kind = type_.partition(".")[0], kinds.get(type_.rpartition(".")[0])
    if first in _TAGS:
        return _TAGS[first]
    return "environment" if kind is None else _OF_SOURCE[kind.source]
