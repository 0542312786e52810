"""The functions of a flow: found by import path, in the box, or offered by plugins.

    "parts": {"reader": "echo", "writer": "agents:write",
              "judge": {"agent": "agents:judge", "retriever": "agents:search"}}

Rules:

- ``module:function`` is imported from the folder of the manifest first, then from the
  working directory and what is installed. While it is imported, nothing may be run.
- An agent without a part is what a plugin offers under its id (`flow_parts`).
- A record names each function by its stable name, or by import path and digest of its
  source; the start of the run has the digests of their files.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import (
    CannotTellError,
    MunimentError,
    RefusedError,
    UsageError,
)
from muniment.programs.functions import CHANGED, find
from muniment.programs.import_guard import importing
from muniment.programs.references import (
    Function,
    Named,
    Remembered,
    named,
    path_of,
    refer,
    whole,
)
from muniment.programs.stable_names import StableNames
from muniment_plugins.governance.documents.manifest import FlowManifest, FlowPart
from muniment_plugins.governance.documents.places import At, near
from muniment_plugins.governance.flows.steps.box_agents import BOX

if TYPE_CHECKING:
    from muniment.plugins import Plugins

__all__ = [
    "ROLES",
    "FlowFunction",
    "FunctionFinder",
    "RecordedFunctions",
    "StepFunctions",
    "offered_by",
]

FlowFunction = Named | Remembered
ROLES = ("agent", "retriever", "reasoner")


@dataclass(frozen=True, slots=True)
class StepFunctions:
    """The functions of one step; an agent may be another flow instead."""

    agent: FlowFunction | None = None
    retriever: FlowFunction | None = None
    reasoner: FlowFunction | None = None

    def all(self) -> Iterator[tuple[str, FlowFunction]]:
        """Yield each role and its function."""
        for role in ROLES:
            function = cast("FlowFunction | None", getattr(self, role))
            if function is not None:
                yield role, function

    def named(self) -> dict[str, JsonValue]:
        """Return how a record names the functions, by role."""
        return {role: cast("JsonValue", refer(one)) for role, one in self.all()}


def offered_by(plugins: Plugins, hook: str) -> dict[str, Function]:
    """Return the functions that plugins offer by *hook*, by name.

    Raises:
        UsageError: two plugins offer one name.

    """
    found: dict[str, Function] = {}
    owners: dict[str, str] = {}
    for plugin, answer in plugins.ask(hook):
        for name, function in cast("Mapping[str, Function]", answer or {}).items():
            if name in found:
                raise UsageError(
                    f"two plugins offer {name!r}: {owners[name]} and {plugin}",
                    rule="flow/plugin",
                    place=hook,
                    remedy="let MUNIMENT_PLUGINS name one of them",
                )
            found[name], owners[name] = function, plugin
    return found


@dataclass(frozen=True, slots=True)
class FunctionFinder:
    """Finds the functions that documents name."""

    folder: Path
    offered: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """What plugins offer to flows."""
    found: dict[str, FlowFunction] = field(
        default_factory=dict[str, FlowFunction], compare=False, repr=False
    )
    """What was imported before, so that each source is read once."""

    def step(self, flow: FlowManifest, agent: str) -> StepFunctions:
        """Return the functions of the step of *agent*.

        Raises:
            UsageError: one of them is not there.
            CannotTellError: importing one fails.

        """
        at = At(flow.place, "flow")
        part = flow.parts.get(agent, FlowPart())
        there = at.key("parts").key(agent)
        if part.flow is not None:
            return StepFunctions()
        if part.agent is None:
            position = flow.agents.index(agent)
            function = self._offered(agent, at.key("agents").item(position))
        else:
            function = self._boxed_or_imported(part.agent, there.key("agent"))
        if part.agent == "llm" and part.model is None:
            raise there.key("model").wrong(
                "llm asks a model, and none is named", "part", 'write "provider:model"'
            )
        return StepFunctions(
            function,
            self._optional(part.retriever, there.key("retriever")),
            self._optional(part.reasoner, there.key("reasoner")),
        )

    def _offered(self, name: str, at: At) -> FlowFunction:
        if name not in self.offered:
            others = [*BOX, *self.offered]
            raise at.wrong(
                f"nothing says what {name} is",
                "agent-missing",
                f"write it in parts, as one of {', '.join(others)} or module:function, "
                "or install the plugin that offers it",
            )
        return named(self.offered[name])

    def _boxed_or_imported(self, name: str, at: At) -> FlowFunction:
        return named(BOX[name]) if name in BOX else self.imported(name, at)

    def _optional(self, name: str | None, at: At) -> FlowFunction | None:
        return None if name is None else self.imported(name, at)

    def imported(self, name: str, at: At) -> FlowFunction:
        """Return the function that *name*, ``module:function``, is.

        Raises:
            UsageError: there is no such module, or no such function in it.
            CannotTellError: importing it fails.

        """
        if name in self.found:
            return self.found[name]
        module, _, path = name.partition(":")
        with importing(name):
            found: object = self._module(module, at)
        for part in path.split("."):
            if not hasattr(found, part):
                raise at.wrong(
                    f"there is no {part} in {module}",
                    "part",
                    near(part, _offers(found)[:20]),
                )
            found = getattr(found, part)
        if not callable(found):
            raise at.wrong(
                f"{name} is a {type(found).__name__}, and no function",
                "part",
                "name a function",
            )
        self.found[name] = named(found)
        return self.found[name]

    def _module(self, name: str, at: At) -> object:
        for folder in (str(Path.cwd()), str(self.folder.absolute())):
            if folder in sys.path:
                sys.path.remove(folder)
            sys.path.insert(0, folder)
        try:
            return importlib.import_module(name)
        except MunimentError:
            raise
        except ModuleNotFoundError as error:
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                raise at.wrong(
                    f"there is no module {error.name}",
                    "part",
                    f"put it in {self.folder}, or install it",
                ) from None
            raise _broken(error, name, at) from error
        except Exception as error:
            raise _broken(error, name, at) from error


def _offers(place: object) -> list[str]:
    """Return the names of what a module, or a class, defines itself and can be called."""
    home = getattr(place, "__module__", getattr(place, "__name__", None))
    return [
        name
        for name, one in vars(place).items()
        if not name.startswith("_")
        and callable(one)
        and getattr(one, "__module__", home) == home
    ]


def _what(refusal: RefusedError) -> str:
    """Return what changed: the file of a function, or one that it imports."""
    return (
        "its file" if refusal.message.startswith("the program ") else "what it imports"
    )


def _broken(error: Exception, name: str, at: At) -> CannotTellError:
    return CannotTellError(
        f"importing {name} fails: {type(error).__name__}: {error}",
        rule="flow/import",
        place=f"{at.file}: {at.path}",
        remedy="--debug shows the traceback",
    )


@dataclass(frozen=True, slots=True)
class RecordedFunctions:
    """Finds the functions that a run recorded, once they are called."""

    files: tuple[Mapping[str, object], ...]
    """The functions as the start of the run describes them, with their files."""
    names: StableNames
    run: str

    def remembered(self, described: Mapping[str, object]) -> Remembered:
        """Return the stand-in for a function that the run named."""
        return Remembered(whole(described, self.files), self)

    def step(self, rows: Mapping[str, Mapping[str, object]]) -> StepFunctions:
        """Return the functions of a step, which the run named by role."""
        return StepFunctions(
            **{role: self.remembered(rows[role]) for role in ROLES if role in rows}
        )

    def recall(self, described: Mapping[str, object]) -> Function:
        """Return the function that the run *described*.

        Raises:
            CannotTellError: it cannot be imported.
            RefusedError: it is another one now.

        """
        known = {**whole(described, self.files), "functions": self.files}
        try:
            return find(cast("dict[str, JsonValue]", known), self.run, names=self.names)
        except RefusedError as refusal:
            if refusal.rule != CHANGED:
                raise
            raise RefusedError(
                f"{path_of(described)} is not the function that ran: {_what(refusal)} changed",
                rule=CHANGED,
                place=refusal.place,
                remedy="restore the file; or name the flow as it is now, with --program",
            ) from refusal
        except CannotTellError as error:
            raise CannotTellError(
                error.message,
                rule="flow/function",
                place=error.place,
                remedy="give the function to whoever runs this; `--readable` lets a "
                "replay read its folder",
            ) from error
