"""What a loop in a program is given, read and checked before anything is asked.

Rule: an unknown name is refused, and so are options that contradict each other, tools that
nobody performs, and functions that must be awaited where nothing is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypedDict, cast

from muniment.documents.places import At, near
from muniment.documents.shapes import Choice, Text
from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment.programs.finder import FunctionFinder
from muniment.programs.references import Function, Named, named, plain
from muniment.runs.lanes.listening import Receiver
from muniment_plugins.workflow.agents.loop.options import (
    AgentOptions,
    contradictions,
    options_for,
)
from muniment_plugins.workflow.agents.loop.structured import require_schema
from muniment_plugins.workflow.agents.loop.tool_desk import unperformed
from muniment_plugins.workflow.agents.loop.tool_servers import RecordedServer
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.artifacts.plain_json import plain_json
from muniment_plugins.workflow.ceilings.approvals import ApprovalLike
from muniment_plugins.workflow.ceilings.policy import PolicyLike
from muniment_plugins.workflow.documents.shapes import NAME
from muniment_plugins.workflow.sessions.asking import require_askable
from muniment_plugins.workflow.sessions.inside import RunSession
from muniment_plugins.workflow.sessions.policies import CompactPolicy, compact_policy
from muniment_plugins.workflow.tools.gate import ToolGate
from muniment_plugins.workflow.tools.registry import (
    RegistryLike,
    ToolRegistry,
    registry_of,
)
from muniment_plugins.workflow.tools.schemas import require_schemas
from muniment_plugins.workflow.tools.unheld_paths import warn_of_unheld

__all__ = ["AgentArguments", "LoopSetup", "require_asked"]

_SCRIPT = "__main__"
_ROLES = ("user", "assistant", "tool", "system")
_OBJECT = (Mapping, "write an object: {…}")
_FORMS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "system": (str, "write a text"),
    "options": _OBJECT,
    "tool_annotations": _OBJECT,
    "base": ((str, PathLike), "write the path of a folder"),
    "artifacts": (Iterable, "write a list of artifacts"),
    "servers": (Iterable, "write a list of what `tool_server` gives"),
}
"""What else the members that are read as they are may be."""


class AgentArguments(TypedDict, total=False):
    """The arguments of a loop that may be left out."""

    tools: RegistryLike
    system: str
    schema: Mapping[str, JsonValue]
    """JSON Schema of the last answer."""
    options: Mapping[str, object]
    artifacts: Iterable[object]
    """What is shown above the prompt."""
    capability_policy: PolicyLike
    approval_policy: ApprovalLike
    tool_annotations: Mapping[str, JsonValue]
    """What the caller states about tools that say nothing about themselves."""
    servers: Iterable[RecordedServer]
    name: str
    base: str
    """The folder where relative paths begin."""
    on_text: Callable[[str], object]
    """Gets what the model says, as it says it; it changes nothing in the record."""
    session: RunSession
    """What was said before; what is said is added to it."""
    auto_compact: Mapping[str, object] | CompactPolicy
    """When the conversation is compacted, and how; see `sessions.policies`."""


@dataclass(frozen=True, slots=True)
class LoopSetup:
    """What a loop in a program works with."""

    tools: ToolRegistry
    functions: Mapping[str, Function]
    options: AgentOptions
    given: AgentArguments
    artifacts: tuple[Artifact, ...] = ()
    compaction: CompactPolicy | None = None
    hears: Receiver | None = None
    """Who gets the scope and the text of what the model says."""

    @classmethod
    def of(cls, given: AgentArguments, model: str) -> LoopSetup:
        """Return the setup that *given* says; *model* summarises, if no other is named.

        Raises:
            UsageError: something of it is wrong.
            CannotTellError: jsonschema is not installed, or a function not importable.

        """
        known = AgentArguments.__annotations__
        at = At("agent_loop", "workflow")
        for unknown in given.keys() - known.keys():
            raise at.key(unknown).wrong(
                f"no loop has {unknown!r:.60}", "unknown-key", near(unknown, known)
            )
        NAME.check(given.get("name", "agent"), at.key("name"))
        _require_session(given.get("session"))
        _require_forms(given, at)
        tools = registry_of(given.get("tools"))
        require_schema(given.get("schema"), at.key("schema"))
        return cls(
            tools,
            _functions(tools, at.key("tools")),
            options_for(given.get("options"), At("options", "workflow")),
            given,
            tuple(artifact(one) for one in given.get("artifacts", ())),
            _compaction(given, model),
            _receiver(given),
        )

    def with_tools(self, tools: ToolRegistry) -> LoopSetup:
        """Return these with further *tools*; refuse what cannot be.

        Raises:
            UsageError: options contradict each other, or a tool.

        """
        has_schema = self.given.get("schema") is not None
        for member, why, remedy in contradictions(
            self.options, tools.tools, has_schema=has_schema
        ):
            raise At("options", "workflow").key(member).wrong(why, "option", remedy)
        if tools.tools:
            require_schemas("agent_loop")
        for name, one in tools.tools.items():
            if one.defer_loading:
                at = At("tools", "workflow").key(name)
                raise at.wrong(
                    "a loop offers all of its tools at once",
                    "deferred",
                    "leave defer_loading out",
                )
        _require_annotated(self.given.get("tool_annotations") or {}, tools)
        made = replace(self, tools=tools)
        gate = made.gate
        warn_of_unheld(tools, gate.limits, gate.approvals, "agent_loop")
        return made

    @property
    def gate(self) -> ToolGate:
        """What calls are held to."""
        return self.gate_in(str(Path(self.given.get("base", ".")).resolve()))

    def gate_in(self, folder: str) -> ToolGate:
        """Return what calls are held to, where relative paths begin at *folder*."""
        labels = self.given.get("tool_annotations")
        return ToolGate(
            self.tools,
            policy=self.given.get("capability_policy"),
            approvals=self.given.get("approval_policy"),
            base=folder,
            host=None if labels is None else {"tool_annotations": dict(labels)},
        )

    @property
    def begins_here(self) -> bool:
        """Whether paths begin at the folder of the process, or below."""
        return not Path(self.given.get("base", ".")).is_absolute()

    def refuse_waiting(self) -> None:
        """Refuse what a loop that is not awaited cannot do.

        Raises:
            UsageError: a function, or a server, must be awaited.

        """
        waiting = [
            name
            for name, one in self.functions.items()
            if inspect.iscoroutinefunction(plain(one))
        ]
        if waiting or self.given.get("servers"):
            what = f"the tool {waiting[0]}" if waiting else "a server of tools"
            raise UsageError(
                f"{what} has to be awaited",
                rule="workflow/async",
                place="agent_loop",
                remedy="`await agent_aloop(…)`",
            )


def _require_annotated(stated: Iterable[str], tools: ToolRegistry) -> None:
    """Refuse what is *stated* about a tool that is not there: its name is misspelt.

    Raises:
        UsageError: something is.

    """
    at = At("tool_annotations", "workflow")
    for name in stated:
        if name not in tools.tools:
            remedy = near(name, tools.tools)
            raise at.key(name).wrong(
                f"there is no tool {name!r:.60}", "unknown-tool", remedy
            )


def _require_forms(given: AgentArguments, at: At) -> None:
    """Refuse values that are not of the kind that *given* says."""
    said = cast("Mapping[str, object]", given)
    for name, (known, remedy) in _FORMS.items():
        value = said.get(name)
        if value is not None and not isinstance(value, known):
            raise at.key(name).wrong(f"it is a {type(value).__name__}", "type", remedy)


def require_asked(prompt: object, model: object) -> None:
    """Refuse a *prompt* that nobody can be asked, and a *model* that is none.

    Raises:
        UsageError: the prompt is neither a text nor messages, or the model no name.

    """
    at = At("agent_loop", "workflow")
    Text().check(cast("JsonValue", model), at.key("model"))
    if isinstance(prompt, str):
        plain_json(prompt, at.key("prompt"))
        return
    kind = type(prompt).__name__
    if isinstance(prompt, Mapping) or not isinstance(prompt, Sequence):
        raise at.key("prompt").wrong(
            f"it is a {kind}",
            "type",
            'write a text, or messages: [{"role": "user", "content": "…"}]',
        )
    for number, one in enumerate(cast("Sequence[object]", prompt)):
        there = at.key("prompt").item(number)
        if not isinstance(one, Mapping):
            raise there.wrong(
                f"it is a {type(one).__name__}, not a message",
                "type",
                'write {"role": "user", "content": "…"}',
            )
        said = cast("Mapping[str, JsonValue]", one)
        Choice(_ROLES).check(said.get("role"), there.key("role"))
        plain_json(dict(said), there)


def _compaction(given: AgentArguments, model: str) -> CompactPolicy | None:
    if "auto_compact" not in given:
        return None
    policy = compact_policy(given["auto_compact"], At("auto_compact", "workflow"))
    if policy.summarize_model is None:
        policy = replace(policy, summarize_model=model)
    require_askable(policy)
    return policy


def _require_session(session: object) -> None:
    """Refuse what is no session of the run, such as the id of one.

    Raises:
        UsageError: it is none.

    """
    if session is not None and not isinstance(session, RunSession):
        raise (
            At("agent_loop", "workflow")
            .key("session")
            .wrong(
                f"a {type(session).__name__} is no session of the run",
                "session",
                "with RunSession.join(run, id) as session: agent_loop(…, session=session)",
            )
        )


def _receiver(given: AgentArguments) -> Receiver | None:
    tell = given.get("on_text")
    if tell is None:
        return None
    Receiver.of(tell, "agent_loop: on_text", ("text",))

    def told(scope: str, text: str) -> object:
        del scope
        return tell(text)

    return Receiver(told)


def _named(function: Function) -> Function:
    """Return *function* with its description, under the name that its script has elsewhere.

    A script is ``__main__`` where it runs, and has its own name where a replay imports it.
    """
    found = named(function)
    path = str(found.described.get("import", ""))
    module, _, name = path.partition(":")
    if module != _SCRIPT or "file" not in found.described:
        return found
    own = f"{Path(str(found.described['file'])).stem}:{name}"
    return Named(function, {**found.described, "import": own})


def _functions(tools: ToolRegistry, at: At) -> dict[str, Function]:
    finder, found = FunctionFinder(Path()), dict[str, Function]()
    for name, one in tools.tools.items():
        if name in tools.handlers:
            found[name] = _named(cast("Function", tools.handlers[name]))
        elif one.handler is None:
            raise unperformed(name, f"{at.file}: {at.path}")
        else:
            found[name] = finder.imported(one.handler, at.key(name))
    return found
