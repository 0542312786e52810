"""The loop: a model is asked, its calls are performed, until there is an end.

    turn.1          agent.turn.requested {"agent": "act", "turn": 1, "model": "openai:…"}
                    agent.turn.completed {"model": "openai:…"}
                    context.selected     {"node": "act", "selected": ["task"], "tokens": 9}
                    llm.requested, llm.completed
    turn.1/call.0   tool.requested, tool.completed
    turn.2          …
                    agent.ended          {"agent": "act", "reason": "answered", …}

Rules:

- It is a program over effects, and keeps nothing beside them: what was answered and what
  was performed are answered from the record in a resume, a replay and a fork.
- Which model answers a turn is an effect of its own, ``agent.turn``. A fork that gives it
  another value goes on with that model: the request of each later turn names it.
- An answer that calls tools is no last one, whatever its text says. One that calls none
  is the last, unless a sentinel, a tool or a schema is still wanted, or it says that it calls
  tools: then the model is told so, and that is a fact, ``agent.corrected``.
- What an answer calls that was cut off, filtered or paused is not performed.
- Limits are looked at before something is asked or performed; what the loop asks models
  for counts, summaries of its conversation, too. Whatever ends the loop has a
  reason, one of `ENDINGS`; a call that it ends before is denied, and stated as such.
- A loop that is cancelled states that, if its run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed, MunimentError, UsageError
from muniment.runs.run import Run
from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.workflow.agents.loop.answers import (
    AgentAnswer,
    Unfit,
    before_sentinel,
    read_answer,
    read_value,
    spent,
)
from muniment_plugins.workflow.agents.loop.conversation import Conversation
from muniment_plugins.workflow.agents.loop.counts import AgentDone, LoopCounts
from muniment_plugins.workflow.agents.loop.endings import CANCELLED, FAILED
from muniment_plugins.workflow.agents.loop.host import AgentHost, ModelCall
from muniment_plugins.workflow.agents.loop.options import AgentOptions
from muniment_plugins.workflow.agents.loop.tool_desk import CallResult, ToolDesk
from muniment_plugins.workflow.runtime.failures import SAID_OF_THE_RUN
from muniment_plugins.workflow.runtime.own_context import cancels
from muniment_plugins.workflow.runtime.workplaces import worksite
from muniment_plugins.workflow.tools.gate import ToolGate
from muniment_plugins.workflow.vocabulary import EngineFact, told_fact

__all__ = ["AgentLoop"]

_UNRECORDED = "unrecordable"


@dataclass(slots=True)
class AgentLoop:
    """One loop on its way."""

    name: str
    model: str
    host: AgentHost
    desk: ToolDesk
    talk: Conversation
    options: AgentOptions
    schema: Mapping[str, JsonValue] | None = None
    """What the last answer has to fit."""
    based: Callable[[str], ToolGate] | None = None
    """Gives the gate of the tools in a folder, if the record has to say in which they work."""
    counts: LoopCounts = field(default_factory=LoopCounts)
    _text: str = ""
    _value: JsonValue = None
    _nudges: int = 0
    _repairs: int = 0
    _repeats: int = 0
    _asked: str = ""
    """The calls of the last answer, as text."""
    _succeeded: set[str] = field(default_factory=set[str])

    async def run(self) -> AgentDone:
        """Go on until there is an end; state it and return it.

        Raises:
            EffectFailed: there was no answer of the model, or an effect ended the run.
            WorkflowFailed: the answer cannot be read.

        """
        try:
            reason = None
            while reason is None:
                reason = await self._turn()
        except SAID_OF_THE_RUN:
            raise
        except MunimentError:
            self._end(FAILED)
            raise
        except BaseException as error:
            if cancels(error):
                self._state(CANCELLED, held=True)
            raise
        return self._end(reason)

    def _end(self, reason: str) -> AgentDone:
        self.talk.go_on(self.host.lane)
        self.talk.answer_calls(f"the loop ended, {reason}")
        self._state(reason)
        return self.counts.done(reason, self._text, self._value, self.talk.messages)

    def _state(self, reason: str, *, held: bool = False) -> None:
        said = {"agent": self.name, "reason": reason, **self.counts.stated()}
        self.host.lane.record("agent.ended", EngineFact(said), held=held)

    async def _turn(self) -> str | None:
        """Ask once, and do what is asked for; return the reason to end, if there is one."""
        if self.counts.turns >= self.options.max_iterations:
            return "max_iterations"
        self.counts.turns += 1
        number = self.counts.turns
        with self.host.lane.scope(f"turn.{number}") as lane:
            lane.keep_order()
            self.model = await self._chosen(lane, number)
            ends = await self._prepared(lane)
            if ends is not None:
                return ends
            self._selected(lane, number)
            answer = await self._answer(lane, number)
            self.talk.add_answer(number, answer)
            if not answer.calls:
                return self._concluded(lane, number, answer)
            self._text = answer.text
            return await self._performed(lane, number, answer)

    async def _prepared(self, lane: Run) -> str | None:
        """Get ready for a turn; return the limit that a summary for it used up, if one did.

        What models are asked for summaries counts, whatever comes of them.
        """
        counts = self.counts
        before = counts.tokens, counts.cost_usd
        await self.talk.prepare(lane, self._summing)
        same = (counts.tokens, counts.cost_usd) == before
        return None if same else self._limit()

    async def _summing(
        self, lane: Run, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Perform an effect of a compaction, and count what a model took for it."""
        if kind != "llm":
            return await self.host.effect(lane, kind, request, perform)
        try:
            told = await self.host.effect(lane, kind, request, perform)
        except EffectFailed as error:
            if not error.halts or error.error_type == _UNRECORDED:
                self.counts.spend(None, None)
            raise
        self.counts.spend(*spent(told))
        return told

    def _selected(self, lane: Run, turn: int) -> None:
        """State what is asked with; and at first where the tools work, if the loop says."""
        said = self.talk.fact(self.name)
        base = self.desk.gate.base
        if turn > 1 or self.based is None or base is None:
            lane.record("context.selected", EngineFact(said))
            return
        stated = lane.record("context.selected", EngineFact(said, folder=base))
        self.desk = replace(self.desk, gate=self.based(worksite(stated, base)))

    async def _performed(self, lane: Run, turn: int, answer: AgentAnswer) -> str | None:
        """Perform what *answer* calls, if it may be; account for each of its calls."""
        came: dict[int, CallResult] = {}
        try:
            why = answer.cut or self._stuck(answer)
            if why is None:
                why = await self._worked(lane, turn, answer, came)
        except SAID_OF_THE_RUN:
            raise
        except MunimentError:
            self._account(lane, answer, came, FAILED)
            raise
        except BaseException as error:
            if cancels(error):
                self._account(lane, answer, came, CANCELLED)
            raise
        self._account(lane, answer, came, why or "")
        return why

    def _account(
        self, lane: Run, answer: AgentAnswer, came: dict[int, CallResult], why: str
    ) -> None:
        """Count how the calls of *answer* ended; those before which the loop ends, too."""
        for call in answer.calls:
            if call.position not in came:
                came[call.position] = self.desk.ended(lane, call, why)
        self.counts.end_calls(one.status for one in came.values())

    async def _chosen(self, lane: Run, turn: int) -> str:
        """Return the model of this turn: that of the last one, unless a fork changed it."""
        request = {"agent": self.name, "turn": turn, "model": self.model}

        def same(asked: object) -> object:
            return {"model": cast("Mapping[str, object]", asked)["model"]}

        told = await self.host.effect(lane, "agent.turn", request, same)
        model = told
        if isinstance(told, Mapping):
            model = cast("Mapping[str, object]", told).get("model")
        if not isinstance(model, str) or not model.strip():
            raise UsageError(
                f"turn {turn} of {self.name} has no model: {told!r:.80}",
                rule="workflow/turn-model",
                place=lane.scope_path,
                remedy='give the fork {"model": "provider:name"}, or that name as a text',
            )
        return model.strip()

    async def _answer(self, lane: Run, turn: int) -> AgentAnswer:
        request = self.talk.request(self.model, self.desk.offered, self.options.asked)
        asking = AnswerableRequest(request, completion)
        call = ModelCall.of(lane, self.name)

        async def once() -> object:
            try:
                return await self.host.effect(lane, "llm", asking, call.perform)
            except EffectFailed as error:
                if error.error_type == _UNRECORDED:
                    self.counts.spend(None, None)  # it was given, and paid for
                raise

        try:
            told = await self.host.attempt(once)
        except EffectFailed as error:
            if not error.halts:
                self.counts.spend(None, None)
            raise
        call.heard(told)
        self.counts.spend(*spent(told))
        return read_answer(told, turn, self.name)

    def _stuck(self, answer: AgentAnswer) -> str | None:
        """Return why what *answer* calls is not performed, None if it may be."""
        asked = answer.asked
        self._repeats = self._repeats + 1 if asked == self._asked else 1
        self._asked = asked
        if self._repeats > self.options.max_repeats:
            return "no_progress"
        most = self.options.max_tool_calls
        if most is not None and self.counts.calls + len(answer.calls) > most:
            return "max_tool_calls"
        return self._limit()

    def _limit(self) -> str | None:
        """Return the limit by which the loop may not go on, None if it may."""
        counts, options = self.counts, self.options
        if options.max_total_tokens is not None:
            if counts.tokens is None:
                return "usage_unknown"
            if counts.tokens >= options.max_total_tokens:
                return "max_total_tokens"
        if options.cost_limit is not None:
            if counts.cost_usd is None:
                return "cost_unknown"
            if counts.cost_usd >= options.cost_limit:
                return "max_cost"
        return None

    async def _worked(
        self, lane: Run, turn: int, answer: AgentAnswer, came: dict[int, CallResult]
    ) -> str | None:
        """Perform what *answer* calls, and add what *came* of it to the conversation."""
        allowed = await self.desk.judge(lane, answer.calls, came)
        most = self.options.max_concurrent_tools
        await self.desk.perform(lane, allowed, most, came)
        self.host.stop.check()
        for call in answer.calls:
            self.talk.add_result(turn, call, came[call.position].text)
        good = {one.call.name for one in came.values() if one.status == "done"}
        self._succeeded |= good
        ends = good & {*self.options.stop_after_successful_tools}
        return "stopped_by_tool" if ends and not self._missing else None

    @property
    def _missing(self) -> list[str]:
        """The tools that have to succeed, and did not yet."""
        wanted = self.options.require_successful_tools
        return [one for one in wanted if one not in self._succeeded]

    def _concluded(self, lane: Run, turn: int, answer: AgentAnswer) -> str | None:
        """Return the reason to end with *answer*, which calls nothing; or correct it."""
        sentinel = self.options.done_sentinel
        left = None if sentinel is None else before_sentinel(answer.text, sentinel)
        self._text = answer.text if left is None else left
        if answer.cut is not None:
            return answer.cut
        calls_none = answer.finish_reason == "tool_calls" and not self._text
        if calls_none or self._missing or (sentinel is not None and left is None):
            return self._nudged(lane, turn, calls_none=calls_none)
        if self.schema is not None:
            value = read_value(self._text, self.schema)
            if isinstance(value, Unfit):
                return self._repaired(lane, turn, value)
            self._value = value
        return "answered" if left is None else "done"

    def _nudged(self, lane: Run, turn: int, *, calls_none: bool) -> str | None:
        if self._nudges >= self.options.max_nudges:
            return "max_nudges"
        missing = self._missing
        code = "not_done"
        text = (
            f"Go on. End your last answer with {self.options.done_sentinel}, on a line "
            "of its own."
        )
        if calls_none:
            code = "calls_missing"
            text = (
                "You said that you call tools, and called none. Call them, or answer."
            )
        elif missing:
            code = "tools_missing"
            text = f"Before you end, call {', '.join(missing)}, and let it succeed."
        elif self.options.nudge is not None:
            text = self.options.nudge
        place = missing[0] if missing and not calls_none else ""
        ends = self._told(lane, turn, (code, place), text)
        self._nudges += ends is None
        return ends

    def _repaired(self, lane: Run, turn: int, unfit: Unfit) -> str | None:
        if self._repairs >= self.options.max_repairs:
            return "max_repairs"
        where = f" at {unfit.place}" if unfit.place else ""
        text = (
            f"Your answer does not fit{where}: {unfit.message}. Answer again, with one "
            "JSON value that fits the schema, and nothing else."
        )
        ends = self._told(lane, turn, (unfit.code, unfit.place), text)
        self._repairs += ends is None
        return ends

    def _told(
        self, lane: Run, turn: int, why: tuple[str, str], text: str
    ) -> str | None:
        """Tell the model why its answer was not the last one, and state it.

        Return the reason why it is not asked again, and so told nothing.
        """
        last = turn >= self.options.max_iterations
        ends = self._limit() or ("max_iterations" if last else None)
        if ends is not None:
            return ends
        code, place = why
        said = {"agent": self.name, "turn": turn, "code": code, "place": place}
        lane.record("agent.corrected", told_fact(lane, said))
        self.counts.corrected += 1
        self._asked = ""
        self.talk.tell(turn, text)
        return None
