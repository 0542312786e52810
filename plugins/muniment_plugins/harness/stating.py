"""The first two steps: state the claim, issue the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

from muniment_plugins.harness.cases import Case
from muniment_plugins.harness.claims import Claim, Spec
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["IssueSpec", "StateClaim", "generate_spec", "specify_claim"]


@dataclass(frozen=True, slots=True)
class StateClaim:
    """States the claim as the fact ``claim.stated``."""

    name: ClassVar[str] = "specify_claim"
    claim: Claim

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with the claim."""
        (run or here()).record("claim.stated", self.claim.to_json())
        return replace(case, claim=self.claim)

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        return {"step": self.name, "claim": self.claim.to_json()}

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Self:
        """Return the step that *described* says."""
        return cls(Claim.of(cast("Mapping[str, object]", described["claim"])))


@dataclass(frozen=True, slots=True)
class IssueSpec:
    """Issues the spec as the fact ``spec.issued``."""

    name: ClassVar[str] = "generate_spec"
    spec: Spec

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with the spec.

        Raises:
            HarnessRefused: no claim was stated before.

        """
        case.the_claim()
        (run or here()).record("spec.issued", self.spec.to_json())
        return replace(case, spec=self.spec)

    def describe(self) -> dict[str, object]:
        """Return the step as JSON."""
        return {"step": self.name, "spec": self.spec.to_json()}

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Self:
        """Return the step that *described* says."""
        return cls(Spec.of(cast("Mapping[str, object]", described["spec"])))


def specify_claim(*, claim: Claim | Mapping[str, object]) -> StateClaim:
    """Return the step that states *claim*."""
    return StateClaim(Claim.of(claim))


def generate_spec(*, spec: Spec | Mapping[str, object]) -> IssueSpec:
    """Return the step that issues *spec*."""
    return IssueSpec(Spec.of(spec))
