"""Writing a session within a run: facts of the run, and effects where others are asked.

    with RunSession.join(run, "desk") as session:
        session.inject({"role": "user", "content": "Where is my refund?"})
        answer = complete(run, "openai:…", session.messages())
        session.inject(answer.message)
        session.compact({"keep_last": 6, "compact_strategy": "llm",
                         "summarize_model": "openai:…"})

Rules:

- To join is an effect, whose answer is the session as it was; all else is facts, so a
  resume, a replay and a fork of the run find them as they were.
- A summary by a model, and what functions make of messages, are effects, too.
- A run has a session open once at a time, and one writes it at a time (`use`). What goes
  on at once has a branch of it (`RunSession.branch`): a fork, by the name of the branch.
- Once a run was told something private, its effects are private (`Run.keep_private`):
  nobody can tell into which of them it goes. In graphs those of the nodes of the session are.
- What is said, or summarised, where effects are private is private, too, since it may carry
  what they gave; a message that says itself that it is public is so.
- A session that is nobody else's (`RunSession.own`) begins empty with the run, and is
  known as ``<id>@<run>``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from muniment.errors import RefusedError, UsageError
from muniment.programs.awaiting import driven
from muniment.runs.run import Run
from muniment_plugins.workflow.session_types import (
    SessionFact,
    part_series,
    session_name,
)
from muniment_plugins.workflow.sessions.asking import (
    Effects,
    asked_text,
    require_askable,
)
from muniment_plugins.workflow.sessions.claims import Held, claimed, transcript_of
from muniment_plugins.workflow.sessions.compaction import Ask
from muniment_plugins.workflow.sessions.policies import CompactPolicy, compact_policy
from muniment_plugins.workflow.sessions.transcript import Transcript
from muniment_plugins.workflow.sessions.use import SessionUse
from muniment_plugins.workflow.sessions.writer import Message, SessionWriter

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["Effects", "RunSession"]

_OPEN = "workflow.sessions"
_TAKING = threading.Lock()


@dataclass(slots=True)
class RunSession(SessionWriter):
    """A session that a run writes."""

    run: Run = field(kw_only=True)
    """The lane that states what is done."""
    visibility: str | None = None
    """What every message is, whatever it says itself."""
    keeps_private: bool = True
    """Whether what is private of messages is recorded at all."""
    is_of_node: bool = False
    """Whether it is that of nodes, whose lanes are kept private by themselves."""
    use: SessionUse = field(default_factory=SessionUse, repr=False)
    """Who writes it now."""

    @classmethod
    def join(cls, run: Run, session: str, *, held: Held = "refuse") -> Self:
        """Claim *session* for *run*, opening it if it is not there.

        Args:
            run: a run, or a lane of it.
            session: its id.
            held: what is done if another run has it: ``refuse``, or ``fork`` it.

        Raises:
            EffectFailed: another run has it; or it takes no messages.
            RefusedError: the run has it open already.

        """

        async def effect(
            kind: str, request: object, perform: Callable[[object], object]
        ) -> object:
            return run.effect(kind, request, perform)

        return cast("Self", driven(cls.joined(run, session, effect, held)))

    @classmethod
    async def ajoin(cls, run: Run, session: str, *, held: Held = "refuse") -> Self:
        """Do as `join` does, awaited."""
        return await cls.joined(run, session, run.aeffect, held)

    @classmethod
    async def joined(
        cls,
        run: Run,
        session: str,
        effect: Effects,
        held: Held,
        *,
        is_of_node: bool = False,
    ) -> Self:
        """Do as `join` does, by a given way to perform effects."""
        session = session_name(session)
        _take(run, session)
        try:
            request = {"session": session, "held": held}
            found = await effect("session_claim", request, partial(_claim, run))
        except BaseException:
            _leave(run, session)
            raise
        transcript, texts = transcript_of(cast("Mapping[str, Any]", found))
        made = cls(transcript, texts, run=run, is_of_node=is_of_node)
        made._keep_private()
        if transcript.session != session:
            _leave(run, session)
            _take(run, transcript.session)
        if transcript.opened:
            made.state_joined()
        else:  # of a fork, where nobody had it
            made.state_fact("opened", {})
        return made

    @classmethod
    def own(cls, run: Run, session: str) -> Self:
        """Begin the session of that name that only this run has."""
        session = session_name(session)
        _take(run, session)
        made = cls(Transcript(session), run=run)
        made.state_fact("opened", {})
        return made

    def branch(self, run: Run, name: str) -> Self:
        """Begin a fork of it as it is now, for the lane *run*, under the *name*."""
        name = session_name(name)
        _take(run, name)
        made = type(self)(
            Transcript(name),
            dict(self.texts),
            run=run,
            visibility=self.visibility,
            keeps_private=self.keeps_private,
            is_of_node=self.is_of_node,
        )
        made.transcript.begin_as(self.transcript, None)
        kept = len(self.transcript.entries)
        made.state_fact(
            "opened", {"source": self.id, "at": self.transcript.position, "kept": kept}
        )
        return made

    def on(self, run: Run) -> Self:
        """Go on in another lane of the run."""
        self.run = run
        return self

    @property
    def has_private(self) -> bool:
        """Whether a message of it is private."""
        entries = self.transcript.entries
        return any(one.visibility == "private" for one in entries)

    def _keep_private(self) -> None:
        """Keep private what the run is asked and does, once it was told something private."""
        if self.has_private and not self.is_of_node:
            self.run.keep_private(effects=True, everywhere=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def opened_in(run: Run) -> list[str]:
        """Return the ids of the sessions that are open in *run*, the last one last."""
        return list(_opened(run))

    def close(self) -> None:
        """Let go of it; the run may join it again, once the loop that has it ended."""
        with self.use.lock:
            self.use.is_left = True
            if self.use.by is None:
                _leave(self.run, self.id)

    def lend(self, run: Run) -> Self:
        """Return it for one loop in the lane *run*, until `give_back`.

        Raises:
            RefusedError: another loop has it.

        """
        made = replace(self, run=run)
        self.use.lend(self, made, self.id)
        return made

    def give_back(self) -> None:
        """End a loan: whoever lent it may write it again."""
        with self.use.lock:
            self.use.take_back()
            if self.use.is_left:
                _leave(self.run, self.id)

    def require_free(self) -> None:
        """Refuse to write it while somebody else does.

        Raises:
            RefusedError: a loop has it, or it was let go of.

        """
        self.use.require(self, self.id)

    def compact(self, policy: object = None) -> int:
        """Compact it as *policy* says; return how many messages there are.

        Raises:
            EffectFailed: a model or a function failed.
            RefusedError: what has to stay does not fit the hard limit.

        """
        chosen = compact_policy(policy)
        return cast("int", driven(self.compacted(chosen, self.asking(chosen))))

    async def acompact(self, policy: object = None) -> int:
        """Do as `compact` does, awaited."""
        chosen = compact_policy(policy)
        return await self.compacted(chosen, self.asking(chosen, self.run.aeffect))

    def compact_if_due(self, policy: object) -> bool:
        """Compact it if *policy* is enabled and it is over its threshold."""
        chosen = compact_policy(policy)
        return cast("bool", driven(self.compacted_if_due(chosen, self.asking(chosen))))

    async def acompact_if_due(self, policy: object) -> bool:
        """Do as `compact_if_due` does, awaited."""
        chosen = compact_policy(policy)
        ask = self.asking(chosen, self.run.aeffect)
        return await self.compacted_if_due(chosen, ask)

    def asking(self, policy: CompactPolicy, effect: Effects | None = None) -> Ask:
        """Return what asks models and functions for *policy*, by effects."""
        require_askable(policy)

        async def here(
            kind: str, request: object, perform: Callable[[object], object]
        ) -> object:
            return self.run.effect(kind, request, perform)

        return partial(asked_text, policy, effect or here)

    def state_joined(self) -> None:
        """State where the part of the run begins."""
        said = SessionFact(session=self.id, position=self.transcript.position)
        self.run.record("session.joined", said, series=[self._series])

    def state_fact(self, name: str, data: Mapping[str, Any]) -> None:
        """State the event *name* of the session, and fold it."""
        kind, said = f"session.{name}", {"session": self.id, **data}
        self.run.record(kind, SessionFact(said), series=[self._series])
        self.transcript.apply(kind, said, None)
        if said.get("visibility") == "private":
            self._keep_private()

    @property
    def _series(self) -> str:
        return part_series(self.id, self.run.id)

    def inject(self, message: object, visibility: str | None = None) -> str:
        """Add *message*; see `SessionWriter.inject`."""
        return SessionWriter.inject(self, message, self.visibility or visibility)

    @contextmanager
    def _changing(self) -> Generator[None]:
        with self.use.lock:
            self.require_free()
            yield

    def _compacting(self) -> AbstractContextManager[None]:
        return self.use.compacting(self, self.id)

    @property
    def _unsaid(self) -> str:
        lane = self.run
        return "private" if lane.is_kept_private(lane.scope_path) else "public"

    def _kept_private(self, private: Message | None) -> Message | None:
        return private if self.keeps_private else None

    def _state(self, name: str, data: Mapping[str, Any]) -> None:
        self.state_fact(name, data)


def _claim(run: Run, request: object) -> object:
    said = cast("Mapping[str, Any]", request)
    held = said["held"]
    if held not in ("refuse", "fork"):
        raise UsageError(
            f"{held!r:.40} is no answer to a session that another run has",
            rule="session/held-policy",
            place="held",
            remedy="refuse or fork",
        )
    ledger = cast("Ledger", run.reader)
    found = claimed(ledger, run.id, str(said["session"]), held)
    if any(one["visibility"] == "private" for one in found["messages"]):
        run.keep_private()  # what the effect answers
    return found


def _opened(run: Run) -> dict[str, None]:
    """Return the sessions that are open in *run*, in this process, the last one last."""
    key = f"{_OPEN}/{run.id}"
    return cast("dict[str, None]", run.memory.setdefault(key, {}))


def _take(run: Run, session: str) -> None:
    with _TAKING:
        opened = _opened(run)
        is_open = session in opened
        opened[session] = None
    if is_open:
        raise RefusedError(
            "this run has the session open already",
            rule="session/open",
            place=session,
            remedy="use the one that is open; what goes on at once writes a branch of it",
        )


def _leave(run: Run, session: str) -> None:
    _opened(run).pop(session, None)
