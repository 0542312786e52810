"""A function of which only the source is left: it runs again, in the capsule.

    @verifier                                        def small(before, now, limit=3):
    def small(before, now, *, limit=3):       ->         return {…}
        return {…}                                   def called_again(data): …

Rules:

- Recorded source is somebody else's code: it runs within bounds like any other, never
  in this process; only `Trusted` source does, for who says that they trust it.
- Only a function that stands by itself can: what it takes from around it is not there.
  Then what it said cannot be derived again, and that is said.
- How it is read stands in `sources`, how it is called in `frames`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

from muniment.errors import CannotTellError, RefusedError
from muniment.guarding import GUARDS
from muniment.lanes import current_run
from muniment_plugins.harness.frames import ENTRY, framed, lowered, received
from muniment_plugins.harness.references import Function
from muniment_plugins.harness.sources import bare_function, imports, parameters

__all__ = ["Sourced", "Trusted"]

_LIMITS = {"time_s": 10, "mem_mb": 512}


@dataclass(frozen=True, slots=True)
class Sourced:
    """A function by its recorded source; ``described`` is how the plan names it."""

    described: Mapping[str, object]
    code: str
    imports: tuple[str, ...]
    parameters: tuple[inspect.Parameter, ...]

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes, for who asks before calling it."""
        return inspect.Signature(self.parameters)

    @classmethod
    def of(cls, described: Mapping[str, object], text: str) -> Self | None:
        """Return the function in *text*; None if it does not stand by itself."""
        function = bare_function(text)
        if function is None:
            return None
        return cls(
            described, framed(function), imports(function), parameters(function.args)
        )

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it in the capsule.

        Raises:
            CannotTellError: the function needs what is not there any more, or takes or
                returns what has no plain form.

        """
        lane = current_run()
        try:
            data = lowered(arguments, named)
            # The capsule keeps the code from all that the guards keep this process from.
            with lane.unguarded(*GUARDS):
                answer = lane.hook("execute_code", request=self._request(data))
        except RefusedError as refusal:
            raise _lost(self.described, refusal.message) from refusal
        told = cast("Mapping[str, object]", answer)
        if told["status"] != "ok":
            error = cast("Mapping[str, object]", told["error"])
            raise _lost(self.described, str(error["message"]))
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
class Trusted:
    """A function made of its recorded source in this process."""

    described: Mapping[str, object]
    function: Function

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes."""
        return inspect.signature(self.function)

    @classmethod
    def of(cls, described: Mapping[str, object], text: str) -> Self | None:
        """Return the function in *text*; None if it is not a function by itself."""
        function = bare_function(text)
        if function is None:
            return None
        module = ast.Module([function], [])
        names: dict[str, object] = {"__name__": "recorded"}
        try:
            # Whoever replays said that they trust what the run recorded.
            exec(compile(module, "<recorded>", "exec"), names)  # noqa: S102
        except NameError as error:  # a default that stood outside
            raise _lost(described, str(error)) from error
        return cls(described, cast("Function", names[function.name]))

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it here.

        Raises:
            CannotTellError: the function needs what is not there any more.

        """
        try:
            return self.function(*arguments, **named)
        except NameError as error:
            raise _lost(self.described, str(error)) from error


def _lost(described: Mapping[str, object], why: str) -> CannotTellError:
    return CannotTellError(
        f"the function {described.get('import')} cannot be imported, and its recorded "
        f"source does not run by itself: {why}",
        rule="harness/function",
        place="the recorded experiment",
        remedy="put it in a module, replay with --trust-source where it only needs to "
        "be outside the capsule, or with program=experiment.program",
    )
