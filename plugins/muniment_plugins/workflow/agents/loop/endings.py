"""Why a loop ends: words that stay, as records and programs have them.

    answered    the model answered, and called nothing more       good
    no_progress it asked for the same calls again and again       bad

Rule: a loop has one reason. It is stated in ``agent.ended``, and is the outcome of a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = [
    "CANCELLED",
    "ENDINGS",
    "FAILED",
    "AgentEnding",
    "is_good",
]

FAILED, CANCELLED = "failed", "cancelled"


@dataclass(frozen=True, slots=True)
class AgentEnding:
    """One way in which loops end."""

    good: bool
    says: str
    remedy: str = ""


ENDINGS: Mapping[str, AgentEnding] = MappingProxyType(
    {
        "answered": AgentEnding(True, "the model answered, and called nothing more"),
        "done": AgentEnding(True, "the model said its `done_sentinel`"),
        "stopped_by_tool": AgentEnding(
            True, "a tool of `stop_after_successful_tools` succeeded"
        ),
        "max_iterations": AgentEnding(
            False,
            "the model was asked as often as it may be",
            "raise max_iterations, or find out why it comes to no end",
        ),
        "max_tool_calls": AgentEnding(
            False,
            "it asked for more calls of tools than it may make",
            "raise max_tool_calls, or give it tools that do more at once",
        ),
        "max_total_tokens": AgentEnding(
            False,
            "the tokens are used up, and it goes on",
            "raise max_total_tokens, or let tools return less",
        ),
        "max_cost": AgentEnding(
            False,
            "the money is used up, and it goes on",
            "raise max_cost_usd, or ask a cheaper model",
        ),
        "usage_unknown": AgentEnding(
            False,
            "tokens are limited, and an answer does not say how many it took",
            "leave max_total_tokens out, or ask a provider that counts",
        ),
        "cost_unknown": AgentEnding(
            False,
            "the cost is limited, and that of an answer is not known",
            "leave max_cost_usd out, or ask a model whose price is known",
        ),
        "no_progress": AgentEnding(
            False,
            "it asked for the same calls, with the same arguments, again and again",
            "look at what the tools returned; max_repeats says how often it may",
        ),
        "max_nudges": AgentEnding(
            False,
            "it stopped, was not done, and did not go on however often it was told",
            "look at its answers; max_nudges says how often it is told",
        ),
        "max_repairs": AgentEnding(
            False,
            "its answer did not fit the schema, however often it was told",
            "look at agent.corrected; max_repairs says how often it is told",
        ),
        "cut_off": AgentEnding(
            False,
            "its answer was cut off by a limit of tokens",
            "raise max_tokens, or ask for less; no model has more than its window",
        ),
        "filtered": AgentEnding(
            False, "it refused, or the provider filtered its answer", "ask otherwise"
        ),
        "unfinished": AgentEnding(
            False,
            "the provider says that it did not finish its answer",
            "offer no tools that the provider performs itself, or let it do less at once",
        ),
        FAILED: AgentEnding(
            False, "there was no answer of the model, or an effect ended the run"
        ),
        CANCELLED: AgentEnding(
            False, "what awaited the loop did so no longer, or the run ended before it"
        ),
    }
)
"""Reason → what it means."""


def is_good(reason: str) -> bool:
    """Tell whether a loop that ended for that *reason* did what it was to do."""
    return ENDINGS[reason].good
