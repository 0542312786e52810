"""The plan of an experiment: recorded whole, held to, and compared member by member."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

import executor_functions
from muniment.encoding.canonical import JsonValue
from muniment.errors import ReplayDiverged
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Experiment,
    metamorphic,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from small_experiment import PERM, small

pytestmark = pytest.mark.in_process


def builder(permutations: int = 2, **how: Any) -> ExperimentBuilder:
    """Return the builder of an experiment whose code is given, or asked for."""
    made = Experiment.builder("plans").datasource(executor_functions.rows)
    steps = small(permutations=permutations, **how)
    return made.pipeline(steps).hypothesis("m", verifier=metamorphic)


def unsourced(value: JsonValue) -> JsonValue:
    """Return *value* without digests of sources, which every edit changes."""
    if isinstance(value, dict):
        return {n: unsourced(one) for n, one in value.items() if n != "source"}
    return [unsourced(one) for one in value] if isinstance(value, list) else value


def test_the_form_of_plans_stays() -> None:
    """What plans say of an experiment is fixed: recorded ones replay in every version.

    A member that is added says nothing here: it is left out while it has its default,
    which is what the first edition did.
    """
    plan = builder().treatment("t", {"share": 1}).build().program.describe()
    claim: Any = {"id": "c", "text": "A claim", "acceptance": {}}
    spec = {
        "allowed_imports": [],
        "properties": [PERM],
        "contracts": [],
        "resources": {"time_s": 10, "mem_mb": 1024},
        "syntax": "wide",
    }
    judge = "muniment:metamorphic/1"
    assert unsourced(cast("JsonValue", plan)) == {
        "name": "plans",
        "datasource": {"import": "executor_functions:rows"},
        "pipeline": [
            {"step": "specify_claim", "claim": claim},
            {"step": "generate_spec", "spec": spec, "llm": None, "syntax": "wide"},
            {
                "step": "bounded_synthesis",
                "code": executor_functions.CODE,
                "llm": None,
                "entrypoint": None,
                "attempts": 1,
                "repair": None,
                "remedies": True,
            },
            {"step": "execute_capsule", "entrypoint": None},
            {
                "step": "run_metamorphic_tests",
                "transforms": {},
                "tolerance": 1e-6,
                "rtol": 0.0,
                "permutations": 2,
                "strict": True,
            },
        ],
        "hypotheses": [
            {
                "name": "m",
                "verifier": {"name": judge, "settings": {}, "compares": False},
            }
        ],
        "treatments": [{"name": "t", "changes": {"share": {"value": 1}}}],
        "context": {},
        "outputs": [],
        "pin": "content",
        "edition": 3,
    }


def test_every_member_that_differs_is_named(ledger: Ledger) -> None:
    """A replay of another plan names each member, with what was and what is."""
    run = builder().build().run(ledger=ledger).run_id
    other = builder(3).treatment("t", {"share": 1}).build().program
    report = replay(ledger, run, program=other)
    found = {one.field: (one.expected, one.got) for one in report.findings}
    assert found["plan.pipeline[4].permutations"] == (2, 3)
    assert found["plan.treatments[0]"][0] is None
    assert len(found) == 2
    assert {one.what for one in report.findings} == {"params"}
    assert replay(ledger, run, program=other, mode="observational").ok


def test_long_code_is_shown_where_it_parts(ledger: Ledger) -> None:
    """Of two programs that begin alike, the message shows what follows."""
    code = f"{'# the same' * 30}\n{executor_functions.CODE}"
    run = builder(code=code).build().run(ledger=ledger).run_id
    other = builder(code=f"{code} # otherwise").build().program
    (found,) = replay(ledger, run, program=other).findings
    assert 'plan.pipeline[2].code was "…' in str(found)
    assert '# otherwise"' in str(found)


def test_a_resume_with_another_plan_performs_nothing(ledger: Ledger) -> None:
    """It is refused by the members that differ, and the run can still be resumed."""
    up: list[bool] = []

    def down(*_: object) -> str:
        if not up:
            raise ConnectionError("no route to host")
        return executor_functions.CODE

    experiment = builder(llm=down).build()
    run = experiment.run(ledger=ledger).run_id
    up.append(True)
    context = {"share": 2}
    other = dataclasses.replace(builder(3, llm=down).build().program, context=context)
    done = ledger.resume(run, other)
    with pytest.raises(ReplayDiverged, match=r"plan\.context\.share was nothing") as e:
        done.raise_failure()
    assert "plan.pipeline[4].permutations was 2, is 3" in str(e.value)
    assert not list(ledger.events(run=run, type="llm.completed"))
    assert ledger.resume(run, experiment.program).ok
