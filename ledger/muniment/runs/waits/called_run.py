"""What a run asks for when it calls another: a program, its params and a name.

    child.requested   request: {"program": "triage", "params": {…}, "name": "triage"}
    child.completed   value: what it returned     about: {"run": "01JD…", "leaf": "9f86…"}

Rules: a program is requested by its stable name, or by its qualified name without the
module, which changes when a script is imported from its file. The child's
``run.started`` says which code ran.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muniment.errors import UsageError
from muniment.programs.functions import Program, describe

__all__ = ["CalledRun"]


class _Calling(Protocol):
    """The effect that calls a run, which knows who conducts it."""

    def conduct(self, called: CalledRun, *, awaits: bool) -> object:
        """Run what was *called* to its end."""
        ...


@dataclass(frozen=True, slots=True)
class CalledRun:
    """A program that a run calls as a run of its own."""

    program: Program
    seed: str
    """The seed from which the child draws its numbers; derived from its parent's."""
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    name: str | None = None

    def request(self) -> dict[str, object]:
        """Return the request in the parent's record."""
        described = describe(self.program)
        imported = str(described.get("import", "")).partition(":")[2]
        return {
            "program": described.get("name") or imported,
            "params": dict(self.params),
            "name": self.name or getattr(self.program, "__name__", None) or "run",
        }

    def refuse_async(self) -> None:
        """Refuse a program that must be awaited, before anything is written."""
        if inspect.iscoroutinefunction(self.program):
            raise UsageError(
                "the program is asynchronous",
                rule="run/async",
                place=getattr(self.program, "__qualname__", repr(self.program)),
                remedy="use `await run.acall(…)`",
            )

    def perform(self, call: _Calling, *, awaits: bool) -> object:
        """Run the program to its end; return what it returned, or what returns it."""
        return call.conduct(self, awaits=awaits)
