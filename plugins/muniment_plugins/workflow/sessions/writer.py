"""What can be done to a session, whoever writes it: a run, or somebody outside of runs.

Rules:

- Each change is one event, stated before the transcript that is held here changes.
- An archived or abandoned session takes nothing but another state.
- A compaction is planned whole before anything of it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from muniment.errors import RefusedError
from muniment_plugins.workflow.sessions.compaction import Ask, Kept, Plan, plans_for
from muniment_plugins.workflow.sessions.messages import spoken, tokens_in
from muniment_plugins.workflow.sessions.policies import CompactPolicy, compact_policy
from muniment_plugins.workflow.sessions.transcript import (
    Transcript,
    TranscriptEntry,
    require_keep,
)

__all__ = ["SessionWriter"]

Message = dict[str, Any]
_GROWTH = 1.25
"""How much larger a session is when a compaction of it is tried again."""


@dataclass(slots=True)
class SessionWriter:
    """A session that can be changed."""

    transcript: Transcript
    texts: dict[str, Message] = field(default_factory=dict[str, Message], repr=False)
    """Id → what models are given, of each message of the transcript that was read."""

    @property
    def id(self) -> str:
        """Its id."""
        return self.transcript.session

    def __len__(self) -> int:
        """Return how many messages it has."""
        return len(self.transcript.entries)

    @property
    def tokens(self) -> int:
        """The estimated tokens of its messages."""
        return self.transcript.tokens

    def messages(self) -> list[Message]:
        """Return what a model is given, in order."""
        return [dict(self._text(one)) for one in self.transcript.entries]

    def inject(self, message: object, visibility: str | None = None) -> str:
        """Add *message*; return its id.

        Args:
            message: a mapping with a role; see `messages`.
            visibility: ``private``, if only those who ask for private parts see it.

        Raises:
            UsageError: it is no message.
            RefusedError: the session takes none.

        """
        told = spoken(message, visibility, self._unsaid)
        with self._changing():
            self._require_open()
            key = self.transcript.next_id()
            self.texts[key] = told.message
            self._state(
                "message_appended",
                {
                    "id": key,
                    "role": told.role,
                    "visibility": told.visibility,
                    "tokens": told.tokens,
                    "message": told.message,
                    "private": self._kept_private(told.private),
                },
            )
        return key

    def trim(self, keep_last: int) -> int:
        """Keep the last messages only; return how many stayed.

        A result of a tool whose call is gone goes, too.

        Raises:
            UsageError: *keep_last* is no number of messages.

        """
        require_keep(keep_last, "keep_last")
        with self._changing():
            self._require_open()
            entries = self.transcript.entries
            kept = min(keep_last, len(entries))
            while 0 < kept < len(entries) and entries[-kept].role == "tool":
                kept -= 1
            dropped = len(entries) - kept
            if dropped:
                self._state("trimmed", {"kept": kept, "dropped": dropped})
        return kept

    def reset(self) -> None:
        """Begin anew, under the same id."""
        with self._changing():
            self._require_open()
            self._state("reset", {"dropped": len(self)})

    def change_state(self, state: str, reason: str = "") -> None:
        """Archive it, give it up, or take it up again; nothing happens if it is so."""
        with self._changing():
            if self.transcript.state != state:
                self._state("state_changed", {"state": state, "reason": reason})

    async def compacted(self, policy: object, ask: Ask, reason: str = "asked") -> int:
        """Compact it as *policy* says; return how many messages there are.

        If that would not make it shorter, nothing is changed, and that is stated.

        Raises:
            UsageError: the policy is none.
            RefusedError: what has to stay does not fit its hard limit.

        """
        chosen = compact_policy(policy)
        self._require_open()
        with self._compacting():
            return await self._compacted(chosen, ask, reason)

    async def _compacted(self, chosen: CompactPolicy, ask: Ask, reason: str) -> int:
        messages = [
            Kept(one.id, one.role, self._text(one), one.tokens, one.visibility)
            for one in self.transcript.entries
        ]
        plans, declined = await plans_for(messages, chosen, reason, ask)
        for plan in plans:
            self._state_plan(plan)
        if declined is not None and not plans:
            said = {"strategy": declined.strategy, "reason": declined.reason}
            sizes = {"tokens_before": declined.before, "tokens_after": declined.after}
            self._state("compaction_declined", {**said, **sizes})
        return len(self)

    async def compacted_if_due(self, policy: CompactPolicy, ask: Ask) -> bool:
        """Compact it if *policy* is enabled and the session is over its threshold.

        What was compacted, or could not be made shorter, is tried again when it is a
        quarter larger; what is over its hard limit is tried each time.
        """
        if not policy.enabled:
            return False
        tokens, limit = self.tokens, policy.hard_limit_tokens
        has_grown = tokens > self.transcript.tried_at * _GROWTH
        over = tokens > policy.token_threshold and has_grown
        if not over and (limit is None or tokens <= limit):
            return False
        before = self.transcript.compactions
        await self.compacted(policy, ask, "threshold" if over else "hard_limit")
        return self.transcript.compactions > before

    def _state_plan(self, plan: Plan) -> None:
        key = self.transcript.next_id("s")
        data: Message = {
            "id": key,
            "strategy": plan.strategy,
            "visibility": "private" if self._unsaid == "private" else plan.visibility,
            "reason": plan.reason,
            "pinned": plan.pinned,
            "archived": plan.archived,
            "kept": len(self) - plan.archived + bool(plan.archived),
            "tokens_before": plan.before,
            "tokens_after": plan.after,
            "tokens": tokens_in(plan.summary) if plan.archived else 0,
            "shortened": {name: tokens_in(one) for name, one in plan.replaced.items()},
            "summary": plan.summary,
            "replaced": dict(plan.replaced),
            "archive": [dict(one) for one in plan.archive],
        }
        self._state("compacted", data)
        if plan.archived:
            self.texts[key] = dict(plan.summary)
        self.texts |= {name: dict(one) for name, one in plan.replaced.items()}

    def _require_open(self) -> None:
        if not self.transcript.takes_messages:
            raise RefusedError(
                f"the session is {self.transcript.state}",
                rule="session/closed",
                place=self.id,
                remedy="take it up again by agent_session_resume, or fork it",
            )

    def _changing(self) -> AbstractContextManager[None]:
        """Let nobody else write it meanwhile."""
        return nullcontext()

    def _compacting(self) -> AbstractContextManager[None]:
        """Let nobody else write it while it is compacted, though others are asked."""
        return nullcontext()

    def _text(self, entry: TranscriptEntry) -> Message:
        """Return what models are given of *entry*."""
        return self.texts[entry.id]

    @property
    def _unsaid(self) -> str:
        """What a message is, if nobody says whether it is private."""
        return "public"

    def _kept_private(self, private: Message | None) -> Message | None:
        """Return what is recorded of what is *private*."""
        return private

    def _state(self, name: str, data: Mapping[str, Any]) -> None:
        """Write the event *name*, and fold it."""
        raise NotImplementedError
