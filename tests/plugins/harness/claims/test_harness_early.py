"""What the plan shows to be impossible is refused before a model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from bounded_capsule import Bounded
from in_process import harness_ledger
from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.programs.import_guard import importing
from muniment_plugins.harness import (
    Experiment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    metamorphic,
    pipeline_step,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder

CODE = "def fit_and_eval(data): return {'m': sum(data)}"
NAN = float("nan")
BOUNDS = ("max_change_pct", "max_value", "min_improvement_pct", "min_value")
ORDER: dict[str, object] = {"name": "p", "transform": "permute_rows"}
OWN: dict[str, object] = {"name": "o", "transform": "own"}

ACCEPTANCES: list[Mapping[str, object]] = [
    {},
    {"metric": "m"},
    {"metric": "m", "max_valu": 3},
    {"metric": "m", "max_change_pct": 0},
    {"metric": "m", "max_change_pct": -5},
    *({"metric": "m", key: one} for key in BOUNDS for one in ("3", None, True, [3])),
    *({"must_pass": one} for one in ("p", [], False, ["q"], 3)),
    *({"metric": "m", "min_value": one} for one in (NAN, float("inf"), 10**400)),
    {"metric": "m", "equals": NAN},
    *({"metric": one, "max_value": 1} for one in (7, ["m"], "")),
]
SPECS: list[Mapping[str, object]] = [
    *({"allowed_imports": [one]} for one in ("os", "subprocess", "a b", "a b;c", "..")),
    *({"resources": {"time_s": one}} for one in (1e6, 10**9)),
    *({"resources": {"mem_mb": one}} for one in (0.5, 2**40)),
    *(
        {"properties": [{"name": "p", **one}]}
        for one in (
            {"transform": "permute_row"},
            {"transform": "shift", "arguments": {"by": 0}},
            {"transform": "shift", "arguments": {"by": 0.0}},
            {"transform": "scale", "arguments": {"factor": 1}},
            {"transform": "scale", "arguments": {"factor": 1.0}},
            {"transform": "scale", "arguments": {"factr": 2}},
            {"transform": "add_noise", "arguments": {"sd": 0}},
            {"transform": "drop_rows", "arguments": {"count": 0}},
            {"transform": "permute_rows", "relation": "monotone"},
            {"transform": "relabel", "relation": "equivariant"},
            {"transform": "own", "arguments": {"unknown": 1}},
        )
    ),
]
SETTINGS: list[Mapping[str, object]] = [
    *({"alpha": one} for one in (0, 1, -1, 2, NAN, "5%", True)),
    *({"direction": one} for one in ("up", "", None, 3)),
    {"metric": "q"},
    {"min_improvement_pct": 5},
]
STEPS: list[tuple[str, object]] = [
    *(("clock", one) for one in ("frozn", 3, "")),
    *(("require", one) for one in ("x", "os-stronk", 3)),
    *(("entrypoint", one) for one in ("not a name", 3)),
    *(("attempts", one) for one in (0, -1, 1.5, "2")),
    *(("tolerance", one) for one in (-1, NAN, "1")),
    *(("rtol", one) for one in (1, -1, NAN)),
    *(("permutations", one) for one in (0, -1, 2.5)),
    *(("llm", one) for one in ("nocolon", 3, lambda _: CODE, lambda: CODE)),
    ("repair", lambda _claim, _spec: CODE),
    ("spec_llm", lambda: {"properties": [ORDER]}),
    ("transforms", {"own": lambda: [1.0]}),
]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger with such a capsule."""
    with harness_ledger(tmp_path / "ledger.db", Bounded()) as made:
        yield made


class Model:
    """Writes good code, and counts how often it was asked, by condition."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, claim: object, spec: object, ctx: Any) -> str:
        """Return the code."""
        del claim, spec
        self.asked.append(ctx["condition"])
        return CODE


def own(data: list[float]) -> list[float]:
    """Return the data in another order."""
    return data[::-1]


def claim(acceptance: Mapping[str, object]) -> dict[str, object]:
    """Return a claim with *acceptance*."""
    return {"id": "c", "text": "A claim", "acceptance": acceptance}


def builder(
    model: Model,
    acceptance: Mapping[str, object] | None = None,
    spec: Mapping[str, object] | None = None,
    verifier: Any = meets_claim,
) -> ExperimentBuilder:
    """Return a plan that works, with a model that writes the code."""
    accepted = {"metric": "m", "max_value": 100.0} if acceptance is None else acceptance
    return (
        Experiment.builder("early")
        .datasource(lambda ctx: [ctx["replicate"] + 3.0, 2.0])
        .add_step(specify_claim(claim=cast("Any", claim(accepted))))
        .add_step(generate_spec(spec={"properties": [ORDER, OWN], **(spec or {})}))
        .add_step(bounded_synthesis(llm=model))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(transforms={"own": own}))
        .hypothesis("h", verifier=verifier)
    )


Plan = Callable[[Model], ExperimentBuilder]


def treated(made: ExperimentBuilder, changes: object) -> ExperimentBuilder:
    """Return *made* with a treatment, of which the plan knows the changes."""
    return made.treatment("t", cast("Any", changes))


def data(ctx: Any) -> dict[str, object]:
    """Change the data, as a treatment whose changes the plan does not know."""
    return {"data": [ctx["replicate"] + 5.0, 1.0]}


def plan(changes: object = None, context: object = None, **how: Any) -> Plan:
    """Return what makes a plan with a treatment and a context, if they are given."""

    def make(model: Model) -> ExperimentBuilder:
        made = builder(model, **how)
        made = made if context is None else made.initial_ctx(cast("Any", context))
        return made if changes is None else treated(made, changes)

    return make


def wrong() -> Iterator[tuple[str, Plan]]:
    """Yield plans that cannot work: every option with wrong values, at every place."""
    for one in ACCEPTANCES:
        name, stated = f"acceptance {one}", {"claim": claim(one)}
        yield f"{name} as given", plan({}, acceptance=one)
        if "q" not in str(one):  # a function may bring the property
            yield f"{name} under a function", plan(data, acceptance=one)
        yield f"{name} treated", plan(stated)
        yield f"{name} in the context", plan({}, stated)
    for one in SPECS:
        spec = {"properties": [ORDER], **one}
        yield f"spec {one}", plan(spec=spec)
        yield f"spec {one} treated", plan({"spec": spec})
    asked = {"metric": "m", "min_improvement_pct": 10}
    for one in SETTINGS:
        how: dict[str, Any] = {"acceptance": asked, "verifier": meets_claim(**one)}
        yield f"setting {one}", plan({}, **how)
        yield f"setting {one} under a function", plan(data, **how)
    for number, (name, value) in enumerate(STEPS):
        shown = f"function {number}" if "lambda" in repr(value) else repr(value)
        yield f"{name} {shown} treated", plan({name: value})
        yield f"{name} {shown} in the context", plan(context={name: value})
    yield from functions()


def functions() -> Iterator[tuple[str, Plan]]:
    """Yield plans whose functions do not take what they will be given."""

    def lacks(baseline: object, condition: object, *, limit: int) -> dict[str, object]:
        del baseline, condition
        return {"passed": bool(limit)}

    def nothing() -> list[float]:
        return [1.0]

    def more(ctx: object, other: object) -> list[float]:
        del ctx, other
        return [1.0]

    def third(baseline: object, condition: object, other: object) -> dict[str, object]:
        del baseline, condition, other
        return {"passed": True}

    judges: list[Any] = [lacks, nothing, third]
    for one in judges:
        yield f"verifier {one.__name__}", plan(verifier=one)
    for source in (nothing, more):
        name = source.__name__
        yield f"datasource {name}", lambda m, s=source: builder(m).datasource(s)  # type: ignore[misc]
        yield f"treatment {name}", plan(source)
    step = pipeline_step(nothing)()
    yield "step without data", lambda model: builder(model).add_step(step)


WRONG = dict(wrong())


@pytest.mark.parametrize("name", WRONG)
def test_a_plan_that_cannot_work_is_refused_before_a_model_is_asked(name: str) -> None:
    """`build()` refuses every option with every wrong value, wherever it is given."""
    model = Model()
    with pytest.raises(MunimentError) as refused:
        WRONG[name](model).build()
    assert refused.value.rule
    assert not model.asked


def test_the_plan_that_the_wrong_ones_are_made_of_works(ledger: Ledger) -> None:
    """Without a wrong value, the plan is built, the model asked, and the claim judged."""
    model = Model()
    result = treated(builder(model), data).build().run(replicates=2, ledger=ledger)
    assert result.ok
    assert sorted(model.asked) == ["baseline", "baseline", "t", "t"]


@pytest.mark.parametrize("mark", ["x", "os-stronk"])
def test_a_floor_that_is_none_is_refused_when_the_experiment_is_built(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`MUNIMENT_REQUIRE` is judged as `require` is, before a model is asked."""
    model = Model()
    monkeypatch.setenv("MUNIMENT_REQUIRE", mark)
    with pytest.raises(MunimentError, match="isolation level"):
        builder(model).build()
    assert not model.asked


CHANGED: list[Any] = [
    None,
    [],
    "code",
    {"cod": CODE},
    {"clock": "frozn"},
    {"require": "x"},
    {"entrypoint": "not a name"},
    {"attempts": 0},
    *({"claim": claim(one)} for one in ACCEPTANCES),
    *({"spec": {"properties": [ORDER], **one}} for one in SPECS),
]


@pytest.mark.parametrize("changes", CHANGED, ids=str)
def test_what_a_function_changes_wrongly_fails_its_replicate_alone(
    changes: Any, ledger: Ledger
) -> None:
    """It is refused when it is known, before that replicate asks; the others go on."""
    model = Model()

    def sometimes(ctx: Any) -> Any:
        return changes if ctx["replicate"] == 1 else {}

    made = treated(builder(model), sometimes).build()
    result = made.run(replicates=3, ledger=ledger)
    assert [one.place for one in result.errors] == ["t, replicate 1, datasource"]
    assert sorted(model.asked) == [*["baseline"] * 3, "t", "t"]
    assert result.status == "failed"


def test_a_file_that_is_imported_for_a_replay_builds_what_it_built() -> None:
    """What was recorded is held to the rules of its time: today's do not stop it."""
    with importing("old.py"):
        builder(Model(), {"max_valu": 3}).build()
    with pytest.raises(MunimentError, match="max_valu"):
        builder(Model(), {"max_valu": 3}).build()


def test_metamorphic_is_not_judged_by_the_acceptance(ledger: Ledger) -> None:
    """A claim that no verifier reads may say anything."""
    made = builder(Model(), {"max_valu": 3}, verifier=metamorphic).build()
    assert made.run(ledger=ledger).ok
