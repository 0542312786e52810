"""Verifiers, which judge a hypothesis: functions over the metrics of all replicates.

    metamorphic, metamorphic()     every tested property passed everywhere
    meets_claim                    in `judgement`

    @verifier
    def small(baseline, condition, *, limit=3):
        return {"passed": max(condition["n"]) < limit}

Rules:

- A verifier that finds nothing to judge refuses; a missing no is never a yes.
- Calling a verifier with settings makes another verifier; settings that its function
  does not take are refused. A function with a parameter ``claim`` or ``seed`` is given
  the stated claim, or a seed of the run.
- A verifier is given copies, and its answer is kept as it is recorded: it cannot change
  another verdict.
- A verdict names its verifier, by stable name or with the digest of its source, its
  inputs and its result. If the source changed, a replay finds the verdict changed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn, Self, TypeVar, cast, overload

from muniment.errors import ValueRefused
from muniment.programs.references import (
    Function,
    Named,
    naming,
    path_of,
    plain,
    refer,
    whole,
)
from muniment.programs.stable_names import stable_name
from muniment_plugins.harness.claim import Claim
from muniment_plugins.harness.functions.handouts import handed, kept
from muniment_plugins.harness.functions.recorded_functions import (
    NO_SOURCES,
    Sources,
    judging_name,
)
from muniment_plugins.harness.functions.signatures import require_takes
from muniment_plugins.harness.names import known_first
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.requirements import require_text
from muniment_plugins.harness.statistics.samples import Measured, Trial, copied
from muniment_plugins.harness.surroundings import here

__all__ = [
    "Hypothesis",
    "Verifier",
    "judge_properties",
    "judged_by",
    "metamorphic",
    "verifier",
]

_T = TypeVar("_T")
_GIVEN = ("claim", "seed")
_UNDECIDED = ("passed", "meets_claim")
"""Members that a verifier may leave open."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """A judging function ``(baseline, condition, **settings) -> {…}``.

    Its result says in ``passed``, in ``meets_claim`` or in members that end in ``_ok``
    whether the hypothesis holds, and in ``p_value`` how likely that is by chance. The
    first two may be None, with a reason in ``undecided``.
    """

    function: Function
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    compares: bool = True
    """Whether it needs another condition besides the one that it judges."""

    def __call__(self, **settings: object) -> Self:
        """Return this verifier with *settings*.

        Raises:
            HarnessRefused: its function does not take one of them.

        """
        takes = _keywords(self.function)
        unknown = sorted(settings.keys() - takes) if takes is not None else []
        if unknown:
            known = ", ".join(known_first(unknown[0], sorted(takes or ()))) or "none"
            _refuse(f"{', '.join(unknown)} cannot be set", f"known: {known}")
        try:
            given = {name: kept(one) for name, one in settings.items()}
        except ValueRefused as refusal:
            _refuse(refusal.message, refusal.remedy, f"settings, {refusal.place}")
        return replace(self, settings={**self.settings, **given})

    @property
    def plain_function(self) -> Function:
        """Its function, which the import path of a decorated one means."""
        return plain(self.function)

    @property
    def takes(self) -> set[str]:
        """What its function is given besides the metrics: claim, seed."""
        return {one for one in _GIVEN if one in _parameters(self.function)}

    def require(self) -> None:
        """Refuse a function that cannot be called as `judge` will call it.

        Raises:
            HarnessRefused: it says what is missing, or too much.

        """
        named = sorted({*self.settings, *self.takes})
        about = {"rule": "harness/verifier", "place": "the verifier"}
        require_takes(self.function, "baseline, condition", named, **about)

    def judge(
        self,
        baseline: Measured,
        condition: Measured,
        *,
        claim: Claim | None = None,
        seed: int = 0,
    ) -> Mapping[str, object]:
        """Return the function's result for *condition* against *baseline*.

        Raises:
            HarnessRefused: it needs a claim and there is none, or it returns no
                mapping.

        """
        known: dict[str, object] = {"claim": claim, "seed": seed, **self.settings}
        takes = {*self.settings, *self.takes}
        if "claim" in takes and claim is None:
            _refuse("no claim was stated", "put specify_claim(claim=…) first")
        types = here().values
        by_name = {one: handed(known[one], types, one) for one in takes}
        now = copied(condition, types)
        before = now if baseline is condition else copied(baseline, types)
        said = self.function(before, now, **by_name)
        if not isinstance(said, Mapping):
            kind = type(said).__name__
            _refuse(f"it returned a value of type {kind}", 'return {"passed": …}')
        return cast("Mapping[str, object]", said)

    def describe(self) -> dict[str, object]:
        """Return the verifier as JSON."""
        return {
            **refer(self.function),
            "settings": dict(self.settings),
            "compares": self.compares,
        }

    @classmethod
    def of(cls, given: Verifier | Function) -> Verifier:
        """Return *given* as a verifier; wrap a plain function.

        Raises:
            HarnessRefused: it cannot be called.

        """
        if not callable(given):
            _refuse(f"{given!r} cannot be called", "give a function, or @verifier")
        return given if isinstance(given, Verifier) else cls(given)

    @classmethod
    def from_json(
        cls, described: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Verifier:
        """Return the verifier that a plan named.

        Args:
            described: how the plan named it.
            sources: recorded sources, for functions that cannot be imported.

        Raises:
            CannotTellError: its function cannot be imported, and has no self-contained
                source.

        """
        settings = cast("Mapping[str, object]", described["settings"])
        recorded = naming(described)
        # A decorated function is found as the verifier that it became.
        found = Verifier.of(sources.recall(recorded)).function
        known = whole(recorded, sources.files)
        function = Named(found, known, sources.knew(recorded))
        return cls(function, dict(settings), cast("bool", described["compares"]))


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A name, and the verifier that judges it."""

    name: str
    verifier: Verifier

    def __post_init__(self) -> None:
        require_text(self.name, "Hypothesis.name")
        # A plain function is a verifier without settings.
        object.__setattr__(self, "verifier", Verifier.of(self.verifier))

    def verdict(self, baseline: Trial, trial: Trial, seed: int) -> dict[str, object]:
        """Return the data of ``verdict.reached``.

        Args:
            baseline: what *trial* is compared with; *trial* itself if nothing.
            trial: what is judged.
            seed: from which the verifier draws.

        Raises:
            HarnessRefused: the verifier has nothing to judge, or returns no mapping.

        """
        now = trial.samples
        before = now if baseline is trial else baseline.samples
        said = self.verifier.judge(before, now, claim=trial.claim, seed=seed)
        try:
            result = cast("dict[str, object]", kept(dict(said)))
        except ValueRefused as error:
            _refuse(error.message, error.remedy, f"hypothesis {self.name}")
        # The source as it is now: the plan has the source as it was.
        judge = judging_name(self.verifier.function)
        others = [] if baseline is trial else baseline.inputs
        return {
            "hypothesis": self.name,
            "verifier": path_of(judge),
            "settings": dict(self.verifier.settings),
            "passed": _passed(result),
            "result": result,
            "source": judge.get("source"),
            "p_value": _p_value(result),
            "inputs": [*others, *trial.inputs],
        }

    def describe(self) -> dict[str, object]:
        """Return the hypothesis as JSON."""
        return {"name": self.name, "verifier": self.verifier.describe()}

    @classmethod
    def from_json(
        cls, described: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the hypothesis in *described*; *sources* as for `Verifier`."""
        judge = cast("Mapping[str, object]", described["verifier"])
        return cls(cast("str", described["name"]), Verifier.from_json(judge, sources))


def judged_by(compares: object, conditions: Sequence[_T]) -> Sequence[_T]:
    """Return those of *conditions*, the baseline first, that a verifier judges.

    Every treatment is judged; so is the baseline if it is alone, or if the verifier
    looks at only one condition.
    """
    return conditions[1:] if compares and len(conditions) > 1 else conditions


@overload
def verifier(function: Function) -> Verifier: ...
@overload
def verifier(*, compares: bool) -> Callable[[Function], Verifier]: ...
def verifier(
    function: Function | None = None, *, compares: bool = True
) -> Verifier | Callable[[Function], Verifier]:
    """Make *function* a verifier, used as it is or called with settings.

    Args:
        function: ``(baseline, condition, **settings) -> {…}``.
        compares: False if it judges every condition by itself, the baseline included.

    """
    if function is None:
        return lambda one: replace(Verifier.of(one), compares=compares)
    return replace(Verifier.of(function), compares=compares)


@stable_name("muniment:metamorphic/1")
def judge_properties(baseline: Measured, condition: Measured) -> dict[str, object]:
    """Say whether each tested property passed in every replicate, and whether all did.

    Raises:
        HarnessRefused: no property was tested.

    """
    del baseline
    passes: dict[str, object] = {
        name: all(values) and bool(values)
        for name, values in condition.items()
        if name.endswith("_pass")
    }
    if not passes:
        raise HarnessRefused(
            "no property was tested, so none can hold",
            rule="harness/vacuous",
            place="metamorphic",
            remedy="give the spec properties, and the pipeline run_metamorphic_tests()",
        )
    return {"metamorphic_ok": all(passes.values()), **passes}


metamorphic = Verifier(judge_properties, compares=False)


def _parameters(function: Function) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(plain(function)).parameters
    except (TypeError, ValueError):  # a builtin has no signature
        return {}


def _keywords(function: Function) -> set[str] | None:
    """Return the names of settings, without claim and seed; None if any is taken."""
    names = list(_parameters(function).values())[2:]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in names):
        return None
    return {one.name for one in names} - {*_GIVEN}


def _passed(result: Mapping[str, object]) -> bool | None:
    """Return the verdict, or None if the verifier gives none."""
    for name in _UNDECIDED:
        if name in result and result[name] is None:
            return None
    if "passed" in result:
        return _truth(result["passed"])
    ends = ("_ok", "meets_claim")
    judged = [_truth(one) for name, one in result.items() if name.endswith(ends)]
    return all(judged) if judged else None


def _truth(value: object) -> bool:
    # NumPy's truth values can only be recognised by the name of their type.
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        _refuse(f"{value!r} is neither True nor False", "return one of them")
    return bool(value)


def _p_value(result: Mapping[str, object]) -> float | None:
    value = result.get("p_value")
    if value is None:
        return None
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        _refuse(f"{value!r} is not a p-value", "return a number from 0 to 1")
    return float(value)


def _refuse(message: str, remedy: str, place: str = "the verifier") -> NoReturn:
    raise HarnessRefused(message, rule="harness/verifier", place=place, remedy=remedy)
