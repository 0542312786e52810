"""Custom steps, made from the user's plain functions.

    @pipeline_step
    def halve(data, ctx, share=0.5):
        return data[: int(len(data) * share)], {"kept": share}

    Pipeline([…, halve(share=0.25), …])

Rules:

- The first parameter is the data; one called ``ctx`` gets everything that is known. The
  others are given when the step is made, or found in the context, or have a default.
- A step returns the new data, or ``(data, metrics)``. Both are recorded:
  ``step.applied`` holds the data if its content differs from what the step was given.
  Changes that the step makes to its input, and does not return, have no effect.
- A plan names the function by import path and source digest; a replay imports it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import ClassVar, Self, cast, overload

from muniment.errors import UsageError, ValueRefused
from muniment.programs.references import (
    Function,
    Named,
    Remembered,
    named,
    plain,
    refer,
    title_of,
)
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.functions.handouts import Given, alike, handed, kept
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.steps.execution import refuse_passes
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["Custom", "Maker", "pipeline_step"]

CONTEXT = "ctx"
Maker = Callable[..., "Custom"]
"""Makes a step from the parameters with which it is called."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A step that calls a user's function."""

    name: ClassVar[str] = "custom"
    function: Named | Remembered
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    by_content: bool = True
    """False in a plan of the first edition, which took every copy for other data."""

    @property
    def title(self) -> str:
        """The function's name."""
        return title_of(self.function.described)

    @property
    def takes(self) -> list[str]:
        """The parameters that are looked up by name."""
        return _takes(plain(self.function))

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with what the function returned.

        Raises:
            HarnessRefused: a parameter is not found, the data that the function
                returned has no exact form, or a metric claims to have passed.

        """
        arguments = self._arguments(case)
        around = run or here()
        given = handed(case.data, around.values, "the data")
        answer = case.host.call(self.function, Given(given), **arguments)
        copied = not self.by_content and _parts(answer)[0] is not given
        data, metrics, changed = self._returned(answer, case.data, around)
        changed = changed or copied
        fact: dict[str, object] = {"step": self.title, "metrics": metrics}
        around.record("step.applied", {**fact, "data": data if changed else None})
        origin = {"step": self.title} if changed and case.origin else case.origin
        return replace(
            case, data=data, metrics={**case.metrics, **metrics}, origin=origin
        )

    def _returned(
        self, answer: object, before: object, around: Surroundings
    ) -> tuple[object, Mapping[str, object], bool]:
        """Return data, metrics, and whether the data differs from *before*."""
        data, metrics = _parts(answer)
        refuse_passes(metrics, self.title)
        if data is None and before is not None and self.by_content:
            raise HarnessRefused(
                f"{self.title} returned no data",
                rule="harness/step",
                place=self.title,
                remedy="return the data, or (data, metrics)",
            )
        try:
            metrics = cast("dict[str, object]", kept(metrics, around.values))
            if alike(data, before, around.values):
                return before, metrics, False
            return kept(data, around.values), metrics, True
        except ValueRefused as refusal:
            raise HarnessRefused(
                f"what {self.title} returned cannot be recorded: {refusal.message}",
                rule="harness/step",
                place=refusal.place,
                remedy="return JSON values, NumPy arrays or Arrow tables",
            ) from refusal

    def _arguments(self, case: Case) -> dict[str, object]:
        told = case.told
        known = told.known
        self.require(known)
        values = {**known, **self.parameters, CONTEXT: told}
        return {name: values[name] for name in self.given_by_name(known)}

    def given_by_name(self, known: Mapping[str, object]) -> list[str]:
        """Return the names of what the function is given, if *known* is the context."""
        parameters = list(inspect.signature(plain(self.function)).parameters)[1:]
        values = {CONTEXT, *self.parameters, *known}
        return [name for name in parameters if name in values]

    def require(self, known: Mapping[str, object]) -> None:
        """Refuse a context that lacks a parameter which was not given.

        Raises:
            HarnessRefused: it names the parameter.

        """
        parameters = inspect.signature(plain(self.function)).parameters.values()
        for one in list(parameters)[1:]:
            open_ = one.default is inspect.Parameter.empty and one.name != CONTEXT
            if open_ and one.name not in self.parameters and one.name not in known:
                raise HarnessRefused(
                    f"{self.title} needs {one.name}, and nobody gives it",
                    rule="harness/step",
                    place=self.title,
                    remedy=f"write {self.title}({one.name}=…), or put it into "
                    "initial_ctx",
                )

    def under(self, changes: Mapping[str, object]) -> Self:
        """Return the step with the parameters that a treatment changes."""
        known = {name: changes[name] for name in changes if name in self.parameters}
        return replace(self, parameters={**self.parameters, **known})

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        return {
            "step": self.name,
            "function": refer(self.function),
            "parameters": dict(self.parameters),
            **({"compared": "content"} if self.by_content else {}),
        }

    @classmethod
    def from_json(
        cls, described: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the step in *described*; *sources* as for `Verifier`."""
        return cls(
            sources.remembered(cast("Mapping[str, object]", described["function"])),
            cast("Mapping[str, object]", described["parameters"]),
            "compared" in described,
        )


@overload
def pipeline_step(function: Function, /) -> Maker: ...
@overload
def pipeline_step() -> Callable[[Function], Maker]: ...
def pipeline_step(
    function: Function | None = None, /
) -> Maker | Callable[[Function], Maker]:
    """Turn ``function(data[, ctx], **parameters)`` into the maker of a step.

    It is used with or without ``()``. Called with parameters, the maker returns the
    step, and refuses parameters that the function does not have.
    """
    return _maker if function is None else _maker(function)


def _takes(function: Function) -> list[str]:
    names = list(inspect.signature(function).parameters)[1:]
    return [name for name in names if name != CONTEXT]


def _maker(function: Function) -> Maker:
    if not callable(function):
        raise UsageError(
            f"{function!r} is not a function",
            rule="harness/step",
            place="pipeline_step",
            remedy="write @pipeline_step above def step(data, ctx): …",
        )

    @wraps(function)
    def make(*positional: object, **parameters: object) -> Custom:
        names = _takes(function)
        unknown = sorted(parameters.keys() - set(names))
        if unknown or positional:
            known = known_first(next(iter(unknown), ""), names)
            raise UsageError(
                f"Unknown parameters: {', '.join(unknown)}"
                if unknown
                else "parameters are given by name",
                rule="harness/step",
                place=getattr(function, "__qualname__", "pipeline_step"),
                remedy=f"known are: {', '.join(known) or 'none'}",
            )
        return Custom(named(function), _kept(parameters, function))

    # A plan's import path leads here, and means the function.
    make.plain_function = function  # type: ignore[attr-defined]
    return make


def _kept(parameters: Mapping[str, object], function: Function) -> dict[str, object]:
    """Return copies of *parameters*, which later changes do not affect."""
    try:
        return {name: kept(one) for name, one in parameters.items()}
    except ValueRefused as refusal:
        raise UsageError(
            f"a parameter cannot be recorded: {refusal.message}",
            rule="harness/step",
            place=getattr(function, "__qualname__", "pipeline_step"),
            remedy="give JSON values, NumPy arrays or Arrow tables",
        ) from refusal


def _parts(answer: object) -> tuple[object, dict[str, object]]:
    whole = answer
    items = cast("tuple[object, ...]", answer) if isinstance(answer, tuple) else ()
    if len(items) == 2 and isinstance(items[1], Mapping):  # noqa: PLR2004 - a pair
        return items[0], dict(cast("Mapping[str, object]", items[1]))
    return whole, {}
