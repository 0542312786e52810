"""The first two steps: state the claim, issue the spec.

    claim.stated {"id": "sum", "text": "…"}      spec.issued {"allowed_imports": […], …}

Rules:

- A spec that a model proposes is validated like any other, and so are the bounds and
  the properties in it, before anybody is asked for code: a refused one is a fact with
  the rule that refused it, and fails its replicate.
- A spec that names no syntax has the step's, which the plan states; a step recorded
  without one is ``narrow``, as all were then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

from muniment.errors import UsageError
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.claim import Claim, Spec, Syntax
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.steps.admission import refuse_bounds
from muniment_plugins.harness.steps.model_call import (
    Llm,
    Model,
    Question,
    ask,
    describe_model,
    model,
    recall_model,
)
from muniment_plugins.harness.steps.prompts import about_spec, json_of
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["IssueSpec", "StateClaim", "generate_spec", "specify_claim"]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StateClaim:
    """States the claim as the fact ``claim.stated``."""

    name: ClassVar[str] = "specify_claim"
    claim: Claim

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with the claim."""
        (run or here()).record("claim.stated", self.claim.to_json())
        return replace(case, claim=self.claim)

    def under(self, changes: Json) -> Self:
        """Return the step as a treatment changes it."""
        claim = cast("Claim | Json", changes.get("claim", self.claim))
        return replace(self, claim=Claim.of(claim))

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        return {"step": self.name, "claim": self.claim.to_json()}

    @classmethod
    def from_json(cls, described: Json) -> Self:
        """Return the step in *described*."""
        return cls(Claim.of(cast("Json", described["claim"])))


@dataclass(frozen=True, slots=True)
class IssueSpec:
    """Issues the spec, given or proposed by a model, as the fact ``spec.issued``."""

    name: ClassVar[str] = "generate_spec"
    spec: Spec | None = None
    llm: Model | None = None
    syntax: Syntax = "wide"
    """The syntax of a spec from a model or a treatment that names none."""
    checked: bool = True
    """Whether a proposed spec has to be one that code can run under. Plans before the
    third edition learned it from the run."""
    admits: Callable[[Spec], None] | None = field(
        default=None, compare=False, repr=False
    )
    """Refuses a spec that the later steps could not test."""

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with the spec.

        Raises:
            HarnessRefused: no claim was stated before, or the model proposes no spec.

        """
        case.the_claim()
        around = run or here()
        spec = self.spec or self._proposed(case, around)
        around.record("spec.issued", spec.to_json())
        return replace(case, spec=spec)

    def _proposed(self, case: Case, around: Surroundings) -> Spec:
        if self.llm is None:
            raise AssertionError("a spec is given, or a model is asked")
        recorded = {"claim": case.the_claim().to_json(), "wanted": "spec"}
        arguments = (case.the_claim(), case.data, case.told)
        question = Question(about_spec(case), recorded, arguments, _members)
        answer = ask(self.llm, case, around, question)
        try:
            spec = Spec.of(cast("Json", _read(answer)), self.syntax)
            if self.checked:
                refuse_bounds(around, case.entrypoint, spec.bounds, self.name)
                if self.admits is not None:
                    self.admits(spec)
        except HarnessRefused as refusal:
            fact = {"spec": answer, "rule": refusal.rule, "message": refusal.message}
            around.record("spec.refused", fact)
            raise
        return spec

    def under(self, changes: Json) -> Self:
        """Return the step as a treatment changes it; ``spec_llm`` changes its model."""
        if changes.get("spec") is not None:
            spec = Spec.of(cast("Spec | Json", changes["spec"]), self.syntax)
            return replace(self, spec=spec, llm=None)
        if changes.get("spec_llm") is not None:
            asked = model(cast("Llm", changes["spec_llm"]), "generate_spec.llm")
            return replace(self, spec=None, llm=asked)
        return self

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        return {
            "step": self.name,
            "spec": None if self.spec is None else self.spec.to_json(),
            "llm": None if self.llm is None else describe_model(self.llm),
            **({"syntax": self.syntax} if self.syntax == "wide" else {}),
        }

    def narrowed(self) -> Self:
        """Return the step as it was before specs had a syntax."""
        spec = None if self.spec is None else replace(self.spec, syntax="narrow")
        return replace(self, spec=spec, syntax="narrow")

    @classmethod
    def from_json(cls, described: Json, sources: Sources = NO_SOURCES) -> Self:
        """Return the step in *described*; *sources* as for `Verifier`."""
        spec, llm = described["spec"], described.get("llm")
        return cls(
            None if spec is None else Spec.recorded(cast("Json", spec)),
            None if llm is None else recall_model(cast("Json", llm), sources),
            cast("Syntax", described.get("syntax", "narrow")),
        )


def _members(answer: object) -> object:
    """Return a callable's spec as the effect records it."""
    if isinstance(answer, Spec):
        return answer.said()
    if isinstance(answer, Mapping):
        return dict(cast("Json", answer))
    if isinstance(answer, str):
        return answer
    raise HarnessRefused(
        f"the model's callable returned a value of type {type(answer).__name__}",
        rule="harness/llm",
        remedy="return a Spec, a dict of its members, or their JSON",
    )


def _read(answer: object) -> object:
    if not isinstance(answer, str):
        return answer
    try:
        return json_of(answer)
    except ValueError as error:
        raise HarnessRefused(
            f"the model proposed no spec: {error}",
            rule="harness/spec",
            place="generate_spec",
            remedy="have it answer with one JSON object",
        ) from error


def specify_claim(*, claim: Claim | Json) -> StateClaim:
    """Return the step that states *claim*."""
    return StateClaim(Claim.of(claim))


def generate_spec(
    *, spec: Spec | Json | None = None, llm: Llm | None = None
) -> IssueSpec:
    """Return the step that issues *spec*, or what ``llm(claim, data, ctx)`` proposes.

    Raises:
        UsageError: neither or both are given.

    """
    if (spec is None) == (llm is None):
        raise UsageError(
            "either a spec or an llm callable must be provided",
            rule="harness/spec",
            place="generate_spec",
            remedy="give one of spec= and llm=",
        )
    asked = None if llm is None else model(llm, "generate_spec.llm")
    return IssueSpec(None if spec is None else Spec.of(spec), asked)
