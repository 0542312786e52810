"""The conversation of a loop that has a session: each message is one of the session.

    desk/m3         a message of the session desk, as ``context.selected`` names it

Rules:

- A loop begins with what was said before. What it is asked, answers and is told is added
  when it is said, so a loop that came to no good end leaves what was said, too.
- Before each turn the session is compacted, if that is due: in ``turn.<n>/compaction``.
- A loop has its session until it ends. That one was refused since another has it is an
  effect of its lane, so a replay refuses the same loop, whichever of two comes first there.
- A call without a result gets one that says so before anything else is said: no provider
  takes a conversation that has a call without a result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed, RefusedError
from muniment.runs.run import Run
from muniment_plugins.workflow.agents.loop.answers import AgentAnswer
from muniment_plugins.workflow.agents.loop.conversation import (
    Conversation,
    Effect,
    Message,
)
from muniment_plugins.workflow.sessions.asking import Effects
from muniment_plugins.workflow.sessions.inside import RunSession
from muniment_plugins.workflow.sessions.policies import CompactPolicy
from muniment_plugins.workflow.sessions.use import in_use

__all__ = ["SessionTalk", "after_session", "lent"]


@dataclass(slots=True)
class SessionTalk(Conversation):
    """The messages of one loop, which are those of a session."""

    session: RunSession = field(kw_only=True)
    policy: CompactPolicy | None = field(kw_only=True, default=None)
    """When it is compacted, and how."""
    _before: tuple[str, ...] = ()
    """What is shown beside the session."""

    def begin(self) -> None:
        """Begin with what was said before."""
        self._before = tuple(self.names)
        self._read()
        self.answer_calls()

    def add(self, name: str, message: Message) -> None:
        """Add a *message* to the session."""
        del name
        self._take(self.session.inject(message))

    def add_answer(self, turn: int, answer: AgentAnswer) -> None:
        """Add an *answer* of the model, with all that is not text or calls apart."""
        del turn
        message: dict[str, object] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            message["tool_calls"] = [one.to_json() for one in answer.calls]
        if answer.besides:
            message["provider_payload"] = dict(answer.besides)
        self._take(self.session.inject(message))

    async def prepare(self, lane: Run, effect: Effect) -> None:
        """Go on in *lane*, and compact the session if that is due.

        Raises:
            EffectFailed: a model or a function failed over the summary.
            RefusedError: what has to stay does not fit the hard limit.

        """
        if self.policy is not None:
            with lane.scope("compaction") as below:
                session = self.session.on(below)
                ask = session.asking(self.policy, partial(effect, below))
                if await session.compacted_if_due(self.policy, ask):
                    self._read()
        self.go_on(lane)

    def go_on(self, lane: Run) -> None:
        """State what is said from now on in *lane*."""
        self.session.on(lane)

    def _read(self) -> None:
        """Take the messages from the session."""
        self.names, self.messages, self.tokens = [*self._before], [], 0
        for one in self.session.transcript.entries:
            self._take(one.id)

    def _take(self, key: str) -> None:
        Conversation.add(self, *_shown(self.session, key))


async def lent(session: RunSession, lane: Run, effect: Effects) -> RunSession:
    """Return *session*, to be written in *lane* by nobody else until it is given back.

    Raises:
        RefusedError: somebody has it; nothing was written.

    """
    if not lane.holds("session_loan", {"session": session.id}):
        try:
            return session.lend(lane)
        except RefusedError as error:
            if error.rule != "session/in-use":
                raise
    await _refused(session, effect)
    return session.lend(lane)


async def _refused(session: RunSession, effect: Effects) -> None:
    """Record that *session* is in use, unless it is free by now."""

    def look(_: object) -> None:
        session.require_free()

    try:
        await effect("session_loan", {"session": session.id}, look)
    except EffectFailed as error:
        if error.error_type != RefusedError.__name__:
            raise
        raise in_use(error.message, session.id) from error


def _shown(session: RunSession, key: str) -> tuple[str, Message]:
    message = cast("dict[str, JsonValue]", dict(session.texts[key]))
    return f"{session.id}/{key}", message


def after_session(
    session: RunSession, system: str | None, shown: Iterable[str]
) -> Conversation:
    """Return a conversation that begins with what a *session* has, and adds nothing to it."""
    made = Conversation(system, names=list(shown))
    for one in session.transcript.entries:
        made.add(*_shown(session, one.id))
    made.answer_calls()
    return made
