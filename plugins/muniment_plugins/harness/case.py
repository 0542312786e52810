"""The case that steps pass on: data, claim, spec, code, outputs, metrics.

    case = specify_claim(claim=claim)(Case(data=[1, 2, 3]))

Rules:

- A step returns a new case and never changes one. If something that it needs is
  missing, it refuses, and names the step that would bring it.
- ``told`` is what the user's functions see of the case: a read-only mapping of copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from muniment_plugins.harness.claim import Claim, Spec
from muniment_plugins.harness.functions.handouts import Told
from muniment_plugins.harness.functions.hosts import INLINE, Host
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["DEFAULT_ENTRYPOINT", "Case", "Step"]

DEFAULT_ENTRYPOINT = "fit_and_eval"


@dataclass(frozen=True, slots=True)
class Case:
    """One replicate on its way through the steps."""

    data: object = None
    claim: Claim | None = None
    spec: Spec | None = None
    code: str | None = None
    entrypoint: str = DEFAULT_ENTRYPOINT
    outputs: Mapping[str, object] | None = None
    metrics: Mapping[str, object] = field(default_factory=dict[str, object])
    seed: int = 0
    context: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further values of the experiment and the treatment, which steps take by name."""
    attempt: int = 0
    """How many attempts at code were made before."""
    feedback: Mapping[str, object] | None = None
    """What was wrong with the last attempt."""
    origin: Mapping[str, object] | None = None
    """Which event holds the data; None if each request has to carry it."""
    bounds: Mapping[str, object] = field(default_factory=dict[str, object])
    """Demands on the capsule beyond the bounds of the spec."""
    host: Host = INLINE
    """Where the user's functions are called."""

    @property
    def told(self) -> Told:
        """The context of functions: everything that is known so far, by name."""
        own: dict[str, object] = {
            "seed": self.seed,
            "data": self.data,
            "claim": self.claim,
            "spec": self.spec,
            "code": self.code,
            "outputs": None if self.outputs is None else dict(self.outputs),
            "metrics": dict(self.metrics),
            "attempt": self.attempt,
            "feedback": None if self.feedback is None else dict(self.feedback),
        }
        known = {name: value for name, value in own.items() if value is not None}
        everything = {**own, **self.context, **known}
        return Told(everything, here().values)

    def the_claim(self) -> Claim:
        """Return the claim, or refuse."""
        if self.claim is None:
            raise _missing("claim", "specify_claim(claim=…)")
        return self.claim

    def the_spec(self) -> Spec:
        """Return the spec, or refuse."""
        if self.spec is None:
            raise _missing("spec", "generate_spec(spec=…)")
        return self.spec

    def the_code(self) -> str:
        """Return the accepted code, or refuse."""
        if self.code is None:
            raise _missing("code", "bounded_synthesis(code=… | llm=…)")
        return self.code

    def the_outputs(self) -> Mapping[str, object]:
        """Return what the code returned, or refuse."""
        if self.outputs is None:
            raise _missing("output of the code", "execute_capsule()")
        return self.outputs


class Step(Protocol):
    """A step of a pipeline: called with a case, in a run or by hand."""

    name: ClassVar[str]

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return the case after this step."""
        ...

    def describe(self) -> dict[str, object]:
        """Return the step as JSON from which it can be rebuilt."""
        ...


def _missing(what: str, step: str) -> HarnessRefused:
    return HarnessRefused(
        f"there is no {what} yet",
        rule="harness/order",
        remedy=f"put {step} before this step",
    )
