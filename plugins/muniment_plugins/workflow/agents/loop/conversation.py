"""What a model is shown at each turn: the messages so far, each with a name.

    task            what it is asked                    (m0, m1, … if messages were given)
    turn.1          its first answer
    turn.1/call.0   what the first tool of it returned
    turn.1/told     what it was told about it, if that was not good

Rules:

- The names are those of the scopes in which a record has what they hold, so a prompt can be
  told from the record: `context.selected` lists them before each call.
- Nothing is left out between turns. What a conversation costs is limited by the loop; one
  that has a session can be compacted: `session_talk`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment.runs.run import Run
from muniment_plugins.workflow.agents.loop.answers import AgentAnswer, AgentCall
from muniment_plugins.workflow.artifacts.texts import tokens_of
from muniment_plugins.workflow.sessions.parts.calls import UNHEARD, without_results

__all__ = ["Conversation", "Effect", "Message", "begin", "opening"]

Message = Mapping[str, JsonValue]
Effect = Callable[[Run, str, object, Callable[[object], object]], Awaitable[object]]
"""Performs an effect of a lane: kind, request, performer."""


@dataclass(slots=True)
class Conversation:
    """The messages of one loop."""

    system: str | None
    messages: list[Message] = field(default_factory=list[Message])
    names: list[str] = field(default_factory=list[str])
    """What each of them is called, after what is shown in the first."""
    tokens: int = 0
    """About how many there are."""

    def add(self, name: str, message: Message) -> None:
        """Add a *message*."""
        self.names.append(name)
        self.messages.append(message)
        self.tokens += tokens_of(_text_of(message))

    def add_answer(self, turn: int, answer: AgentAnswer) -> None:
        """Add an *answer* of the model."""
        message: dict[str, JsonValue] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            message["tool_calls"] = [one.to_json() for one in answer.calls]
        self.add(f"turn.{turn}", message)

    def add_result(self, turn: int, call: AgentCall, text: str) -> None:
        """Add what a *call* came to."""
        message = {"role": "tool", "tool_call_id": call.id, "content": text}
        self.add(f"turn.{turn}/call.{call.position}", cast("Message", message))

    def tell(self, turn: int, text: str) -> None:
        """Add what the model is told about its answer."""
        self.add(f"turn.{turn}/told", {"role": "user", "content": text})

    def answer_calls(self, why: str = UNHEARD) -> None:
        """Say of each call of the last answer that has no result that it has none."""
        for message in without_results(self.messages, why):
            self.add("told", cast("Message", message))

    async def prepare(self, lane: Run, effect: Effect) -> None:
        """Get ready for a turn in *lane*: nothing is to be done."""

    def go_on(self, lane: Run) -> None:
        """Say what is said from now on in *lane*: it is said nowhere but here."""

    def fact(self, node: str) -> dict[str, object]:
        """Return what ``context.selected`` says of the next call."""
        return {"node": node, "selected": list(self.names), "tokens": self.tokens}

    def request(
        self,
        model: str,
        tools: Sequence[Message],
        asked: Mapping[str, JsonValue],
    ) -> dict[str, object]:
        """Return what a provider is asked."""
        return {
            "model": model,
            "messages": list(self.messages),
            **({} if self.system is None else {"system": self.system}),
            **({"tools": list(tools)} if tools else {}),
            **asked,
        }


def _text_of(message: Message) -> str:
    content = message.get("content")
    rest = {name: message[name] for name in ("tool_calls",) if name in message}
    text, more = (content, rest) if isinstance(content, str) else ("", message)
    return f"{text}{json.dumps(more, default=str)}" if more else text


def opening(
    prompt: str | Sequence[Message], system: str | None, shown: Iterable[str] = ()
) -> Conversation:
    """Return the conversation that begins with *prompt*, a text or messages.

    Args:
        prompt: what the model is asked.
        system: what it is told about itself.
        shown: the ids of the artifacts that the prompt shows.

    Raises:
        UsageError: there is nothing to ask.

    """
    made = Conversation(system, names=list(shown))
    begin(made, prompt)
    return made


def begin(made: Conversation, prompt: str | Sequence[Message]) -> None:
    """Add what is asked first, a text or messages, to a conversation.

    Raises:
        UsageError: there is nothing to ask.

    """
    if isinstance(prompt, str):
        made.add("task", {"role": "user", "content": prompt})
        return
    for number, one in enumerate(prompt):
        made.add(f"m{number}", dict(one))
    if not made.messages:
        at = At("prompt", "workflow")
        raise at.wrong("nothing is asked", "value", "write a text, or messages")
