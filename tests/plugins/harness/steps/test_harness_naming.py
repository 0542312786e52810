"""A name that is mistyped is refused with the name that was meant."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import executor_functions
from in_process import harness_ledger
from muniment.errors import MunimentError, UsageError
from muniment_plugins.executors import Threads
from muniment_plugins.harness import (
    ArtifactPlugin,
    Experiment,
    Pipeline,
    Spec,
    Treatment,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    pipeline_step,
    run_metamorphic_tests,
    specify_claim,
    verifier,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.experiment.treatments import PARAMETERS
from muniment_plugins.harness.names import NamedItems, UnknownName, mistaken_for
from small_experiment import small

Call = Callable[[], object]


def builder() -> ExperimentBuilder:
    """Return the builder of a small experiment with a step of one's own."""
    made = Experiment.builder("names").datasource(executor_functions.rows)
    return made.pipeline(small(executor_functions.stepped(share=0.5), spec=Spec()))


def test_every_parameter_of_a_step_is_known() -> None:
    """What the steps' makers take is what treatments are known to change."""
    makers: list[Callable[..., object]] = [
        *(specify_claim, generate_spec, bounded_synthesis),
        *(execute_capsule, run_metamorphic_tests),
    ]
    takes = {name for maker in makers for name in inspect.signature(maker).parameters}
    assert takes | {"data", "spec_llm"} == set(PARAMETERS)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cod", "code"),
        ("cdoe", "code"),
        ("Code", "code"),
        ("sepc", "spec"),
        ("tolerence", "tolerance"),
        ("atempts", "attempts"),
        ("entry_point", "entrypoint"),
        ("shere", None),
        ("tolernce", "tolerance"),
        ("toleranc", "tolerance"),
        ("claaim", "claim"),
        ("LLM", "llm"),
        ("shre", "share"),
        ("Share", "share"),
        ("form", None),
    ],
)
def test_what_is_a_mistake(name: str, near: str | None) -> None:
    """Swapped, lost and added letters, capitals and underscores are mistakes."""
    assert mistaken_for(name, PARAMETERS, ["share", "alpha1", "from"]) == near


@pytest.mark.parametrize(
    "name",
    [
        *("models", "date", "data2", "data_", "data_path", "datas", "rate", "mode"),
        *(
            "code_a",
            "code_version",
            "codec",
            "coder",
            "codes",
            "block",
            "lock",
            "clocks",
        ),
        *("spec_id", "specs", "speck", "sec", "psec", "claims", "claimed", "exclaim"),
        *("llms", "llm_name", "lmm", "vllm", "tol", "atol", "tolerances", "transform"),
        *("transform1", "permutation", "required", "requires", "repairs", "note", "n"),
        *("share_b", "shares", "shared", "hare", "alpha", "alpha2", "weights"),
        *("X", "LR", "cast", "plane", "slow"),
    ],
)
def test_what_is_a_name(name: str) -> None:
    """Plurals, suffixes, digits, other beginnings and other words are meant."""
    own = ["share", "share_a", "alpha1", "weight", "model", "x", "lr", "cats", "planet"]
    assert mistaken_for(name, PARAMETERS, [*own, "low"]) is None


def test_a_misspelt_parameter_is_no_context() -> None:
    """A treatment and ``initial_ctx`` name the parameter that was probably meant."""
    with pytest.raises(
        UsageError, match=r"treatment a: no step takes cod .*write code"
    ):
        builder().treatment("a", {"cod": executor_functions.CODE}).build()
    with pytest.raises(UsageError, match=r"no step takes shre .*write share"):
        builder().treatment("a", {"shre": 1}).build()
    with pytest.raises(UsageError, match=r"initial_ctx: no step takes atempts"):
        builder().initial_ctx({"atempts": 3}).build()
    with pytest.raises(UsageError, match="seed is what the experiment says itself"):
        builder().treatment("a", {"seed": 3}).build()
    builder().initial_ctx({"shelf": 1}).treatment("a", {"weight": 1}).build()


def test_what_a_step_was_given_can_be_changed() -> None:
    """A parameter is the step's own, even where it is called as the context's seed."""

    @pipeline_step
    def split(data: object, seed: int = 1) -> object:
        return data if seed else None

    given = builder().add_step(split(seed=7))
    given.treatment("a", {"seed": 8}).build()
    given.treatment("a", lambda ctx: {"seed": ctx["seed"]}).build()
    with pytest.raises(UsageError, match="seed is what the experiment says itself"):
        builder().add_step(split()).treatment("a", {"seed": 8}).build()


def test_what_a_function_changes_is_read_too(tmp_path: Path) -> None:
    """A treatment that says its changes for each replicate fails by such a name."""

    def draw(ctx: Mapping[str, Any]) -> dict[str, object]:
        del ctx
        return {"cod": executor_functions.CODE}

    drawn = builder().treatment("a", draw).build()
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        result = drawn.run(ledger=ledger)
    (failure,) = result.errors
    assert "no step takes cod" in failure.message
    assert failure.place == "a, replicate 0, datasource"


def test_treatments_change_walls(tmp_path: Path) -> None:
    """``clock`` and ``require`` are parameters of a step like all others."""
    frozen = builder().treatment("a", {"clock": "frozen"}).build()
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        assert frozen.run(ledger=ledger).ok
        asked = [
            cast("Mapping[str, object]", ledger.resolve(one)["request"])
            for one in ledger.events(type="execution.requested")
        ]
    assert [one.get("clock") for one in asked] == [None, "frozen"]


def few(baseline: Any, now: Any) -> dict[str, object]:
    """Judge that there were few rows."""
    del baseline
    return {"passed": max(now["n"]) < 99}


def test_a_result_names_what_it_knows(tmp_path: Path) -> None:
    """What a result does not have is a ``KeyError`` that names what it has."""
    spec = Spec(properties=[{"name": "same", "transform": "identity"}])
    built = (
        builder()
        .add_step(run_metamorphic_tests())
        .treatment("half", {"spec": spec})
        .initial_ctx({"spec": spec})
        .hypothesis("better", verifier=metamorphic)
        .hypothesis("small", verifier=few)
        .build()
    )
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        result = built.run(ledger=ledger)
    with pytest.raises(KeyError, match=r"called 'smal' .*known: small, better"):
        result.hypothesis("smal")
    with pytest.raises(
        UnknownName, match=r"no treatment is called 'haf' .*known: half"
    ):
        _ = result.metrics.treatments["haf"]
    with pytest.raises(
        UnknownName, match=r"baseline: no metric is called 'nn' .*known: n, "
    ):
        _ = result.metrics.baseline.metrics["nn"]
    with pytest.raises(UnknownName, match="known: half, baseline"):
        _ = result.hypothesis("better").results["hal"]
    with pytest.raises(UnknownName, match="known: 0"):
        _ = result.metrics.baseline.rows[7]
    with pytest.raises(UsageError, match="it is not a directory"):
        result.bundle(__file__)
    assert result.metrics.treatments.get("haf") is None
    assert dict(result.metrics.treatments) == result.metrics.treatments
    plain = dataclasses.asdict(result.metrics)
    assert plain["baseline"]["metrics"] == result.metrics.baseline.metrics
    assert list(plain["treatments"]) == ["half"]
    again = copy.deepcopy(result.metrics)
    with pytest.raises(UnknownName, match="baseline: no metric is called 'nn'"):
        _ = again.baseline.metrics["nn"]


def test_functions_are_told_what_there_is(tmp_path: Path) -> None:
    """A step and a verifier that ask for what is not there fail by its name."""

    @pipeline_step
    def asks(data: object, ctx: Mapping[str, Any]) -> object:
        return data, {"weight": ctx["wieght"]}

    built = builder().add_step(asks()).initial_ctx({"weight": 1}).build()

    def misreads(baseline: Any, now: Any) -> dict[str, object]:
        del baseline
        return {"passed": now["totl"]}

    judged = builder().hypothesis("h", verifier=misreads)
    with harness_ledger(tmp_path / "ledger.db") as ledger:
        (step,) = built.run(ledger=ledger).errors
        (judge,) = judged.build().run(ledger=ledger).errors
    assert "no value of the context is called 'wieght'" in step.message
    assert "no metric is called 'totl'" in judge.message
    assert step.rule == judge.rule == "harness/unknown"


def test_nothing_known_is_said() -> None:
    """Where there is nothing at all, the remedy says so."""
    nothing: NamedItems[str, int] = NamedItems({}, "treatment")
    with pytest.raises(UnknownName, match="there is none at all"):
        _ = nothing["a"]


_NO: Any = 5

WRONG: dict[str, Call] = {
    "a name": lambda: (
        Experiment(builder().build().program)
        .builder(_NO)
        .datasource(executor_functions.rows)
        .pipeline(builder().steps)
        .build()
    ),
    "steps": lambda: builder().pipeline(_NO),
    "one step": lambda: builder().pipeline(cast("Any", execute_capsule())),
    "a pipeline": lambda: Pipeline(_NO),
    "a pipeline as a step": lambda: (
        builder().add_step(cast("Any", Pipeline([]))).build()
    ),
    "no change": lambda: builder().treatment("a"),
    "a treatment's name": lambda: Treatment(_NO, {}),
    "treatments": lambda: builder().treatments(_NO),
    "names in a treatment": lambda: builder().treatment("a", {_NO: 1}).build(),
    "a hypothesis without a name": lambda: builder().hypothesis(
        cast("Any", metamorphic)
    ),
    "hypotheses": lambda: builder().hypotheses(_NO),
    "a plugin": lambda: builder().plugin(_NO),
    "a plugin's class": lambda: builder().plugin(cast("Any", ArtifactPlugin)),
    "plugins": lambda: builder().plugins(_NO),
    "a description": lambda: builder().description(_NO),
    "a context": lambda: builder().initial_ctx(_NO),
    "outputs": lambda: builder().outputs(_NO),
    "names of outputs": lambda: builder().outputs([_NO]),
    "an executor": lambda: builder().build().run(executor=_NO),
    "an executor's class": lambda: builder().build().run(executor=cast("Any", Threads)),
    "a ledger": lambda: builder().build().run(ledger=_NO),
    "code": lambda: bounded_synthesis(code=_NO),
    "a model": lambda: bounded_synthesis(llm=_NO),
    "a model's name": lambda: generate_spec(llm="gpt"),
    "a model in a treatment": lambda: builder().treatment("a", {"repair": 5}).build(),
    "an entrypoint": lambda: bounded_synthesis(code="", entrypoint=_NO),
    "another entrypoint": lambda: execute_capsule(entrypoint=_NO),
    "transforms": lambda: run_metamorphic_tests(transforms=_NO),
    "a transform": lambda: run_metamorphic_tests(transforms={"a": _NO}),
    "a parameter by position": lambda: executor_functions.stepped(0.5),
    "a step's function": lambda: pipeline_step(_NO),
    "a verifier": lambda: verifier(_NO),
    "code in a treatment": lambda: builder().treatment("a", {"code": _NO}).build(),
    "attempts in a treatment": lambda: (
        builder().treatment("a", {"attempts": "2"}).build()
    ),
    "a spec in a treatment": lambda: (
        builder().treatment("a", {"spec": {"allowd": []}}).build()
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_given_wrongly_is_refused_at_once(what: str) -> None:
    """Every argument of another kind is an error of the house, with a remedy."""
    with pytest.raises(MunimentError, match=r"\[(harness|executor)/") as refusal:
        WRONG[what]()
    assert refusal.value.remedy
    assert refusal.value.place
