"""Calling the tools of a node: each call held to what the node may do.

    stage.tool("read", {"path": "src/parser.py"})

    tool.requested {"name": "read", "handler": {…}, "level": "read_only",
                    "arguments": {"path": "…"}}
    tool.completed …

Rules:

- A call beyond the ceiling is refused before anything is performed, and the refusal is a
  fact. So is a call that the approval policy denies.
- A call that somebody must approve asks people, and waits for them. They are told the
  scope of the call, and the item that a map gave to its node.
- Where links lead is looked at when the call is performed: what leads to where it may not
  be is refused then, and the record has it. The request has the arguments as they were
  asked for; paths that are held are handed over absolute.
- The name, the code, the level and the arguments of a call are its request. A tool that
  only reads is repeated if a crash leaves it in doubt; any other is not, unless whoever
  resumes says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import EffectFailed, RefusedError, UsageError
from muniment.programs.awaiting import awaited, driven
from muniment.programs.references import plain, refer
from muniment_plugins.workflow.runtime.attempts import ChosenLate
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.stages.handlers import is_coroutine_function
from muniment_plugins.workflow.stages.mail_calls import MailCalls
from muniment_plugins.workflow.tools.gate import ToolAnswer, ToolGate
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolHandler,
    registry_of,
)
from muniment_plugins.workflow.vocabulary import told_fact

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.seams import NodeVisit
    from muniment_plugins.workflow.tools.gate import GateCode

__all__ = ["StageCall", "call_of", "gate_of", "opened_arguments", "refused_link"]

Object = Mapping[str, JsonValue]
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class StageCall(StageInput):
    """What a handler works on that is a part of the program, and calls tools."""

    _here: NodeVisit | None = None
    """What states the facts of the visit: no affair of a handler."""

    def tool(self, name: str, arguments: Object | None = None) -> object:
        """Return what the tool *name* of the node returns for *arguments*.

        Raises:
            RefusedError: the node may not call it so, or people denied it.
            EffectFailed: the tool raised.
            UsageError: the workflow is asynchronous: await `atool`.

        """
        if self._activation.conduct.lanes.is_async:
            raise UsageError(
                "the workflow is asynchronous",
                rule="workflow/async",
                place=self.node,
                remedy="`await stage.atool(…)`",
            )
        return driven(self.atool(name, arguments))

    async def atool(self, name: str, arguments: Object | None = None) -> object:
        """Do as `tool` does, awaiting the tool if it must be."""
        return await _called(self._activation, name, _members(arguments, self.node))

    @property
    def mail(self) -> MailCalls:
        """The mail of the run."""
        return MailCalls(self._activation)

    @property
    def _activation(self) -> NodeVisit:
        return cast("NodeVisit", self._here)


def call_of(here: NodeVisit, given: StageInput) -> StageCall:
    """Return *given* as a handler gets it that may call tools."""
    return StageCall(
        given.task,
        given.node,
        given.artifacts,
        given.item,
        given.prompt,
        given.system,
        given.contracts,
        given.metadata,
        here,
    )


def _members(arguments: object, node: str) -> dict[str, JsonValue]:
    """Return the members of *arguments*, which the gate checks.

    Raises:
        UsageError: they are no object.

    """
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return dict(cast("Object", arguments))
    raise UsageError(
        f"the arguments of a tool are an object, not a {type(arguments).__name__}",
        rule="workflow/tool-arguments",
        place=node,
        remedy='write them by name, such as {"path": "a.py"}',
    )


def gate_of(here: NodeVisit, tools: RegistryLike | None = None) -> ToolGate:
    """Return what the calls of the node of a visit are held to, of *tools* or its own."""
    may = here.conduct.permissions(here.node)
    own = cast("RegistryLike", here.node.document.get("tools"))
    return ToolGate(
        registry_of(own if tools is None else tools),
        policy=may.policy,
        approvals=may.approvals,
        base=str(here.conduct.place.folder),
        host={"tool_annotations": here.conduct.host},
    )


async def _called(
    here: NodeVisit, asked_for: object, arguments: dict[str, JsonValue]
) -> object:
    here.path.stop.check()
    gate = gate_of(here)
    answer = gate.check(asked_for, arguments)
    name = str(asked_for)  # a model may give anything, which no tool is called
    if answer.outcome == "denied":
        raise _denied(here, name, answer)
    if answer.outcome == "needs_approval":
        _ask(here, name, answer)
    handler = gate.tools.tools[name].handler
    if handler is None:
        raise UsageError(
            f"nobody performs the tool {name}",
            rule="workflow/tool",
            place=here.node.name,
            remedy="give it a handler",
        )
    function = here.conduct.function(handler)
    request = {
        "name": name,
        "handler": refer(function),
        "level": gate.level_of(name),
        "arguments": dict(answer.arguments),
    }

    def perform(asked: object) -> object:
        called = cast("Mapping[str, Object]", asked)["arguments"]
        given = opened_arguments(gate, name, called, plain(function))
        return plain(function)(**given)

    async def later(asked: object) -> object:
        return await awaited(perform(asked))

    by = ChosenLate(lambda: later if is_coroutine_function(function) else perform)
    try:
        return await here.effect("tool", request, by)
    except EffectFailed as failed:
        linked = refused_link(failed)
        if linked is None:
            raise
        raise _denied(here, name, linked) from failed


class LinkRefused(Exception):
    """A link leads a call to where it may not be."""

    def __init__(self, answer: ToolAnswer) -> None:
        """Keep the *answer* as the ``data`` of the failure."""
        super().__init__(answer.message)
        self.data = answer.document()


def opened_arguments(
    gate: ToolGate, name: str, arguments: Object, function: ToolHandler
) -> Object:
    """Return what *function* is called with, links followed; in the performer.

    Raises:
        LinkRefused: a link leads the call to where it may not be.

    """
    linked = gate.opened(name, arguments, function)
    if linked.outcome == "denied":
        raise LinkRefused(linked)
    return linked.arguments


def refused_link(failed: EffectFailed) -> ToolAnswer | None:
    """Return what `opened_arguments` said, if a call *failed* by that."""
    return _read(failed) if failed.error_type == LinkRefused.__name__ else None


def _read(failed: EffectFailed) -> ToolAnswer:
    said = cast("Mapping[str, str]", failed.data)
    code = cast("GateCode", said["code"])
    return ToolAnswer("denied", code, said["place"], failed.message)


def _denied(here: NodeVisit, name: str, answer: ToolAnswer) -> RefusedError:
    fact = {"node": here.node.name, "tool": name[:_LONGEST], **answer.document()}
    here.lane.record("tool.denied", told_fact(here.lane, fact))
    return RefusedError(
        answer.message,
        rule=f"workflow/tool-{answer.code.replace('_', '-')}",
        place=": ".join(filter(None, (here.node.name, answer.place))),
        remedy="call what the policy of the node allows, or change the policy",
    )


def _ask(here: NodeVisit, name: str, answer: ToolAnswer) -> None:
    """Ask people whether *name* may be called like that.

    Raises:
        RefusedError: they denied it.

    """
    subject = {
        "workflow": here.conduct.graph.name,
        "node": here.node.name,
        "tool": name,
        "arguments": dict(answer.arguments),
        "scope": here.lane.scope_path,
        **({} if here.item is None else {"item": here.item}),
    }
    prompt = f"{here.lane.scope_path}: {here.node.name} calls {name}: {answer.message}"
    decision = here.lane.decide(subject, prompt)
    if decision.outcome != "approved":
        raise RefusedError(
            f"people denied the call of {name}",
            rule="workflow/tool-denied",
            place=here.node.name,
        )
