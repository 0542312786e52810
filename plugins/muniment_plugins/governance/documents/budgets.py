"""What manifests and policies declare alike: budgets, intents, envelopes.

    "entropy_budget": {"allowed_sources": ["external_oracle"], "max_magnitude": "high",
                       "max_count": 50, "exhaustion_action": "degrade", "fallback": "skip"}

Rules:

- A magnitude is a ceiling for each effect; ``max_count`` and ``max_weight`` are what all
  effects may spend together. Without them nothing is counted.
- A slice belongs to an allowed source, one to each, and is within its budget.
- Whoever says ``degrade`` says what happens instead: ``skip``, ``cached``, an agent, or
  ``{"answer": …}``.
- An intent justifies itself, and its least magnitude is not above its greatest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Items,
    Numeric,
    ObjectShape,
    OneOf,
    Shaped,
    Text,
    Whole,
)
from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import Magnitude, Source
from muniment_plugins.governance.documents.words import (
    ACTIONS,
    AGENT_PATH,
    INTENT_SOURCES,
    MAGNITUDES,
    SOURCES,
    Action,
    IntentSource,
    rank,
)

__all__ = [
    "ENTROPY_BUDGET",
    "ENVELOPE",
    "EXECUTION_BUDGET",
    "INTENTS",
    "EntropyBudget",
    "EntropySlice",
    "ExecutionBudget",
    "Intent",
    "ReplayEnvelope",
    "entropy_budget",
    "execution_budget",
    "intents",
    "replay_envelope",
    "require_order",
    "spelt",
]

Object = Mapping[str, JsonValue]

_LIMITS: dict[str, Shaped] = {"max_count": Whole(), "max_weight": Whole()}
_FALLBACK = OneOf(
    Text(rf"skip|cached|echo|{AGENT_PATH}", "skip, cached or module:function"),
    ObjectShape({"answer": Anything()}),
)
_SPENDING: dict[str, Shaped] = {
    "min_magnitude": Choice(MAGNITUDES),
    "exhaustion_action": Choice(ACTIONS),
    "fallback": _FALLBACK,
    **_LIMITS,
}
ENTROPY_BUDGET = ObjectShape(
    {
        "allowed_sources": Items(Choice(SOURCES), least=1, unique=True),
        "max_magnitude": Choice(MAGNITUDES),
    },
    {
        **_SPENDING,
        "per_source": Items(
            ObjectShape(
                {"source": Choice(SOURCES), "max_magnitude": Choice(MAGNITUDES)},
                _SPENDING,
            )
        ),
    },
)
_EXECUTION = (
    "step_limit",
    "token_limit",
    "artifact_limit",
    "artifact_step_limit",
    "evidence_limit",
    "trace_event_limit",
    "effect_limit",
)
EXECUTION_BUDGET = ObjectShape(
    {},
    {
        **{name: Whole() for name in _EXECUTION},
        "effect_limits": Entries(Whole()),
        "cost_limit": Numeric(),
        "wall_time_limit": Numeric(),
        "exhaustion_action": Choice(ACTIONS),
        "fallback": _FALLBACK,
    },
)
INTENTS = Items(
    ObjectShape(
        {
            "source": Choice(INTENT_SOURCES),
            "min_entropy_magnitude": Choice(MAGNITUDES),
            "max_entropy_magnitude": Choice(MAGNITUDES),
            "justification": Text(),
        }
    )
)
ENVELOPE = ObjectShape(
    {"min_claim_overlap": Numeric(0, 1), "max_contradiction_delta": Whole()},
    {"metric_tolerances": Entries(Numeric())},
)


@dataclass(frozen=True, slots=True)
class EntropySlice:
    """What one source may spend, or all of them."""

    source: Source | None
    """None for all."""
    min_magnitude: Magnitude
    max_magnitude: Magnitude
    max_count: int | None
    max_weight: int | None
    exhaustion_action: Action
    fallback: JsonValue
    """``skip``, ``cached``, an agent, ``{"answer": …}``; None unless it degrades."""


@dataclass(frozen=True, slots=True)
class EntropyBudget:
    """Which sources may be used, and how much of each and of all."""

    allowed_sources: tuple[Source, ...]
    total: EntropySlice
    per_source: Mapping[Source, EntropySlice]


@dataclass(frozen=True, slots=True)
class ExecutionBudget:
    """What a run may do at most; None where nothing is limited."""

    step_limit: int | None
    token_limit: int | None
    cost_limit: float | None
    wall_time_limit: float | None
    """Seconds."""
    artifact_limit: int | None
    artifact_step_limit: int | None
    evidence_limit: int | None
    trace_event_limit: int | None
    effect_limit: int | None
    effect_limits: Mapping[str, int]
    """Effect kind → how many of it."""
    exhaustion_action: Action
    fallback: JsonValue


@dataclass(frozen=True, slots=True)
class Intent:
    """Uncertainty that is declared before it is used."""

    source: IntentSource
    min_entropy_magnitude: Magnitude
    max_entropy_magnitude: Magnitude
    justification: str

    def covers(self, magnitude: str) -> bool:
        """Tell whether *magnitude* is within the declared ones."""
        least, most = self.min_entropy_magnitude, self.max_entropy_magnitude
        return (
            rank(least, MAGNITUDES)
            <= rank(magnitude, MAGNITUDES)
            <= rank(most, MAGNITUDES)
        )


@dataclass(frozen=True, slots=True)
class ReplayEnvelope:
    """How far a replay may differ where not everything has to be equal."""

    min_claim_overlap: float
    max_contradiction_delta: int
    metric_tolerances: Mapping[str, float]


def entropy_budget(value: JsonValue, at: At) -> EntropyBudget:
    """Return the budget in *value*, whose shape was checked.

    Raises:
        UsageError: its slices are not within it.

    """
    said = cast("Object", value)
    allowed = cast("list[Source]", said["allowed_sources"])
    total = _slice(said, None, at)
    slices: dict[Source, EntropySlice] = {}
    for number, one in enumerate(cast("list[Object]", said.get("per_source") or [])):
        there = at.key("per_source").item(number)
        source = cast("Source", one["source"])
        if source not in allowed:
            raise there.key("source").wrong(
                f"{source} is not among the allowed sources",
                "budget",
                "add it to allowed_sources",
            )
        if source in slices:
            raise there.key("source").wrong(
                f"{source} has two slices", "duplicate", "keep one of them"
            )
        slices[source] = _slice(one, source, there, total)
    return EntropyBudget(tuple(allowed), total, slices)


def _slice(
    said: Object, source: Source | None, at: At, whole: EntropySlice | None = None
) -> EntropySlice:
    outer = None if whole is None else whole.exhaustion_action
    action, fallback = _action(
        said, at, outer, None if whole is None else whole.fallback
    )
    least = said.get("min_magnitude") or (
        "low" if whole is None else whole.min_magnitude
    )
    made = EntropySlice(
        source=source,
        min_magnitude=cast("Magnitude", least),
        max_magnitude=cast("Magnitude", said["max_magnitude"]),
        max_count=cast("int | None", said.get("max_count")),
        max_weight=cast("int | None", said.get("max_weight")),
        exhaustion_action=action,
        fallback=fallback,
    )
    require_order(at, "min_magnitude", made.min_magnitude, made.max_magnitude)
    if whole is not None:
        _require_within(made, whole, at)
    return made


def _require_within(made: EntropySlice, whole: EntropySlice, at: At) -> None:
    if rank(made.max_magnitude, MAGNITUDES) > rank(whole.max_magnitude, MAGNITUDES):
        raise at.key("max_magnitude").wrong(
            f"{made.max_magnitude} is above the budget's {whole.max_magnitude}",
            "budget",
            "lower it, or raise that of the budget",
        )
    if rank(made.min_magnitude, MAGNITUDES) < rank(whole.min_magnitude, MAGNITUDES):
        raise at.key("min_magnitude").wrong(
            f"{made.min_magnitude} is below the budget's {whole.min_magnitude}",
            "budget",
            "raise it, or lower that of the budget",
        )


def require_order(at: At, key: str, least: str, most: str) -> None:
    """Refuse a least magnitude above the greatest."""
    if rank(least, MAGNITUDES) > rank(most, MAGNITUDES):
        raise at.key(key).wrong(
            f"the least, {least}, is above the greatest, {most}",
            "order",
            "exchange them",
        )


def _action(
    said: Object, at: At, outer: Action | None, fallback: JsonValue
) -> tuple[Action, JsonValue]:
    """Return what happens at exhaustion, and what instead of an effect."""
    action = cast("Action", said.get("exhaustion_action") or outer or "halt")
    own = said.get("fallback")
    instead = fallback if own is None else own
    if action == "degrade" and instead is None:
        raise at.key("fallback").wrong(
            "it degrades, and does not say to what",
            "fallback",
            'write skip, cached, an agent, or {"answer": …}',
        )
    if action != "degrade" and said.get("fallback") is not None:
        raise at.key("fallback").wrong(
            f"nothing takes it: the action is {action}",
            "fallback",
            "write exhaustion_action: degrade, or leave it out",
        )
    return action, instead if action == "degrade" else None


def execution_budget(value: JsonValue, at: At) -> ExecutionBudget:
    """Return the budget in *value*, whose shape was checked.

    Raises:
        UsageError: it degrades to nothing.

    """
    said = cast("Object", value or {})
    action, fallback = _action(said, at, None, None)
    whole = {name: cast("int | None", said.get(name)) for name in _EXECUTION}
    return ExecutionBudget(
        **whole,
        effect_limits=cast("Mapping[str, int]", said.get("effect_limits") or {}),
        cost_limit=cast("float | None", said.get("cost_limit")),
        wall_time_limit=cast("float | None", said.get("wall_time_limit")),
        exhaustion_action=action,
        fallback=fallback,
    )


def intents(value: JsonValue, at: At) -> tuple[Intent, ...]:
    """Return the intents in *value*, whose shape was checked.

    Raises:
        UsageError: the least magnitude of one is above its greatest.

    """
    found: list[Intent] = []
    for number, one in enumerate(cast("list[Mapping[str, str]]", value or [])):
        made = Intent(
            source=cast("IntentSource", one["source"]),
            min_entropy_magnitude=cast("Magnitude", one["min_entropy_magnitude"]),
            max_entropy_magnitude=cast("Magnitude", one["max_entropy_magnitude"]),
            justification=one["justification"],
        )
        there = at.item(number)
        least, most = made.min_entropy_magnitude, made.max_entropy_magnitude
        require_order(there, "min_entropy_magnitude", least, most)
        found.append(made)
    return tuple(found)


def replay_envelope(value: JsonValue) -> ReplayEnvelope:
    """Return the envelope in *value*, whose shape was checked; exact if there is none."""
    said = cast("Object", value or {})
    return ReplayEnvelope(
        min_claim_overlap=cast("float", said.get("min_claim_overlap", 1.0)),
        max_contradiction_delta=cast("int", said.get("max_contradiction_delta", 0)),
        metric_tolerances=cast(
            "Mapping[str, float]", said.get("metric_tolerances") or {}
        ),
    )


def spelt(fallback: JsonValue) -> str:
    """Return what people call *fallback*."""
    return fallback if isinstance(fallback, str) else "answer"
