"""Whatever fails by an effect says what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executor_functions
from in_process import InProcess, harness_ledger
from muniment.errors import RefusedError, ValueRefused
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment_plugins.harness import (
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.experiment.failures import summed_up
from muniment_plugins.harness.experiment.remedies import REMEDIES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "harness.md"


class Refusing(InProcess):
    """Gives the code no data that it would not be given."""

    @hookimpl
    def execute_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Refuse as the capsule does."""
        data = request["data"]
        if isinstance(data, np.ndarray):
            message = "the data is made of numpy, which the program may not import"
            raise ValueRefused(message, rule="capsule/data-package")
        if data == "long":
            raise ValueRefused("the data is too long", rule="capsule/data-size")
        if data == "policy":
            raise RefusedError("not here", rule="capsule/level")
        return super().execute_code(request)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a ledger whose capsule refuses some data."""
    with harness_ledger(tmp_path / "ledger.db", Refusing()) as made:
        yield made


def raising(*_: object) -> object:
    """Be away."""
    raise ConnectionError("no route")


def dying(ctx: Mapping[str, Any]) -> object:
    """End the process that this runs in, unless it is that of the test."""
    del ctx
    if "MUNIMENT_TEST_HERE" in os.environ:
        os._exit(3)
    return None


def plan(data: Any = (1, 2), **changes: Any) -> ExperimentBuilder:
    """Return a plan over *data*, or what gives it."""
    source = data if callable(data) else lambda _: data
    return (
        Experiment.builder("fails")
        .datasource(source)
        .add_step(specify_claim(claim={"id": "c", "text": "t"}))
        .add_step(generate_spec(spec=Spec()))
        .add_step(bounded_synthesis(code=executor_functions.CODE))
        .add_step(execute_capsule())
        .initial_ctx(changes)
    )


KINDS: dict[str, tuple[Callable[[], ExperimentBuilder], str]] = {
    "a package": (lambda: plan(np.ones(2)), "add numpy to Spec(allowed_imports=[…])"),
    "data that is too long": (lambda: plan("long"), "give less data"),
    "data without a form": (lambda: plan(object()), "return JSON values, NumPy"),
    "a datasource that is away": (lambda: plan(raising), "correct the function"),
    "a treatment that raises": (
        lambda: plan().treatment("t", raising),
        "correct the function",
    ),
    "a treatment without a form": (
        lambda: plan().treatment("t", lambda _: {"a": object()}),
        "return JSON values, NumPy",
    ),
    "a model that is away": (lambda: plan(llm=raising), "can be reached"),
    "a model that says nothing": (lambda: plan(llm=lambda *_: 3), "return the code"),
    "a provider that is not there": (lambda: plan(llm="none:m"), "muniment plugins"),
    "a treatment that changes nothing": (
        lambda: plan().treatment("t", lambda _: {"cod": "…"}),
        "write code",
    ),
    "a capsule that is not there": (lambda: plan("policy"), "muniment doctor"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_by_effect_has_a_remedy(ledger: Ledger, kind: str) -> None:
    """The failure, its line in the sum and the error all say it."""
    make, remedy = KINDS[kind]
    result = make().build().run(ledger=ledger)
    (failure,) = result.errors
    assert remedy in str(failure.remedy)
    (said,) = summed_up([failure])
    assert said.endswith(f"; {failure.remedy}")


def test_a_worker_that_ends_has_a_remedy(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where to look, and how to go on."""
    monkeypatch.setenv("MUNIMENT_TEST_HERE", "1")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    result = plan(dying).build().run(ledger=ledger, executor="processes")
    assert "standard error" in str(result.errors[0].remedy)


def test_no_model_is_asked_for_code_that_gets_no_data(ledger: Ledger) -> None:
    """The data is there before the model is paid, and so is its package."""
    asked: list[object] = []

    def model(*given: object) -> str:
        asked.append(given)
        return executor_functions.CODE

    (failure,) = plan(np.ones(2), llm=model).build().run(ledger=ledger).errors
    assert asked == []
    assert failure.rule == "harness/data-package"
    assert (
        failure.remedy == "add numpy to allowed_imports, or give plain lists and dicts"
    )
    allowed = Spec(allowed_imports=["numpy"])
    plan(np.ones(2), llm=model, spec=allowed).build().run(ledger=ledger)
    assert len(asked) == 1


def test_the_page_has_the_table() -> None:
    """Each row of the table that is used is one of the page."""
    rows = [
        f"| {'every' if one.kind == '*' else f'`{one.kind}`'} | {one.failed} "
        f"| {one.remedy.format(package='numpy')} |"
        for one in REMEDIES
    ]
    assert "\n".join(rows) in PAGE.read_text(), "\n" + "\n".join(rows)
