"""The words of manifests and policies, from least to most where they have an order."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from muniment.events.effect_kinds import Magnitude, Source

__all__ = [
    "ACCEPTABILITIES",
    "ACTIONS",
    "AGENT_PATH",
    "ARBITRATIONS",
    "DATASET_STATES",
    "ENGINES",
    "FAILURE_MODES",
    "FLOW_STATES",
    "INTENT_SOURCES",
    "LEVELS",
    "MAGNITUDES",
    "MODES",
    "RANDOMNESS",
    "REPLAY_MODES",
    "SEVERITIES",
    "SOURCES",
    "TARGETS",
    "VERIFICATION_LEVELS",
    "Acceptability",
    "Action",
    "Arbitration",
    "DatasetState",
    "FailureMode",
    "FlowState",
    "IntentSource",
    "Level",
    "Randomness",
    "ReplayMode",
    "Severity",
    "VerificationLevel",
    "rank",
]

Level: TypeAlias = Literal["strict", "bounded", "probabilistic", "unconstrained"]
FlowState: TypeAlias = Literal["draft", "validated", "frozen", "deprecated"]
DatasetState: TypeAlias = Literal["experimental", "frozen", "deprecated"]
ReplayMode: TypeAlias = Literal["strict", "bounded", "observational"]
Acceptability: TypeAlias = Literal[
    "exact_match", "invariant_preserving", "statistically_bounded"
]
Action: TypeAlias = Literal["halt", "degrade", "mark_non_certifiable"]
IntentSource: TypeAlias = Literal["llm", "retrieval", "human", "external"]
Randomness: TypeAlias = Literal["deterministic", "sampled", "statistical"]
Arbitration: TypeAlias = Literal["unanimous", "quorum", "strict_first_failure"]
VerificationLevel: TypeAlias = Literal["none", "baseline", "strict"]
FailureMode: TypeAlias = Literal["halt", "continue", "escalate"]
Severity: TypeAlias = Literal["info", "warning", "error"]
_Target: TypeAlias = Literal["reasoning_bundle", "evidence", "artifact", "flow"]
_Mode: TypeAlias = Literal["live", "unsafe"]

LEVELS: tuple[Level, ...] = get_args(Level)
FLOW_STATES: tuple[FlowState, ...] = get_args(FlowState)
DATASET_STATES: tuple[DatasetState, ...] = get_args(DatasetState)
REPLAY_MODES: tuple[ReplayMode, ...] = get_args(ReplayMode)
ACCEPTABILITIES: tuple[Acceptability, ...] = get_args(Acceptability)
ACTIONS: tuple[Action, ...] = get_args(Action)
INTENT_SOURCES: tuple[IntentSource, ...] = get_args(IntentSource)
RANDOMNESS: tuple[Randomness, ...] = get_args(Randomness)
ARBITRATIONS: tuple[Arbitration, ...] = get_args(Arbitration)
VERIFICATION_LEVELS: tuple[VerificationLevel, ...] = get_args(VerificationLevel)
FAILURE_MODES: tuple[FailureMode, ...] = get_args(FailureMode)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
TARGETS: tuple[str, ...] = get_args(_Target)
MODES: tuple[str, ...] = get_args(_Mode)
SOURCES: tuple[Source, ...] = get_args(Source)
MAGNITUDES: tuple[Magnitude, ...] = get_args(Magnitude)

ENGINES = ("content", "signature", "contradiction")
"""The verification engines in the box, in the order in which they are asked."""

AGENT_PATH = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
"""How a function is named: ``module:function``."""


def rank(word: str, order: tuple[str, ...]) -> int:
    """Return how far *word* is along *order*, from 0."""
    return order.index(word)
