"""What loops of models add to the vocabulary: facts, and the effect that chooses a model.

    agent.turn.requested   {"agent": "act", "turn": 1, "model": "openai:…"}
    agent.corrected        {"agent": "act", "turn": 3, "code": "schema", "place": "price"}
    agent.ended            {"agent": "act", "reason": "answered", "turns": 4, "calls": 5, …}

Rule: the facts are the engine's own, as those of graphs are: `vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, cast

from muniment.events.effect_kinds import EffectKind
from muniment.events.types import VEILED, VOLATILE, PlainData

__all__ = ["AGENT_TURN", "LINKS", "AgentCorrected", "AgentEnded"]


class AgentCorrected(PlainData):
    """An answer that called no tool was not the last one; the model was told why."""

    agent: str
    turn: int
    code: str
    """``not_done``, ``tools_missing``, ``calls_missing``, ``not_json`` or ``schema``."""
    place: Annotated[str, VEILED] = ""
    """The tool that is missing, or the way to the value that does not fit."""
    visibility: Annotated[str | None, VOLATILE] = None
    """``private``, if its contents are shown only where they are asked for."""


class AgentEnded(PlainData):
    """A loop of a model that calls tools ended."""

    agent: str
    reason: str
    """See the reasons in the reference of agents."""
    turns: int
    """Those that began."""
    calls: int
    """The calls of tools that were asked for."""
    denied: int = 0
    """Those that were not performed, also since the loop ended before."""
    failed: int = 0
    """Those that raised, or gave a result that says error."""
    corrected: int = 0
    tokens: int | None = None
    """Read and written; None if that is not known of an answer."""
    cost_usd: str | None = None
    """A decimal; None if the price of an answer is not known."""


def _turn(asked: object) -> Mapping[str, object]:
    """Return who has which turn, and the model that a request or an answer names."""
    said = cast("Mapping[str, object]", asked if isinstance(asked, Mapping) else {})
    found = {name: said[name] for name in ("agent", "turn", "model") if name in said}
    return found if isinstance(asked, Mapping) else {"model": str(asked)[:200]}


LINKS = EffectKind(
    "links",
    source="data",
    magnitude="low",
    on_doubt="repeat",
    fault="muniment_plugins.workflow.agents.loop.tool_desk:links_fault",
)
"""Where links lead, which decides whether a server of tools may be asked, and with what."""
AGENT_TURN = EffectKind(
    "agent.turn",
    source="data",
    magnitude="low",
    on_doubt="repeat",
    about_request=_turn,
    about_response=_turn,
    dry=lambda asked: {"model": cast("Mapping[str, object]", asked)["model"]},
)
"""Which model answers: a fork that changes the value goes on with another one."""
