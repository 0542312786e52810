"""What a loop counts, and how it ended.

Rules:

- Each number is one that the record shows, too: `records.agents` folds the same ones. So a
  turn counts when it begins, and every call of an answer has exactly one end: it was
  performed, it failed, or it was denied, which is also what happens to calls that a loop
  ends before.
- What cannot be told is unknown, and stays so: what an answer took that could not be
  recorded, or read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Context, Decimal

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.agents.loop.conversation import Message
from muniment_plugins.workflow.agents.loop.endings import is_good
from muniment_plugins.workflow.agents.loop.tool_desk import CallStatus

__all__ = ["AgentDone", "LoopCounts"]

_EXACT = 2**53
"""The first number of tokens that not every reader of JSON reads exactly."""
_MONEY = Context(prec=28)
"""Sums do not depend on the context of whoever runs the loop."""


@dataclass(frozen=True, slots=True)
class AgentDone:
    """How a loop ended."""

    reason: str
    """One of the reasons in the reference: ``answered``, ``max_iterations``, …."""
    text: str
    """The text of the last answer, without the sentinel."""
    value: JsonValue = None
    """The last answer as a value, if the loop has a schema."""
    turns: int = 0
    """How many began: how often the model was to answer."""
    calls: int = 0
    """How many calls of tools the model asked for."""
    denied: int = 0
    """How many of them were not performed."""
    failed: int = 0
    """How many of them raised, or gave a result that says error."""
    tokens: int | None = 0
    """Read and written, for answers and summaries; None if that is not known of one."""
    cost_usd: Decimal | None = Decimal(0)
    """What that cost; None if that is not known of one."""
    messages: tuple[Message, ...] = ()
    """The conversation, the last answer included."""

    @property
    def ok(self) -> bool:
        """Whether it did what it was to do."""
        return is_good(self.reason)


@dataclass(slots=True)
class LoopCounts:
    """The numbers of one loop on its way."""

    turns: int = 0
    calls: int = 0
    denied: int = 0
    failed: int = 0
    corrected: int = 0
    tokens: int | None = 0
    cost_usd: Decimal | None = field(default_factory=Decimal)

    def spend(self, tokens: int | None, cost: Decimal | None) -> None:
        """Add what an answer took; None for what is not known."""
        if self.tokens is not None:
            total = None if tokens is None else self.tokens + tokens
            self.tokens = total if total is not None and total < _EXACT else None
        if self.cost_usd is not None:
            self.cost_usd = None if cost is None else _MONEY.add(self.cost_usd, cost)

    def end_calls(self, ends: Iterable[CallStatus]) -> None:
        """Add how the calls of an answer ended."""
        for one in ends:
            self.calls += 1
            self.denied += one == "denied"
            self.failed += one == "failed"

    def done(
        self, reason: str, text: str, value: JsonValue, messages: Iterable[Message]
    ) -> AgentDone:
        """Return how the loop ended."""
        return AgentDone(
            reason,
            text,
            value,
            self.turns,
            self.calls,
            self.denied,
            self.failed,
            self.tokens,
            self.cost_usd,
            tuple(messages),
        )

    def stated(self) -> dict[str, object]:
        """Return the numbers as ``agent.ended`` states them."""
        said: dict[str, object] = {
            "turns": self.turns,
            "calls": self.calls,
            "denied": self.denied,
            "failed": self.failed,
            "corrected": self.corrected,
            "tokens": self.tokens,
        }
        if self.cost_usd is not None:
            said["cost_usd"] = f"{self.cost_usd:f}"
        return said
