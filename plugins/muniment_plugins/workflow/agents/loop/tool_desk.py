"""The tools of a loop: offered to the model, and held to what it may call.

    tool.denied     {"node": "act", "tool": "run", "code": "level", …}      in turn.1/call.0
    tool.requested  {"name": "read", "arguments": {"path": "…"}, …}

Rules:

- All calls of an answer are judged in their order before the first of them is performed,
  and people are asked about all that they have to approve before the run waits for the
  first. So nothing is under way where it waits, and one resume goes on with all answers.
- A call that is refused, whatever the reason, is told to the model with the reason, and is
  a fact. So is one of a tool that is not there, with the names that are near.
- A tool that raises is told to the model as an error, which its effect has. So is one whose
  result has no exact form in the record.
- Every call of an answer has one end in the record: one that the loop ends before is denied,
  too, with the reason in place of what decided.
- Calls are performed at once, each in a scope of its own, ``turn.<n>/call.<m>``. What they
  returned is told in the order of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, cast

from muniment import AskedDecision
from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed, UsageError
from muniment.events.effect_kinds import says_error
from muniment.programs.awaiting import awaited
from muniment.programs.references import Function, plain, refer
from muniment.runs.run import Run
from muniment_plugins.workflow.agents.loop.answers import AgentCall
from muniment_plugins.workflow.agents.loop.endings import CANCELLED
from muniment_plugins.workflow.agents.loop.host import AgentHost
from muniment_plugins.workflow.agents.loop.told import told_text
from muniment_plugins.workflow.agents.loop.tool_servers import ServerTool
from muniment_plugins.workflow.runtime.attempts import ChosenLate, ended_well
from muniment_plugins.workflow.runtime.lanes import Stop
from muniment_plugins.workflow.runtime.own_context import cancels
from muniment_plugins.workflow.stages.handlers import is_coroutine_function
from muniment_plugins.workflow.stages.tool_calls import opened_arguments, refused_link
from muniment_plugins.workflow.tools.gate import GateCode, ToolAnswer, ToolGate
from muniment_plugins.workflow.tools.registry import ToolDefinition
from muniment_plugins.workflow.vocabulary import EngineFact, told_fact

__all__ = ["CallResult", "CallStatus", "ToolDesk", "links_fault", "unperformed"]

CallStatus: TypeAlias = Literal["done", "failed", "denied"]
Perform = Callable[[object], object]
_LOOP_ENDED = "loop_ended"
"""The code of a call that was not performed since the loop ended before it."""
_LONGEST = 200
"""Characters of a name that a model may have made up."""
_ANYTHING: dict[str, JsonValue] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call came to."""

    call: AgentCall
    status: CallStatus
    text: str
    """What the model is told."""
    code: str = ""
    """Why it was denied."""


@dataclass(frozen=True, slots=True)
class ToolDesk:
    """The tools of one loop."""

    owner: str
    """The node, or the agent, whose tools they are."""
    gate: ToolGate
    functions: Mapping[str, Function | ServerTool]
    """Name of a tool → what performs it."""
    host: AgentHost
    subject: Mapping[str, JsonValue]
    """What people are told of the loop, beside the call."""

    @property
    def offered(self) -> list[dict[str, JsonValue]]:
        """The tools as a prompt lists them."""
        return [_offer(one) for one in self.gate.tools.tools.values()]

    async def judge(
        self, turn: Run, calls: Sequence[AgentCall], came: dict[int, CallResult]
    ) -> list[tuple[AgentCall, ToolAnswer]]:
        """Return which *calls* of a turn may be performed, once people have decided.

        What *came* of each of the others is entered there.
        """
        checked = [(one, self.gate.check(one.name, one.arguments)) for one in calls]
        if any(answer.outcome == "needs_approval" for _, answer in checked):
            await self.host.settle()
        questions: dict[int, AskedDecision] = {}
        for call, answer in checked:
            with turn.scope(f"call.{call.position}") as lane:
                lane.keep_order()  # of what was decided on it, and what is performed
                if answer.outcome == "denied":
                    came[call.position] = self._denied(lane, call, answer)
                elif answer.outcome == "needs_approval":
                    questions[call.position] = self._ask(lane, call, answer)
        for call, _ in checked:  # nothing is awaited in between: all are waited for
            question = questions.get(call.position)
            if question is None or question.decide().outcome == "approved":
                continue
            with turn.scope(f"call.{call.position}") as lane:
                came[call.position] = self._denied_by_people(lane, call)
        return [one for one in checked if one[0].position not in came]

    def _ask(self, lane: Run, call: AgentCall, answer: ToolAnswer) -> AskedDecision:
        asked = {
            **self.subject,
            "tool": call.name,
            "arguments": dict(answer.arguments),
            "scope": lane.scope_path,
        }
        prompt = f"{lane.scope_path}: {self.owner} calls {call.name}: {answer.message}"
        return lane.ask(asked, prompt)

    def _denied_by_people(self, lane: Run, call: AgentCall) -> CallResult:
        why = {"outcome": "denied", "code": "people", "place": ""}
        lane.record("tool.denied", EngineFact(self._said(call), **why))
        text = f"error: not called, people denied the call of {call.name}"
        return CallResult(call, "denied", text, "people")

    def _denied(self, lane: Run, call: AgentCall, answer: ToolAnswer) -> CallResult:
        lane.record(
            "tool.denied", told_fact(lane, {**self._said(call), **answer.document()})
        )
        where = f" ({answer.place})" if answer.place else ""
        text = f"error: not called, {answer.code}{where}: {answer.message}"
        return CallResult(call, "denied", text, answer.code)

    def ended(self, turn: Run, call: AgentCall, why: str) -> CallResult:
        """State that the loop ended before *call*, and for which reason."""
        said = {"outcome": "denied", "code": _LOOP_ENDED, "place": why}
        with turn.scope(f"call.{call.position}") as lane:
            fact = EngineFact(self._said(call), **said)
            lane.record("tool.denied", fact, held=why == CANCELLED)
        text = f"error: not called, the loop ended: {why}"
        return CallResult(call, "denied", text, _LOOP_ENDED)

    def _said(self, call: AgentCall) -> dict[str, str]:
        return {"node": self.owner, "tool": call.name[:_LONGEST]}

    async def _linked(
        self, host: AgentHost, lane: Run, call: AgentCall, may: ToolAnswer
    ) -> ToolAnswer:
        """Say whether *call* may go to a server, and with which arguments, links followed.

        A tool of ours looks in its own effect, right before it is called. Here the effect
        is the server's, so what was looked at has one of its own.
        """
        if not self.gate.holds_paths(call.name):
            return may

        def look(asked: object) -> object:
            given = cast("Mapping[str, Mapping[str, JsonValue]]", asked)["arguments"]
            answer = self.gate.opened(call.name, given)
            if answer.outcome != "denied":
                return {"arguments": dict(answer.arguments)}
            return {**answer.document(), "message": answer.message}

        request = {"name": call.name, "arguments": dict(may.arguments)}
        found = await host.effect(lane, "links", request, look)
        led = cast("Mapping[str, Mapping[str, JsonValue]]", found)
        if "arguments" in led:
            return replace(may, arguments=led["arguments"])
        said = cast("Mapping[str, str]", found)
        code = cast("GateCode", said["code"])
        return ToolAnswer("denied", code, said["place"], said["message"])

    async def perform(
        self,
        turn: Run,
        judged: Sequence[tuple[AgentCall, ToolAnswer]],
        at_once: int,
        came: dict[int, CallResult],
    ) -> None:
        """Perform the calls that may be, *at_once* at a time, below the lane *turn*.

        What *came* of each is entered there, also if another one ends the run.

        Raises:
            EffectFailed: one of them ended the run.

        """
        stop = Stop(self.host.stop)
        host = replace(self.host, stop=stop)
        jobs = [partial(self._performed, host, turn, *one, came) for one in judged]
        await host.lanes.each(jobs, at_once, len(jobs) + 1, stop)

    async def _performed(
        self,
        host: AgentHost,
        turn: Run,
        call: AgentCall,
        may: ToolAnswer,
        came: dict[int, CallResult],
    ) -> None:
        with turn.scope(f"call.{call.position}") as lane:
            function = self.functions[call.name]
            if isinstance(function, ServerTool):
                led = await self._linked(host, lane, call, may)
                if led.outcome == "denied":
                    came[call.position] = self._denied(lane, call, led)
                    return
                work = partial(_asked, function, lane, call, led)
            else:
                work = partial(self._called, host, lane, call, may, function)
            try:
                came[call.position] = await work()
            except EffectFailed as error:
                linked = refused_link(error)
                came[call.position] = (
                    _failed(call, error)
                    if linked is None
                    else self._denied(lane, call, linked)
                )
                if error.halts:
                    raise
            except BaseException as error:
                if cancels(error):  # it is recorded that it ended, or was cancelled
                    is_good = ended_well(error)
                    came[call.position] = CallResult(
                        call, "done" if is_good else "failed", f"error: {CANCELLED}"
                    )
                raise

    async def _called(
        self,
        host: AgentHost,
        lane: Run,
        call: AgentCall,
        may: ToolAnswer,
        function: Function,
    ) -> CallResult:
        """Return what a function of ours returns for *call*."""
        request = {
            "name": call.name,
            "handler": refer(function),
            "level": self.gate.level_of(call.name),
            "arguments": dict(may.arguments),
        }

        def perform(asked: object) -> object:
            given = cast("Mapping[str, Mapping[str, JsonValue]]", asked)["arguments"]
            own = plain(function)
            return own(**opened_arguments(self.gate, call.name, given, own))

        async def later(asked: object) -> object:
            return await awaited(perform(asked))

        by = ChosenLate(partial(_chosen, function, later, perform))
        value = await host.effect(lane, "tool", request, by)
        status: CallStatus = "failed" if says_error(value) else "done"
        return CallResult(call, status, told_text(value, lane.values))


def _chosen(function: Function, later: Perform, perform: Perform) -> Perform:
    return later if is_coroutine_function(function) else perform


async def _asked(
    tool: ServerTool, lane: Run, call: AgentCall, may: ToolAnswer
) -> CallResult:
    """Return what a server says to *call*."""
    good, text = await tool.called(lane, may.arguments)
    return CallResult(
        call, "done" if good else "failed", text if good else f"error: {text}"
    )


def _failed(call: AgentCall, error: EffectFailed) -> CallResult:
    """Return a call whose tool raised *error*."""
    return CallResult(call, "failed", f"error: {error.error_type}: {error.message}")


def _offer(tool: ToolDefinition) -> dict[str, JsonValue]:
    return {
        "name": tool.name,
        **({"description": tool.description} if tool.description else {}),
        "parameters": tool.parameters or _ANYTHING,
    }


def unperformed(name: str, place: str) -> UsageError:
    """Return the error for a tool without a handler."""
    return UsageError(
        f"nobody performs the tool {name}",
        rule="workflow/tool",
        place=place,
        remedy="give it a handler",
    )


def links_fault(_: object, value: object) -> str | None:
    """Say what is wrong with *value* as where links lead."""
    said = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
    if {*said} == {"arguments"} and isinstance(said["arguments"], Mapping):
        return None
    if all(isinstance(said.get(one), str) for one in ("code", "place", "message")):
        return None
    return "it has the arguments of the call, or code, place and message of a denial"
