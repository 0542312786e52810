"""A function of which only the source is left: it runs again in the capsule.

    @verifier                                        def small(before, now, limit=3):
    def small(before, now, *, limit=3):       ->         return {…}
        return {…}                                   def called_again(data): …

Rules:

- Recorded source is somebody else's code: it runs within bounds like any other, never
  in this process, unless whoever replays says that they trust it (`Trusted`).
- Only a self-contained function can run: the names around it are gone. For any other,
  the error says that its answer cannot be derived again. Which names of builtins were
  bound ``around`` it says the start of the run; a record of an earlier edition does not,
  and there such a name is taken for the builtin.
- `sources` reads it, `capsule_call` calls it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self, cast

from muniment.errors import CannotTellError, MunimentError, RefusedError
from muniment.programs.references import Function
from muniment.replays.guards import GUARDS
from muniment.runs.run import current_run
from muniment_plugins.harness.functions.capsule_call import (
    ENTRY,
    framed,
    lowered,
    received,
)
from muniment_plugins.harness.functions.from_source import FromSource, another
from muniment_plugins.harness.functions.sources import (
    bare_function,
    imports,
    parameters,
)

__all__ = ["Sourced", "Trusted"]

_LIMITS = {"time_s": 10, "mem_mb": 512}


@dataclass(frozen=True, slots=True)
class Sourced(FromSource):
    """A function made from recorded source; ``described`` is how the plan names it."""

    described: Mapping[str, object]
    code: str
    imports: tuple[str, ...]
    parameters: tuple[inspect.Parameter, ...]
    changed: bool = False

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes, for callers that ask first."""
        return inspect.Signature(self.parameters)

    @classmethod
    def of(
        cls,
        described: Mapping[str, object],
        text: str,
        changed: bool = False,
        around: Collection[str] = (),
    ) -> Self | None:
        """Return the function in *text*; None if it is not self-contained."""
        function = bare_function(text, around)
        if function is None:
            return None
        takes = parameters(function.args)
        return cls(described, framed(function), imports(function), takes, changed)

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it in the capsule.

        Raises:
            CannotTellError: the function needs something that is gone, or takes or
                returns something without a plain form.
            RefusedError: the same, and it is in a file that changed.

        """
        lane = current_run()
        try:
            data = lowered(arguments, named)
            # The capsule keeps the code from everything that the guards forbid here.
            with lane.unguarded(*GUARDS):
                answer = lane.hook("execute_code", request=self._request(data))
        except RefusedError as refusal:
            raise _lost(self.described, refusal.message, self.changed) from refusal
        told = cast("Mapping[str, object]", answer)
        if told["status"] != "ok":
            error = cast("Mapping[str, object]", told["error"])
            raise _lost(self.described, str(error["message"]), self.changed)
        return received(cast("Mapping[str, object]", told["metrics"])["whole"])

    def _request(self, data: object) -> dict[str, object]:
        return {
            "code": self.code,
            "data": data,
            "entrypoint": ENTRY,
            "allowed_imports": list(self.imports),
            "resources": _LIMITS,
            "syntax": "wide",  # it was written for plain Python
        }


@dataclass(frozen=True, slots=True)
class Trusted(FromSource):
    """A function made from its recorded source in this process."""

    described: Mapping[str, object]
    function: Function
    changed: bool = False

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes."""
        return inspect.signature(self.function)

    @classmethod
    def of(
        cls,
        described: Mapping[str, object],
        text: str,
        changed: bool = False,
        around: Collection[str] = (),
    ) -> Self | None:
        """Return the function in *text*; None if *text* is not a single function."""
        function = bare_function(text, around)
        if function is None:
            return None
        module = ast.Module([function], [])
        names: dict[str, object] = {"__name__": "recorded"}
        try:
            # Whoever replays said that they trust the recorded source.
            exec(compile(module, "<recorded>", "exec"), names)  # noqa: S102
        except NameError as error:  # a default value from outside the function
            raise _lost(described, str(error), changed) from error
        return cls(described, cast("Function", names[function.name]), changed)

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it here.

        Raises:
            CannotTellError: the function needs something that is gone.
            RefusedError: the same, and it is in a file that changed.

        """
        try:
            return self.function(*arguments, **named)
        except NameError as error:
            raise _lost(self.described, str(error), self.changed) from error


def _lost(described: Mapping[str, object], why: str, changed: bool) -> MunimentError:
    if changed:
        return another(
            described, f"; its recorded source does not run by itself: {why}"
        )
    return CannotTellError(
        f"the function {described.get('import')} cannot be imported, and its recorded "
        f"source does not run by itself: {why}",
        rule="harness/function",
        place="the recorded experiment",
        remedy="put it in a module, replay with --trust-source where it only needs to "
        "be outside the capsule, or with program=experiment.program",
    )
