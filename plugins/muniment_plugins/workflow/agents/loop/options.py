"""The options of a loop: how a model is asked, and what stops it.

    {"max_iterations": 8, "max_tool_calls": 20, "done_sentinel": "DONE"}

Rules:

- What nothing reads is no option, and is refused; so are options that contradict each
  other.
- A limit holds: where an answer does not say what a limit counts, the loop ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.documents.shapes import AGENT

__all__ = ["AgentOptions", "contradictions", "options_for"]

_OF_TOOLS = ("stop_after_successful_tools", "require_successful_tools")
_ASKED = ("temperature", "max_tokens", "stream")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How a loop asks its model, and what stops it."""

    temperature: float | None = None
    max_tokens: int | None = None
    """Of one answer."""
    stream: bool = False
    max_iterations: int = 16
    """How often the model is asked at most."""
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    """Tokens of all answers, read and written, after which nothing more is asked."""
    max_cost_usd: float | None = None
    max_repeats: int = 3
    """How many answers in a row may ask for the same calls with the same arguments."""
    max_concurrent_tools: int = 8
    done_sentinel: str | None = None
    """The text with which the model says that it is done."""
    max_nudges: int = 3
    nudge: str | None = None
    """What it is told if it stops and is not done; a sentence of ours by default."""
    max_repairs: int = 2
    """How often it is told that its answer does not fit the schema."""
    stop_after_successful_tools: tuple[str, ...] = ()
    require_successful_tools: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, JsonValue]:
        """What each request says of how the model answers."""
        said = {name: getattr(self, name) for name in _ASKED}
        return {
            name: value for name, value in said.items() if value not in (None, False)
        }

    @property
    def cost_limit(self) -> Decimal | None:
        """What all answers may cost, in US dollars."""
        return None if self.max_cost_usd is None else Decimal(str(self.max_cost_usd))


def options_for(
    written: Mapping[str, object] | None, at: At | None = None
) -> AgentOptions:
    """Return the options that are *written*.

    Raises:
        UsageError: one is unknown, or has a value that it cannot have.

    """
    said = cast("dict[str, Any]", dict(written or {}))
    AGENT.check(said, At("options", "workflow") if at is None else at)
    known = {one.name for one in fields(AgentOptions)}
    given: dict[str, Any] = {}
    for name, value in said.items():
        if name in known and value is not None:
            listed = isinstance(value, list)
            given[name] = tuple(cast("list[str]", value)) if listed else value
    return AgentOptions(**given)


def contradictions(
    options: AgentOptions, tools: Iterable[str] | None, *, has_schema: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield which option can never hold, why, and what to do about it.

    Which *tools* there are is None where servers have not been asked yet.
    """
    names = [] if tools is None else list(tools)
    for member in () if tools is None else _OF_TOOLS:
        for name in cast("tuple[str, ...]", getattr(options, member)):
            if name not in names:
                yield member, f"there is no tool {name!r:.60}", near(name, names)
    if options.stop_after_successful_tools and has_schema:
        yield (
            "stop_after_successful_tools",
            "a tool ends the loop, so nobody gives the answer that the schema wants",
            "leave one of them out, or write require_successful_tools",
        )
    if options.nudge is not None and options.max_nudges == 0:
        yield "nudge", "nobody is nudged", "leave it out, or raise max_nudges"
