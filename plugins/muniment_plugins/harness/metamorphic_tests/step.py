"""The step that runs the code on transformed data, and refuses vacuous tests.

    property.tested {"name": "perm", "transform": "permute_rows", "metric": "total",
                     "passed": true, "difference": 0.0, "tolerance": 1e-06}

Rules:

- A property is tested on several variants of the data: for a permutation, the reversal
  and several seeded orders. All of them have to pass, and the largest difference is
  reported. Each variant's seed, metrics and difference are recorded, and so is the
  source digest of a user's transform.
- The step refuses an unknown transform, one that leaves the data as it was, a test that
  could not have failed, and one that demands no more than its tolerance allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Never, Self, cast

from muniment.errors import ValueRefused
from muniment.programs.references import Function, Named, plain, refer, whole
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.frozen import thaw_members
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.functions.signatures import require_takes
from muniment_plugins.harness.metamorphic_tests.built_in_transforms import (
    BUILT_IN,
    built_in,
)
from muniment_plugins.harness.metamorphic_tests.relations import Observed, Relation
from muniment_plugins.harness.metamorphic_tests.transforms import Transform, Variant
from muniment_plugins.harness.metamorphic_tests.vacuity import (
    LARGEST_RTOL,
    largest_change,
)
from muniment_plugins.harness.metamorphic_tests.variants import Own, different
from muniment_plugins.harness.property import Property
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.requirements import is_amount
from muniment_plugins.harness.steps.execution import Made, run_code
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["TestProperties", "run_metamorphic_tests"]

_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class TestProperties:
    """Tests every property of the spec."""

    __test__: ClassVar[bool] = False
    name: ClassVar[str] = "run_metamorphic_tests"
    transforms: Mapping[str, Function] = field(default_factory=dict[str, Function])
    tolerance: float = 1e-6
    permutations: int = 8
    rtol: float = 0.0
    strict: bool = True
    """Whether a test that could not have failed is refused. Plans of the first edition
    did not have this member."""
    by_value: bool = True
    """Whether data is compared by value, and a demanded change with what is allowed.
    Plans before the third edition did neither."""

    def __post_init__(self) -> None:
        permutations, tolerance, rtol = self.permutations, self.tolerance, self.rtol
        counts = type(permutations) is int and permutations >= 1
        if not counts or not is_amount(tolerance) or not is_amount(rtol):
            _refuse(
                f"tolerance {tolerance!r}, rtol {rtol!r} and {permutations!r} "
                "permutations test nothing",
                "give tolerance >= 0, rtol >= 0 and permutations >= 1",
            )
        if self.strict:
            _refuse_loose(self.rtol, self.name)
        if not _are_functions(self.transforms):
            remedy = "give transforms={name: function}"
            _refuse(f"{self.transforms!r} are not transforms", remedy)

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with one ``<name>_pass`` metric for each property.

        Raises:
            HarnessRefused: a property's test would be vacuous.
            BoundedExecutionError: the code failed on transformed data.

        """
        around = run or here()
        passes = {
            f"{prop.name}_pass": self._test(prop, case, around)
            for prop in case.the_spec().relations
        }
        return replace(case, metrics={**case.metrics, **passes})

    def _test(self, prop: Property, case: Case, around: Surroundings) -> bool:
        before = case.the_outputs()
        transform = self._transform(prop)
        relation = self._relation(prop, transform)
        made = self._variants(prop, transform, case.data, around)
        after = self._run(prop, case, made, around)
        seen = [
            relation.look(
                before,
                outputs,
                variant,
                partial(largest_change, case.data, variant.data),
            )
            for variant, outputs in zip(made, after, strict=True)
        ]
        apart = [one.difference for one in seen]
        passed = all(one.passed for one in seen)
        if self.strict and passed and not any(one.could_fail for one in seen):
            raise _vacuous(prop, relation)
        if self.by_value and passed and not any(one.demands for one in seen):
            raise _undemanding(prop, relation)
        cases = zip(made, after, seen, strict=True)
        fact: dict[str, object] = {
            "name": prop.name,
            "transform": prop.transform,
            "metric": prop.metric,
            "tolerance": relation.tolerance,
            "difference": None if None in apart else max(cast("list[float]", apart)),
            "passed": passed,
            "details": {
                **self._asked(prop, relation),
                "before": dict(before),
                "cases": [_told(*one) for one in cases],
            },
        }
        around.record("property.tested", fact)
        return passed

    def _run(
        self,
        prop: Property,
        case: Case,
        made: list[Variant],
        around: Surroundings,
    ) -> list[dict[str, object]]:
        """Run the code on every variant; built-in ones are named, not written out."""
        if prop.transform in self.transforms:
            inputs: list[object] = [one.data for one in made]
        else:
            named = {"transform": prop.transform}
            arguments = {"arguments": thaw_members(prop.arguments)}
            how = {**named, **(arguments if prop.arguments else {})}
            inputs = [Made(one.data, {**how, "seed": one.seed}) for one in made]
        try:
            return run_code(around, case, inputs)
        except ValueRefused as refusal:
            raise _unrecordable(prop, refusal) from refusal

    def _asked(self, prop: Property, relation: Relation) -> dict[str, object]:
        """Return what was asked, beyond the fact's own members."""
        own = self.transforms.get(prop.transform)
        return {
            "relation": relation.name,
            "direction": relation.direction,
            "rtol": relation.rtol,
            "equal_nan": prop.equal_nan,
            "arguments": thaw_members(prop.arguments),
            "function": None if own is None else refer(plain(own)),
        }

    def _variants(
        self,
        prop: Property,
        transform: Transform,
        data: object,
        around: Surroundings,
    ) -> list[Variant]:
        def draw() -> int:
            return int(around.random() * _SEEDS)

        try:
            made = different(
                transform, data, draw, self.permutations, by_value=self.by_value
            )
        except ValueRefused as refusal:
            raise _unrecordable(prop, refusal) from refusal
        if not made or (self.by_value and _is_idle(transform)):
            raise _idle(prop)
        return made

    def require(self, prop: Property) -> None:
        """Refuse a property that cannot be tested, or whose test could not fail.

        Raises:
            HarnessRefused: its transform is unknown, changes nothing, does not take its
                arguments, or does not have its relation.

        """
        transform = self._transform(prop)
        relation = self._relation(prop, transform)
        demand = getattr(transform, "demand", math.inf)
        if isinstance(transform, Own):
            place = f"property {prop.name}"
            about = {"rule": "harness/transform", "place": place}
            require_takes(transform.function, "data", prop.arguments, **about)
        elif _is_idle(transform):
            raise _idle(prop)
        elif relation.name == "equivariant" and demand <= relation.tolerance:
            raise _undemanding(prop, relation)

    def _relation(self, prop: Property, transform: Transform) -> Relation:
        relation = Relation.of(prop, transform, self.tolerance, self.rtol)
        if self.strict:
            _refuse_loose(relation.rtol, f"property {prop.name}")
        return relation

    def _transform(self, prop: Property) -> Transform:
        place = f"property {prop.name}"
        if prop.transform in self.transforms:
            return Own(self.transforms[prop.transform], prop.arguments)
        if prop.transform in BUILT_IN:
            return built_in(prop.transform, prop.arguments, place)
        known = ", ".join(sorted({*BUILT_IN, *self.transforms}))
        raise HarnessRefused(
            f"Unknown metamorphic transform: {prop.transform}",
            rule="harness/transform",
            place=place,
            remedy=f"use one of {known}, or pass your own in transforms=",
        )

    def describe(self) -> dict[str, object]:
        """Return the step as JSON; transforms are named, not included."""
        return {
            "step": self.name,
            "transforms": {name: refer(one) for name, one in self.transforms.items()},
            "tolerance": self.tolerance,
            "rtol": self.rtol,
            "permutations": self.permutations,
            **({"strict": True} if self.strict else {}),
        }

    @classmethod
    def from_json(
        cls, described: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the step in *described*; *sources* as for `Verifier`."""
        named = cast("Mapping[str, Mapping[str, object]]", described["transforms"])
        known = {name: whole(one, sources.files) for name, one in named.items()}
        return cls(
            {name: Named(sources.recall(one), one) for name, one in known.items()},
            cast("float", described["tolerance"]),
            cast("int", described["permutations"]),
            cast("float", described["rtol"]),
            cast("bool", described.get("strict", False)),
        )


def _is_idle(transform: Transform) -> bool:
    """Tell whether *transform* changes no data at all."""
    return bool(getattr(transform, "idle", False))


def _idle(prop: Property) -> HarnessRefused:
    return HarnessRefused(
        f"{prop.transform} left the data as it was; the test would be vacuous",
        rule="harness/vacuous",
        place=f"property {prop.name}",
        remedy="give more or other rows, or another transform",
    )


def _vacuous(prop: Property, relation: Relation) -> HarnessRefused:
    return HarnessRefused(
        f"tolerance {relation.tolerance:g} and rtol {relation.rtol:g} allow more than the "
        "metrics are large: the test could not have failed, and would be vacuous",
        rule="harness/vacuous",
        place=f"property {prop.name}",
        remedy="give a smaller tolerance, or an rtol below 1 and tolerance 0",
    )


def _undemanding(prop: Property, relation: Relation) -> HarnessRefused:
    return HarnessRefused(
        f"tolerance {relation.tolerance:g} and rtol {relation.rtol:g} allow a metric that "
        f"does not change as {prop.transform} demands: the test could not have failed, "
        "and would be vacuous",
        rule="harness/vacuous",
        place=f"property {prop.name}",
        remedy="give a smaller tolerance, or let the transform change more",
    )


def _unrecordable(prop: Property, refusal: ValueRefused) -> HarnessRefused:
    return HarnessRefused(
        f"what {prop.transform} made cannot be recorded: {refusal.message}",
        rule="harness/transform",
        place=f"property {prop.name}",
        remedy="return JSON values, NumPy arrays or Arrow tables",
    )


def _told(variant: Variant, outputs: Mapping[str, object], seen: Observed) -> object:
    """Return the record of one variant."""
    told = {"seed": variant.seed, "after": outputs}
    return {**told, "difference": seen.difference, "passed": seen.passed}


def run_metamorphic_tests(
    *,
    transforms: Mapping[str, Function] | None = None,
    tolerance: float = 1e-6,
    rtol: float = 0.0,
    permutations: int = 8,
) -> TestProperties:
    """Return the step that tests the spec's properties.

    Args:
        transforms: your own, by name; each gets a copy of the data.
        tolerance: absolute, for properties that name none.
        rtol: relative to the larger metric, for properties that name none.
        permutations: how many variants a seeded transform is tried in; for a
            permutation, the reversal is one of them.

    Raises:
        HarnessRefused: there would be no test, or none could fail.

    """
    return TestProperties(transforms or {}, tolerance, permutations, rtol)


def _refuse_loose(rtol: float, place: str) -> None:
    """Refuse a relative tolerance by which any two numbers of one sign agree."""
    if rtol >= LARGEST_RTOL:
        raise HarnessRefused(
            f"rtol {rtol!r} lets any two numbers of one sign agree; the test would be "
            "vacuous",
            rule="harness/vacuous",
            place=place,
            remedy="give an rtol below 1",
        )


def _are_functions(given: object) -> bool:
    if not isinstance(given, Mapping):
        return False
    return all(map(callable, cast("Mapping[str, object]", given).values()))


def _refuse(message: str, remedy: str) -> Never:
    place = TestProperties.name
    raise HarnessRefused(message, rule="harness/property", place=place, remedy=remedy)
