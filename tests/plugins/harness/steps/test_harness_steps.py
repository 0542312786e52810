"""The steps called by hand: what passes, and what they refuse in the guide's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.errors import UsageError
from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    HarnessRefused,
    Pipeline,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
)

Begun = Callable[..., Case]

SUM = "def fit_and_eval(data):\n    return {'total': sum(data), 'n': len(data)}\n"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os\ndef fit_and_eval(data): return {}", "Import not allowed: os"),
        ("def fit_and_eval(data): return eval('1+1')", "Forbidden call: eval"),
        (
            "def fit_and_eval(data): return (1).__class__.__mro__",
            "Forbidden attribute: __mro__|Forbidden attribute: __class__",
        ),
        ("async def fit_and_eval(data): return {}", "must be a sync function"),
        ("def other(data): return {}", "Entrypoint missing"),
    ],
)
def test_code_out_of_bounds_is_refused(begun: Begun, code: str, message: str) -> None:
    """What the guide says is blocked raises BoundedExecutionError with its words."""
    with pytest.raises(BoundedExecutionError, match=message):
        bounded_synthesis(code=code)(begun())


def test_the_refusal_names_the_line(begun: Begun) -> None:
    """A refusal says where in the program it found what."""
    code = "import math\n\nimport os\ndef fit_and_eval(data): return {}"
    with pytest.raises(BoundedExecutionError) as caught:
        bounded_synthesis(code=code)(begun())
    assert (caught.value.line, caught.value.rule) == (3, "capsule/import")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (execute_capsule, r"step 2 is execute_capsule, .* execute_capsule\(…\)"),
        (lambda data: data, r"step 2 is <lambda>, .* @pipeline_step"),
        (3, "step 2 is 3, which is not a step"),
        (Case, "step 2 is Case, which is not a step"),
    ],
)
def test_what_is_no_step_is_named(given: Any, said: str) -> None:
    """A function that was not called, or anything else, is refused by its place."""
    with pytest.raises(UsageError, match=said):
        Pipeline([execute_capsule(), given])


def test_the_steps_run_by_hand(begun: Begun) -> None:
    """Without a run the steps do the same, through the installed capsule."""
    steps = Pipeline([bounded_synthesis(code=SUM), execute_capsule()])
    case = run_metamorphic_tests()(steps(begun([1, 2, 3])))
    assert case.metrics == {"total": 6, "n": 3, "perm_pass": True}
    assert list(case.metrics) == ["total", "n", "perm_pass"]


CLOCK = "import time\ndef fit_and_eval(data): return {'now': time.time()}"


def test_the_clock_of_the_code_stands_still_where_that_is_asked_for(
    begun: Begun,
) -> None:
    """Steps that follow run the code under the same clock."""
    case = begun([1], allowed_imports=["time"])
    steps = Pipeline([bounded_synthesis(code=CLOCK), execute_capsule(clock="frozen")])
    assert steps(case).metrics == {"now": 946684800.0}
    assert steps(case).bounds == {"clock": "frozen"}


def test_a_level_that_is_none_is_refused(begun: Begun) -> None:
    """What isolation the step requires is the capsule's to read."""
    steps = Pipeline([bounded_synthesis(code=SUM), execute_capsule(require="walls")])
    with pytest.raises(UsageError, match="'walls' is not a value for require"):
        steps(begun([1]))


def test_what_is_required_of_the_capsule_is_recorded_with_the_step() -> None:
    """A replay requires the same; a step that requires nothing is described as ever."""
    step = execute_capsule(require="process", clock="real")
    again = type(step).from_json(step.describe())
    assert again == step
    assert execute_capsule().describe() == {
        "step": "execute_capsule",
        "entrypoint": None,
    }


def test_a_model_is_asked_with_claim_and_spec(begun: Begun) -> None:
    """An llm callable gets claim, spec and context, and may be a lambda."""
    step = bounded_synthesis(llm=lambda claim, _spec, _: f"# {claim.id}\n{SUM}")
    assert "# c\n" in step(begun()).the_code()
    told = {"llm_call": {"model": "m"}}
    assert bounded_synthesis(llm=lambda *_: (SUM, told))(begun()).code == SUM


def test_a_model_that_returns_no_code_is_refused(begun: Begun) -> None:
    """An answer that is not text, or metadata that nobody reads, is refused."""
    with pytest.raises(HarnessRefused, match="returned a value of type NoneType"):
        bounded_synthesis(llm=lambda *_: None)(begun())
    with pytest.raises(HarnessRefused, match="llm_cal means nothing"):
        bounded_synthesis(llm=lambda *_: (SUM, {"llm_cal": {}}))(begun())


def test_code_that_breaks_raises_its_error(begun: Begun) -> None:
    """An exception inside the capsule is the step's, with its type and message."""
    code = "def fit_and_eval(data):\n    return {'x': 1 / 0}"
    case = bounded_synthesis(code=code)(begun())
    with pytest.raises(BoundedExecutionError, match="ZeroDivisionError: division"):
        execute_capsule()(case)


def test_code_that_takes_too_long_is_stopped(begun: Begun) -> None:
    """An endless loop ends at time_s, as a refusal that says so."""
    code = "def fit_and_eval(data):\n    while True: pass"
    case = bounded_synthesis(code=code)(begun(resources={"time_s": 0.3}))
    with pytest.raises(BoundedExecutionError, match="CPU time is over"):
        execute_capsule()(case)


def test_code_may_not_claim_to_have_passed(begun: Begun) -> None:
    """A metric that only a test may state is refused, whatever it says."""
    code = "def fit_and_eval(data): return {'perm_pass': True, 'total': 1}"
    case = bounded_synthesis(code=code)(begun())
    with pytest.raises(HarnessRefused, match="perm_pass, which only a test may say"):
        execute_capsule()(case)


def test_the_entrypoint_is_named_once(begun: Begun) -> None:
    """An entrypoint named in the last step is that of the first, too."""
    code = SUM.replace("fit_and_eval", "go")
    pipeline = Pipeline(
        [bounded_synthesis(code=code), execute_capsule(entrypoint="go")]
    )
    case = begun()
    chosen = Case(case.data, case.claim, case.spec, entrypoint=pipeline.entrypoint)
    assert pipeline(chosen).metrics["total"] == 6
    with pytest.raises(HarnessRefused, match="different entrypoints: a, b"):
        Pipeline(
            [
                bounded_synthesis(code=code, entrypoint="a"),
                execute_capsule(entrypoint="b"),
            ]
        )


def test_steps_in_the_wrong_order_name_the_missing_one(begun: Begun) -> None:
    """A step without what it stands on says which step brings it."""
    with pytest.raises(HarnessRefused, match="no claim yet"):
        generate_spec(spec={})(Case())
    with pytest.raises(HarnessRefused, match="no code yet"):
        execute_capsule()(begun())
    with pytest.raises(HarnessRefused, match="no output of the code yet"):
        run_metamorphic_tests()(bounded_synthesis(code=SUM)(begun()))


def test_code_and_model_exclude_each_other() -> None:
    """Neither and both are misuse, refused before anything runs."""
    with pytest.raises(UsageError, match="either code or an llm"):
        bounded_synthesis()
    with pytest.raises(UsageError, match="either code or an llm"):
        bounded_synthesis(code=SUM, llm=lambda *_: SUM)
